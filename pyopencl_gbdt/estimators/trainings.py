"""The ways in which an estimator trains: a class for each.

All take a ``TrainingRequest``, what the estimator was told, and return an ``Outcome``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pyopencl_gbdt.callbacks import EarlyStopping
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.estimators.fitted import joined_history
from pyopencl_gbdt.estimators.held_out import RowIds, train_bag
from pyopencl_gbdt.estimators.presets import RoundsSearch, complete
from pyopencl_gbdt.estimators.scoring import Scorer
from pyopencl_gbdt.estimators.stopping import (
    HELD_OUT,
    Evals,
    StoppingParameters,
    WatchedRows,
    has_no_score,
    watched_metrics,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.objectives.custom import scikit_learn_metrics
from pyopencl_gbdt.training.train import Model, train


@dataclass(frozen=True)
class TrainingRequest:
    """What an estimator is told to train.

    Attributes
    ----------
    preset, task : str
        As ``presets.complete`` takes them.
    given : mapping of str to object
        The explicit parameters.
    eval_metric : str, callable, list of them, or None
        As the user gave it.
    scorer : callable or None
        Makes the scorer of rounds, which stops instead of a metric.
    """

    preset: str
    task: str
    given: Mapping[str, Any]
    data: Dataset
    evals: Evals = ()
    eval_metric: Any = None
    callbacks: Sequence[Any] = ()
    early_stopping_rounds: Any = None
    scorer: Callable[[], Scorer] | None = None
    before: Ensemble | None = None
    verbose: bool | int | None = None
    profile: bool = False

    def parameters(self, n_rows: int, *, stops: bool) -> dict[str, Any]:
        """Return the parameters of a training on some rows; ``stops`` as in ``complete``."""
        return complete(self.preset, self.given, self.task, n_rows, stops=stops)

    def train(
        self, params: Mapping[str, Any], data: Dataset, evals: Evals, **more: Any
    ) -> Model:  # fmt: skip
        """Return the model of some rows; ``more`` are further arguments of ``train``."""
        usual: dict[str, Any] = {
            "eval_metric": scikit_learn_metrics(self.eval_metric), "verbose": self.verbose,
            "model": self.before, "profile": self.profile,
        }  # fmt: skip
        return train(params, data, evals=evals, **{**usual, **more})


@dataclass(frozen=True)
class Outcome:
    """What a training has made.

    Attributes
    ----------
    unseen : sequence of (Model, Dataset)
        Models, and rows that they were not trained on.
    training_sets : tuple of str
        The evaluation sets that are the rows trained on.
    scorer : str
        The name of the scorer that scored rounds; empty if none did.
    refitted : bool
        Whether the model was trained again on all rows, after early stopping.
    """

    model: Model
    unseen: Sequence[tuple[Model, Dataset]] = ()
    training_sets: tuple[str, ...] = ()
    scorer: str = ""
    refitted: bool = False


class Way(Protocol):
    """A way to train."""

    def run(self) -> Outcome:
        """Train."""


def _outcome(model: Model, data: Dataset, evals: Evals, **more: Any) -> Outcome:
    """Return the outcome of a training that evaluated some sets."""
    others = [(model, rows) for rows, _ in evals if rows is not data][-1:]
    return Outcome(model, others, tuple(name for rows, name in evals if rows is data), **more)


@dataclass(frozen=True)
class AllRows:
    """Trains on all rows: all rounds, unless the user's callbacks or rounds stop it.

    Attributes
    ----------
    metrics : str, callable, list of them, or None
        What is evaluated; None is the user's.
    """

    request: TrainingRequest
    metrics: Any = None

    def run(self) -> Outcome:
        """Train."""
        asked = self.request
        own = any(isinstance(one, EarlyStopping) for one in asked.callbacks)
        patience = asked.early_stopping_rounds
        params = asked.parameters(asked.data.n_rows, stops=patience is not None or own)
        how = {"callbacks": [*asked.callbacks], "early_stopping_rounds": patience}
        return self.trained(params, **how)

    def trained(self, params: Mapping[str, Any], **how: Any) -> Outcome:
        """Return the outcome of these parameters."""
        asked = self.request
        metrics = {} if self.metrics is None else {"eval_metric": self.metrics}
        model = asked.train(params, asked.data, asked.evals, **metrics, **how)
        return _outcome(model, asked.data, asked.evals)


@dataclass(frozen=True)
class Stopped:
    """Stops by rows that are watched; if ``refit``, trains the best rounds on all rows then.

    Attributes
    ----------
    seen : WatchedRows
        The rows to train on, and the set that is watched.
    rule : StoppingParameters
        When training stops.
    own_metric : bool
        Whether the last metric may be a function of the user's.
    search : RoundsSearch or None
        How the rounds of the refit are found; None: by its own parameters.
    """

    request: TrainingRequest
    seen: WatchedRows
    rule: StoppingParameters
    own_metric: bool
    refit: bool
    search: RoundsSearch | None = None

    def run(self) -> Outcome:
        """Train."""
        asked, seen = self.request, self.seen
        params = asked.parameters(seen.data.n_rows, stops=True)
        metrics = scikit_learn_metrics(asked.eval_metric)
        if not self.own_metric:
            kept = bool(asked.evals) and not self.refit
            metrics = watched_metrics(asked.eval_metric, params, keeps_own=kept)
        scorer = None if asked.scorer is None else asked.scorer()
        callbacks = [*asked.callbacks, seen.stopper(self.rule, scored=scorer is not None)]
        how = {"custom_metric": scorer, "callbacks": callbacks, "eval_metric": metrics}
        how |= {"verbose": False} if self.refit else {}
        begun = params if self.search is None else self.search.first(params)
        first = asked.train(begun, seen.data, seen.evals, **how)
        again = AllRows(asked, None if asked.evals else metrics)
        if has_no_score(first):
            free = asked.parameters(asked.data.n_rows, stops=False)
            return again.trained(free, callbacks=[*asked.callbacks])
        score = "" if scorer is None else scorer.__name__
        found = _outcome(first, seen.data, seen.evals, scorer=score)
        if not self.refit:
            return found
        rounds = _best_rounds(first, asked.before)
        final = {**params, "n_estimators": rounds}
        more = again.trained(final if self.search is None else self.search.again(params, rounds))
        return replace(
            found, model=more.model, training_sets=more.training_sets, refitted=True
        )  # fmt: skip


def _best_rounds(model: Model, before: Ensemble | None) -> int:
    """Return the rounds up to the best one that were added; 0 if none was trained."""
    done = 0 if before is None else before.n_rounds
    return model.best_iteration + 1 - done if model.num_boosted_rounds() > done else 0


@dataclass(frozen=True)
class Continued:
    """Adds rounds to an earlier fit; the history begins with that fit's metrics.

    Attributes
    ----------
    way : Way
        Trains the rounds that are added.
    n_rounds : int
        Rounds that are added; 0 keeps the former model.
    """

    way: Way
    former: Model
    n_rounds: int

    def run(self) -> Outcome:
        """Train."""
        found, former = self.way.run(), self.former
        model = found.model
        model.history = joined_history(former.history, former.num_boosted_rounds(), model.history)
        return found if self.n_rounds else replace(found, model=former)


@dataclass(frozen=True)
class BagOfFolds:
    """Trains a member for each fold of the rows, and joins them in one model.

    Attributes
    ----------
    folds : list of (int64 array, int64 array)
        Rows to train on and rows held out, see ``held_out.folds_of``.
    rule : StoppingParameters or None
        When a member stops; None trains all rounds.
    """

    request: TrainingRequest
    folds: list[tuple[RowIds, RowIds]]
    rule: StoppingParameters | None

    def run(self) -> Outcome:
        """Train."""
        asked, rule = self.request, self.rule
        params = asked.parameters(asked.data.n_rows, stops=rule is not None)
        how = {"eval_metric": watched_metrics(asked.eval_metric, params)}
        first = asked.train({**params, "n_estimators": 0}, asked.data, (), **how)
        start = first.ensemble.base_score
        params["base_score"] = [*start] if isinstance(start, tuple) else start
        model, members = train_bag(asked.data, self.folds, partial(self._member, params, how))
        return Outcome(model, members)

    def _member(
        self, params: dict[str, Any], how: dict[str, Any], rest: Dataset, held: Dataset
    ) -> Model:
        """Return the model of the rows of other folds."""
        asked, rule = self.request, self.rule
        if rule is None:
            return asked.train(params, rest, (), **how)
        scorer = None if asked.scorer is None else asked.scorer()
        seen = WatchedRows(rest, [(held, HELD_OUT)], HELD_OUT)
        calls = [seen.stopper(rule, scored=scorer is not None)]
        model = asked.train(params, rest, seen.evals, custom_metric=scorer, callbacks=calls, **how)
        if not has_no_score(model):
            return model
        free = asked.parameters(asked.data.n_rows, stops=False)
        whole = {name: free[name] for name in ("learning_rate", "n_estimators")}
        return asked.train({**params, **whole}, rest, (), **how)
