"""Pictures of contributions: of one row as a waterfall, of many rows as swarms of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.results import Explanation, value_text
from pyopencl_gbdt.messages import plural, show
from pyopencl_gbdt.model.pictures import CHARACTER, COLORS, frame, new_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

F64 = npt.NDArray[np.float64]
KINDS = ("beeswarm", "waterfall")
#: Colours of contributions above and below 0, and of points without a number.
_UP, _DOWN, _GRAY = COLORS[0], COLORS[1], "#8a97a3"
#: Most points of a feature, heaps that they are laid in, and their greatest height.
_MOST_POINTS, _HEAPS, _HEIGHT = 2000, 80, 0.38
_LONGEST = 28


def plot_contributions(
    explanation: Explanation,
    kind: str = "beeswarm",
    *,
    row: int = 0,
    output: int | None = None,
    max_num_features: int = 10,
    ax: Axes | None = None,
    title: str | None = None,
    xlabel: str | None = None,
    grid: bool = True,
) -> Axes:
    """Draw what each feature adds to the margin: of one row, or of all rows.

    Parameters
    ----------
    explanation : Explanation
        What ``explain(model, X)`` returns.
    kind : {"beeswarm", "waterfall"}
        ``beeswarm``: a point for each row and feature; its place is the contribution, its colour
        the feature's value. ``waterfall``: the steps from the base to the margin of one row.
    row : int, default 0
        Waterfall: which row.
    output : int or None
        Which output of a model that has several, such as a class.
    max_num_features : int, default 10
        How many features to draw; a waterfall adds up the others.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``.
    title, xlabel : str or None
        None names what is drawn; an empty string leaves it out.
    grid : bool, default True
        Draw the grid.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a parameter is out of range, or there are several outputs and ``output`` is None.
    ImportError
        If matplotlib is missing.
    """
    if not isinstance(explanation, Explanation):
        raise ParameterError(
            f"explanation={type(explanation).__name__}: expected an Explanation; give what "
            "explain(model, X) returns"
        )
    if kind not in KINDS:
        raise ParameterError(f"kind={show(kind)}: expected {' or '.join(KINDS)}; choose one")
    most = check_whole("max_num_features", max_num_features, 1, None)
    values, base, name = _of_output(explanation, output)
    n_rows, n_features = values.shape
    shown = min(most, n_features)
    room = CHARACTER * max(len(shorten(one, _LONGEST)) for one in explanation.feature_names)
    size = 6.0 + min(room, 3.0), 1.6 + 0.36 * (shown + (kind == "waterfall"))
    if kind == "waterfall":
        chosen = check_whole("row", row, 0, n_rows - 1)
    axes = new_axes(*size, pyplot=True, layout="constrained") if ax is None else ax
    if kind == "waterfall":
        _waterfall(axes, explanation, values[chosen], float(base[chosen]), chosen, shown)
        given = f"Row {chosen}{name}"
    else:
        left_out = _swarms(axes, explanation, values, shown)
        given = f"Contributions of {plural(n_rows, 'row')}{name}{left_out}"
    frame(
        axes, grid="x" if grid else None, title=given if title is None else title,
        xlabel="Contribution to the margin" if xlabel is None else xlabel,
    )  # fmt: skip
    return axes


def _of_output(explanation: Explanation, output: int | None) -> tuple[F64, F64, str]:
    """Return values and base of an output, and its name for a title."""
    values, base = explanation.values, explanation.base
    n_outputs = 1 if values.ndim == 2 else values.shape[1]
    if output is None and n_outputs > 1:
        raise ParameterError(
            f"output=None: expected 0..{n_outputs - 1}, as the model has {n_outputs} outputs; "
            "choose one"
        )
    number = 0 if output is None else check_whole("output", output, 0, n_outputs - 1)
    if values.ndim == 2:
        return values, base, ""
    return values[:, number], base[:, number], f", output {number}"


def _waterfall(
    axes: Axes, explanation: Explanation, own: F64, base: float, row: int, most: int
) -> None:
    order = np.argsort(-np.abs(own), kind="stable")
    shown, rest = order[:most], order[most:]
    names = [
        f"{shorten(explanation.feature_names[column], _LONGEST)} = "
        f"{shorten(value_text(explanation.data[row, column]), 14)}"
        for column in shown.tolist()
    ]
    amounts = own[shown].tolist()
    if rest.size:
        names.append(plural(rest.size, "other feature"))
        amounts.append(float(own[rest].sum()))
    begin, places = base, range(len(amounts))
    margin = base + sum(amounts)
    for place, amount in zip(places, amounts, strict=True):
        color = _UP if amount >= 0 else _DOWN
        axes.barh(place, amount, left=begin, height=0.7, color=color)
        end = begin + amount
        if place + 1 < len(amounts):
            axes.plot([end, end], [place - 0.35, place + 1.35], color=_GRAY, linewidth=0.8)
        side = "left" if amount >= 0 else "right"
        text = f" {amount:+.4g} "
        axes.text(end, place, text, va="center", ha=side, size="small", parse_math=False)
        begin = end
    for value, what, at in ((base, "base", -0.62), (margin, "margin", len(amounts) - 0.38)):
        axes.axvline(value, color=_GRAY, linestyle=(0, (1, 2)), linewidth=1.0, zorder=0)
        axes.text(value, at, f"{what} {value:.5g}", ha="center", va="center", size="small")
    axes.set_yticks(list(places), names, parse_math=False)
    axes.set_ylim(len(amounts) - 0.1, -0.9)
    ends = [base, *(base + np.cumsum(amounts)).tolist()]
    room = 0.18 * ((max(ends) - min(ends)) or 1.0)
    axes.set_xlim(min(ends) - room, max(ends) + room)


def _swarms(axes: Axes, explanation: Explanation, values: F64, most: int) -> str:
    """Draw a swarm for each of the strongest features; return a note on the others."""
    strength = np.abs(values).mean(axis=0)
    order = np.argsort(-strength, kind="stable")[:most]
    rows = np.arange(len(values))
    if rows.size > _MOST_POINTS:
        rows = np.linspace(0, len(values) - 1, _MOST_POINTS).astype(np.int64)
    low, high = _range_of(values[:, order])
    drawn = None
    for place, column in enumerate(order.tolist()):
        x = values[rows, column]
        y = place + _heights(x, low, high)
        shade = _shades(explanation.data[rows, column])
        known = ~np.isnan(shade)
        axes.scatter(x[~known], y[~known], s=9, color=_GRAY, linewidths=0)
        if known.any():
            drawn = axes.scatter(
                x[known], y[known], s=9, c=shade[known], cmap=_colors(), vmin=0.0, vmax=1.0,
                linewidths=0,
            )  # fmt: skip
    axes.axvline(0.0, color=_GRAY, linewidth=0.8, zorder=0)
    names = [shorten(explanation.feature_names[column], _LONGEST) for column in order.tolist()]
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    if drawn is not None:
        bar = axes.figure.colorbar(drawn, ax=axes, aspect=40, pad=0.02)
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
        bar.set_label("value of the feature (gray: a level, or missing)", size="small")
        bar.outline.set_visible(False)
    hidden = values.shape[1] - order.size
    return f"; {plural(hidden, 'feature')} not drawn" if hidden else ""


def _range_of(values: F64) -> tuple[float, float]:
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _heights(x: F64, low: float, high: float) -> F64:
    """Return where points lie above or below a line, so that those of a heap do not overlap."""
    heap = np.minimum(((x - low) / (high - low) * _HEAPS).astype(np.int64), _HEAPS - 1)
    order = np.argsort(heap, kind="stable")
    counts = np.bincount(heap, minlength=_HEAPS)
    first = np.cumsum(counts) - counts
    rank = np.empty(x.size, np.int64)
    rank[order] = np.arange(x.size) - first[heap[order]]
    level = ((rank + 1) // 2 * np.where(rank % 2, 1, -1)).astype(np.float64)  # 0, 1, -1, 2, ...
    return level * min(0.1, 2 * _HEIGHT / max(int(counts.max(initial=1)), 1))


def _shades(column: npt.NDArray[Any]) -> F64:
    """Return values as shares of their range without the extreme twentieths; NaN if not numbers."""
    numbers: F64 = np.full(column.size, np.nan)
    if column.dtype != object:
        numbers = column.astype(np.float64)
    elif all(isinstance(value, float) for value in column):
        numbers = column.astype(np.float64)  # a numeric column beside categorical ones
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return numbers
    low, high = np.quantile(known, [0.05, 0.95])
    if low == high:
        low, high = known.min(), known.max()
    found: F64 = np.clip((numbers - low) / (float(high - low) or 1.0), 0.0, 1.0)
    return found


def _colors() -> Any:
    """Return a colour map from blue over purple to orange, which colour-blind people tell apart."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("gbdt", [_UP, "#B04A8B", _DOWN])
