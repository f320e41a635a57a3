"""Stop a training by scikit-learn's rule."""

from __future__ import annotations

import math

from pyopencl_gbdt.callbacks.base import EvalsLog, TrainingModel
from pyopencl_gbdt.callbacks.early_stopping import EarlyStopping


class NoChange(EarlyStopping):
    """Stop when none of the last ``rounds`` scores is better than the score before them.

    The rule of scikit-learn's ``HistGradientBoostingClassifier``; ``EarlyStopping`` compares with
    the best score so far. Both store the best round, up to which ``predict`` uses the trees.

    Parameters
    ----------
    rounds, metric_name, data_name, maximize, save_best
        As for ``EarlyStopping``.
    min_delta : float, default 0
        scikit-learn's ``tol``: smaller differences are no improvement. The best round may be
        better by less.
    """

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Store the best round; compare the last scores with the one before them."""
        super().after_iteration(model, epoch, evals_log)
        self._waited = 0  # the other rule's
        data, metric = self._watched
        recent = evals_log[data][metric][-self.rounds - 1 :]
        if len(recent) <= self.rounds:
            return False
        before, *later = (float(one[0] if isinstance(one, tuple) else one) for one in recent)
        return not any(super(NoChange, self)._is_better(score, before) for score in later)

    def _is_better(self, score: float, best: float) -> bool:
        """Tell whether a round is the best so far, by any difference."""
        if math.isnan(score) or math.isnan(best):
            return not math.isnan(score)
        return score > best if self._more_is_better else score < best
