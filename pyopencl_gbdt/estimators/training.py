"""Train the model of an estimator: its parameters completed by the preset, then ``train``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.estimators.fitted import joined_history, missing_rounds
from pyopencl_gbdt.estimators.presets import PLAIN, check_preset, complete
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import scikit_learn_metrics
from pyopencl_gbdt.training.train import Model, train


class Trained:
    """The part of an estimator that trains; the other parts have parameters and data."""

    _kind: str
    #: Whether presets other than XGBoost's defaults can complete the parameters.
    _takes_presets = True
    preset: str | None
    n_estimators: Any
    warm_start: bool
    callbacks: Any
    eval_metric: Any
    early_stopping_rounds: Any

    def _training_parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def _former(self) -> Model | None:
        raise NotImplementedError

    def _trained(
        self,
        data: Dataset,
        evals: Sequence[tuple[Dataset, str]],
        before: Ensemble | None,
        *,
        verbose: bool | int | None,
        profile: bool,
    ) -> Model:
        """Return the model of checked rows and evaluation sets."""
        params, former = self._training_parameters(), self._former()
        seed = params["random_state"]
        if former is not None:
            params["n_estimators"] = missing_rounds(self.n_estimators, former.ensemble)
        preset = self._preset_of(before)
        params = complete(preset, params, self._task(params["objective"]), data.n_rows)
        model = train(
            params,
            data,
            evals=evals,
            eval_metric=scikit_learn_metrics(self.eval_metric),
            early_stopping_rounds=self.early_stopping_rounds,
            callbacks=() if self.callbacks is None else self.callbacks,
            model=before,
            verbose=verbose,
            profile=profile,
        )
        if former is not None:
            rounds = former.num_boosted_rounds()
            model.history = joined_history(former.history, rounds, model.history)
            model = model if params["n_estimators"] else former
        self._seed_of_fit = seed
        return model

    def _preset_of(self, before: Ensemble | None) -> str:
        """Return the versioned preset of a fit.

        Forests, and trainings that continue a model or can be resumed, keep XGBoost's defaults.
        """
        named = check_preset(self.preset)
        resumes = any(isinstance(one, TrainingCheckPoint) for one in self.callbacks or ())
        goes_on = before is not None or self.warm_start is True or resumes
        return named if self._takes_presets and not goes_on else PLAIN

    def _task(self, objective: Any) -> str:
        """Return the task, by which presets differ."""
        if self._kind == "classifier":
            return "multiclass" if objective in MULTICLASS else "binary"
        return "ranking" if self._kind == "ranker" else "regression"
