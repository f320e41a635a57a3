"""One line that tells the current step of a test."""

from __future__ import annotations

import sys

from pyopencl_gbdt.cli.output import escaped

_COLUMNS = 79


class StepLine:
    """A line that is overwritten on a terminal; elsewhere only the first line is written."""

    def __init__(self, title: str) -> None:
        self.title = escaped(title)
        self.live = sys.stderr.isatty()
        if not self.live:
            sys.stderr.write(f"testing {self.title.strip()}\n")
            sys.stderr.flush()

    def show(self, line: str) -> None:
        """Show the current step."""
        if self.live:
            sys.stderr.write("\r" + f"{self.title}  {line}"[:_COLUMNS].ljust(_COLUMNS))
            sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self.live:
            sys.stderr.write("\r" + " " * _COLUMNS + "\r")
            sys.stderr.flush()
