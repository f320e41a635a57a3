"""Train the model of an estimator: its parameters completed by the preset, then ``train``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks import CallbackList, EarlyStopping, TrainingCheckPoint
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.estimators.bags import folds_of, train_bag
from pyopencl_gbdt.estimators.fitted import joined_history, missing_rounds
from pyopencl_gbdt.estimators.held_out import HoldOut, NothingHeldOutError, group_codes
from pyopencl_gbdt.estimators.presets import PLAIN, PRESETS, check_preset, complete
from pyopencl_gbdt.estimators.rates import is_auto
from pyopencl_gbdt.estimators.scoring import LOSS, Scorer
from pyopencl_gbdt.estimators.stopping import (
    AUTO,
    AUTO_ROWS,
    HELD_OUT,
    USUAL,
    Evals,
    StoppingParameters,
    WatchedRows,
    has_no_score,
    own_metric_last,
    watch,
    watched_metrics,
)
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import scikit_learn_metrics
from pyopencl_gbdt.parameters.names import ROWS
from pyopencl_gbdt.training.train import Model, train

#: Parameters of trees of which a bag of folds takes one value.
_OF_TREES = ("booster", "cat_method")


def _best_rounds(model: Model, before: Ensemble | None) -> int:
    """Return the rounds up to the best one that were added; 0 if none was trained."""
    done = 0 if before is None else before.n_rounds
    return model.best_iteration + 1 - done if model.num_boosted_rounds() > done else 0


class Trained:
    """The part of an estimator that trains; the other parts have parameters and data."""

    _kind: str
    _training_sets: tuple[str, ...]
    #: Whether presets other than XGBoost's defaults can complete the parameters.
    _takes_presets = True
    preset: str | None
    n_estimators: Any
    warm_start: bool
    callbacks: Any
    eval_metric: Any
    early_stopping_rounds: Any
    scoring: Any
    refit: Any
    objective: Any
    has_time: Any
    verbosity: int

    def _training_parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def _refuse(self, **known: Any) -> None:
        raise NotImplementedError

    def _former(self) -> Model | None:
        raise NotImplementedError

    @property
    def _codes(self) -> npt.NDArray[Any] | None:
        """The labels of a classifier's codes while ``fit`` runs; None where there are no codes."""
        return None

    def _learn_intervals(self, members: Sequence[tuple[Model, Dataset]]) -> None:
        """Learn from models and rows that they were not trained on; regressors do."""

    def _own_attributes(self) -> dict[str, str]:
        """Return what a file of the estimator has beside the model."""
        return {}

    def _take_attributes(self, ensemble: Ensemble, source: str) -> None:
        """Take what ``_own_attributes`` wrote out of the attributes of a model that was read."""

    def _stopping(self) -> StoppingParameters:
        """Return the checked parameters of early stopping."""
        names = [field.name for field in fields(StoppingParameters)]
        given = {name: getattr(self, name) for name in names}
        plain = {n: bool(v) if isinstance(v, np.bool_) else v for n, v in given.items()}
        found = StoppingParameters(**plain)
        found.check()
        return found

    @property
    def _has_scorer(self) -> bool:
        """Whether rounds are scored by a scorer of scikit-learn instead of a metric."""
        return not (isinstance(self.scoring, str) and self.scoring == LOSS)

    @property
    def _has_callbacks(self) -> bool:
        """Whether there are callbacks; an empty list has none."""
        empty = isinstance(self.callbacks, (list, tuple)) and not self.callbacks
        return self.callbacks is not None and not empty

    def _given_for_stopping(self) -> str:
        """Return the first parameter that has early stopping happen, or says how; else empty."""
        given = self._stopping()
        said = [name for name in ("n_iter_no_change", "tol") if getattr(given, name) is not None]
        said += [name for name in ("early_stopping", "refit") if getattr(given, name)]
        said += ["validation_fraction"] if given.validation_fraction != AUTO else []
        return [*said, *(["scoring"] if self._has_scorer else []), ""][0]

    def _trained(
        self,
        data: Dataset,
        evals: Evals,
        before: Ensemble | None,
        *,
        groups: Any,
        verbose: bool | int | None,
        profile: bool,
    ) -> Model:
        """Return the model of checked rows and evaluation sets."""
        groups = None if groups is None else group_codes(groups, data.n_rows)
        callbacks = CallbackList(() if self.callbacks is None else self.callbacks).callbacks
        params, former = self._training_parameters(), self._former()
        seed = params["random_state"]
        if former is not None:
            params["n_estimators"] = missing_rounds(self.n_estimators, former.ensemble)
        preset = self._preset_of(before, callbacks)
        stopping = self._how_to_stop(preset, data)
        if PRESETS[preset].n_folds and self._kind != "ranker":
            made = self._bagged(
                preset, params, data, stopping, groups, bool(evals), verbose, profile
            )
            if made is not None:
                return self._with_facts(made, seed)
            stopping = stopping and stopping.beside(USUAL)
        seen, metrics = WatchedRows(data, evals), scikit_learn_metrics(self.eval_metric)
        how: dict[str, Any] = {"model": before, "profile": profile, "eval_metric": metrics}
        if stopping is not None:
            seen = self._watch(data, evals, stopping, groups, seed)
        own = any(isinstance(one, EarlyStopping) for one in callbacks)
        stops = bool(seen.watched) or self.early_stopping_rounds is not None or own
        task, given = self._task(params["objective"]), params
        params = complete(preset, given, task, seen.data.n_rows, stops=stops)
        scorer, refit = None, False
        if stopping is not None and seen.watched:
            refit = stopping.refit and (self.refit is not None or seen.held_out is not None)
            if self._stopping().is_asked is not True:
                kept = bool(evals) and not refit
                metrics = watched_metrics(self.eval_metric, params, keeps_own=kept)
                how["eval_metric"] = how["eval_metric"] if evals else metrics
            scorer = Scorer(self.scoring, self._codes) if self._has_scorer else None
            callbacks.append(seen.stopper(stopping, scored=scorer is not None))
        model = first = train(
            params,
            seen.data,
            evals=seen.evals,
            custom_metric=scorer,
            early_stopping_rounds=None if seen.watched else self.early_stopping_rounds,
            callbacks=callbacks,
            verbose=False if refit else verbose,
            **{**how, "eval_metric": metrics},
        )
        if seen.watched and has_no_score(model):
            seen, scorer, refit = WatchedRows(data, evals), None, False
            params = complete(preset, given, task, data.n_rows)
            own_calls = callbacks[:-1]
            model = first = train(
                params, data, evals=evals, callbacks=own_calls, verbose=verbose, **how
            )
        unseen = [rows for rows, _ in seen.evals if rows is not seen.data][-1:]
        if refit:
            more = {"n_estimators": _best_rounds(model, before)}
            model = train({**params, **more}, data, evals=evals, verbose=verbose, **how)
            seen = WatchedRows(data, evals)
        if former is not None:
            rounds = former.num_boosted_rounds()
            model.history = joined_history(former.history, rounds, model.history)
            model = model if params["n_estimators"] else former
        self._learn_intervals([(first, rows) for rows in unseen])  # changes the estimator
        score = "" if scorer is None else scorer.__name__
        own_sets = tuple(name for rows, name in seen.evals if rows is seen.data)
        return self._with_facts(model, seed, score, own_sets, refitted=refit)

    def _with_facts(
        self,
        model: Model,
        seed: Any,
        scorer: str = "",
        training_sets: tuple[str, ...] = (),
        *,
        refitted: bool = False,
    ) -> Model:
        """Return the model, and keep what it does not tell of its training."""
        self._seed_of_fit, self._scorer, self._refitted = seed, scorer, refitted
        self._training_sets = training_sets
        return model

    def _bagged(
        self,
        preset: str,
        given: dict[str, Any],
        data: Dataset,
        stopping: StoppingParameters | None,
        groups: Any,
        has_evals: bool,
        verbose: bool | int | None,
        profile: bool,
    ) -> Model | None:
        """Return the joined model of a bag of folds; None if rows cannot be divided."""
        self._refuse(
            bag=show(self.preset), has_evals=has_evals, profile=profile,
            own_share=self._stopping().validation_fraction != AUTO,
            **{name: ROWS[name].convert(given[name]) for name in _OF_TREES if name in given},
        )  # fmt: skip
        division = HoldOut(
            1, self._codes is not None, False, groups, self._row_seed(given["random_state"])
        )
        try:
            folds = folds_of(data, division, PRESETS[preset].n_folds)
        except NothingHeldOutError as why:
            if self.verbosity != 0:
                tell(f"preset={self.preset!r}: {why}: one model is trained")
            return None
        task = self._task(given["objective"])
        params = complete(preset, given, task, data.n_rows, stops=stopping is not None)
        unstopped = complete(preset, given, task, data.n_rows)
        whole = {name: unstopped[name] for name in ("learning_rate", "n_estimators")}
        how: dict[str, Any] = {"verbose": verbose}
        how["eval_metric"] = watched_metrics(self.eval_metric, params)
        start = train({**params, "n_estimators": 0}, data, **how).ensemble.base_score
        params["base_score"] = [*start] if isinstance(start, tuple) else start

        def member(rest: Dataset, held: Dataset) -> Model:
            if stopping is None:
                return train(params, rest, **how)
            scorer = Scorer(self.scoring, self._codes) if self._has_scorer else None
            seen = WatchedRows(rest, [(held, HELD_OUT)], HELD_OUT)
            calls = [seen.stopper(stopping, scored=scorer is not None)]
            more: dict[str, Any] = {"custom_metric": scorer, "callbacks": calls}
            model = train(params, rest, evals=seen.evals, **more, **how)
            return train({**params, **whole}, rest, **how) if has_no_score(model) else model

        model, members = train_bag(data, folds, member)
        self._learn_intervals(members)
        return model

    @property
    def _in_time(self) -> bool:
        """Whether rows are in the order of time."""
        return self.has_time is not None and bool(ROWS["has_time"].convert(self.has_time))

    def _row_seed(self, seed: Any) -> int:
        """Return the seed by which rows are held out."""
        return int(ROWS["random_state"].convert(seed) or 0)  # type: ignore[arg-type]

    def _preset_of(self, before: Ensemble | None, callbacks: Sequence[Any]) -> str:
        """Return the versioned preset of a fit.

        Forests, and trainings that continue a model or can be resumed, keep XGBoost's defaults.
        """
        named = check_preset(self.preset)
        resumes = any(isinstance(one, TrainingCheckPoint) for one in callbacks)
        goes_on = resumes or before is not None or bool(self.warm_start)
        return named if self._takes_presets and not goes_on else PLAIN

    def _how_to_stop(self, preset: str, data: Dataset) -> StoppingParameters | None:
        """Return how early stopping ends the training by itself; None if it does not.

        What the user asks for counts first. A preset stops only a training of which neither the
        rounds nor another way to stop are given, and whose loss and rows are the library's to read.
        """
        given = self._stopping()
        if not self._takes_presets:  # the trees of a forest are one round
            return None
        usual = None if self._kind == "ranker" else PRESETS[preset].stopping
        if given.is_asked is not None:
            by_rows = given.early_stopping == AUTO and data.n_rows <= AUTO_ROWS
            if by_rows or not given.is_asked:
                return None
            if not self._has_scorer:
                self._refuse(own_metric=own_metric_last(self.eval_metric))
            if (patience := self.early_stopping_rounds) is not None:
                given = replace(given, n_iter_no_change=patience)
            found = (given if usual is None else given.beside(usual)).beside(USUAL)
            alone = self._has_callbacks and given.refit is None  # callbacks would see two trainings
            return replace(found, refit=False) if alone else found
        free = self.n_estimators is None or is_auto(self.n_estimators)
        free = free and self.early_stopping_rounds is None and not self._has_callbacks
        named = self.objective is None or isinstance(self.objective, str)
        rows = data.batches is None
        return given.beside(usual) if usual and free and named and rows else None

    def _watch(
        self, data: Dataset, evals: Evals, stopping: StoppingParameters, groups: Any, seed: Any
    ) -> WatchedRows:
        """Return the rows to train on, and the set whose metric ends the training."""
        asked = self._stopping().is_asked is True
        if asked and evals:
            return WatchedRows(data, evals, evals[-1][1])
        share = stopping.validation_fraction
        division = None if share is None else HoldOut(
            int(share) if isinstance(share, Integral) else float(share),
            classes=self._codes is not None,
            in_time=self._in_time,
            groups=groups,
            seed=self._row_seed(seed),
        )  # fmt: skip
        return watch(data, evals, division, asked=asked, quiet=self.verbosity == 0)

    def _task(self, objective: Any) -> str:
        """Return the task, by which presets differ."""
        if self._kind == "classifier":
            return "multiclass" if objective in MULTICLASS else "binary"
        return "ranking" if self._kind == "ranker" else "regression"
