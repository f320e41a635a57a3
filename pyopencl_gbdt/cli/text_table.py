"""A table for terminals; where the terminal is narrower, each row becomes a paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.cli.output import width, wrapped

#: Columns that the last, free text of a row needs to be worth a column.
_TEXT = 8
#: Stands for a space at which a paragraph has no line break.
_TOGETHER = "\0"


class TextTable:
    """Formats rows one at a time, so that they can be printed as they are measured.

    Parameters
    ----------
    first : (str, int)
        Heading and width of the first column, which is left-aligned.
    figures : sequence of (str, int)
        Headings and widths of further columns, which are right-aligned.
    text : str
        Heading of the last column: text of any length, which is wrapped.
    indent : int, default 0
        Spaces before each line.
    """

    def __init__(
        self,
        first: tuple[str, int],
        figures: Sequence[tuple[str, int]],
        text: str,
        indent: int = 0,
    ) -> None:
        self.first, self.figures, self.text, self.margin = first, figures, text, " " * indent
        needed = indent + first[1] + sum(cells for _, cells in figures) + 2 + _TEXT
        self.is_stacked = needed > width()

    def head(self) -> list[str]:
        """Return the line of headings; none if rows are paragraphs, which name their figures."""
        if self.is_stacked:
            return []
        return [self._line(self.first[0], [name for name, _ in self.figures]) + self.text]

    def row(self, name: str, figures: Sequence[str], text: str) -> str:
        """Return a row; a name wider than its column gets a line of its own.

        A paragraph leaves out empty figures.
        """
        if not self.is_stacked:
            fits = len(name) <= self.first[1]
            line = wrapped(text, self._line(name if fits else "", figures))
            return line if fits else f"{self.margin}{name}\n{line}"
        named = zip(self.figures, figures, strict=True)
        said = [f"{head}: {figure}" for (head, _), figure in named if figure]
        joined = ", ".join(one.replace(" ", _TOGETHER) for one in said)
        words = wrapped(f"{joined}, {self.text}: {text}", f"{self.margin}    ")
        return f"{self.margin}{name}\n{words.replace(_TOGETHER, ' ')}"

    def _line(self, name: str, figures: Sequence[str]) -> str:
        cells = zip(figures, self.figures, strict=True)
        aligned = "".join(f"{figure:>{cells}}" for figure, (_, cells) in cells)
        return f"{self.margin}{name:<{self.first[1]}}{aligned}  "
