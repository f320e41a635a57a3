"""The process that takes steps: ``python -m pyopencl_gbdt.cards.worker STEPS DEVICE``.

``STEPS`` is a JSON list of the fields of `Step`. The process writes a JSON object to standard
output before and after each step. A driver may crash or hang it; see ``collect``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any

from pyopencl_gbdt.cards.digests import EXPECTED
from pyopencl_gbdt.cards.steps import FIRST, TIMED, WAYS, Step
from pyopencl_gbdt.cards.trainings import digest
from pyopencl_gbdt.comparison.measure import describe
from pyopencl_gbdt.comparison.plan import Options
from pyopencl_gbdt.comparison.run import describe_device, run
from pyopencl_gbdt.device import find, open_device

#: How shapes are timed.
OPTIONS = Options(repeats=1, seed=0, quick=True)


def training(step: Step, device_id: str) -> dict[str, Any]:
    """Train; return the digest. The first training also tells how long its kernels were built."""
    open_device(device_id)  # the driver may be measured first, see `device.first_use`
    begin = time.perf_counter()
    found = digest(step.name, device_id, **WAYS[step.way].params)
    answer: dict[str, Any] = {"digest": found, "equal": found == EXPECTED[step.name]}
    if step == Step(FIRST):
        middle = time.perf_counter()
        digest(step.name, device_id)  # the same without building
        again = time.perf_counter() - middle
        answer["build_seconds"] = round(max(0.0, middle - begin - again), 3)
    return answer


def timed(step: Step, device_id: str) -> dict[str, Any]:
    """Time the rounds of a shape; return a machine as in `comparison.schema`."""
    device = describe_device(find(device_id))
    machine: dict[str, Any] = {
        "options": asdict(OPTIONS), "devices": [device], "shapes": [], "results": [],
    }  # fmt: skip
    for _ in run(machine, [TIMED[step.name]], lambda task, part: None):
        pass
    problems = [one["problem"] for one in [device, *machine["shapes"], *machine["results"]]]
    return {"machine": machine, "problem": next(filter(None, problems), "")}


def take(step: Step, device_id: str) -> dict[str, Any]:
    """Take a step; return what it found, with ``problem`` and ``seconds``."""
    begin = time.perf_counter()
    answer: dict[str, Any] = {**asdict(step), "problem": ""}
    try:
        answer.update((timed if step.timed else training)(step, device_id))
    except Exception as error:  # a driver may raise anything; the next steps go on
        answer["problem"] = describe(error)
    answer["seconds"] = round(time.perf_counter() - begin, 3)
    return answer


def main(arguments: list[str]) -> int:
    """Take the steps, one after another."""
    steps, device_id = json.loads(arguments[0]), arguments[1]
    # Output of drivers goes to standard error; only answers go to the original standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for step in (Step(**one) for one in steps):
        answers.write(json.dumps({"starting": str(step)}) + "\n")
        answers.flush()
        answers.write(json.dumps(take(step, device_id)) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
