"""What a configuration file and the command line ask for, checked key by key."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from pyopencl_gbdt.cli import configuration_keys as keys
from pyopencl_gbdt.cli.options import number_or_text, typed_value
from pyopencl_gbdt.cli.tables import file_names
from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS, CONVERTED, OWN_NAMES
from pyopencl_gbdt.parameters.parameters import ROWS, check_foreign, renamed, unknown
from pyopencl_gbdt.parameters.table import XGBOOST_ONLY

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


ENDINGS = (".conf", ".config", ".cfg")
_EVAL = re.compile(r"eval\[([^\]]+)\]")
_PAIR = re.compile(r"([\w:]+(?:\[[^\]]*\])?)=(.*)", re.DOTALL)


@dataclass
class Configuration:
    """What a file and the command line ask for.

    Attributes
    ----------
    source : str
        The file, for error messages.
    options : dict of str to object
        A value for every entry of ``KEYS`` but ``eval[NAME]`` and ``eval_metric``.
    evals : dict of str to str
        The file of each evaluation set, by the set's name.
    params : dict of str to object
        Training parameters by their first names, ``device`` included.
    without_effect : list of str
        Keys of other libraries that were given and have no meaning here.
    """

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    evals: dict[str, str] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    without_effect: list[str] = field(default_factory=list)


def is_configuration(data: str, pairs: Sequence[str]) -> bool:
    """Tell a configuration from a data file: by its ending, or because pairs follow it."""
    return bool(pairs) or Path(data).suffix.lower() in ENDINGS or _is_pair(data)


def _is_pair(word: str) -> bool:
    return _PAIR.fullmatch(word) is not None and not Path(word).exists()


def read(args: argparse.Namespace) -> Configuration:
    """Read the file, and let pairs and options of the command line override it.

    ``args``: ``data`` is the file, or the first pair; ``pairs`` the other ones. Options that are
    None were not given.

    Raises
    ------
    ParameterError
        If a line, a key or a value cannot be used; names the file and the line.
    OSError
        If the file cannot be read.
    """
    words = list(args.pairs)
    source, lines = COMMAND_LINE, []
    if _is_pair(args.data):
        words.insert(0, args.data)
    else:
        source, lines = args.data, read_file(args.data)
    given = [*read_pairs(words), *_options(args)]
    found = Configuration(source)
    chosen, found.metrics = _merge(lines, given)
    found.options = {row.name: row.default or None for row in keys.KEYS}
    for name, setting in chosen.items():
        with _at(setting):
            _store(found, name, setting)
    return found


def _options(args: argparse.Namespace) -> Iterator[Setting]:
    """Return the options that were given as if they were pairs."""
    for name, value in vars(args).items():
        if value is None or name == "data":
            continue
        if name == "param":
            yield from read_pairs(value)
        elif name == "eval":
            for path, set_name in zip(value, file_names(value), strict=True):
                yield Setting(f"eval[{set_name}]", path, f"--eval {path}")
        elif name == "eval_metric":
            yield from (Setting(name, metric, "--eval-metric") for metric in value)
        elif name.startswith("param_") or name in keys.OWN or name == "device":
            key = name.removeprefix("param_")
            yield Setting(key, str(value), f"--{key.replace('_', '-')}")


def _merge(
    lines: Sequence[Setting], given: Sequence[Setting]
) -> tuple[dict[str, Setting], list[str]]:
    """Return the setting of each key, by its first name, and the metrics."""
    chosen: dict[str, Setting] = {}
    metrics: list[str] = []
    for source in (lines, given):
        own: dict[str, Setting] = {}
        of_source: list[str] = []
        for setting in source:
            with _at(setting):
                name = _first_name(setting.key)
                if name == "eval_metric":
                    of_source += [m.strip() for m in setting.value.split(",") if m.strip()]
                elif name in own:
                    raise _twice(own[name], setting)
                else:
                    own[name] = setting
        chosen |= own
        metrics = of_source or metrics
    return chosen, metrics


def _twice(first: Setting, second: Setting) -> ParameterError:
    same = first.key == second.key
    what = f"{second.key} is given twice" if same else f"{first.key} and {second.key} mean the same"
    return ParameterError(f"{what}, the first time in {first.place}; give one of them")


def _first_name(key: str) -> str:
    """Return the name under which a key is stored; an unknown key is an error."""
    if _EVAL.fullmatch(key):
        return key
    if key in keys.OWN:
        return keys.OWN[key].name
    row = keys.parameter(key)
    if row is not None:
        return row.name
    if key in CONVERTED:
        return CONVERTED[key][0]
    own = OWN_NAMES.get(key, key)
    if own in keys.OWN or own in keys.FOREIGN or own in XGBOOST_ONLY or own in ANSWERS:
        return own
    raise unknown(key, [*keys.OWN, *ROWS, *keys.ALIASES], "key")


def _store(found: Configuration, name: str, setting: Setting) -> None:
    """Convert one setting and store it."""
    key, value = setting.key, setting.value
    if not value:
        raise ParameterError(f"{key} has no value; give one, or leave {key} out")
    if (match := _EVAL.fullmatch(key)) is not None:
        found.evals[match[1]] = value
    elif name in keys.OWN:
        found.options[name] = keys.OWN[name].convert(value, key)
    elif name in ROWS:
        typed = typed_value(name, value)
        if key in CONVERTED and key not in keys.ALIASES:
            typed = renamed(key, value)[1]
        ROWS[name].convert(typed, key)
        found.params[name] = typed
    elif name in keys.FOREIGN:
        foreign = keys.FOREIGN[name]
        if foreign.harmless is None:
            found.without_effect.append(key)
        elif value.lower() not in foreign.harmless:
            expected = foreign.harmless[0]
            raise ParameterError(f"{key}={value}: expected {expected}: {foreign.why}")
    else:
        plain = {"true": True, "false": False}.get(value.lower(), number_or_text(value))
        check_foreign(name, plain)
        if name in ANSWERS:
            found.without_effect.append(key)


@contextmanager
def _at(setting: Setting) -> Iterator[None]:
    """Put the place in front of an error's text."""
    try:
        yield
    except GBDTError as error:
        raise ParameterError(f"{setting.place}: {error}") from error
