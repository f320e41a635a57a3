"""Bar charts as inline SVG, without a plotting library; the page's style sets the colours."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

#: The page's style sheet defines colours ``c0`` to ``c7``; further ones start again at ``c0``.
N_COLOURS = 8
_WIDTH, _ROW, _BAR, _BAR_Y = 340, 34, 9, 18
_LABEL_Y = 13
#: Most characters above a bar, label and text together, in a font of wide letters.
_LETTERS = 42


@dataclass(frozen=True)
class DrawnBar:
    """A bar and the text above it.

    Attributes
    ----------
    label, text : str
        Left-aligned and right-aligned text.
    parts : sequence of (float, int, str)
        Length, colour number and tooltip of each part, from left to right.
    """

    label: str
    text: str
    parts: Sequence[tuple[float, int, str]]

    @property
    def length(self) -> float:
        return sum(part[0] for part in self.parts)


def bars(title: str, rows: Sequence[DrawnBar]) -> str:
    """Return an SVG of horizontal bars on a common scale that starts at 0.

    Parameters
    ----------
    title : str
        Read aloud by screen readers.
    rows : sequence of Bar
    """
    longest = max((row.length for row in rows), default=0.0) or 1.0
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_ROW * len(rows)}" role="img" '
        f'aria-label="{html.escape(title)}">'
    ]
    for number, row in enumerate(rows):
        y = number * _ROW
        label = _cut(row.label, _LETTERS - len(row.text))
        parts.append(f'<text x="0" y="{y + _LABEL_Y}">{html.escape(label)}</text>')
        parts.append(
            f'<text x="{_WIDTH}" y="{y + _LABEL_Y}" class="value">{html.escape(row.text)}</text>'
        )
        parts.append(_rectangle(0, y + _BAR_Y, _WIDTH, "track", ""))
        x = 0.0
        for length, colour, tip in row.parts:
            width = _WIDTH * length / longest
            parts.append(_rectangle(x, y + _BAR_Y, width, f"c{colour % N_COLOURS}", tip))
            x += width
    return "".join([*parts, "</svg>"])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _rectangle(x: float, y: float, width: float, kind: str, tip: str) -> str:
    tooltip = f"<title>{html.escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR}" '
        f'class="{kind}">{tooltip}</rect>'
    )
