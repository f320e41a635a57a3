"""Train the model of an estimator: which way of ``estimators/trainings.py`` it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks import CallbackList, TrainingCheckPoint
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.estimators.fitted import FittedModel, missing_rounds
from pyopencl_gbdt.estimators.held_out import (
    HoldOut,
    NothingHeldOutError,
    RowIds,
    folds_of,
    group_codes,
)
from pyopencl_gbdt.estimators.presets import PLAIN, PRESETS, check_preset, is_auto
from pyopencl_gbdt.estimators.scoring import LOSS, Scorer
from pyopencl_gbdt.estimators.stopping import (
    AUTO,
    AUTO_ROWS,
    USUAL,
    Evals,
    StoppingParameters,
    WatchedRows,
    own_metric_last,
    watch,
)
from pyopencl_gbdt.estimators.trainings import (
    AllRows,
    BagOfFolds,
    Continued,
    Stopped,
    TrainingRequest,
    Way,
)
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.parameters.parameters import ROWS
from pyopencl_gbdt.training.train import Model


def _length_is_free(request: TrainingRequest) -> bool:
    """Return whether neither the learning rate nor the number of rounds is given."""
    given = (request.given.get(name) for name in ("learning_rate", "n_estimators"))
    return all(value is None or is_auto(value) for value in given)


class Trained(FittedModel):
    """The part of an estimator that trains; another part has the data."""

    _kind = "regressor"
    #: Whether presets other than XGBoost's defaults can complete the parameters.
    _takes_presets = True

    def _refuse(self, **known: Any) -> None:
        raise NotImplementedError

    def _former(self) -> Model | None:
        """Return the model that ``warm_start`` continues, or None."""
        return self.model_ if self.warm_start and hasattr(self, "model_") else None

    @property
    def _codes(self) -> npt.NDArray[Any] | None:
        """The labels of a classifier's codes while ``fit`` runs; None where there are no codes."""
        return None

    def _learn_intervals(self, members: Sequence[tuple[Model, Dataset]]) -> None:
        """Learn from models and rows that they were not trained on; regressors do."""

    def _own_attributes(self) -> dict[str, str]:
        """Return the texts that an estimator's file has beside the model."""
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
        codes, scoring = self._codes, self.scoring
        request = TrainingRequest(
            self._preset_of(before, callbacks),
            self._task(params["objective"]),
            params,
            data,
            evals,
            eval_metric=self.eval_metric,
            callbacks=callbacks,
            early_stopping_rounds=self.early_stopping_rounds,
            scorer=(lambda: Scorer(scoring, codes)) if self._has_scorer else None,
            before=before,
            verbose=verbose,
            profile=profile,
        )
        way = self._way(request, groups)
        if former is not None:
            way = Continued(way, former, params["n_estimators"])
        found = way.run()
        self._learn_intervals(found.unseen)  # changes the estimator
        self._seed_of_fit, self._scorer, self._refitted = seed, found.scorer, found.refitted
        self._training_sets = found.training_sets
        return found.model

    def _way(self, request: TrainingRequest, groups: Any) -> Way:
        """Return the way to train; refuse parameters that it does not support."""
        stopping = self._how_to_stop(request.preset, request.data)
        if PRESETS[request.preset].n_folds and self._kind != "ranker":
            folds = self._folds(request, groups)
            if folds:
                return BagOfFolds(request, folds, stopping)
            stopping = stopping and stopping.beside(USUAL)
        if stopping is None:
            return AllRows(request)
        seen = self._watch(request, stopping, groups)
        if not seen.watched:
            return AllRows(request)
        own = self._stopping()
        refit = stopping.refit and (self.refit is not None or seen.held_out is not None)
        search = PRESETS[request.preset].search if refit and _length_is_free(request) else None
        has_patience = (own.n_iter_no_change, self.early_stopping_rounds) != (None, None)
        if search is not None and not has_patience:
            stopping = replace(stopping, n_iter_no_change=search.n_iter_no_change)
        asked = own.is_asked is True
        return Stopped(request, seen, stopping, own_metric=asked, refit=bool(refit), search=search)

    def _folds(self, request: TrainingRequest, groups: Any) -> list[tuple[RowIds, RowIds]]:
        """Return the folds of a bag; none if rows cannot be divided."""
        given = request.given
        self._refuse(
            bag=show(self.preset), has_evals=bool(request.evals), profile=request.profile,
            own_share=self._stopping().validation_fraction != AUTO,
            booster=ROWS["booster"].convert(given.get("booster", "gbtree")),
        )  # fmt: skip
        division = HoldOut(
            1, self._codes is not None, False, groups, self._row_seed(given["random_state"])
        )
        try:
            return folds_of(request.data, division, PRESETS[request.preset].n_folds)
        except NothingHeldOutError as why:
            if self.verbosity != 0:
                tell(f"preset={self.preset!r}: {why}: one model is trained")
            return []

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
        self, request: TrainingRequest, stopping: StoppingParameters, groups: Any
    ) -> WatchedRows:
        """Return the rows to train on, and the set whose metric ends the training."""
        data, evals = request.data, request.evals
        asked = self._stopping().is_asked is True
        if asked and evals:
            return WatchedRows(data, evals, evals[-1][1])
        share = stopping.validation_fraction
        division = None if share is None else HoldOut(
            int(share) if isinstance(share, Integral) else float(share),
            classes=self._codes is not None,
            in_time=self._in_time,
            groups=groups,
            seed=self._row_seed(request.given["random_state"]),
        )  # fmt: skip
        return watch(data, evals, division, asked=asked, quiet=self.verbosity == 0)

    def _task(self, objective: Any) -> str:
        """Return the task, by which presets differ."""
        if self._kind == "classifier":
            return "multiclass" if objective in MULTICLASS else "binary"
        return "ranking" if self._kind == "ranker" else "regression"
