"""Write tables and texts that are made from the code into the pages, so that both always agree.

``python docs/tables.py`` writes what stands between the lines ``<!-- generated: variants -->`` and
``<!-- end: variants -->`` of the pages of this folder anew; a test compares. A new mark needs its
first line only.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.row import ParameterRow

DOCS = Path(__file__).resolve().parent
MARK = re.compile(
    r"^<!-- generated: (?P<name>[a-z-]+) -->$(\n.*?^<!-- end: (?P=name) -->$)?", re.M | re.S
)


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


def presets() -> str:
    """Return what each preset sets, a row for each parameter, a column for each version."""
    from dataclasses import fields

    from pyopencl_gbdt.estimators.presets import PRESETS

    tasks = ("regression", "binary", "multiclass")
    values: dict[str, dict[str, str]] = {}
    for version, preset in PRESETS.items():
        found = {task: preset.values(task) for task in tasks}
        if preset.stopping is not None:
            own = {f.name: getattr(preset.stopping, f.name) for f in fields(preset.stopping)}
            found = {task: {**of, **own} for task, of in found.items()}
        if preset.search is not None:
            own = {
                f"search: {f.name}": getattr(preset.search, f.name) for f in fields(preset.search)
            }
            found = {task: {**of, **own} for task, of in found.items()}
        for name in {name: None for of in found.values() for name in of}:
            texts = {task: f"`{of[name]}`" for task, of in found.items() if name in of}
            same = len(set(texts.values())) == 1 and len(texts) == len(tasks)
            each = "; ".join(f"{task} {text}" for task, text in texts.items())
            values.setdefault(name, {})[version] = texts[tasks[0]] if same else each
    rows = [[f"`{name}`", *(own.get(one, "") for one in PRESETS)] for name, own in values.items()]
    return table(["parameter", *(f"`{one}`" for one in PRESETS)], rows)


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
    from pyopencl_gbdt.metrics import METRICS
    from pyopencl_gbdt.metrics.label_kinds import KINDS

    names: dict[tuple[str, ...], list[str]] = {}
    for name, entry in METRICS.items():
        names.setdefault(entry.fits, []).append(f"`{name}`")
    return table(
        ["metric", "labels that it fits"],
        (
            [", ".join(several), "; ".join(KINDS[kind] for kind in kinds)]
            for kinds, several in names.items()
        ),
    )


def refusals() -> str:
    """Return the combinations that are refused, with their messages."""
    from pyopencl_gbdt.estimators.refusals import OF_ESTIMATORS
    from pyopencl_gbdt.parameters import refusals as table_of
    from pyopencl_gbdt.parameters.refused_parameters import (
        OF_DRAWS,
        OF_FORCED,
        OF_PARAMETERS,
        OF_SMOOTHING,
    )
    from pyopencl_gbdt.parameters.refused_searches import OF_LINEAR, OF_STEPS, OF_VECTORS

    def plain(text: str) -> str:
        """Return a message with `...` where it shows what was given."""
        return "`" + re.sub(r"\{[^}]*\}", "...", text) + "`"

    parts = {
        "Parameters": OF_PARAMETERS,
        "Data and losses": table_of.OF_DATA,
        "Splits drawn at random": OF_DRAWS,
        "Smoothed weights": OF_SMOOTHING,
        "Forced splits": OF_FORCED,
        "Trees with vector leaves": OF_VECTORS,
        "Several Newton steps of leaves": OF_STEPS,
        "Linear leaves": OF_LINEAR,
        "Pages that take turns": table_of.OF_PAGES,
        "Models that are continued": table_of.OF_MODELS,
        "Several devices and processes": table_of.OF_TEAMS,
        "What only cut points tell": table_of.OF_CUTS,
        "Estimators": OF_ESTIMATORS,
    }
    return "\n\n".join(
        f"## {title}\n\n"
        + table(
            ["refused", "message", "way out"],
            ([row.name, plain(row.message), row.way_out] for row in rows),
        )
        for title, rows in parts.items()
    )


def formats() -> str:
    """Return the formats of model files."""
    from pyopencl_gbdt.model.formats.registry import FORMATS

    def does(reads: bool, writes: bool) -> str:
        return "read and written" if reads and writes else "read" if reads else "written"

    rows = []
    for one in FORMATS:
        endings = ", ".join(f"`{suffix}`" for suffix in one.suffixes)
        rows.append([one.name, endings, does(one.reads, one.writes)])
    return table(["format", "names end in", "here"], rows)


def format_kinds() -> str:
    """Return which models each format can hold; each is written, and read again."""
    from pyopencl_gbdt.model.formats.registry import FORMATS
    from tests.model.format_kinds import KINDS, outcome

    rows = []
    for kind, make in KINDS.items():
        model = make()
        rows.append([kind, *(outcome(one, model) for one in FORMATS)])
    return table(["model", *(f"`{one.suffixes[0]}`" for one in FORMATS)], rows)


def repairs() -> str:
    """Return the commands that install each part on each distribution, as in the doctor."""
    from pyopencl_gbdt.doctor.findings import FAMILIES, INSTALL

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
    processors = "For processors, on any distribution: the extra `cpu` or `intel-cpu`, see above."
    return "\n\n".join([*parts, processors])


def card_drivers() -> str:
    """Return the commands that install drivers of cards, by distribution."""
    from pyopencl_gbdt.doctor.findings import FAMILIES, INSTALL

    def rocm(command: str) -> str:
        return f"`{command}`" if "rocm" in command else "no package; take Mesa"

    rows = (
        [
            name,
            rocm(INSTALL["amd"][key]),
            *(f"`{INSTALL[part][key]}`" for part in ("mesa", "intel")),
        ]
        for key, name in FAMILIES.items()
    )
    return table(["system", "AMD, by ROCm", "AMD or Intel, by Mesa", "Intel's own driver"], rows)


def cards() -> str:
    """Return the devices that have run, from the reports in ``docs/cards``."""
    from bench.cards import HEAD, rows

    return table(HEAD, rows())


def extras() -> str:
    """Return how pip installs this package with extras."""
    from pyopencl_gbdt import __version__
    from pyopencl_gbdt._version import PIP_SOURCE

    if PIP_SOURCE != ".":
        return f'```sh\npip install "{PIP_SOURCE}[cpu,scikit-learn]"\n```'
    wheel = f"pyopencl_gbdt-{__version__}-py3-none-any.whl"
    return f"""No package index has this library yet. In a clone of the repository:

