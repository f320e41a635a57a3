"""Take the steps of a card's report in worker processes, the most telling first."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from typing import Any

from pyopencl_gbdt.cards.trainings import FIRST, TIMED, TRAININGS, WAYS, Step, safer
from pyopencl_gbdt.doctor.findings import Listed
from pyopencl_gbdt.doctor.watch import SelfTest, remember, run_self_test, run_worker
from pyopencl_gbdt.lazy_dataclasses import dataclass

Json = dict[str, Any]

#: Seconds for all steps where a kernel is built in less than `QUICK_BUILD` seconds.
SECONDS, QUICK_BUILD = 120.0, 0.5
#: Most seconds for the first training, which shows how long kernels are built.
FIRST_SECONDS = 600.0
#: Programs of the first training, and those of all steps. PoCL: 7 and 109; as a GPU: 11 first.
FIRST_BUILDS, ALL_BUILDS = 9, 110
#: Seconds of all steps without building kernels. 2 busy cores, PoCL: 45.
OTHER_SECONDS = 45.0
#: The self-test's share of the time.
SELF_TEST_SHARE = 0.4
_WORKER = (sys.executable, "-m", "pyopencl_gbdt.cards.worker")


@dataclass
class Card:
    """What is known of a card so far.

    Attributes
    ----------
    minutes : float or None
        Most minutes for all steps; None: see `seconds`.
    steps : list of dict
        The steps that were taken: fields of `Step`, with ``problem``, ``seconds``, and of a
        training ``digest`` and ``equal``.
    machine : dict
        ``devices``, ``shapes`` and ``results`` of a machine as in `comparison.schema`.
    ended : str
        Why steps are missing; empty if all were taken.
    """

    device: Listed
    minutes: float | None = None
    self_test: SelfTest | None = None
    steps: list[Json] = field(default_factory=list)
    machine: Json = field(default_factory=lambda: {"devices": [], "shapes": [], "results": []})
    ended: str = ""

    @property
    def seen(self) -> bool:
        """Whether the library's tests run on the device's driver."""
        return bool(self.device.capabilities.get("tested_driver"))

    @property
    def build_seconds(self) -> float | None:
        """Seconds to build a kernel, the mean of the first training; None if it failed."""
        found = next(
            (step["build_seconds"] for step in self.steps if "build_seconds" in step), None
        )
        return None if found is None else found / FIRST_BUILDS

    @property
    def expected_seconds(self) -> float:
        """How long all steps will take."""
        return OTHER_SECONDS + ALL_BUILDS * (self.build_seconds or 0.0)

    @property
    def seconds(self) -> float:
        """Most seconds for all steps."""
        if self.minutes is not None:
            return 60 * self.minutes
        slow = (self.build_seconds or 0.0) >= QUICK_BUILD
        return max(SECONDS, 2 * self.expected_seconds) if slow else SECONDS

    @property
    def failed(self) -> list[str]:
        """The names of trainings that failed or gave another model, in the usual way."""
        usual = [step for step in self.steps if not step["timed"] and not step["way"]]
        return [step["name"] for step in usual if step["problem"] or not step["equal"]]

    def as_json(self) -> Json:
        """Return what the report holds beside the comparison and the doctor's findings."""
        return {
            "device": self.device.device_id,
            "seen": self.seen,
            "build_seconds": self.build_seconds,
            "steps": self.steps,
            "ended": self.ended,
        }


class Collector:
    """Takes a card's steps.

    Parameters
    ----------
    save : callable
        Called after each step.
    show : callable
        Called with the step that runs.
    say : callable
        Called with what a user has to know: how long it will take.
    """

    def __init__(
        self,
        card: Card,
        save: Callable[[], None],
        show: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self.card, self.save, self.show, self.say = card, save, show, say
        self.begin = time.monotonic()

    @property
    def left(self) -> float:
        """The seconds that are left for further steps."""
        return self.card.seconds - (time.monotonic() - self.begin)

    def run(self) -> None:
        """Take all steps that the time allows."""
        card = self.card
        self.take([Step(FIRST)])
        if card.build_seconds is None and card.minutes is None:
            self.begin = time.monotonic()  # the usual time, after a failure that may have been slow
        self._announce()
        self._self_test()
        self.take([Step(name) for name in TRAININGS if name != FIRST])
        shapes = [Step(name, timed=True) for name in TIMED]
        if card.failed:
            self._safer()
            self.take(shapes)
        else:
            self.take(shapes)
            if not card.seen:
                self._safer()

    def take(self, steps: Sequence[Step], *, way: str = "") -> None:
        """Take steps; if one ends or stops the worker, another worker takes the next ones."""
        waiting = list(steps)
        while waiting:
            first = not self.card.steps and self.card.minutes is None
            left = FIRST_SECONDS if first else self.left
            ended = "" if left < 1 else run_worker(
                json.dumps([asdict(step) for step in waiting]),
                self.card.device.device_id,
                left,
                lambda line: self._note(line, waiting),
                {**os.environ, **WAYS[way].environment},
                command=_WORKER,
                silence=max(left / 2, 1.0) if self.card.steps else left,
            )  # fmt: skip
            if not waiting:
                return
            if self.left < 1 and not first:
                self.card.ended = self.card.ended or f"the time was over at: {waiting[0]}"
                self.save()
                return
            problem = ended or "ends the process without a result"
            self._add({**asdict(waiting.pop(0)), "problem": problem, "seconds": None})

    def _note(self, line: Json, waiting: list[Step]) -> None:
        """Take a line of the worker."""
        if "starting" in line:
            self.show(line["starting"])
            return
        waiting.pop(0)
        found = line.pop("machine", None)
        if found is not None:
            machine = self.card.machine
            machine["devices"] = machine["devices"] or found["devices"]
            machine["shapes"] += found["shapes"]
            machine["results"] += found["results"]
        self._add(line)

    def _add(self, step: Json) -> None:
        self.card.steps.append({"digest": None, "equal": False, **step})
        self.save()

    def _announce(self) -> None:
        """Say how long it will take, where that is long."""
        card = self.card
        if card.build_seconds is not None and card.build_seconds >= QUICK_BUILD:
            self.say(
                f"A kernel is built in {card.build_seconds:.1f} s here, so all checks take about "
                f"{card.expected_seconds / 60:.0f} minutes; they end after "
                f"{card.seconds / 60:.0f} minutes. --minutes sets another limit. Ctrl-C keeps what "
                "is known."
            )

    def _self_test(self) -> None:
        def keep(run: SelfTest) -> None:
            self.card.self_test = run
            self.save()

        if self.left > 1:
            limit = SELF_TEST_SHARE * self.card.seconds
            remember(run_self_test(self.card.device, limit, self.show, keep))
            self.save()

    def _safer(self) -> None:
        for steps in safer(self.card.failed, self.card.device.capabilities["api"]):
            self.take(steps, way=steps[0].way)
