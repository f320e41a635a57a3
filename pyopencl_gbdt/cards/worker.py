"""The process that takes steps: ``python -m pyopencl_gbdt.cards.worker STEPS DEVICE``.

``STEPS`` is a JSON list of the fields of `Step`. The process writes a JSON object to standard
output before and after each step. A driver may crash or hang it; see ``collect``.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from pyopencl_gbdt.cards.trainings import FIRST, TIMED, WAYS, Step, digest
from pyopencl_gbdt.comparison.measure import describe
from pyopencl_gbdt.comparison.plan import Options
from pyopencl_gbdt.comparison.run import describe_device, run
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.device.timing import Stopwatch, clock

#: SHA-256 of the model's file, by the training's name.
EXPECTED = {
    "logistic": "f272d682493ca37c0862dffac39b87c9b13996ed0c51e56b90f7e70d015df155",
    "sampled": "8f3950a5f2cc3ee856167a203b983d66e9a458831e202d01bbe32e7df7138e81",
    "classes": "54672643c661b08d3bda9d0bb820f50acd48c0a9ce6606c2d5c51892984c1dc0",
    "best first": "ec317aa11ea55e328b38b577ec092ef81c71b610367ef44daa23fb1f2da0b464",
    "sets": "8e8439b379af25c20ba7b07eb361c432c924e27d1583052936ae62d5f51dd499",
    "exact": "0e5db57bc7cf31348e0b9b164d7df3561fa4279e8a40fe1890acd079195c1638",
    "symmetric": "e6ca0b0fa8294b51cc196d385d733e7a93450d0274ca7b6cbe9d0160a853b31d",
    "ndcg": "ababa339ef63a1fc5e93ae70950d18a104f39fe7f75cd21c5892200bf4321d89",
    "sparse": "9b1a74bc042838566ff9027795d8332d57b649d41c73dff3bbc515214a1863bf",
    "approx": "7ea7aed34c9544c56b1d392d908b1db56b36413dbb02a0e38bc523d2930d9fa3",
    "statistics": "d3b450a2c6c51fe57c253f7cff473be42335a5d795da76ac60a04f42be00f013",
    "ordered": "33cf04f73f909458a4f60d28e0d5c561872afa3c3539da603c93c83ecf4e6fbd",
    "cox": "cbf9c5bb66703bef7dea6b2f6b8b0d20a62a7ed47860d03e513b12ff31a7e3c7",
    "goss": "32053e480e50176231a7f16be3e1758b0515767ea922cb565789a430c917d97b",
    "forest": "ce36b9af9d3dcc0b1e32bd25bf96c6b89a139f7d541575aa990db7a94a83aa10",
    "distribution": "b4c6ec1de7e765b429cbaf620bdbf43cc4844c6417e2d7278a0734e792a7ad32",
    "quantiles": "7a4764dcde81c649feafb81b249ba291aaf1a03e5267921439ee8bcc7572101e",
    "pairs": "9015354f1d04b4fa2b015fd2ba3ecc5aff2429c7db76ae6787d4cc85e92dad22",
    "aft": "548875394001275af879a54f5dc132af048c63f7b0fba8028f92da36d3196235",
    "many bins": "45deacd5cebbd5292bb1ce9c97fdc473068914ec9a84b2ba7a44f2c0a76825e8",
}


#: How shapes are timed.
OPTIONS = Options(repeats=1, seed=0, quick=True)


def training(step: Step, device_id: str) -> dict[str, Any]:
    """Train; return the digest. The first training also tells how long its kernels were built."""
    open_device(device_id)  # the driver may be measured first, see `device.first_use`
    watch = Stopwatch()
    found = digest(step.name, device_id, **WAYS[step.way].params)
    first = watch.lap()
    answer: dict[str, Any] = {"digest": found, "equal": found == EXPECTED[step.name]}
    if step == Step(FIRST):
        again = clock(digest, step.name, device_id)  # the same without building
        answer["build_seconds"] = round(max(0.0, first - again), 3)
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
    watch = Stopwatch()
    answer: dict[str, Any] = {**asdict(step), "problem": ""}
    try:
        answer.update((timed if step.timed else training)(step, device_id))
    except Exception as error:  # a driver may raise anything; the next steps go on
        answer["problem"] = describe(error)
    answer["seconds"] = round(watch.lap(), 3)
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
