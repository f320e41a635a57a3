"""The common base of the scikit-learn estimators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_path, check_switches
from pyopencl_gbdt.data import check_target
from pyopencl_gbdt.data.arrays.matrix import has_text_names
from pyopencl_gbdt.data.batches.sources import has_batches, names_files
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import check_features
from pyopencl_gbdt.device.selection import main_device
from pyopencl_gbdt.errors import DataError, NotFittedError, ParameterError
from pyopencl_gbdt.estimators.evaluation_sets import GivenRows, evaluation_sets, rows_in_batches
from pyopencl_gbdt.estimators.fitted import (
    SAVED_BY,
    check_kind,
    check_rows_of,
    read_classes,
    saved_by,
)
from pyopencl_gbdt.estimators.presets import check_preset, is_auto
from pyopencl_gbdt.estimators.refusals import OF_ESTIMATORS, EstimatorFacts
from pyopencl_gbdt.estimators.scoring import Scorer
from pyopencl_gbdt.estimators.sklearn_names import DataConversionWarning, SklearnNotFittedError
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.estimators.training import Trained
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble, write_model
from pyopencl_gbdt.model.explain import check_importance_kind
from pyopencl_gbdt.model.formats.files import name_of
from pyopencl_gbdt.objectives import custom_objective
from pyopencl_gbdt.parameters.parameters import ROWS, check_n_jobs
from pyopencl_gbdt.parameters.row import answer_to, refuse
from pyopencl_gbdt.training.continuing import as_ensemble
from pyopencl_gbdt.training.train import Model

F32 = npt.NDArray[np.float32]
_Own = TypeVar("_Own", bound="Base")


class NotFittedEstimatorError(NotFittedError, SklearnNotFittedError):  # type: ignore[misc]
    """Raised by an unfitted estimator; an error of this library and of scikit-learn."""


class Base(Trained):
    """The base of all estimators."""

    _own_facts: ClassVar[dict[str, Any]] = {}

    def _check_own(self) -> None:
        """Raise an error for parameters that do not suit the estimator."""
        check_importance_kind(self.importance_type, "importance_type")
        check_switches(warm_start=self.warm_start)
        check_n_jobs(self.n_jobs)
        check_preset(self.preset)
        self._stopping()
        if self._has_scorer:
            Scorer(self.scoring, None)  # raises
        named = self.objective is None or isinstance(self.objective, str)
        own = not named and custom_objective(self.objective) is not None
        if not own and (not named or answer_to("objective", self.objective)):
            ROWS["objective"].convert(self.objective)  # raises
        self._refuse()

    def _refuse(self, **known: Any) -> None:
        """Raise an error for what does not go together, with what ``fit`` knows by now."""
        own = custom_objective(self.objective) is not None
        facts = EstimatorFacts(
            type(self).__name__,
            self._kind,
            self.objective,
            None if own else self._named_objective,
            warm_start=self.warm_start,
            preset=self.preset,
            early_stopping_rounds=self.early_stopping_rounds,
            n_iter_no_change=self.n_iter_no_change,
            of_stopping=self._given_for_stopping(),
            rounds_by_rows=is_auto(self.n_estimators),
            refit=self._stopping().refit is True,
            in_time=self._in_time,
            has_callbacks=self._has_callbacks,
            class_weight=getattr(self, "class_weight", None),
        )
        refuse(replace(facts, **self._own_facts, **known), OF_ESTIMATORS)

    def _labels(self, y: Any, n_rows: int) -> F32:
        raise NotImplementedError

    @explains_arguments
    def fit(
        self: _Own,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        base_margin: Any = None,
        label_column: int | str | None = None,
        eval_set: Sequence[tuple[Any, Any]] | tuple[Any, Any] | None = None,
        sample_weight_eval_set: Any = None,
        base_margin_eval_set: Any = None,
        xgb_model: Any = None,
        init_model: Any = None,
        categorical_feature: Any = None,
        cat_features: Any = None,
        groups: Any = None,
        verbose: bool | int | None = False,
        profile: bool = False,
    ) -> _Own:
        """Train.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
            NaN means missing, and so does what a sparse matrix has no entry for. A table's columns
            of strings and categories are categorical, see ``categorical_features``. Or batches, as
            for ``Dataset.from_batches``: a path, a folder, a pattern, a list of paths, a function,
            or XGBoost's ``DataIter``.
        y : (n_rows,) array-like, or (n_rows, n_targets)
            A regressor takes numbers. A classifier takes distinct labels of any type, or an array
            of shape (n_rows, n_labels) that is 1 if the row has the label, else 0. None: batches
            have the labels, files by ``label_column``.
        sample_weight : (n_rows,) array-like or None
            Weights >= 0; a row of weight k counts as k equal rows.
        base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
            The margin that each row starts from, instead of ``base_score``.
        label_column : int, str or None
            Where X is files: the number or name of the label's column. None: the first one, which
            a message names; an error where another is called label, target, y or class.
        eval_set : list of (X, y), one (X, y), or None
            Sets whose metrics are computed after every round; see ``evals_result``.
        sample_weight_eval_set, base_margin_eval_set : list of array-like, array or None
            The same for every set; None for sets without them. With one set, its array will do.
        xgb_model : estimator, Model, path or None
            A model to continue: rounds are added to a copy of it.
        init_model : estimator, Model, path or None
            LightGBM's name for ``xgb_model``.
        categorical_feature, cat_features : as ``categorical_features`` of the estimator, or None
            LightGBM's and CatBoost's names for it, for this fit; one of them at most.
        groups : (n_rows,) array-like or None
            What each row belongs to, such as a customer: early stopping by itself holds out whole
            groups.
        verbose : bool, int or None, default False
            Print metrics every round, or every so many rounds.
        profile : bool, default False
            Measure the time of every kernel: ``print(estimator.model_.profile.table())``.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, MemoryPlanError
            The estimator is unchanged.
        """
        if y is None and not has_batches(X):
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one"
            )
        if label_column is not None and not names_files(X):
            raise ParameterError(
                f"label_column={show(label_column)}: expected None, as X is of type "
                f"{type(X).__name__} and names no file; give the labels as y"
            )
        shape: tuple[int, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; use y.ravel()",
                DataConversionWarning,
                stacklevel=2,
            )
        self._check_own()
        asked = self._categorical_argument(categorical_feature, cat_features)
        given = (X, y, sample_weight, base_margin)
        sets = (eval_set, sample_weight_eval_set, base_margin_eval_set)
        before = self._before(xgb_model, init_model)
        try:
            data, evals, names = self._data(given, sets, asked, label_column)
            if before is not None:
                self._check_before(before)
            how: dict[str, Any] = {"groups": groups, "verbose": verbose, "profile": profile}
            self._take(self._trained(data, evals, before, **how), names)
        finally:
            self._forget_labels()
        return self

    def _data(
        self,
        given: tuple[Any, Any, Any, Any],
        sets: tuple[Any, Any, Any],
        asked: Any,
        label_column: int | str | None,
    ) -> tuple[Dataset, list[tuple[Dataset, str]], list[str] | None]:
        """Return the checked training rows, evaluation sets and column names.

        ``asked`` says which columns are categorical.
        """
        X, y, sample_weight, base_margin = given
        own = self._extra(None)
        same = GivenRows(X, y, sample_weight, base_margin, tuple(own.values()))
        rows = rows_in_batches(
            given, own, missing=self.missing, categorical=asked, label_column=label_column
        )
        if rows is not None:
            if rows.label_column and self.verbosity != 0:
                hint = "" if label_column is not None else "; give fit label_column= for another"
                tell(f"the label is {rows.label_column}{hint}")
            y, sample_weight, base_margin = rows.y, rows.weight, rows.base_margin
            features, own = rows.features, rows.more
        else:
            features = check_features(X, missing=self.missing, categorical=asked)
        labels = self._labels(y, features.values.shape[0])
        weight = self._row_weight(labels, sample_weight)
        sides = weight, None, base_margin, self.feature_weights
        data = Dataset(features, labels, *sides, missing=self.missing, **own)
        same = replace(same, weight=weight)
        evals = evaluation_sets(*sets, same, data, self._known_labels, self._extra, label_column)
        return data, evals, features.names if has_text_names(X) else None

    def _forget_labels(self) -> None:
        """Drop what ``fit`` stores about labels while it runs."""

    def _seed(self) -> Any:
        drawn = isinstance(self.random_state, (np.random.RandomState, np.random.Generator))
        known = drawn and self._former() is not None and hasattr(self, "_seed_of_fit")
        return self._seed_of_fit if known else super()._seed()

    def _before(self, xgb_model: Any, init_model: Any) -> Ensemble | None:
        """Return the model to continue."""
        if xgb_model is not None and init_model is not None:
            raise ParameterError(
                "xgb_model and init_model are two names of one parameter; give one of them"
            )
        before = init_model if xgb_model is None else xgb_model
        if before is not None:
            self._refuse(model="init_model" if xgb_model is None else "xgb_model")
        else:
            before = self._former()
        if before is None:
            return None
        return as_ensemble(before._fitted() if isinstance(before, Base) else before)

    def _check_before(self, before: Ensemble) -> None:
        """Raise an error for a model to continue whose labels mean something else."""

    def _row_weight(self, labels: F32, sample_weight: Any) -> Any:
        """Return the row weights for training."""
        return sample_weight

    def _known_labels(self, y: Any, n_rows: int, index: int) -> F32:
        return check_target(y, n_rows)

    def _extra(self, index: int | None) -> dict[str, Any]:
        """Return further arguments of ``Dataset``, for the training rows or an evaluation set."""
        return {}

    def _take(self, model: Model, names: list[str] | None) -> None:
        self.model_ = model
        self.n_features_in_ = model.ensemble.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedEstimatorError(
                f"this {type(self).__name__} is not fitted yet; call fit or load_model first"
            )
        return self.model_

    def _model_for(self, X: Any) -> Model:
        """Return the model, if X has the columns of training."""
        model = self._fitted()
        check_rows_of(model, X, type(self).__name__)
        return model

    def _predict(self, X: Any, **options: Any) -> npt.NDArray[Any]:
        model = self._model_for(X)
        options |= {"missing": self.missing, "device": main_device(self.device)}
        return model.predict(X, **options)

    def _staged(self, X: Any, **options: Any) -> Iterator[F32]:
        """Yield the result of ``_predict`` after each round."""
        model = self._model_for(X)
        options |= {"missing": self.missing, "device": main_device(self.device)}
        return model.staged_predict(X, **options)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, bool]:
        """Return the tags for scikit-learn before 1.6, which reads no ``__sklearn_tags__``."""
        ranks = self._kind == "ranker"  # its checks know of no queries, which fit needs
        return {"allow_nan": True, "multioutput": not ranks, "_skip_test": ranks}

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return ``{"validation_0": {metric: [one value per round]}, ...}``."""
        return self._fitted().history

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Feature importances of kind ``importance_type``, which sum to 1; shape (n_features,)."""
        kind = check_importance_kind(self.importance_type, "importance_type")
        return self._fitted().feature_importances(kind)

    def save_model(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write the model in the format that the name's ending asks for; whole or not at all.

        ``docs/formats.md`` lists the formats. ``format`` is the ending of the format that is to be
        written under another name: ``format="catboost"``.

        Raises
        ------
        ParameterError
            If no format has the name's ending.
        ModelFormatError
            If the format cannot hold the model; the message names those that can.
        FileWriteError
            If the file cannot be written; also an ``OSError``.
        """
        check_path("save_model: path", path)
        ensemble = self._fitted().ensemble
        attributes = {
            **ensemble.attributes, **saved_by(self._kind), **self._own_attributes()
        }  # fmt: skip
        write_model(replace(ensemble, attributes=attributes), path, format)

    def load_model(self, path: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Any:
        """Read a model file, or its content as bytes; the estimator is fitted afterwards.

        The parameter ``booster`` becomes that of the model, as in XGBoost.

        Raises
        ------
        ModelFormatError
            If the file is not a valid model, or the model of another kind of estimator, such as a
            regressor's for a classifier; the estimator is unchanged.
        """
        model, source = Model.load_model(path), name_of(path)
        ensemble = model.ensemble
        check_kind(ensemble, self._kind, type(self).__name__, self._named_objective, source)
        read_classes(ensemble, source)
        self._take_attributes(ensemble, source)
        ensemble.attributes.pop(SAVED_BY, None)
        self._take(model, ensemble.feature_names)
        self._refitted = False
        self.booster = ensemble.booster
        return self


def of_rows(
    self: Any,
    X: Any,
    *,
    base_margin: Any = None,
    iteration_range: tuple[int, int] | None = None,
) -> Any:
    """Have the arguments of methods that predict rows; see ``GBDTRegressor.predict``."""


def probabilities_of(model: Model, margins: npt.NDArray[Any]) -> F32:
    """Convert margins, shape (n_rows,) or (n_rows, n_outputs), to what metrics take."""
    found = model.objective.to_probability(np.ascontiguousarray(margins.T))
    return np.ascontiguousarray(found.T)
