"""Commands and their options, from texts that look as ``--help`` shows them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

from pyopencl_gbdt.parameters.parameters import ROWS

#: Numbers by what a text calls them; all else is text.
_NUMBERS = {"N": int, "SECONDS": float, "MINUTES": float}


def add_command(commands: Any, name: str, text: str, **others: Any) -> argparse.ArgumentParser:
    """Add a subcommand; return its parser.

    Parameters
    ----------
    commands : argparse's action of subparsers
    text : str
        Three paragraphs: a line for the list of commands, the description, and the options.
    **others
        As for ``add_options``.
    """
    line, about, options = text.strip().split("\n\n")
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=line, description=" ".join(about.split()), allow_abbrev=False
    )
    add_options(parser, options, **others)
    return parser


def add_options(parser: argparse._ActionsContainer, text: str, **others: Any) -> None:
    """Add options to a parser or a group.

    Parameters
    ----------
    text : str
        A line an option: its name, a space and what its value is called, two spaces or more, its
        help. What follows on indented lines belongs to the help. An option without a value or
        ``choices`` is a switch; a name without ``--`` is a positional argument.
    **others : dict of str to object
        What ``add_argument`` gets besides, by option.
    """
    for line in re.sub(r"\n +", "  ", text.strip()).splitlines():
        said, about = line.split("  ", 1)
        option, _, metavar = said.partition(" ")
        given: dict[str, Any] = {"help": " ".join(about.split())}
        given |= others.get(option.lstrip("-").replace("-", "_"), {})
        if metavar:
            given = {"metavar": metavar, "type": _NUMBERS.get(metavar, str), **given}
        elif "choices" not in given:
            given["action"] = "store_true"
        parser.add_argument(option, **given)


def number_or_text(text: str) -> int | float | str:
    """Convert a number's text; return any other text unchanged."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def typed_value(name: str, text: str) -> int | float | str | list[int | float | str]:
    """Convert the text of a parameter's value; commas separate several numbers.

    A list such as ``[0.1, 0.9]`` stays text, which ``ParameterRow.convert`` reads.
    """
    row = ROWS.get(name)
    if row is not None and row.kind is str:
        return text
    if row is not None and row.several and "," in text and "[" not in text:
        return [number_or_text(part.strip()) for part in text.split(",")]
    return number_or_text(text)


#: Arguments of Python functions that the command line calls otherwise.
_CALLED = {"file_format": "format", "n_rounds": "n_estimators"}
#: Arguments with a value that are switches there.
_SWITCHES = {"with_label=False": "no_label", "label_column=None": "no_label"}
#: The move that a command without ``--no-label`` has instead of its last word in Python.
_WITH_LABEL = "; pass label_column=None if it is a feature", "; give a file of labels and features"
#: Values that the command line calls otherwise, by the option's name.
_VALUES = {"header": {"True": "yes", "False": "no"}}
#: Moves that only a Python program can make; what options do instead, and what keys do.
HINTS = (
    (
        "give evals= to train, or eval_set= to fit",
        "add --eval FILE",
        "add a line eval[NAME] = FILE",
    ),
    (
        "expected qid= or group= in Dataset; group=[n_rows] makes all rows one query",
        "expected query ids; name their column by --qid-column",
        "expected query ids; name their column by qid_column",
    ),
    (
        "give label_lower_bound and label_upper_bound to Dataset",
        "give times above 0",
        "give times above 0",
    ),
    (", or a function of your own", "", ""),
    (", or use GBDTClassifier", "", ""),
)
#: A value: a text in quotes or brackets, or all up to a space or a mark of the sentence.
_VALUE = r"""('[^']*'|"[^"]*"|\[[^\]]*\]|\([^)]*\)|[^\s,;:)]*[^\s,;:).])"""
#: What precedes a name that is part of something else: a path, a text in quotes, a power.
_NOT_AFTER = r"(?<![\w\-'\"`./=^])"
_NOT_BEFORE = r"(?![\w='\"(.])"


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return a command's options by the names that parameters have in Python."""
    return {
        text.removeprefix("--").replace("-", "_"): action
        for text, action in parser._option_string_actions.items()
        if text.startswith("--")
    }


def with_options(message: str, options: Mapping[str, argparse.Action]) -> str:
    """Write ``max_depth=40: ...; lower max_depth`` as ``--max-depth 40: ...; lower --max-depth``.

    ``message``: the error's text; one that begins with an option is left as it is.
    ``options``: the command's, by their names in Python.
    """
    if message.startswith("--"):
        return message
    for python, option, _ in HINTS:
        message = message.replace(python, option)
    for argument, switch in _SWITCHES.items():
        if switch in options:
            message = message.replace(argument, _dashed(switch))
    message = message.replace(*_WITH_LABEL)
    known = {own: name for own, name in _CALLED.items() if name in options}
    known |= {name: name for name in options}

    def with_value(found: re.Match[str]) -> str:
        name, value = known[found[1]], found[2].strip("'\"") or found[2]
        if options[name].nargs == 0:
            return _dashed(name)
        return f"{_dashed(name)} {_VALUES.get(name, {}).get(value, value)}"

    def alone(found: re.Match[str]) -> str:
        return _dashed(known[found[1]])

    names = sorted(known, key=len, reverse=True)
    text = re.sub(rf"{_NOT_AFTER}({'|'.join(names)})={_VALUE}", with_value, message)
    text = re.sub(rf"(?<=\b(?:raise|lower)\s)({'|'.join(names)}){_NOT_BEFORE}", alone, text)
    for name in names:
        if "_" in name:  # others are words of sentences too
            text = re.sub(rf"{_NOT_AFTER}({name}){_NOT_BEFORE}", alone, text)
    return text


def with_keys(message: str) -> str:
    """Write arguments of Python functions as the keys of configuration files."""
    for python, _, key in HINTS:
        message = message.replace(python, key)
    for argument, switch in _SWITCHES.items():
        message = message.replace(argument, f"{switch}=1")
    return re.sub(rf"{_NOT_AFTER}file_format=", "format=", message)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
