"""Pictures of a model; matplotlib is imported only when a picture is drawn.

The figures do not use pyplot, so no window or global state is involved: they can be drawn on a
server and in threads.
"""

from __future__ import annotations

import io
import numbers
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopencl_gbdt.arguments import check_path
from pyopencl_gbdt.data.whole_file import write_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.explain import feature_importances
from pyopencl_gbdt.model.importance_plot import ensemble_of
from pyopencl_gbdt.model.tree_layout import TreeLayout, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, LINE = "#1f2933", "#6b7785", "#9aa5b1"
SPLIT_FILL, CUT_FILL = "#eef2f6", "#ffffff"
#: Colors (red, green, blue) of the strongest leaf below 0 and above 0.
NEGATIVE, POSITIVE = (0.80, 0.40, 0.17), (0.20, 0.47, 0.73)

#: Sizes in inches. A box holds two lines of text; a slot is a box and the space below it.
BOX_HEIGHT, SLOT_HEIGHT, GAP, MARGIN, HEADER = 0.40, 0.50, 0.95, 0.30, 0.75
#: Inches per character at the boxes' font size of 9 points; longer labels are cut.
CHARACTER, LONGEST_LABEL = 0.077, 34


def plot_tree(
    model: Any,
    tree: int = 0,
    path: str | os.PathLike[str] | None = None,
    *,
    max_depth: int = 6,
) -> Figure:
    """Draw one tree with the root at the left; the upper branch of a node is "yes".

    Parameters
    ----------
    model : estimator, Model or Ensemble
    tree : int
        Index of the tree.
    path : path-like, optional
        Where to save the picture; the ending chooses the format (.png, .svg, .pdf).
    max_depth : int
        Deepest level drawn; the picture says how many nodes are below.

    Returns
    -------
    matplotlib.figure.Figure
        Its size depends on the tree: about 0.5 inch per drawn leaf.

    Raises
    ------
    ParameterError
        If there is no such tree.
    ImportError
        If matplotlib is missing.
    """
    ensemble = ensemble_of(model)
    for name, number in (("tree", tree), ("max_depth", max_depth)):
        if isinstance(number, bool) or not isinstance(number, numbers.Integral):
            raise ParameterError(f"{name}={number!r}: expected an integer; give a whole number")
    if not 0 <= tree < len(ensemble.trees):
        raise ParameterError(
            f"tree={tree}: expected 0..{len(ensemble.trees) - 1}; choose a tree that exists"
        )
    if max_depth < 0:
        raise ParameterError(f"max_depth={max_depth}: expected 0 or more; raise max_depth")
    layout = lay_out(ensemble, tree, max_depth, LONGEST_LABEL)
    widths = [CHARACTER * n_characters + 0.2 for n_characters in layout.level_widths]
    width = 2 * MARGIN + sum(widths) + GAP * (len(widths) - 1)
    figure, axes = _canvas(max(width, 7.5), HEADER + layout.n_slots * SLOT_HEIGHT + MARGIN)
    drawn = f"tree {tree} of {len(ensemble.trees)} ({ensemble.objective})"
    _text(axes, MARGIN, 0.25, drawn, size=12, weight="bold", ha="left")
    _text(axes, MARGIN, 0.50, layout.note, size=8.5, color=FAINT, ha="left")
    _draw(axes, layout, widths)
    return _finish(figure, path)


def plot_importances(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    top: int = 20,
    *,
    kind: str = "gain",
) -> Figure:
    """Draw the most important features as horizontal bars.

    Parameters
    ----------
    model : estimator, Model or Ensemble
    path : path-like, optional
        Where to save the picture; the ending chooses the format (.png, .svg, .pdf).
    top : int
        Number of features drawn at most; of equal features the lower column comes first.
    kind : str
        As in ``feature_importances``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ParameterError
        If ``top`` or ``kind`` is out of range.
    ImportError
        If matplotlib is missing.
    """
    if top < 1:
        raise ParameterError(f"top={top}: expected 1 or more; raise top")
    ensemble = ensemble_of(model)
    share = feature_importances(ensemble, kind)
    order = np.argsort(-share, kind="stable")[:top]
    names = [_cut(ensemble.feature_name(int(feature))) for feature in order]
    label_width = CHARACTER * max(map(len, names)) + 0.2
    bars = 5.0
    figure, axes = _canvas(
        2 * MARGIN + label_width + bars + 0.8, HEADER + 0.3 * len(names) + MARGIN
    )
    title = f"Feature importance: {kind.replace('_', ' ')}, share of the sum"
    _text(axes, MARGIN, 0.25, title, size=12, weight="bold", ha="left")
    hidden = share.size - len(names)
    if not share.any():
        note = "the model has no splits"
    elif hidden:
        note = f"not drawn: {hidden} of {share.size} features, {1 - share[order].sum():.1%} in all"
    else:
        note = f"all {share.size} features"
    _text(axes, MARGIN, 0.50, note, size=8.5, color=FAINT, ha="left")
    zero = MARGIN + label_width
    scale = bars / max(float(share.max()), 1e-30)
    for row, (feature, name) in enumerate(zip(order, names, strict=True)):
        middle = HEADER + 0.3 * row + 0.15
        length = scale * float(share[feature])
        axes.barh(middle, length, height=0.2, left=zero, color=POSITIVE)
        _text(axes, zero - 0.1, middle, name, label_width - 0.1, ha="right")
        _text(axes, zero + length + 0.08, middle, f"{share[feature]:.3f}", size=8, ha="left")
    axes.plot([zero, zero], [HEADER, HEADER + 0.3 * len(names)], color=LINE, linewidth=1)
    return _finish(figure, path)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure whose data coordinates are inches from the upper left corner."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib; install it by: pip install 'pyopencl_gbdt[plot]'"
        ) from error
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_autoscale_on(False)
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    return figure, axes


