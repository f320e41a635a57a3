"""Stop a training that no longer improves."""

from __future__ import annotations

import math
import numbers
from typing import Any

from pyopencl_gbdt.arguments import check_switches
from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback, TrainingModel
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.prediction.model import BEST_ITERATION, BEST_SCORE

#: Metrics, without ``@`` and number, for which larger is better.
MAXIMIZED = frozenset({"ams", "auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy"})


class EarlyStopping(TrainingCallback):
    """Stop when a metric has not improved for a number of rounds.

    Parameters
    ----------
    rounds : int
        Number of rounds without improvement after which training stops.
    metric_name : str or None
        The metric to watch; None is the last metric.
    data_name : str or None
        The evaluation set to watch; None is the last one.
    maximize : bool or None
        Whether larger is better; None decides by the metric's name.
    save_best : bool, default False
        Keep only the trees up to the best round. By default all trees are kept, as in XGBoost, and
        ``predict`` uses those up to the best round.
    min_delta : float, default 0
        Minimum difference that counts as an improvement.

    Notes
    -----
    The model gets attributes ``best_iteration`` and ``best_score``. NaN is never an improvement.
    """

    def __init__(
        self,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool = False,
        min_delta: float = 0.0,
    ) -> None:
        self.rounds, self.min_delta = rounds, min_delta
        self.metric_name, self.data_name = metric_name, data_name
        self.maximize, self.save_best = maximize, save_best
        self._watched = ("", "")
        self._more_is_better = False
        self._starting_round = 0
        self._best: float | None = None
        self._best_round = self._waited = 0

    def check(self, plan: Plan) -> None:
        """Raise an error for invalid numbers, or if there is no such set or metric."""
        check_switches(maximize=self.maximize, save_best=self.save_best)
        whole = isinstance(self.rounds, numbers.Integral) and not isinstance(self.rounds, bool)
        if not whole or self.rounds < 1:
            raise ParameterError(
                f"early_stopping_rounds={self.rounds!r}: expected an integer >= 1; "
                "leave it out to train all rounds"
            )
        real = isinstance(self.min_delta, numbers.Real) and not isinstance(self.min_delta, bool)
        if not real or not 0 <= self.min_delta < math.inf:
            raise ParameterError(
                f"min_delta={self.min_delta!r}: expected a finite number >= 0; 0 is any improvement"
            )
        if not plan.watched:
            raise ParameterError(
                f"early_stopping_rounds={self.rounds}: expected an evaluation set to watch; give "
                "evals= to train, or eval_set= to fit"
            )
        data = _one_of("data_name", self.data_name, list(plan.watched))
        metric = _one_of("metric_name", self.metric_name, list(plan.watched[data]))
        self._watched = (data, metric)
        by_name = more_is_better(metric)
        self._more_is_better = by_name if self.maximize is None else bool(self.maximize)

    def before_training(self, model: TrainingModel) -> None:
        """Forget the scores of an earlier training."""
        self._starting_round = model.num_boosted_rounds()
        self._best, self._best_round, self._waited = None, 0, 0

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Compare the round's score with the best score."""
        data, metric = self._watched
        last = evals_log[data][metric][-1]
        score = float(last[0] if isinstance(last, tuple) else last)  # in cv, the mean over folds
        if self._best is None or self._is_better(score, self._best):
            self._best, self._best_round = score, self._starting_round + epoch
            self._waited = 0
            self._tell(model)
        else:
            self._waited += 1
        return self._waited >= self.rounds

    def after_training(self, model: TrainingModel) -> None:
        """Store the best round; with ``save_best``, drop the rounds after it."""
        if self._best is None:
            return
        self._tell(model)
        if self.save_best and not model.is_cv:
            model.keep_rounds(self._best_round + 1)

    @property
    def best_iteration(self) -> int:
        """The best round, counted from 0."""
        return self._best_round

    def _is_better(self, score: float, best: float) -> bool:
        if math.isnan(best):
            return not math.isnan(score)
        if self._more_is_better:
            return score - self.min_delta > best
        return best - self.min_delta > score

    def _tell(self, model: TrainingModel) -> None:
        model.attributes[BEST_ITERATION] = str(self._best_round)
        model.attributes[BEST_SCORE] = repr(self._best)

    def state(self) -> dict[str, Any]:
        """Return the settings and the best round so far."""
        return {
            "settings": [self.rounds, *self._watched, self._more_is_better, self.save_best,
                         float(self.min_delta)],
            "progress": [self._starting_round, self._best, self._best_round, self._waited],
        }  # fmt: skip

    def restore(self, state: Any) -> None:
        """Restore the best round so far; raise if the settings differ."""
        names = ("rounds", "data_name", "metric_name", "maximize", "save_best", "min_delta")
        mine = self.state()["settings"]
        for name, now, then in zip(names, mine, state["settings"], strict=True):
            if now != then:
                raise ParameterError(
                    f"EarlyStopping: {name}={now!r}: expected {show(then)}, as in the checkpoint; "
                    "give the settings of the training that is resumed"
                )
        start, best, best_round, waited = state["progress"]
        counts = all(type(n) is int and 0 <= n < 2**31 for n in (start, best_round, waited))
        is_score = best is None or isinstance(best, float)
        if not counts or not is_score or waited >= self.rounds or best_round < start:
            raise TypeError(f"progress={state['progress']!r}")
        self._starting_round, self._best = start, best
        self._best_round, self._waited = best_round, waited


def more_is_better(metric: str) -> bool:
    """Tell by a metric's name whether more of it is better."""
    return metric.partition("@")[0] in MAXIMIZED


def _one_of(parameter: str, name: str | None, known: list[str]) -> str:
    if name is not None and (not isinstance(name, str) or name not in known):
        raise ParameterError(
            f"EarlyStopping: {parameter}={name!r}: expected one of {known}; "
            "leave it out for the last one"
        )
    return known[-1] if name is None else name
