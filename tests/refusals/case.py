"""A training that is refused, and what its error says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.combinations import Part
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from tests.refusals.options import MANY, OPTIONS, Training


@dataclass(frozen=True)
class Case:
    """A training that is refused.

    Attributes
    ----------
    says : str
        How its error begins: the parameter or argument, its value, what is expected.
    options : str
        Names of ``OPTIONS``, separated by commas.
    params : dict
        Further parameters.
    before : callable
        Changes the model to continue.
    limit : (str, int)
        A constant that is lower for this training, so that few rows exceed it.
    """

    says: str
    options: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    before: Callable[[Ensemble, Dataset], Ensemble] = lambda model, data: model
    limit: tuple[str, int] | None = None

    def training(self) -> Training:
        names = self.options.split(", ") if self.options else []
        made = Training.of([OPTIONS[name] for name in names])
        return replace(made, params={**made.params, **self.params})

    def arguments(self) -> dict[str, Any]:
        made = self.training()
        given = made.arguments()
        if "model" in given:
            given["model"] = self.before(given["model"], made.data())
        return given


def with_statistics(model: Ensemble, data: Dataset) -> Ensemble:
    counts = np.ones(MANY, np.int64)
    table = LevelTable((Part(3),), (MANY,), counts, counts[None])
    return replace(model, statistics=Statistics(4, ("> 0.5",), ((0.5,),), (table,)))


def of_linear_leaves(model: Ensemble, data: Dataset) -> Ensemble:
    terms = LinearTerms(*(np.array([number]) for number in (1, 0.5, 0, 2.0)))
    return replace(model, trees=[model.trees[0].with_linear(terms)])


def of_other_weights(model: Ensemble, data: Dataset) -> Ensemble:
    weights = np.arange(len(model.trees), dtype=np.float32)
    return replace(model, tree_weights=tuple(weights))


def of_forests(model: Ensemble, data: Dataset) -> Ensemble:
    return replace(model, trees=model.trees * 2, n_parallel=2)


def of_two_outputs(model: Ensemble, data: Dataset) -> Ensemble:
    scores = {"base_score": (0.5, 0.5), "base_margin": (0.5, 0.5)}
    return replace(model, trees=model.trees * 2, n_outputs=2, **scores)
