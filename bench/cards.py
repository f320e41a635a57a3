"""``python -m bench cards [FILE ...]``: the table of devices that have run, in docs/cards.md.

Each FILE, of ``pyopencl-gbdt doctor --report`` or of ``bench --merge``, is checked and copied into
docs/cards/, a file for each machine. Then the table is written from all files of that folder.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

from bench.host import parser_of
from pyopencl_gbdt.cards.report import Summary, summaries
from pyopencl_gbdt.cards.trainings import TIMED
from pyopencl_gbdt.comparison.schema import document, load
from pyopencl_gbdt.errors import DataError

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "cards"
HEAD = ["device", "driver", "doctor", "digests", *(f"{name}, ms" for name in TIMED), "who, when"]
_LONGEST_NAME = 80


def rows(folder: Path = FOLDER) -> list[list[str]]:
    """Return the rows of the table below ``HEAD``, by name of the device, then by date."""
    found = [
        summary
        for path in sorted(folder.glob("*.json"))
        for machine in load(str(path))["machines"]
        for summary in summaries(machine)
    ]
    return [_row(one) for one in sorted(found, key=lambda s: (s.device.lower(), s.driver, s.when))]


def _row(summary: Summary) -> list[str]:
    rounds = (summary.rounds.get(name) for name in TIMED)
    return [
        summary.device,
        summary.driver.partition(" (")[0],
        summary.doctor,
        summary.digests,
        *("-" if ms is None else f"{ms:.1f}" for ms in rounds),
        f"{summary.by or 'anonymous'}, {summary.when}",
    ]


def add(path: str, folder: Path = FOLDER) -> list[Path]:
    """Copy the machines of a file that have cards into a folder; return the new files.

    Raises
    ------
    DataError
        If the file is damaged or has no cards.
    """
    machines = [machine for machine in load(path)["machines"] if machine.get("cards")]
    if not machines:
        raise DataError(f"{path}: holds no card; give a file of pyopencl-gbdt doctor --report")
    known = [load(str(one))["machines"] for one in folder.glob("*.json")]
    new = [machine for machine in machines if [machine] not in known]
    return [_save(machine, folder) for machine in new]


def _save(machine: dict[str, Any], folder: Path) -> Path:
    first = summaries(machine)[0]
    words = [first.device.partition("(")[0], first.driver.partition(" (")[0], first.when]
    name = re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower()).strip("-.")[:_LONGEST_NAME]
    number, path = 1, folder / f"{name}.json"
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    path.write_text(json.dumps(document([machine]), indent=1) + "\n", encoding="utf-8")
    return path


def main(arguments: list[str]) -> int:
    parser = parser_of("cards", __doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="reports to add")
    for path in parser.parse_args(arguments).files:
        for new in add(path):
            print(f"{new.name} added")
    runpy.run_path(str(DOCS / "tables.py"), run_name="__main__")
    return 0
