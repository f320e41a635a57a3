"""Metrics of a ``Booster``: of the fit that runs, else of its predictions."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import (
    Evals,
    Metric,
    Score,
    as_text,
    named_scores,
    own_scores,
)
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.errors import DataTypeError
from pyopencl_gbdt.objectives import Objective, get_objective


class BoosterMetrics:
    """The part of ``Booster`` that evaluates; the other parts predict and keep the rounds."""

    _settings: Settings
    _rounds: Any

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
        whole: Any = self
        found: list[Score] = []
        self._settings.metrics = self._metrics  # a metric that is asked for later is a further one
        for matrix, name in evals:
            if not isinstance(matrix, DMatrix):
                raise DataTypeError(f"expected DMatrix, got {type(matrix).__name__}")
            if not isinstance(name, str):
                raise DataTypeError(f"expected string, got {type(name).__name__}")
            whole._take_columns(matrix)
            found += [(name, metric, value) for metric, value in self._named(matrix, name)]
        for matrix, name in evals if feval is not None else ():
            assert feval is not None
            prediction = self._watched(matrix, output_margin)
            if prediction is None:
                prediction = whole.predict(matrix, output_margin=output_margin)
            found += [(name, *pair) for pair in own_scores(feval, prediction, matrix)]
        return found

    def _named(self, matrix: DMatrix, name: str) -> list[tuple[str, float]]:
        """Return the named metrics of a set: of the running fit, else of its predictions."""
        rounds, wanted = self._rounds, self._metrics
        whole: Any = self
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
        margins = whole.predict(matrix, output_margin=True, validate_features=False)
        return named_scores(wanted, margins, matrix, self._objective, self._settings.checked())

    def _watched(self, matrix: DMatrix, output_margin: bool) -> Any:
        """Return what the running fit predicts for a set of its own, if it is what is asked for."""
        rounds = self._rounds
        if rounds is None or not rounds.n_done or output_margin != rounds.given:
            return None
        return rounds.collector.predictions.get(id(matrix))
