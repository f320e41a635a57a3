"""Commands and their options, from texts that look as ``--help`` shows them."""

from __future__ import annotations

import argparse
import re
from typing import Any

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
