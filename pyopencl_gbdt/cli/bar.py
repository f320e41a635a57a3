"""A progress bar for tasks of unequal duration."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from pyopencl_gbdt.cli.output import escaped, width

_CELLS = 20
#: Share of the work after which the remaining time is shown.
_ENOUGH = 0.05


class Bar:
    """A progress bar, overwritten in place on a terminal; elsewhere one line per task, no bar.

    Parameters
    ----------
    seconds : mapping of str to float
        Each task and its estimated seconds.
    parts : int
        Number of parts of a task, assumed to be equally long.
    """

    def __init__(self, seconds: Mapping[str, float], parts: int) -> None:
        self.seconds, self.parts = seconds, parts
        self.total = sum(seconds.values()) or 1.0
        self.finished: set[str] = set()
        self.task, self.part = "", 0
        self.live = sys.stderr.isatty()
        self.start = time.monotonic()

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        done = sum(seconds for task, seconds in self.seconds.items() if task in self.finished)
        begun = self.seconds.get(self.task, 0.0) * min(self.part / self.parts, 1.0)
        return min((done + begun) / self.total, 1.0)

    def begin(self, task: str, part: str) -> None:
        """Show the current task and part; a new task marks the previous one as done."""
        if task != self.task:
            self.finished.add(self.task)
            self.task, self.part = task, 0
            if not self.live:
                self._write(f"{escaped(task)} ({self.share:.0%} done)\n")
        else:
            self.part += 1
        if self.live:
            cells = width() - 1
            self._write("\r" + escaped(self.line(part))[:cells].ljust(cells))

    def line(self, part: str) -> str:
        """Return the bar with its text."""
        share, passed = self.share, time.monotonic() - self.start
        full = round(share * _CELLS)
        left = ""
        if share >= _ENOUGH:
            minutes, seconds = divmod(round(passed / share * (1 - share)), 60)
            left = f", {minutes}:{seconds:02d} left"
        return f"[{'#' * full}{'.' * (_CELLS - full)}]{share:>4.0%}{left}  {self.task}: {part}"

    def clear(self) -> None:
        """Clear the line, before other lines are written."""
        if self.live:
            self._write("\r" + " " * (width() - 1) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
