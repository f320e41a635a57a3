"""Rounds of a booster that run one at a time: a fit that stays open between them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Collector, Evals
from pyopencl_gbdt.compat.xgboost.objective import GivenGradients, Gradients, Slot
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import CUSTOM
from pyopencl_gbdt.parameters.parameters import given_instead
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.open_fit import OpenFit, open_fit

#: Rounds that a fit is opened for where nobody says how many come. DART keeps an array for each.
_MANY, _SOME = 2**20, 1024
#: The name of the loss whose gradients are given, while a fit runs.
_GIVEN = "gradients of the user's"


@dataclass(frozen=True)
class Plan:
    """The arguments that open a fit.

    Attributes
    ----------
    params : dict of str to object
        As ``Settings.trained`` returns them.
    objective : Objective
        The loss that the parameters name.
    score : float, tuple of float, or None
        The base score that is asked for; 0.5 where gradients are given.
    evals : sequence of (DMatrix, str)
        Sets that the fit evaluates after every round.
    collects : bool
        Whether predictions of these sets are kept for a user's functions.
    """

    params: dict[str, Any]
    objective: Objective
    score: Score | None
    metrics: tuple[str, ...] = ()
    evals: Evals = ()
    collects: bool = False
    n_rounds: int | None = None


class Rounds:
    """An open fit on a matrix.

    Parameters
    ----------
    given : bool
        Whether every round is given its gradients.
    first_round : int or None
        The number of the first round, by which random numbers are drawn; None counts the rounds
        of ``before``.
    n_split : int
        Gradients of a row that each round is given to search splits by; 0: none.
    """

    def __init__(
        self,
        plan: Plan,
        matrix: DMatrix,
        before: Ensemble | None,
        given: bool,
        first_round: int | None = None,
        n_split: int = 0,
    ) -> None:
        self._first_round, self._n_split = first_round, n_split
        self.plan, self.matrix, self.given = plan, matrix, given
        self.rows = matrix.dataset()
        self.n_targets = self.rows.n_targets if self.rows.has_label else 1
        self.n_done = 0
        self._slot, self.collector = Slot(), Collector()
        self._start = self._scores(before)
        n_rounds = plan.n_rounds or (_SOME if plan.params.get("booster") == "dart" else _MANY)
        params = given_instead(plan.params, n_estimators=n_rounds)
        if given:
            params = self._with_given(params)
        start = None if before is None else self._before(before)
        metrics: list[Any] = [] if given else list(plan.metrics)
        if plan.collects or (given and plan.evals):
            metrics.append(self.collector)
        evals = [(own.dataset(), name) for own, name in plan.evals] if metrics else []
        self._stack = contextlib.ExitStack()
        self.asked: dict[str, Any] = {
            "params": params,
            "eval_metric": metrics or None,
            "model": start,
        }
        self._fit: OpenFit
        self._open(evals)
        matrix.marked_as_trained(int(params.get("max_bin", 256)))

    def _open(self, evals: Any) -> None:
        opening = open_fit(
            data=self.rows, evals=evals, first_round=self._first_round, **self.asked
        )  # fmt: skip
        self._fit = self._stack.enter_context(opening)

    def _with_given(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return parameters with a loss whose gradients are given."""
        base = self.plan.objective
        loss = self._loss(_GIVEN, max(base.n_outputs, self.n_targets))
        dropped = ("num_class", "scale_pos_weight", *base.parameters)
        kept = {name: value for name, value in params.items() if name not in dropped}
        return {**kept, "objective": loss, "base_score": self._start[1]}

    def _loss(self, name: str, n_outputs: int) -> GivenGradients:
        return GivenGradients(
            custom_name=name, outputs=n_outputs, slot=self._slot, splits=self._n_split
        )

    def _scores(self, before: Ensemble | None) -> tuple[Score, Score]:
        """Return the base score of a fit whose gradients are given, and its margin."""
        if self.plan.score is None and before is not None:
            return before.base_score, before.base_margin
        score = 0.5 if self.plan.score is None else self.plan.score
        return score, self.plan.objective.to_margin(score)

    def _before(self, ensemble: Ensemble) -> Ensemble:
        """Return the model to continue, with the loss of this fit."""
        if not self.given:
            return ensemble
        return replace(
            ensemble, objective=CUSTOM, objective_parameters={"custom_name": _GIVEN},
            base_score=ensemble.base_margin,
        )  # fmt: skip

    def suits(self, matrix: DMatrix, given: bool, first_round: int | None) -> bool:
        """Tell whether the next round on this matrix can be one of this fit."""
        if self._first_round is not None or first_round is not None:
            own = None if self._first_round is None else self._first_round + self.n_done
            if own != first_round:
                return False
        most = self.plan.n_rounds or _SOME
        room = self.n_done < most or self.plan.params.get("booster") != "dart"
        return (
            matrix is self.matrix and matrix.dataset() is self.rows and given == self.given and room
        )

    def step(self, gradients: Gradients | None = None) -> None:
        """Train a round; ``gradients`` are its own where they are given."""
        self._slot.function = gradients
        self._fit.update()
        self.n_done += 1

    @property
    def learning_rate(self) -> float:
        return self._fit.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._fit.learning_rate = value

    def last_scores(self, name: str) -> list[tuple[str, float]]:
        """Return the last value of each named metric of an evaluation set."""
        own = self._fit.history.get(name, {})
        return [(metric, own[metric][-1]) for metric in self.plan.metrics if own.get(metric)]

    def model(self, names: Sequence[str] | None) -> Model:
        """Return the model of all rounds so far; waits for the device."""
        found = self._fit.model()
        ensemble = replace(found.ensemble, feature_names=None if names is None else list(names))
        if self.given:
            base = self.plan.objective
            score, known = self._start
            margin = ensemble.base_margin
            if not isinstance(margin, tuple):
                score = score if known == margin else _score_of(base, margin)
            elif not isinstance(score, tuple):
                score = (score,) * len(margin)
            ensemble = replace(
                ensemble, objective=base.name, objective_parameters=base.parameters,
                base_score=score,
            )  # fmt: skip
        found.ensemble = ensemble
        return found

    def close(self) -> None:
        """Free the device's memory; the fit cannot go on."""
        self._stack.close()


class HostRounds:
    """What ``Rounds`` does, on the host; its evaluation sets are left to predictions.

    Parameters
    ----------
    how : object
        A dataclass that has the learning rate.
    given : bool
        Whether every round is given its gradients.
    """

    def __init__(self, plan: Plan, matrix: DMatrix, how: Any, *, given: bool = False) -> None:
        self.plan = replace(plan, evals=(), metrics=())
        self.matrix, self.rows, self.collector = matrix, matrix.dataset(), Collector()
        self.given, self.n_done, self._how = given, 0, how

    def suits(self, matrix: DMatrix, given: bool, first_round: int | None) -> bool:
        """Tell whether the next round on this matrix can be one of these."""
        return matrix is self.matrix and matrix.dataset() is self.rows and given == self.given

    @property
    def learning_rate(self) -> float:
        rate: float = self._how.learning_rate
        return rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._how = replace(self._how, learning_rate=value)

    def last_scores(self, name: str) -> list[tuple[str, float]]:
        """Return no metric: they come of predictions."""
        return []

    def close(self) -> None:
        """End; nothing is to be freed."""


def _score_of(objective: Objective, margin: float) -> float:
    """Return the base score of a margin."""
    import numpy as np

    return float(objective.to_prediction(np.array([margin], np.float32))[0])