def _finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    if path is not None:
        check_path("path", path)
        longest_side = float(max(figure.get_size_inches()))
        name, drawn = os.fsdecode(path), io.BytesIO()
        ending = PurePath(name).suffix
        dpi = min(120.0, 60_000 / longest_side)  # Agg draws at most 65,535 pixels
        figure.savefig(drawn, dpi=dpi, format=ending[1:] or "png")
        write_whole(name if ending else f"{name}.png", drawn.getvalue())
    return figure


def _text(
    axes: Axes, x: float, y: float, text: str, room: float | None = None, **style: Any
) -> None:
    """Write text, with ``$`` as a plain character; reduce the font size if it exceeds ``room``."""
    defaults: dict[str, Any] = {"size": 9.0, "color": INK, "ha": "center", "va": "center"}
    style = defaults | style
    written = axes.text(x, y, text, parse_math=False, **style)
    if room is not None:
        inches = written.get_window_extent().width / axes.figure.dpi
        if inches > room:
            written.set_fontsize(style["size"] * room / inches)


def _draw(axes: Axes, layout: TreeLayout, widths: list[float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    strongest = max((abs(box.value) for box in layout.boxes if box.is_leaf), default=0.0)
    for box in layout.boxes:
        left = MARGIN + sum(widths[: box.level]) + box.level * GAP
        box_width = widths[box.level]
        middle = HEADER + (box.slot + 0.5) * SLOT_HEIGHT
        if box.parent is not None:
            parent_middle = HEADER + (box.parent.slot + 0.5) * SLOT_HEIGHT
            _draw_edge(axes, left - GAP, parent_middle, left, middle, 0.8 + 3.2 * box.share)
            _text(
                axes,
                left - 0.08,
                middle + (-0.09 if box.slot < box.parent.slot else 0.09),  # outside the curve
                box.answer,
                size=7.5,
                ha="right",
                color=INK if "missing" in box.answer else FAINT,
            )
        fill = _leaf_color(box.value, strongest) if box.is_leaf else SPLIT_FILL
        axes.add_patch(
            FancyBboxPatch(
                (left + 0.04, middle - BOX_HEIGHT / 2 + 0.04),
                box_width - 0.08,
                BOX_HEIGHT - 0.08,
                boxstyle="round,pad=0.04,rounding_size=0.06",
                facecolor=CUT_FILL if box.is_cut else fill,
                edgecolor=LINE,
                linestyle="--" if box.is_cut else "-",
                zorder=2,
            )
        )
        center = left + box_width / 2
        room = box_width - 0.1
        _text(axes, center, middle - 0.075, box.lines[0], room, zorder=3)
        _text(axes, center, middle + 0.095, box.lines[1], room, size=7, zorder=3)


def _draw_edge(axes: Axes, x0: float, y0: float, x1: float, y1: float, width: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    bend = x0 + 0.45 * (x1 - x0)
    curve = Path(
        [(x0, y0), (bend, y0), (x0, y1), (bend, y1), (x1, y1)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO],
    )
    axes.add_patch(
        PathPatch(curve, fill=False, edgecolor=LINE, linewidth=width, capstyle="butt", zorder=1)
    )


def _leaf_color(value: float, strongest: float) -> tuple[float, float, float]:
    """Blend white with the color of the sign; text stays readable on the strongest leaf."""
    strength = 0.10 + 0.45 * abs(value) / strongest if strongest > 0.0 else 0.0
    red, green, blue = POSITIVE if value >= 0.0 else NEGATIVE
    return (
        1.0 - strength * (1.0 - red),
        1.0 - strength * (1.0 - green),
        1.0 - strength * (1.0 - blue),
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
