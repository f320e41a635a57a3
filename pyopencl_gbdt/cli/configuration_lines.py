"""Read the lines ``key = value`` of a configuration file, as XGBoost's command line does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

COMMAND_LINE = "the command line"
_MOST_BYTES = 1 << 20
_LINE = re.compile(
    r"""\s* (?: "(?P<key2>[^"]+)" | '(?P<key1>[^']+)' | (?P<key>[^\s"'=\#]+) ) \s*=\s*
    (?: "(?P<value2>[^"]*)" | '(?P<value1>[^']*)' | (?P<value>[^\s"'\#][^\#]*) ) \s* (?:\#.*)?""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Setting:
    """A key, its value as text, and where it was given, for error messages."""

    key: str
    value: str
    place: str


def read_file(path: str) -> list[Setting]:
    """Return the settings of a file, in its order."""
    with Path(path).open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ParameterError(f"{path}: expected lines 'key = value', 1 MiB at most; shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        broken = data.count(b"\n", 0, error.start) + 1
        raise ParameterError(
            f"{path}, line {broken}: byte 0x{data[error.start]:02x} is not UTF-8 text: expected "
            "'key = value'; save the file as UTF-8"
        ) from error
    settings: list[Setting] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        if "\0" in line:
            raise ParameterError(
                f"{place}: {show(line.strip())}: a NUL character: expected text, as no path may "
                "hold one; remove it"
            )
        found = _LINE.fullmatch(line)
        if found is None:
            hint = "" if settings else "; to train on a data file, give --model and other options"
            raise ParameterError(
                f"{place}: {show(line.strip())}: expected key = value, and quotes around values "
                f"that hold # or begin with a quote; correct the line{hint}"
            )
        key, value = (
            next(found[name] for name in (part, f"{part}1", f"{part}2") if found[name] is not None)
            for part in ("key", "value")
        )
        settings.append(Setting(key, value if found["value"] is None else value.strip(), place))
    return settings


def read_pairs(words: Iterable[str]) -> Iterator[Setting]:
    """Yield the settings of words ``KEY=VALUE``."""
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not (key and equals):
            raise ParameterError(f"{show(word)}: expected KEY=VALUE, such as max_depth=8")
        yield Setting(key, value, COMMAND_LINE)
