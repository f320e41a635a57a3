"""A card of a report in words, for the terminal and for the table of cards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.cards.trainings import TRAININGS

Json = dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """A card of a report in words.

    Attributes
    ----------
    device, driver : str
    doctor : str
        The result of the self-test.
    digests : str
        How many trainings gave the model of all other devices.
    rounds : dict of str to float
        Milliseconds a round by shape, of those that were measured.
    safer : list of str
        What safer ways gave, as far as they were tried.
    problems : list of str
        What failed in the usual way, and why.
    by, when : str
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
