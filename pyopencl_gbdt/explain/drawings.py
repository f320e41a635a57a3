"""Charts as inline SVG, without a plotting library; the page's style sets the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tree_layout import Box, TreeLayout, lay_out

#: The page's style sheet defines colours ``c0`` to ``c7``; further ones start again.
N_COLOURS = 8
#: Size of a chart, and the room of its axes, in units of a pixel on a phone.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 350, 210, 48, 10, 8, 34
#: Units of a character of a tree's texts, of a box and the gaps between boxes.
_CHARACTER, _BOX, _SLOT, _GAP = 6.6, 36, 46, 44
_LONGEST = 30


@dataclass(frozen=True)
class Curve:
    """A curve of a chart.

    Attributes
    ----------
    points : sequence of (float, float)
        Ascending; points that are not finite are left out.
    """

    name: str
    points: Sequence[tuple[float, float]]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two numbers, ``most`` at most or one more."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def chart(title: str, curves: Sequence[Curve], x_label: str, mark: float | None = None) -> str:
    """Return lines on common axes; ``mark`` is where a dotted vertical line stands."""
    drawn = [
        [(x, y) for x, y in curve.points if math.isfinite(x) and math.isfinite(y)]
        for curve in curves
    ]
    all_points = [point for points in drawn for point in points]
    if not all_points:
        return '<p class="soft">No number to draw.</p>'
    x_low, x_high = _range([x for x, _ in all_points], 0.0)
    y_low, y_high = _range([y for _, y in all_points], 0.05)
    frame = _Frame(x_low, x_high, y_low, y_high)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += frame.axes(x_label)
    if mark is not None and x_low <= mark <= x_high:
        x = frame.x(mark)
        parts.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM, "mark"))
    for number, points in enumerate(drawn):
        placed = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in points)
        kind = f"s{number % N_COLOURS}"
        parts.append(f'<polyline class="line {kind}" points="{placed}"/>')
        if len(points) <= 25:
            parts += [
                f'<circle class="dot {kind}" cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="2.5">'
                f"<title>{x:.5g}: {y:.5g}</title></circle>"
                for x, y in points
            ]
    return "".join([*parts, "</svg>"])


@dataclass(frozen=True)
class _Frame:
    """Axes: from numbers to places."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, number: float) -> float:
        share = (number - self.x_low) / (self.x_high - self.x_low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, number: float) -> float:
        share = (number - self.y_low) / (self.y_high - self.y_low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def axes(self, x_label: str) -> list[str]:
        parts, bottom = [], _HEIGHT - _BOTTOM
        for number in ticks(self.y_low, self.y_high):
            y = self.y(number)
            parts.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"))
            parts.append(_text(_LEFT - 5, y + 4, f"{number:.4g}", "end"))
        for number in ticks(self.x_low, self.x_high):
            parts.append(_text(self.x(number), bottom + 15, f"{number:.5g}", "middle"))
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(_text(middle, _HEIGHT - 4, shorten(x_label, 44), "middle soft"))
        return parts


def _range(numbers: Sequence[float], room: float) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    if low == high:
        low, high = low - (abs(low) or 1.0) * 0.5, high + (abs(high) or 1.0) * 0.5
    return low - room * (high - low), high + room * (high - low)


def tree_drawing(ensemble: Ensemble, tree: int, max_depth: int) -> tuple[str, str]:
    """Return a picture of a tree, the root at the left, and a note on how to read it."""
    layout = lay_out(ensemble, tree, max_depth, _LONGEST)
    widths = [_CHARACTER * n_characters + 14 for n_characters in layout.level_widths]
    lefts = [sum(widths[:level]) + level * _GAP for level in range(len(widths))]
    width, height = lefts[-1] + widths[-1] + 2, layout.n_slots * _SLOT + 4
    parts = [
        f'<svg class="tree" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="tree {tree}" '
        f'style="width:{width:.0f}px">'
    ]
    strongest = max((abs(box.value) for box in layout.boxes if box.is_leaf), default=0.0) or 1.0
    for box in layout.boxes:
        parts += _box(box, lefts, widths, strongest)
    return "".join([*parts, "</svg>"]), _note(layout)


def _note(layout: TreeLayout) -> str:
    return layout.note.replace("  ·  line width: share of the cover (sum of Hessians)", "")


def _box(box: Box, lefts: Sequence[float], widths: Sequence[float], strongest: float) -> list[str]:
    left, width = lefts[box.level] + 1, widths[box.level]
    middle = (box.slot + 0.5) * _SLOT + 2
    kind, strength = "split", 1.0
    if box.is_leaf:
        kind = "above" if box.value >= 0 else "below"
        strength = 0.10 + 0.3 * abs(box.value) / strongest
    parts = []
    if box.parent is not None:
        x, y = lefts[box.parent.level] + widths[box.parent.level] + 1, box.parent.slot + 0.5
        bend, begin = x + _GAP / 2, y * _SLOT + 2
        parts.append(
            f'<path class="edge" d="M{x:.1f},{begin:.1f} C{bend:.1f},{begin:.1f} {bend:.1f},'
            f'{middle:.1f} {left:.1f},{middle:.1f}"><title>{escape(box.answer)}</title></path>'
        )
    top = middle - _BOX / 2
    parts.append(
        f'<rect class="{kind}{" cut" if box.is_cut else ""}" x="{left:.1f}" y="{top:.1f}" '
        f'width="{width:.1f}" height="{_BOX}" rx="5" fill-opacity="{strength:.2f}"/>'
    )
    center = left + width / 2
    parts.append(_text(center, middle - 3, box.lines[0], "middle"))
    parts.append(_text(center, middle + 11, box.lines[1], "middle small"))
    return parts


def _line(x0: float, y0: float, x1: float, y1: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
