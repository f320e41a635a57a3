"""Pictures of partial dependence: curves, bars of levels, or a map of two features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.dependence import partial_dependence
from pyopencl_gbdt.explain.results import PartialDependence, value_text
from pyopencl_gbdt.model.pictures import COLORS, FAINT, frame, new_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most curves of single rows, and levels that a picture names in full.
_MOST_ROWS, _LONGEST_LEVEL = 200, 16
_STYLES = ("-", "--", "-.", ":")


def plot_partial_dependence(
    model: Any,
    X: Any = None,
    features: Any = None,
    *,
    output: int | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    **options: Any,
) -> Axes:
    """Draw how predictions change with one feature, or with two.

    Parameters
    ----------
    model : PartialDependence, or Model or fitted estimator
        What ``partial_dependence`` returned; or a model, with rows and features.
    X, features
        With a model: as for ``partial_dependence``.
    output : int or None
        Which output of a model that has several, such as a class. None draws a curve for each,
        which is possible for means of one feature.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``.
    title, xlabel, ylabel : str or None
        None names what is drawn; an empty string leaves it out.
    **options
        With a model: further arguments of ``partial_dependence``, such as ``grid``, the values.
        ``kind="both"`` draws thin curves of single rows too, 200 at most.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are no rows or features, ``output`` is out of range, or it is None where one
        picture cannot show all.
    ImportError
        If matplotlib is missing.
    """
    if isinstance(model, PartialDependence):
        if X is not None or features is not None or options:
            raise ParameterError(
                "X, features and other arguments go with a model: expected none beside a "
                "PartialDependence; leave them out"
            )
        found = model
    else:
        if X is None or features is None:
            missing = "X" if X is None else "features"
            raise ParameterError(
                f"{missing}=None: expected rows and features beside a model; give both, or what "
                "partial_dependence returned"
            )
        found = partial_dependence(model, X, features, **options)
    outputs = _outputs(found, output)
    axes = new_axes(6.4, 4.2, pyplot=True, layout="constrained") if ax is None else ax
    names = [shorten(name) for name in found.feature_names]
    chosen = f", output {outputs[0]}" if len(outputs) < _n_outputs(found) else ""
    response = "Prediction" if found.average is None else "Mean prediction"
    pair = len(found.grid) == 2
    labels = {"title": f"Partial dependence{chosen}", "xlabel": names[0]}
    labels["ylabel"] = names[1] if pair else response
    if pair:
        _map(axes, found, outputs[0])
    elif found.grid[0].dtype == object:
        _bars(axes, found, outputs)
    else:
        _curves(axes, found, outputs)
    given = {"title": title, "xlabel": xlabel, "ylabel": ylabel}
    labels |= {name: text for name, text in given.items() if text is not None}
    frame(axes, grid=None if pair else "both", **labels)
    return axes


def _n_outputs(found: PartialDependence) -> int:
    return len(found.individual if found.average is None else found.average)  # type: ignore[arg-type]


def _outputs(found: PartialDependence, output: int | None) -> list[int]:
    """Return the outputs to draw; raise an error for what one picture cannot show."""
    if found.average is None and len(found.grid) == 2:
        raise ParameterError(
            'kind="individual": expected means of two features; compute them with kind="average"'
        )
    n_outputs = _n_outputs(found)
    if output is not None:
        return [check_whole("output", output, 0, n_outputs - 1, move="choose one")]
    if n_outputs > 1 and (len(found.grid) == 2 or found.individual is not None):
        raise ParameterError(
            f"output=None: expected 0..{n_outputs - 1}, as one picture cannot show {n_outputs} "
            "outputs of two features or of single rows; choose one"
        )
    return list(range(n_outputs))


def _curves(axes: Axes, found: PartialDependence, outputs: list[int]) -> None:
    """Draw the mean of each output, and thin curves of single rows."""
    values = found.grid[0].astype(np.float64)
    known = ~np.isnan(values)
    if found.individual is not None:
        rows = found.individual[outputs[0]]
        shown = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).astype(np.int64)
        drawn = rows[shown][:, known].T
        axes.plot(values[known], drawn, color=FAINT, linewidth=0.6, alpha=0.35)
    if found.average is None:
        return
    for number, output in enumerate(outputs):
        color, style = COLORS[number % len(COLORS)], _STYLES[number % len(_STYLES)]
        label, mean = f"output {output}", found.average[output]
        axes.plot(values[known], mean[known], style, color=color, label=label, linewidth=2.0)
        for value in mean[~known]:  # where the feature is missing
            axes.axhline(float(value), color=color, linestyle=(0, (1, 2)), linewidth=1.0)
            where = axes.get_yaxis_transform()
            axes.text(1.0, float(value), "missing", va="bottom", ha="right", size="small",
                      transform=where)  # fmt: skip
    if len(outputs) > 1:
        axes.legend(frameon=False)


def _bars(axes: Axes, found: PartialDependence, outputs: list[int]) -> None:
    """Draw bars of levels, or the spread of the rows if there are no means."""
    names = [shorten(value_text(level), _LONGEST_LEVEL) for level in found.grid[0]]
    places = np.arange(len(names))
    width = 0.8 / len(outputs)
    for number, output in enumerate(outputs):
        color = COLORS[number % len(COLORS)]
        shift = (number - (len(outputs) - 1) / 2) * width
        if found.average is not None:
            axes.bar(places + shift, found.average[output], width, color=color,
                     label=f"output {output}")  # fmt: skip
        if found.individual is not None:
            axes.boxplot(
                list(found.individual[output].T), positions=places, widths=0.5, sym="",
                medianprops={"color": FAINT}, manage_ticks=False,
            )  # fmt: skip
    turned = sum(map(len, names)) > 60
    axes.set_xticks(places.tolist(), names, parse_math=False,
                    rotation=45 if turned else 0, ha="right" if turned else "center")  # fmt: skip
    if len(outputs) > 1:
        axes.legend(frameon=False)


def _map(axes: Axes, found: PartialDependence, output: int) -> None:
    """Draw the mean prediction at each pair of values as a colour."""
    assert found.average is not None
    edges = [_edges(own) for own in found.grid]
    drawn = axes.pcolormesh(*edges, found.average[output].T, cmap="viridis")
    for own, axis in zip(found.grid, (axes.xaxis, axes.yaxis), strict=True):
        if own.dtype == object:
            names = [shorten(value_text(level), _LONGEST_LEVEL) for level in own]
            axis.set_ticks(range(len(names)), names, parse_math=False)
    axes.figure.colorbar(drawn, ax=axes, label="mean prediction")


def _edges(grid: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the borders of cells around the values of a grid."""
    values = np.arange(grid.size) if grid.dtype == object else grid
    numbers: npt.NDArray[np.float64] = values.astype(np.float64)
    if numbers.size == 1:
        return np.array([numbers[0] - 0.5, numbers[0] + 0.5])
    middles = (numbers[1:] + numbers[:-1]) / 2
    return np.concatenate([[2 * numbers[0] - middles[0]], middles, [2 * numbers[-1] - middles[-1]]])
