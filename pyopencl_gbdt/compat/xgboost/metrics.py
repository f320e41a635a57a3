"""Metrics of a ``Booster``: of the fit that runs, else of its predictions, on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.predicting import Predicting
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.evaluation.evaluation import on_host
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: The evaluation set, the metric, and its value.
Score = tuple[str, str, float]
Metric = Callable[[Any, Any], Any]
Evals = Sequence[tuple[DMatrix, str]]


class Collector:
    """A metric that keeps the predictions of every evaluation set, for the user's functions."""

    def __init__(self) -> None:
        self.predictions: dict[int, F32] = {}

    def __call__(self, prediction: F32, rows: Any) -> tuple[str, float]:
        if hasattr(rows, "matrix"):  # else the name of the metric is asked for
            self.predictions[id(rows.matrix)] = prediction
        return "collected", 0.0


def named_scores(
    names: Sequence[str], margins: F32, matrix: DMatrix, objective: Objective, p: Parameters
) -> list[tuple[str, float]]:
    """Return metrics by name of margins of the shape (n_rows,) or (n_rows, n_outputs)."""
    rows = matrix.dataset()
    own = objective.to_probability(np.ascontiguousarray(margins.T))
    found = []
    for name in names:
        metric = get_metric(name, p)
        found.append((name, on_host(metric, name, rows, own)))
    return found


def own_scores(feval: Metric, prediction: F32, matrix: DMatrix) -> list[tuple[str, float]]:
    """Return what a user's function measures: a name and a number, or a list of such pairs.

    Raises
    ------
    ParameterError
        If it returns anything else.
    """
    found = feval(prediction, matrix)
    pairs = found if isinstance(found, list) else [found]
    try:
        return [(str(name), float(value)) for name, value in pairs]
    except (TypeError, ValueError):
        raise ParameterError(
            f"custom_metric returned {show(found)}: expected a name and a number, or a list of "
            "such pairs; return ('name', value)"
        ) from None


def as_text(iteration: int, scores: Sequence[Score]) -> str:
    """Return scores in XGBoost's form: a number, then the set, the metric and the value of each."""
    return f"[{iteration}]" + "".join(f"\t{data}-{name}:{value!r}" for data, name, value in scores)


class BoosterMetrics(Predicting):
    """The part of ``Booster`` that evaluates: by the fit that runs, else by predictions."""

    @property
    def _objective(self) -> Objective:
        return get_objective(self._settings.objective, self._settings.checked())

    @property
    def _metrics(self) -> list[str]:
        """The metrics by name: those asked for, else the loss's own."""
        if self._settings.metrics or self._settings.switch("disable_default_eval_metric"):
            return list(self._settings.metrics)
        return [self._objective.metric]

    def eval(self, data: DMatrix, name: str = "eval", iteration: int = 0) -> str:
        """Return the metrics of a set as text; see ``eval_set``."""
        return self.eval_set([(data, name)], iteration)

    def eval_set(
        self,
        evals: Evals,
        iteration: int = 0,
        feval: Metric | None = None,
        output_margin: bool = True,
    ) -> str:
        """Return the metrics of sets as text, such as ``[3] test-rmse:0.25`` with a tab.

        Parameters
        ----------
        evals : sequence of (DMatrix, str)
        iteration : int
            The number to write.
        feval : callable or None
            A further metric: ``function(prediction, matrix)`` returns a name and a number, or a
            list of such pairs.
        output_margin : bool
            Whether ``feval`` gets margins.
        """
        return as_text(iteration, self.scores(evals, feval, output_margin=output_margin))

    def scores(
        self, evals: Evals, feval: Metric | None = None, *, output_margin: bool = True
    ) -> list[Score]:
        """Return the metrics of sets: the set's name, the metric's, and the value."""
        found: list[Score] = []
        self._settings.metrics = self._metrics  # a metric that is asked for later is a further one
        for matrix, name in evals:
            if not isinstance(matrix, DMatrix):
                raise DataTypeError(f"expected DMatrix, got {type(matrix).__name__}")
            if not isinstance(name, str):
                raise DataTypeError(f"expected string, got {type(name).__name__}")
            self._take_columns(matrix)
            found += [(name, metric, value) for metric, value in self._named(matrix, name)]
        if feval is None:
            return found
        for matrix, name in evals:
            prediction = self._watched(matrix, output_margin)
            if prediction is None:
                prediction = self.predict(matrix, output_margin=output_margin)
            found += [(name, *pair) for pair in own_scores(feval, prediction, matrix)]
        return found

    def _named(self, matrix: DMatrix, name: str) -> list[tuple[str, float]]:
        """Return the named metrics of a set: of the running fit, else of its predictions."""
        rounds, wanted = self._rounds, self._metrics
        if rounds is not None and rounds.n_done and list(rounds.plan.metrics) == wanted:
            watched = [one for one, known in rounds.plan.evals if known == name]
            if watched and watched[0] is matrix:
                if not rounds.given:
                    last: list[tuple[str, float]] = rounds.last_scores(name)
                    return last
                margins = rounds.collector.predictions[id(matrix)]
                p = self._settings.checked()
                return named_scores(wanted, margins, matrix, self._objective, p)
        if not wanted:
            return []
        margins = self.predict(matrix, output_margin=True, validate_features=False)
        return named_scores(wanted, margins, matrix, self._objective, self._settings.checked())

    def _watched(self, matrix: DMatrix, output_margin: bool) -> Any:
        """Return what the running fit predicts for a set of its own, if it is what is asked for."""
        rounds = self._rounds
        if rounds is None or not rounds.n_done or output_margin != rounds.given:
            return None
        return rounds.collector.predictions.get(id(matrix))
