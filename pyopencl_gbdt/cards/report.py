"""The file of a report: a comparison of one machine, with the doctor's findings and its cards.

``pyopencl-gbdt bench --merge`` joins such files with others. Beside the keys of
`comparison.schema`, the machine has::

    by       who sends the report; empty unless it was given
    doctor   what ``doctor --json`` writes
    cards    a list: device, seen, build_seconds, steps, ended; see `collect.Card`

`summaries` reads them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyopencl_gbdt.cards.collect import Card
from pyopencl_gbdt.cards.trainings import TRAININGS
from pyopencl_gbdt.cards.worker import OPTIONS
from pyopencl_gbdt.comparison.run import describe_machine
from pyopencl_gbdt.comparison.schema import document
from pyopencl_gbdt.device import cache
from pyopencl_gbdt.doctor import report
from pyopencl_gbdt.doctor.findings import Finding, Listing
from pyopencl_gbdt.doctor.machine import Machine
from pyopencl_gbdt.doctor.report import Scrubber
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Folders of systems and of drivers' packages; all others may tell of a person or a firm.
_SYSTEM = re.compile(r"/(etc|usr|dev|sys|proc|lib\w*|opt/(rocm[\w.-]*|intel))(/|$)")
_PATH = re.compile(r"(?<![\w/.>])(?:~|[A-Za-z]:)?[/\\](?![/\\])[^\s:;,'\"()]+")
HIDDEN = "<folder>"


def without_folders(text: str, own: Sequence[str] = ()) -> str:
    """Return a text whose paths have file names with a suffix only; paths of systems stay.

    ``own``: folders, possibly with spaces in their names, that are removed first.
    """
    for folder in sorted(own, key=len, reverse=True):
        text = text.replace(folder, f"/{HIDDEN}")

    def hidden(found: re.Match[str]) -> str:
        path = found[0]
        if _SYSTEM.match(path):
            return path
        name = re.split(r"[/\\]", path)[-1]
        return f"{HIDDEN}/{name}" if "." in name.strip(".") else HIDDEN

    return _PATH.sub(hidden, text)


@dataclass(frozen=True)
class CardScrubber(Scrubber):
    """Removes folders, too."""

    folders: tuple[str, ...] = ()
    """Folders of this process; the only ones that are known to have spaces in their names."""

    @classmethod
    def here(cls) -> CardScrubber:
        """Return a scrubber with the names and folders of this machine and its user."""
        names = Scrubber.here()
        usual = cache.usual_folder()
        known = {str(Path.cwd()), sys.prefix, *([str(usual)] if usual else [])}
        own = [one for one in known if len(Path(one).parts) > 1 and not _SYSTEM.match(one)]
        return cls(names.home, names.user, names.host, tuple(own))

    def text(self, text: str) -> str:
        """Return a text without names and folders."""
        return without_folders(super().text(text), self.folders)


Json = dict[str, Any]


class Report:
    """A report that grows.

    ``by``: who sends it.
    """

    def __init__(
        self, machine: Machine, listing: Listing, findings: list[Finding], by: str = ""
    ) -> None:
        self.by = by
        self.scrubber = CardScrubber.here()
        self.found = report.as_json(machine, listing, findings, [], self.scrubber)
        self.head = describe_machine(OPTIONS)
        self.cards: list[Card] = []

    def doctor(self) -> Json:
        """Return what ``doctor --json`` writes."""
        runs = [card.self_test for card in self.cards if card.self_test is not None]
        return {**self.found, "self_test": self.scrubber.clean(report.self_tests(runs))}

    def document(self, *, finished: bool) -> Json:
        """Return the whole report, as in `comparison.schema`."""
        shapes = {shape["name"]: shape for card in self.cards for shape in card.machine["shapes"]}
        body = {
            **self.head,
            "finished": finished,
            "devices": [device for card in self.cards for device in card.machine["devices"]],
            "shapes": list(shapes.values()),
            "results": [result for card in self.cards for result in card.machine["results"]],
            "cards": [card.as_json() for card in self.cards],
        }
        return document([{**self.scrubber.clean(body), "doctor": self.doctor(), "by": self.by}])

    def text(self, *, finished: bool) -> str:
        """Return the report as the text of a file."""
        return json.dumps(self.document(finished=finished), indent=1, allow_nan=False) + "\n"


@dataclass(frozen=True)
class Summary:
    """A card of a report in words.

    Attributes
    ----------
    doctor : str
        The result of the self-test.
    digests : str
        How many trainings gave the model of all other devices.
    rounds : dict of str to float
        Milliseconds a round of each shape that was measured.
    safer : list of str
        What safer ways gave, as far as they were tried.
    problems : list of str
        What failed in the usual way, and why.
    good : bool
        Whether the self-test and all trainings passed.
    """

    device: str
    driver: str
    doctor: str
    digests: str
    rounds: dict[str, float]
    safer: list[str]
    problems: list[str]
    by: str
    when: str
    good: bool


def summaries(machine: Json) -> list[Summary]:
    """Return the cards of a machine of a report; none if it is an ordinary comparison."""
    return [_summary(machine, card) for card in machine.get("cards", [])]


def _summary(machine: Json, card: Json) -> Summary:
    mine = card["device"]
    listed = next(d for d in machine["doctor"]["devices"] if d["device_id"] == mine)
    caps = listed["capabilities"]
    test = next((t for t in machine["doctor"]["self_test"] if t["device"] == mine), None)
    usual = [step for step in card["steps"] if not step["way"]]
    trained = [step for step in usual if not step["timed"]]
    equal = sum(step["equal"] for step in trained)
    return Summary(
        device=caps["name"],
        driver=f"{caps['platform']}, {caps['driver']}",
        doctor="not run" if test is None else _self_test(test),
        digests=f"{equal} of {len(TRAININGS)}" + _missing(len(trained)),
        rounds={
            result["shape"]: result["round_ms"]
            for result in machine["results"]
            if result["device"] == mine and not result["problem"]
        },
        safer=_safer(card["steps"]),
        problems=[f"{_name(s)}: {s['problem'] or 'another model'}" for s in usual if _failed(s)],
        by=machine.get("by", ""),
        when=machine["date"].partition(" ")[0],
        good=bool(test and test["passed"]) and equal == len(TRAININGS),
    )


def _missing(n_trained: int) -> str:
    left = len(TRAININGS) - n_trained
    return f", {left} not tried" if left else ""


def _self_test(test: Json) -> str:
    good = sum(not case["problem"] for case in test["cases"])
    verdict = "passed" if test["passed"] else "FAILED"
    return f"{verdict}, {good} of {len(test['cases'])}"


def _name(step: Json) -> str:
    return f"rounds of {step['name']}" if step["timed"] else f"training {step['name']}"


def _failed(step: Json) -> bool:
    return bool(step["problem"]) or not (step["equal"] or step["timed"])


def _safer(steps: list[Json]) -> list[str]:
    ways = dict.fromkeys(step["way"] for step in steps if step["way"])
    lines = []
    for way in ways:
        tried = [step for step in steps if step["way"] == way]
        bad = [step["name"] for step in tried if _failed(step)]
        text = f"{len(tried) - len(bad)} of {len(tried)} trainings give the right model"
        lines.append(f"{way}: {text}" + (f"; not {', '.join(bad)}" if bad else ""))
    return lines
