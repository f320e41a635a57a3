"""Picture of one tree, on its own figure or on the user's axes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.pictures import (
    CHARACTER,
    FAINT,
    INK,
    LINE,
    LONGEST_LABEL,
    check_tree_number,
    ensemble_of,
    new_axes,
    save,
)
from pyopencl_gbdt.model.tree_layout import TreeLayout, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Texts are dark in every style, so a figure of its own is white.
PAPER = "#ffffff"
SPLIT_FILL, CUT_FILL = "#eef2f6", "#ffffff"
#: Colors (red, green, blue) of the strongest leaf below 0 and above 0; colour-blind people tell
#: them apart.
NEGATIVE, POSITIVE = (0.80, 0.40, 0.17), (0.20, 0.47, 0.73)

#: Sizes in inches. A box holds two lines of text; a slot is a box and the space below it.
BOX_HEIGHT, SLOT_HEIGHT, GAP, MARGIN, HEADER = 0.40, 0.50, 0.95, 0.30, 1.0
NARROWEST = 7.5


def plot_tree(
    model: Any,
    tree: int = 0,
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    max_depth: int = 6,
) -> Axes:
    """Draw one tree with the root at the left; the upper branch of a node is "yes".

    Parameters
    ----------
    model : estimator, Model or Ensemble
    tree : int
        Index of the tree.
    path : path-like, optional
        Where to save the picture; the ending chooses the format (.png, .svg, .pdf).
    ax : matplotlib.axes.Axes or None
        Where to draw, as large as fits. None makes a new figure of the size that the tree needs,
        about 0.5 inch per drawn leaf: with ``matplotlib.pyplot``, or without it if ``path`` is
        given.
    max_depth : int
        Deepest level drawn; the picture says how many nodes are below.

    Returns
    -------
    matplotlib.axes.Axes
        Its figure is ``axes.figure``.

    Raises
    ------
    ParameterError
        If there is no such tree.
    ImportError
        If matplotlib is missing.
    """
    ensemble = ensemble_of(model)
    check_tree_number(ensemble, tree)
    check_whole("max_depth", max_depth, 0, move="raise max_depth")
    layout = lay_out(ensemble, tree, max_depth, LONGEST_LABEL)
    widths = [CHARACTER * n_characters + 0.2 for n_characters in layout.level_widths]
    width = max(2 * MARGIN + sum(widths) + GAP * (len(widths) - 1), NARROWEST)
    height = HEADER + layout.n_slots * SLOT_HEIGHT + MARGIN
    if ax is None:
        ax = new_axes(width, height, pyplot=path is None)
        ax.figure.set_facecolor(PAPER)
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    page = _page(ax, width, height)
    drawn = f"tree {tree} of {len(ensemble.trees)} ({ensemble.objective})"
    page.text(MARGIN, 0.25, drawn, size=12, weight="bold", ha="left")
    page.text(MARGIN, 0.50, layout.note, size=8.5, color=FAINT, ha="left")
    _legend(page, layout)
    _draw(page, layout, widths)
    save(ax, path)
    return ax


@dataclass(frozen=True)
class _Page:
    """Axes whose data coordinates are inches from the upper left corner, then scaled."""

    axes: Axes
    scale: float

    def text(self, x: float, y: float, text: str, room: float | None = None, **style: Any) -> None:
        """Write text, with ``$`` as a plain character; shrink it if it exceeds ``room`` inches."""
        defaults: dict[str, Any] = {"size": 9.0, "color": INK, "ha": "center", "va": "center"}
        style = defaults | style
        size = style.pop("size") * self.scale
        written = self.axes.text(x, y, text, size=size, parse_math=False, **style)
        if room is not None:
            inches = written.get_window_extent().width / self.axes.figure.dpi
            if inches > room * self.scale:
                written.set_fontsize(size * room * self.scale / inches)


def _page(axes: Axes, width: float, height: float) -> _Page:
    axes.set_axis_off()
    axes.set_autoscale_on(False)
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    axes.set_aspect("equal", anchor="NW")
    room, dpi = axes.get_window_extent(), axes.figure.dpi
    return _Page(axes, float(min(room.width / width, room.height / height)) / dpi)


def _legend(page: _Page, layout: TreeLayout) -> None:
    """Say what the boxes mean, of those that are drawn."""
    from matplotlib.patches import Patch

    leaves = [box.value for box in layout.boxes if box.is_leaf]
    meanings = [
        (any(value > 0.0 for value in leaves), "leaf above 0", _leaf_color(1.0, 1.0), "-"),
        (any(value < 0.0 for value in leaves), "leaf below 0", _leaf_color(-1.0, 1.0), "-"),
        (any(not (b.is_leaf or b.is_cut) for b in layout.boxes), "split", SPLIT_FILL, "-"),
        (any(box.is_cut for box in layout.boxes), "split, branches not drawn", CUT_FILL, "--"),
    ]
    page.axes.legend(
        handles=[
            Patch(facecolor=fill, edgecolor=LINE, linestyle=line, label=text)
            for drawn, text, fill, line in meanings
            if drawn
        ],
        loc="center left",
        bbox_to_anchor=(MARGIN, 0.76),
        bbox_transform=page.axes.transData,
        ncols=len(meanings),
        fontsize=8.5 * page.scale,
        labelcolor=INK,
        frameon=False,
        borderpad=0.0,
        borderaxespad=0.0,
    )


def _draw(page: _Page, layout: TreeLayout, widths: list[float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    strongest = max((abs(box.value) for box in layout.boxes if box.is_leaf), default=0.0)
    for box in layout.boxes:
        left = MARGIN + sum(widths[: box.level]) + box.level * GAP
        box_width = widths[box.level]
        middle = HEADER + (box.slot + 0.5) * SLOT_HEIGHT
        if box.parent is not None:
            parent_middle = HEADER + (box.parent.slot + 0.5) * SLOT_HEIGHT
            _draw_edge(page, left - GAP, parent_middle, left, middle, 0.8 + 3.2 * box.share)
            page.text(
                left - 0.08,
                middle + (-0.09 if box.slot < box.parent.slot else 0.09),  # outside the curve
                box.answer,
                size=7.5,
                ha="right",
                color=INK if "missing" in box.answer else FAINT,
            )
        fill = _leaf_color(box.value, strongest) if box.is_leaf else SPLIT_FILL
        page.axes.add_patch(
            FancyBboxPatch(
                (left + 0.04, middle - BOX_HEIGHT / 2 + 0.04),
                box_width - 0.08,
                BOX_HEIGHT - 0.08,
                boxstyle="round,pad=0.04,rounding_size=0.06",
                facecolor=CUT_FILL if box.is_cut else fill,
                edgecolor=LINE,
                linestyle="--" if box.is_cut else "-",
                linewidth=page.scale,
                zorder=2,
            )
        )
        center = left + box_width / 2
        room = box_width - 0.1
        page.text(center, middle - 0.075, box.lines[0], room, zorder=3)
        page.text(center, middle + 0.095, box.lines[1], room, size=7, zorder=3)


def _draw_edge(page: _Page, x0: float, y0: float, x1: float, y1: float, width: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    bend = x0 + 0.45 * (x1 - x0)
    curve = Path(
        [(x0, y0), (bend, y0), (x0, y1), (bend, y1), (x1, y1)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO],
    )
    width *= page.scale
    page.axes.add_patch(
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
