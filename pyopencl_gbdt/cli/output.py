"""Output of the command line: lines and tables for people, and files written atomically."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.device.timing import Stopwatch
from pyopencl_gbdt.errors import DataError, FileWriteError

if TYPE_CHECKING:
    from pyopencl_gbdt.device import Capabilities


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


#: Most columns of a line, and fewest: narrower terminals break lines themselves.
WIDTH, _NARROWEST = 80, 30
#: Columns to the left of a `section`'s text.
INDENT = 9
#: Characters that control a terminal, except line ends and tabs: control characters, also those
#: above 127, other line ends, and marks that change the direction of writing.
_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)


def escaped(text: str) -> str:
    """Return a text with control characters escaped, as in Python's strings.

    Names of devices, columns and files come from drivers, data and other machines.
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str = "") -> None:
    """Write a line to standard output and flush, also into a pipe."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Write a line to standard error."""
    _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # the terminal's encoding may lack characters of a feature's name
    text = escaped(text).encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard error" if stream is sys.stderr else "standard output"
        raise _unwritten(name, error) from error


def _unwritten(name: str, error: OSError) -> FileWriteError:
    return FileWriteError(
        f"{name}: cannot be written ({error.strerror or error}): expected a place with free space; "
        f"free some space, or write elsewhere"
    )


def width() -> int:
    """Return how many columns a line may have: those of the terminal, `WIDTH` at most."""
    return max(_NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def wrapped(text: str, first: str = "", later: str | None = None) -> str:
    """Wrap text to `width()` columns at spaces.

    ``first``, ``later``: the beginning of the first line and of later lines; by default, `later` is
    as many spaces as `first` is wide.
    """
    return textwrap.fill(
        text,
        width(),
        initial_indent=first,
        subsequent_indent=" " * len(first) if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def section(title: str, *paragraphs: str) -> None:
    """Print a title with paragraphs to its right."""
    for number, paragraph in enumerate(paragraphs):
        say(wrapped(paragraph, (title if number == 0 else "").ljust(INDENT)))


def kernel_lines(variants: Mapping[str, str], caps: Capabilities, *, verbose: bool) -> list[str]:
    """Describe each kernel's variant: in one line, or in detail by ``group_variants``."""
    from pyopencl_gbdt.device.variants import summary

    if verbose:
        return group_variants(variants)
    return [f"{summary(variants, caps)} (--verbose lists them)"]


def group_variants(variants: Mapping[str, str]) -> list[str]:
    """Return ``variant: kernel, kernel, ...`` for every variant, in order of the kernels."""
    kernels: dict[str, list[str]] = {}
    for kernel, variant in variants.items():
        kernels.setdefault(variant, []).append(kernel)
    return [f"{variant}: {', '.join(names)}" for variant, names in kernels.items()]


class Progress:
    """Takes the line that `train` reports after every round; shows some lines, measures time.

    Parameters
    ----------
    show : callable or None
        Called with (round number from 1, the line's metrics) for rounds to show.
    every : int
        Show the first and last round, and every round whose number is a multiple of this.
    waits : bool
        Whether there are metrics: then a round has finished when its line arrives.
    """

    def __init__(
        self,
        show: Callable[[int, list[str]], None] | None,
        *,
        n_rounds: int,
        every: int,
        waits: bool,
    ) -> None:
        self.n_rounds, self.show, self.every, self.waits = n_rounds, show, every, waits
        self.n_reported = 0
        self.watch = Stopwatch()
        self.set_up = self.rounds = 0.0

    def report(self, line: str) -> None:
        """Take the next round's line, ``[number]<tab>metric:value<tab>...``."""
        self.n_reported += 1
        if self.n_reported == 1:
            self.set_up = self.watch.lap()
        number = self.n_reported
        if self.show and (number in (1, self.n_rounds) or number % self.every == 0):
            self.show(number, line.split("\t")[1:])

    def finish(self) -> None:
        """Stop the clock, after training has returned."""
        self.rounds = self.watch.lap()

    def summary(self) -> str:
        """Return the times of set-up and of a round."""
        if self.n_reported == 0:
            return "no round"
        first = " and the first round" if self.waits else ""
        text = f"set-up{first} {self.set_up:.2f} s"
        timed = self.n_reported - self.waits
        if timed:
            text += f", then {1e3 * self.rounds / timed:.2f} ms a round"
        return f"{text}; {self.set_up + self.rounds:.2f} s in all"


def check_output(path: str, option: str) -> None:
    """Raise ``DataError`` if a file cannot be written here; called before the work."""
    target = Path(path).resolve()
    if Path(path).is_dir():
        raise DataError(f"{option} {path}: expected a file, this is a folder; add a file name")
    if _is_special(path):
        return
    if not target.parent.is_dir():
        raise DataError(f"{option} {path}: the folder {target.parent} is absent; create it first")
    if not os.access(target.parent, os.W_OK):
        raise DataError(f"{option} {path}: the folder {target.parent} is read-only; use another")


def _is_special(path: str) -> bool:
    """Tell whether the path is an existing non-regular file: a pipe, ``/dev/null``."""
    return Path(path).exists() and not Path(path).is_file()


def write_text(path: str, text: str) -> None:
    """Write a UTF-8 file atomically, replacing an existing one.

    The target of a symbolic link is replaced. A pipe or device is written to directly.

    Raises
    ------
    OSError
        Names the file.
    """
    if _is_special(path):  # a replacement would be a regular file
        try:
            with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(path, error) from error
        return
    write_whole(path, text.encode("utf-8"))


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
