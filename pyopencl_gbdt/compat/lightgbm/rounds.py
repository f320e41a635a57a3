"""The rounds of a training, one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm import prediction as rows_to
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.objectives import LINKS, HostLoss
from pyopencl_gbdt.compat.lightgbm.settings import column_shares, hessian_factor
from pyopencl_gbdt.compat.lightgbm.task import Task
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.eval_metrics import check_fit
from pyopencl_gbdt.training.open_fit import open_fit

F64 = npt.NDArray[np.float64]
#: Rounds of a training whose end is not known.
MANY = 2**31 - 1


class Rounds:
    """A fit that stays open, and what its rounds tell of the evaluation sets.

    Parameters
    ----------
    data : Dataset
        The training rows.
    sets : sequence of Dataset
        To evaluate after every round; ``data`` may be among them.
    before : Ensemble or None
        A model to continue.
    n_rounds : int
        Most rounds.
    fobj : callable or None
        A loss of the user's.
    keeps_predictions : bool
        Whether predictions of the sets are needed, as functions of the user's take them.
    """

    def __init__(
        self,
        task: Task,
        data: Dataset,
        sets: Sequence[Dataset],
        before: Ensemble | None,
        n_rounds: int,
        fobj: Any = None,
        *,
        keeps_predictions: bool,
    ) -> None:
        self.task, self.sets, self._fobj = task, list(sets), fobj
        by_host = task.asks_host(data) or fobj is not None
        mine = task.rows_of(data)
        self._rows = [task.rows_of(one) for one in sets]
        labels = task.of_labels(data)
        loss, self._is_by_host = None, by_host
        if by_host:
            start = labels.get("base_score", 0.0)
            start = start if before is None else [*each(before.base_margin)]
            loss = task.by_host(data, fobj, start, 0 if before is None else before.n_rounds)
        params = task.trained(loss) | labels | column_shares(task.params, mine.n_features)
        if fobj is not None:
            params["base_score"] = [0.0] * task.n_outputs if task.n_outputs > 1 else 0.0
        if before is not None:
            before = self._continued(before, params)
            params.pop("base_score", None)
        here = [metric.here for metric in task.metrics]
        self._by_device = all(here) and not by_host and not keeps_predictions
        if self._by_device and here:
            fit = all(one.fits(rows) for one in task.metrics for rows in self._rows)
            self._by_device = fit and _fit(params, here, [mine, *self._rows])
        self._found: dict[int, npt.NDArray[np.float32]] = {}
        how: dict[str, Any] = {}
        if sets:
            how["evals"] = [(rows, str(place)) for place, rows in enumerate(self._rows)]
            how["eval_metric"] = sorted({*here}) if self._by_device and here else None
            how["custom_metric"] = None if self._by_device else self._keep
        self._stack = contextlib.ExitStack()
        self._fit = self._stack.enter_context(open_fit(params, mine, n_rounds, model=before, **how))

    def _continued(self, before: Ensemble, params: dict[str, Any]) -> Ensemble:
        """Return the model to continue, with this training's loss; new trees add to its margins."""
        name = params["objective"]
        if isinstance(name, HostLoss):
            return replace(before, objective="custom", base_score=before.base_margin,
                           objective_parameters=name.parameters)  # fmt: skip
        objective = get_objective(name, Parameters.from_dict(params))
        own = objective.parameters
        if before.objective == name:
            return replace(before, objective_parameters=own)
        margin = np.array(each(before.base_margin), np.float32)
        score = objective.to_prediction(margin).tolist()
        return replace(before, objective=name, objective_parameters=own,
                       base_score=tuple(score) if len(score) > 1 else score[0])  # fmt: skip

    def _keep(self, prediction: npt.NDArray[np.float32], rows: own.Dataset) -> tuple[str, float]:
        """Keep the predictions of a set, as a metric of this library gets them."""
        for place, one in enumerate(self._rows):
            if one is rows:
                self._found[place] = prediction.copy()
        return "kept", 0.0

    def step(self) -> bool:
        """Train a round; return whether there was one."""
        return self._fit.update()

    @property
    def n_rounds(self) -> int:
        return self._fit.n_rounds

    def set_rate(self, rate: float) -> None:
        """Set LightGBM's learning rate of the rounds to come."""
        task = self.task
        factor = 1.0 if self._is_by_host else hessian_factor(task.params, task.objective)
        self._fit.learning_rate = rate * factor

    def ensemble(self) -> Ensemble:
        """Return the model of all rounds; that of a forest is a sum, not yet a mean."""
        return self._fit.model().ensemble

    def place_of(self, data: Dataset) -> int | None:
        """Return the place of an evaluation set whose last round is known, or None."""
        places = [place for place, one in enumerate(self.sets) if one is data]
        return places[0] if places and self._fit.history else None

    def values(self, place: int) -> list[float]:
        """Return the last value of each metric of the task, for an evaluation set."""
        rows = self._rows[place]
        if self._by_device:
            history = self._fit.history[str(place)]
            return [one.converted(history[one.here][-1], rows) for one in self.task.metrics]
        found = self.prediction(place)
        return [
            metric.evaluate(self._margins(place) if metric.reads_margins else found, rows)
            for metric in self.task.metrics
        ]

    def prediction(self, place: int) -> F64:
        """Return the predictions of an evaluation set: (n_rows,), or (n_rows, n_classes)."""
        margins = self._kept(place)
        if self._fobj is not None or not self._is_by_host:
            return margins
        if self.task.boosting == "rf":
            rows = self._rows[place]
            base = np.asarray(each(self._fit.model().ensemble.base_margin))
            start = base if rows.base_margin is None else rows.base_margin
            start = start[0] if margins.ndim == 1 and np.size(start) == 1 else start
            margins = start + (margins - start) / max(self.n_rounds, 1)
        return LINKS[self.task.kind.link](margins)

    def _kept(self, place: int) -> F64:
        """Return what the last round told of a set: predictions; margins of the host's losses."""
        kept = self._found[place].astype(np.float64)
        return kept.T if kept.ndim == 2 and kept.shape[0] != self._rows[place].n_rows else kept

    def _margins(self, place: int) -> F64:
        """Return the margins of an evaluation set, but for a number that each row may add to all.

        Where weights of classes tell these numbers apart, all trees are walked.
        """
        if self._is_by_host:
            return self._kept(place)
        if self.task.params["auc_mu_weights"]:
            return rows_to.margins(self.ensemble(), self._rows[place])
        found: F64 = np.log(np.maximum(self._kept(place), np.finfo(np.float32).tiny))
        return found

    def close(self) -> None:
        """Free the memory of the fit."""
        self._stack.close()


def _fit(params: dict[str, Any], metrics: list[str], sets: list[own.Dataset]) -> bool:
    """Tell whether metrics fit the labels; LightGBM also computes metrics that do not."""
    p = Parameters.from_dict(params)
    try:
        check_fit(metrics, get_objective(p.objective, p), p, sets)
    except ParameterError:
        return False
    return True
