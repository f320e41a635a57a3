"""Early stopping of an estimator by itself, with scikit-learn's parameters."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from pyopencl_gbdt.callbacks.base import EvalsLog, TrainingModel
from pyopencl_gbdt.callbacks.early_stopping import EarlyStopping
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.remarks import warn_of_scores, warn_of_stopping
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.held_out import HoldOut, NothingHeldOutError, divided
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.best_round import BEST_SCORE
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.objectives.custom import name_of, scikit_learn_metrics
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model

AUTO = "auto"
#: ``early_stopping="auto"`` stops by itself above so many rows, as in scikit-learn.
AUTO_ROWS = 10000
#: Names of the set that is watched, where it is the estimator's own.
HELD_OUT, TRAINING = "held_out", "training"

Evals = Sequence[tuple[Dataset, str]]


@dataclass(frozen=True)
class StoppingParameters:
    """The parameters as the user gave them; ``check`` raises for wrong ones.

    ``"auto"`` and None are "not given"; ``beside`` fills them in.
    """

    early_stopping: Any = None
    validation_fraction: Any = AUTO
    n_iter_no_change: Any = None
    tol: Any = None
    refit: Any = None

    def check(self) -> None:
        """Raise ``ParameterError`` for a value of a wrong type, or out of range."""
        asked, share = self.early_stopping, self.validation_fraction
        if not (asked is None or isinstance(asked, bool) or _is(asked, AUTO)):
            raise _wrong("early_stopping", asked, "True, False, 'auto' or None", "one of them")
        own = _is(share, AUTO) or share is None
        whole = isinstance(share, numbers.Integral) and int(share) >= 1
        part = isinstance(share, numbers.Real) and not whole and 0 < float(share) < 1
        if not (own or whole or part) or isinstance(share, bool):
            raise _wrong(
                "validation_fraction", share, "a number between 0 and 1, a number of rows >= 1, "
                "'auto', or None for the training rows", "0.1, say",
            )  # fmt: skip
        patience = self.n_iter_no_change
        if patience is not None and (not _is_whole(patience) or patience < 1):
            raise _wrong("n_iter_no_change", patience, "an integer >= 1 or None", "10, say")
        tol = self.tol
        real = tol is None or (isinstance(tol, numbers.Real) and not isinstance(tol, bool))
        if not real or not 0 <= (tol or 0) < math.inf:
            raise _wrong("tol", tol, "a finite number >= 0 or None", "1e-7, say")
        if not (self.refit is None or isinstance(self.refit, bool)):
            raise _wrong("refit", self.refit, "True, False or None", "one of them")

    def beside(self, usual: StoppingParameters) -> StoppingParameters:
        """Return these parameters, and those of ``usual`` that are not given."""
        found = {}
        for field in fields(self):
            value, default = getattr(self, field.name), field.default
            given = value is not default and not (_is(value, AUTO) and _is(default, AUTO))
            found[field.name] = value if given else getattr(usual, field.name)
        return StoppingParameters(**found)

    @property
    def is_asked(self) -> bool | None:
        """Whether early stopping is asked for; None if the user did not say."""
        if self.early_stopping is None:
            return None if self.n_iter_no_change is None else True
        return self.early_stopping is not False


#: scikit-learn's defaults.
USUAL = StoppingParameters(
    validation_fraction=0.1, n_iter_no_change=10, tol=1e-7, refit=False
)  # fmt: skip


def _is(given: object, text: str) -> bool:
    return isinstance(given, str) and given == text


def _is_whole(given: object) -> bool:
    return isinstance(given, numbers.Integral) and not isinstance(given, bool)


def _wrong(name: str, given: object, expected: str, move: str) -> ParameterError:
    return ParameterError(f"{name}={show(given)}: expected {expected}; give {move}")


@dataclass(frozen=True)
class WatchedRows:
    """Rows to train on, sets to evaluate, and which of them is watched; empty if none is."""

    data: Dataset
    evals: Evals
    watched: str = ""
    held_out: Dataset | None = None

    def stopper(self, rule: StoppingParameters, *, scored: bool) -> EarlyStopping:
        """Return the callback that stops by the last metric, a scorer's if ``scored``."""
        maximize = True if scored else None
        rounds, tol = rule.n_iter_no_change, rule.tol
        return NoChange(rounds, data_name=self.watched, maximize=maximize, min_delta=tol)


def has_no_score(model: Model) -> bool:
    """Tell whether the score of every round is NaN, and warn if so.

    An area under a curve has no value where the rows watched are of one class.
    """
    found = not math.isnan(float(model.ensemble.attributes.get(BEST_SCORE, 0)))
    if not found:
        warn_of_scores()
    return not found


def _metrics(eval_metric: Any) -> list[Any]:
    """Return the metrics of ``eval_metric``, which may be one or several."""
    found = scikit_learn_metrics(eval_metric)
    one = found is None or isinstance(found, str) or callable(found)
    return [] if found is None else [found] if one else list(found)


def own_metric_last(eval_metric: Any) -> str:
    """Return the name of the last metric if it is a function of the user's; empty if it is not."""
    last = _metrics(eval_metric)[-1:]
    return name_of(last[0]) if last and callable(last[0]) else ""


def watched_metrics(eval_metric: Any, params: Mapping[str, Any], *, keeps_own: bool = False) -> Any:
    """Return metrics of which the last has a name, so that its better values are known.

    Where ``eval_metric`` ends with a function of the user's, the last one is the loss's own.

    Parameters
    ----------
    eval_metric : str, callable, list of them, or None
    keeps_own : bool
        Whether functions of the user's are evaluated too.
    """
    found = _metrics(eval_metric)
    named = [one for one in found if keeps_own or not callable(one)]
    if own_metric_last(eval_metric) and isinstance(params["objective"], str):
        known = Parameters.from_dict(params)
        own = get_objective(known.objective, known).metric
        named = [one for one in named if one != own] + [own]
    return named or None


def watch(
    data: Dataset, evals: Evals, division: HoldOut | None, *, asked: bool, quiet: bool
) -> WatchedRows:
    """Hold rows out of training and watch them; say so where that cannot be.

    Parameters
    ----------
    evals : sequence of (Dataset, str)
        A set that is ``data`` itself becomes the rows that are trained on.
    division : HoldOut or None
        How rows are held out; None watches the training rows.
    asked : bool
        Whether the user asked for early stopping, and so is warned where there is none.
    quiet : bool
        Whether messages are not wanted.
    """
    if division is None:
        return WatchedRows(data, [*evals, (data, TRAINING)], TRAINING)
    try:
        rest, held = divided(data, division)
    except NothingHeldOutError as why:
        if asked:
            warn_of_stopping(str(why))
        elif not quiet:
            tell(f"early_stopping: {why}: all rounds are trained, on all rows")
        return WatchedRows(data, evals)
    own = [(rest if rows is data else rows, name) for rows, name in evals]
    return WatchedRows(rest, [*own, (held, HELD_OUT)], HELD_OUT, held)


class NoChange(EarlyStopping):
    """Stop when none of the last ``rounds`` scores is better than the score before them.

    The rule of scikit-learn's ``HistGradientBoostingClassifier``; ``EarlyStopping`` compares with
    the best score so far. Both store the best round, up to which ``predict`` uses the trees.

    Parameters
    ----------
    rounds, metric_name, data_name, maximize, save_best
        As for ``EarlyStopping``.
    min_delta : float, default 0
        scikit-learn's ``tol``: smaller differences do not count. The best round may be
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