```sh
pip install ".[cpu,scikit-learn]"
```

On a machine without a clone, install a wheel, which `pip wheel --no-deps .` makes in a clone:

```sh
pip install "./{wheel}[cpu,scikit-learn]"
```"""


def commands() -> str:
    """Return the description of each subcommand, and tables of its options."""
    from pyopencl_gbdt.cli import build_parser

    (subparsers,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return "\n\n".join(
        f"## {sub.prog}\n\n{sub.description}\n\n{options(sub)}"
        for sub in subparsers.choices.values()
    )


def options(parser: argparse.ArgumentParser) -> str:
    """Return tables of a command's arguments and options, without ``--help``."""
    parts = []
    for group in parser._action_groups:
        own = [action for action in group._group_actions if action.dest != "help"]
        if any(action.dest.startswith("param_") for action in own):
            parts.append(
                "Every [parameter of training](parameters.md) is an option too, with `-` instead "
                "of `_`: `--max-depth 6`."
            )
        elif own:
            rows = [(f"`{option(action)}`", action.help or "") for action in own]
            head = "option" if own[0].option_strings else "argument"
            about = group.title if group.title not in ("options", "positional arguments") else ""
            parts.append((f"{about[0].upper()}{about[1:]}:\n\n" if about else "")
                         + table([head, "meaning"], rows))  # fmt: skip
    return "\n\n".join(parts)


def option(action: argparse.Action) -> str:
    """Return an option with its value: ``--header {auto,yes,no}``."""
    value = action.metavar or action.dest.upper()
    if action.choices:
        value = "{" + ",".join(action.choices) + "}"
    if not action.option_strings:
        return str(value)
    return action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")


TABLES: dict[str, Callable[[], str]] = {
    "card-drivers": card_drivers,
    "cards": cards,
    "commands": commands,
    "configuration-keys": configuration_keys,
    "extras": extras,
    "foreign-keys": foreign_keys,
    "foreign-names": foreign_names,
    "format-kinds": format_kinds,
    "formats": formats,
    "metric-kinds": metric_kinds,
    "parameters": parameters,
    "presets": presets,
    "refusals": refusals,
    "repairs": repairs,
    "variants": variants,
}


def fill(text: str) -> str:
    """Write what stands between the marks of a page anew; an unknown mark is an error."""

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- generated: {name} -->\n\n{TABLES[name]()}\n\n<!-- end: {name} -->"

    return MARK.sub(written, text)


def main() -> None:
    """Write all pages; say which of them changed."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            page.write_text(filled, encoding="utf-8")
            sys.stdout.write(f"{page.name} changed\n")


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    main()
