"""The steps of a card's report: small trainings, safer ways to repeat them, timed shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from pyopencl_gbdt.cards.trainings import TRAININGS
from pyopencl_gbdt.comparison.shapes import SHAPES
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The shapes whose rounds are timed, the smallest first.
TIMED = {
    "small": replace(SHAPES["small"], n_rounds=20),
    "million": replace(
        SHAPES["higgs"], name="million", title="HIGGS-like, a million rows", n_rows=1_000_000,
        n_rounds=5,
    ),
    "wide": replace(SHAPES["bosch"], name="wide", n_rows=10_000, n_rounds=3),
}  # fmt: skip
FIRST = next(iter(TRAININGS))


@dataclass(frozen=True)
class CardWay:
    """How to train, where the usual way fails or nobody has tried it.

    Attributes
    ----------
    params : dict
        Parameters of the trainings.
    environment : dict
        Variables of the process.
    api : str
        The interface that knows the way; empty for all.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    api: str = ""


#: Safer ways by name. Each gives the same models as the usual one, whose name is empty.
WAYS = {
    "": CardWay(),
    "work-groups of 64": CardWay({"work_group_size": 64}),
    "kernels of the least capable GPU": CardWay(environment={"PYOPENCL_GBDT_PRETEND": "baseline"}),
    "unoptimised kernels": CardWay(
        environment={"PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable"}, api="opencl"
    ),
}


@dataclass(frozen=True)
class Step:
    """One step that a worker takes.

    Attributes
    ----------
    name : str
        A key of ``TRAININGS`` or of ``TIMED``.
    way : str
        A key of ``WAYS``.
    timed : bool
        Whether it is a shape.
    """

    name: str
    way: str = ""
    timed: bool = False

    def __str__(self) -> str:
        if self.timed:
            return f"rounds of {self.name}"
        return f"training {self.name}" + (f", {self.way}" if self.way else "")


def safer(failed: list[str], api: str) -> list[list[Step]]:
    """Return, for each safer way, the steps that repeat failed trainings, or the first one."""
    return [
        [Step(name, way) for name in failed or [FIRST]]
        for way, known in WAYS.items()
        if way and known.api in ("", api)
    ]
