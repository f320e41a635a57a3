"""Tables and texts of the documentation that are made from the code, so that both always agree.

A line of a page such as ``<!-- generated: variants -->`` is replaced by a table.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.row import ParameterRow

MARK = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
                     for line in lines)  # fmt: skip


def variants() -> str:
    """Return the variant table."""
    from pyopencl_gbdt.device.variants import TABLE

    return table(
        ["kernel", "variant", "needs", "default on", "reason, measurement"],
        (
            [
                row.kernel,
                f"`{row.name}`",
                "; ".join(row.needs()) or "the baseline",
                ", ".join(sorted(row.chosen_on)),
                row.measured,
            ]
            for row in TABLE
        ),
    )


def parameters() -> str:
    """Return the table of training parameters."""
    from pyopencl_gbdt.parameters.table import TABLE

    return described("parameter", TABLE)


def described(head: str, rows: Iterable[ParameterRow]) -> str:
    """Return a table of parameters, or of the keys of configuration files."""
    return table(
        [head, "default", "expected", "meaning"],
        (
            [
                ", ".join(f"`{name}`" for name in (row.name, *row.aliases)),
                "none" if row.default in (None, "") else f"`{row.default}`",
                row.expected,
                row.doc,
            ]
            for row in rows
        ),
    )


def configuration_keys() -> str:
    """Return the keys of configuration files besides the training parameters."""
    from pyopencl_gbdt.cli.configuration_keys import KEYS

    return described("key", KEYS).replace("a string that is not empty", "text")


def foreign_keys() -> str:
    """Return the keys of other libraries, and what they mean here."""
    from pyopencl_gbdt.cli.configuration_keys import ALIASES, FOREIGN

    other = [[f"`{old}`", f"`{name}`"] for old, name in ALIASES.items()]
    names: dict[str, list[str]] = {}
    for name, key in FOREIGN.items():
        meaning = "accepted without an effect"
        if key.harmless is not None:
            meaning = f"`{key.harmless[0]}` is accepted; else: {key.why}"
        names.setdefault(meaning, []).append(f"`{name}`")
    other += [[", ".join(several), meaning] for meaning, several in names.items()]
    return table(["key", "meaning here"], other)


def foreign_names() -> str:
    """Return the parameters and values of other libraries, and what they mean here."""
    from pyopencl_gbdt.parameters import foreign

    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    names = [[listed(others), f"`{own}`"] for own, others in foreign.ALIASES.items()]
    names += [
        [f"`{other}`", f"`{own}`, which is written {how} there"]
        for other, (own, how) in foreign.CONVERTED.items()
    ]
    values = [
        [f"`{name}`", listed(others), f"`{own}`"]
        for name, known in foreign.VALUES.items()
        for own, others in known.items()
    ]
    answers: dict[str, list[str]] = {}
    for name, answer in foreign.ANSWERS.items():
        answers.setdefault(answer.text, []).append(name)
    for name, known in foreign.VALUE_ANSWERS.items():
        for value, text in known.items():
            answers.setdefault(text, []).append(f"{name}={value}")
    return "\n\n".join(
        [
            table(["name there", "here"], names),
            table(["parameter", "value there", "here"], values),
            table(["no such thing here", "what to do"],
                  ([listed(several), text] for text, several in answers.items())),
        ]
    )  # fmt: skip


def metric_kinds() -> str:
    """Return which kinds of label each metric fits."""
    from pyopencl_gbdt.metrics.label_kinds import FITS, KINDS

    names: dict[tuple[str, ...], list[str]] = {}
    for name, kinds in FITS.items():
        names.setdefault(kinds, []).append(f"`{name}`")
    return table(
        ["metric", "labels that it fits"],
        (
            [", ".join(several), "; ".join(KINDS[kind] for kind in kinds)]
            for kinds, several in names.items()
        ),
    )


def repairs() -> str:
    """Return the commands that install each part on each distribution, as in the doctor."""
    from pyopencl_gbdt.doctor.findings import ANYWHERE, FAMILIES, INSTALL

    titles = {
        "loader": "the loader, `libOpenCL.so.1`",
        "nvidia": "NVIDIA's driver",
        "amd": "AMD's ROCm driver (openSUSE: Mesa's)",
        "intel": "Intel's driver for GPUs",
        "mesa": "Mesa's rusticl",
    }
    parts = []
    for part, title in titles.items():
        commands = [[FAMILIES[key], f"`{INSTALL[part][key]}`"] for key in FAMILIES]
        parts.append(
            f"**{title[0].upper() + title[1:]}**\n\n{table(['system', 'command'], commands)}"
        )
    pip = [f"`{INSTALL[part][ANYWHERE]}`" for part in ("pocl", "intel-cpu")]
    return "\n\n".join([*parts, f"For processors, on any distribution: {' or '.join(pip)}."])


def commands() -> str:
    """Return the help of the command and of each subcommand."""
    from pyopencl_gbdt.cli import build_parser

    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "90"
    try:
        parser = build_parser()
        (subparsers,) = (
            action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
        )
        texts = [("pyopencl-gbdt", parser.format_help())]
        texts += [(sub.prog, sub.format_help()) for sub in subparsers.choices.values()]
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before
    return "\n\n".join(f"## {name}\n\n```text\n{text.rstrip()}\n```" for name, text in texts)


TABLES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "configuration-keys": configuration_keys,
    "foreign-keys": foreign_keys,
    "foreign-names": foreign_names,
    "metric-kinds": metric_kinds,
    "parameters": parameters,
    "repairs": repairs,
    "variants": variants,
}


def fill(text: str) -> str:
    """Replace the marks of a page; an unknown one is an error."""
    return MARK.sub(lambda found: TABLES[found.group(1)](), text)
