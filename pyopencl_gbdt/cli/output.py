"""What the command line writes: lines for people, and files that appear whole or not at all."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from pyopencl_gbdt.data.whole_file import write_whole
from pyopencl_gbdt.errors import DataError, FileWriteError

#: Columns of the narrowest terminal that is written for.
WIDTH = 80
#: Columns before the text of a `section`.
INDENT = 9
#: What a terminal obeys instead of showing it, line ends and tabs excepted: control characters,
#: also those above 127, other line ends, and what turns the direction of writing round.
_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)


def escaped(text: str) -> str:
    """Return a text whose control characters are shown, as in Python's strings, and not obeyed.

    Names of devices, columns and files come from drivers, data and other machines.
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str = "") -> None:
    """Write a line to standard output at once, also into a pipe."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Write a line to standard error."""
    _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # a feature's name may not exist in the terminal's encoding
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
        f"{name}: cannot be written ({error.strerror or error}): expected a place with room left; "
        f"free some, or write elsewhere"
    )


def wrapped(text: str, first: str = "", later: str | None = None) -> str:
    """Wrap text to `WIDTH` columns at spaces.

    Parameters
    ----------
    text : str
    first, later : str
        What the first and every later line begin with; `later` is as many spaces as `first` is
        wide if it is left out.
    """
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def section(title: str, *paragraphs: str) -> None:
    """Say a title with paragraphs to its right."""
    for number, paragraph in enumerate(paragraphs):
        say(wrapped(paragraph, (title if number == 0 else "").ljust(INDENT)))


def group_variants(variants: Mapping[str, str]) -> list[str]:
    """Return ``variant: kernel, kernel, ...`` for every variant, in the order of the kernels."""
    kernels: dict[str, list[str]] = {}
    for kernel, variant in variants.items():
        kernels.setdefault(variant, []).append(kernel)
    return [f"{variant}: {', '.join(names)}" for variant, names in kernels.items()]


class Progress:
    """Receives the line that `train` reports after every round; shows some, keeps the time.

    Parameters
    ----------
    show : callable or None
        Receives (round counted from 1, the line's metrics) of the rounds to show.
    n_rounds : int
    every : int
        Show each round whose number is a multiple, the first and the last.
    waits : bool
        Whether a metric is asked for, so that a round is finished when its line comes.
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
        self.start = self.first = self.end = time.perf_counter()

    def report(self, line: str) -> None:
        """Take the line of the next round, ``[number]<tab>metric:value<tab>...``."""
        self.n_reported += 1
        if self.n_reported == 1:
            self.first = time.perf_counter()
        number = self.n_reported
        if self.show and (number in (1, self.n_rounds) or number % self.every == 0):
            self.show(number, line.split("\t")[1:])

    def finish(self) -> None:
        """Stop the clock: training has returned."""
        self.end = time.perf_counter()

    def summary(self) -> str:
        """Return how long set-up and a round took."""
        if self.n_reported == 0:
            return "no round"
        first = " and the first round" if self.waits else ""
        text = f"set-up{first} {self.first - self.start:.2f} s"
        timed = self.n_reported - self.waits
        if timed:
            text += f", then {1e3 * (self.end - self.first) / timed:.2f} ms a round"
        return f"{text}; {self.end - self.start:.2f} s in all"


def check_output(path: str, option: str) -> None:
    """Raise ``DataError`` now rather than after the work if a file cannot be written there."""
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
    """Tell whether something is there that is no regular file: a pipe, ``/dev/null``."""
    return Path(path).exists() and not Path(path).is_file()


def write_text(path: str, text: str) -> None:
    """Write a UTF-8 file that appears whole or not at all; replaces what was there.

    Of a symbolic link the target is replaced; a pipe or another device is written to as it is.

    Raises
    ------
    OSError
        With the file's name.
    """
    if _is_special(path):  # replacing it would put a file where the device was
        try:
            with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(path, error) from error
        return
    write_whole(path, text.encode("utf-8"))
