"""The scores of a training, and when they end it, by scikit-learn's rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingModel
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: Names of the evaluation sets.
TRAINING, VALIDATION = "training", "validation"


def should_stop(scores: list[float], patience: int, tol: float) -> bool:
    """Tell whether none of the last ``patience`` scores beats the one before them by ``tol``."""
    if len(scores) <= patience:
        return False
    before, *later = scores[-patience - 1 :]
    return not any(score > before + tol for score in later)


@dataclass(frozen=True)
class LossScore:
    """The loss as scikit-learn defines it, negative, by a metric of this library."""

    metric: str

    def score(self, value: float, rows: Dataset) -> float:
        """Return the score of a value of the metric."""
        if self.metric == "rmse":
            return -value * value / 2
        if self.metric == "poisson-nloglik":  # less the part that no prediction changes
            constant = np.array([math.lgamma(one + 1) for one in rows.label.tolist()])
            value -= float(np.average(constant, weights=rows.weight))
        return -value

    def of_margins(self, margins: F32, rows: Dataset, objective: Objective, p: Parameters) -> float:
        """Return the score of margins."""
        metric, found = get_metric(self.metric, p), objective.to_probability(margins)
        return self.score(float(metric(rows.label, found, rows.weight)), rows)


@dataclass(frozen=True)
class OwnScore:
    """The score that a scorer of scikit-learn gives.

    Attributes
    ----------
    scorer : callable
        ``scorer(prediction, rows)`` returns a name and a number.
    """

    scorer: Callable[[npt.NDArray[Any], Dataset], tuple[str, float]]

    def score(self, value: float, rows: Dataset) -> float:
        return value

    def of_margins(self, margins: F32, rows: Dataset, objective: Objective, p: Parameters) -> float:
        return self.scorer(objective.to_prediction(margins), rows)[1]


class Scores(TrainingCallback):
    """Collects the scores after every round, and ends the training.

    Parameters
    ----------
    former : dict of str to list of float
        Scores of the former fit; empty without ``warm_start``.
    patience : int
        ``n_iter_no_change``.
    start : callable
        Returns the objective and the parameters of the training.

    Attributes
    ----------
    found : dict of str to list of float
        The scores of every set, that of the starting prediction first.
    """

    def __init__(
        self,
        kind: LossScore | OwnScore,
        sets: dict[str, Dataset],
        former: dict[str, list[float]],
        patience: int,
        tol: float,
        start: Callable[[], tuple[Objective, Parameters]],
    ) -> None:
        self.kind, self.sets, self.patience, self.tol = kind, sets, patience, tol
        self.found = {name: [*former.get(name, [])] for name in sets}
        self._start = start

    def check(self, plan: Plan) -> None:
        """Score the starting prediction, unless a former fit did."""
        if all(self.found.values()) or plan.begins_with is None:
            return
        start = np.array(each(plan.begins_with()["base_margin"]), np.float32)[:, None]
        for name, rows in self.sets.items():
            margins = np.repeat(start, rows.n_rows, axis=1)
            margins = margins[0] if len(start) == 1 else margins
            self.found[name] = [self.kind.of_margins(margins, rows, *self._start())]

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Keep the scores; end the training when those of the watched set no longer improve."""
        for name, rows in self.sets.items():
            value = list(evals_log[name].values())[-1][-1]
            self.found[name].append(self.kind.score(float(value), rows))
        return self.is_over()

    def is_over(self) -> bool:
        """Tell whether the scores of the last set no longer improve."""
        return should_stop([*self.found.values()][-1], self.patience, self.tol)
