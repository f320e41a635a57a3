"""XGBoost's names for trainings on Dask, see ``docs/large-data.md``.

Callbacks, losses and metrics as functions are refused, as workers do not share Python objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import distributed

from pyopencl_gbdt.compat.xgboost import estimators
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.collective import CommunicatorContext
from pyopencl_gbdt.compat.xgboost.keyword_arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.compat.xgboost.ranker import XGBRanker
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.dask import predict as predict_rows
from pyopencl_gbdt.dask import train as train_model
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.prediction.model import Model

__all__ = [
    "CommunicatorContext", "DaskDMatrix", "DaskQuantileDMatrix", "DaskXGBClassifier",
    "DaskXGBRFClassifier", "DaskXGBRFRegressor", "DaskXGBRanker", "DaskXGBRegressor",
    "inplace_predict", "predict", "train",
]  # fmt: skip
#: What comes with the rows of a ``DaskDMatrix``, by the names of ``pyopencl_gbdt.dask.train``.
_SIDES = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


def _refuse(what: str, move: str, **given: Any) -> None:
    """Raise for arguments that trainings on Dask do not have."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ParameterError(f"{name}={show(value)}: expected {what}; {move}")


class DaskDMatrix:
    """Dask's collections that belong together; the workers read them when they train.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one.
    data : dask.array.Array or dask.dataframe.DataFrame
    label, weight, base_margin, qid, label_lower_bound, label_upper_bound : Dask collection or None
    missing : float or None
    silent
        Has no effect.
    feature_names : sequence of str or None
    feature_weights : array-like or None
    feature_types, group, enable_categorical
        Refused: a table's own types decide, and ``qid`` tells queries.
    """

    @named_arguments
    def __init__(
        self,
        client: distributed.Client | None,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Any = None,
        feature_types: Any = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,
    ) -> None:
        if len(getattr(data, "shape", ())) != 2 or not hasattr(data, "dask"):
            raise DataTypeError(
                f"data is of type {type(data).__name__}: expecting a Dask array or DataFrame of "
                "two dimensions; make one"
            )
        _refuse("None on Dask", "give qid=", group=group)
        _refuse("None on Dask", "give a table its dtypes", feature_types=feature_types)
        del client, silent
        self.data = data
        given = (label, weight, base_margin, qid, label_lower_bound, label_upper_bound)
        self.sides = dict(zip(_SIDES, given, strict=True))
        self.columns = {
            "missing": missing, "feature_names": feature_names, "feature_weights": feature_weights,
            "categorical_features": None,
        }  # fmt: skip
        if enable_categorical:
            del self.columns["categorical_features"]

    def num_col(self) -> int:
        """Return the number of columns."""
        return int(self.data.shape[1])

    @property
    def rows(self) -> dict[str, Any]:
        """The collections by the names of ``pyopencl_gbdt.dask.train``."""
        return {"X": self.data, **self.sides}


class DaskQuantileDMatrix(DaskDMatrix):
    """A ``DaskDMatrix``; workers cut columns into ``max_bin`` of the training's parameters."""

    @named_arguments
    def __init__(
        self,
        client: distributed.Client | None,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Any = None,
        feature_types: Any = None,
        max_bin: int | None = None,
        ref: DaskDMatrix | None = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,
        max_quantile_batches: int | None = None,
    ) -> None:
        super().__init__(
            client, data, label, weight=weight, base_margin=base_margin, missing=missing,
            silent=silent, feature_names=feature_names, feature_types=feature_types, group=group,
            qid=qid, label_lower_bound=label_lower_bound, label_upper_bound=label_upper_bound,
            feature_weights=feature_weights, enable_categorical=enable_categorical,
        )  # fmt: skip
        del ref, max_quantile_batches
        self.max_bin = max_bin


@named_arguments
def train(
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: DaskDMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DaskDMatrix, str]] | None = None,
    obj: Any = None,
    early_stopping_rounds: int | None = None,
    xgb_model: Booster | None = None,
    verbose_eval: int | bool = True,
    callbacks: Any = None,
    custom_metric: Any = None,
    coll_cfg: Any = None,
) -> dict[str, Any]:
    """Train a booster on a cluster's workers.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one.
    params, num_boost_round, evals, early_stopping_rounds, xgb_model, verbose_eval
        As for ``pyopencl_gbdt.compat.xgboost.train``.
    dtrain : DaskDMatrix
    obj, callbacks, custom_metric
        Refused.
    coll_cfg
        Has no effect.

    Returns
    -------
    dict
        ``"booster"``, a ``Booster``, and ``"history"``, the metrics of every round.
    """
    move = "use pyopencl_gbdt.compat.xgboost.train on one host"
    _refuse("None on Dask", move, obj=obj, callbacks=callbacks, custom_metric=custom_metric)
    del coll_cfg
    settings = Settings(params)
    if settings.is_linear:
        raise ParameterError(
            "booster='gblinear': expected 'gbtree' or 'dart' on Dask; train linear models on one "
            "host"
        )
    settings.warn_of_unused()
    settings.checked()
    bins = getattr(dtrain, "max_bin", None)
    given = {**settings.trained(), **({} if bins is None else {"max_bin": bins})}
    options: dict[str, Any] = {"eval_metric": settings.metrics} if settings.metrics else {}
    before = None if xgb_model is None else Model(xgb_model.copy()._ensemble())
    model = train_model(
        client, given, dtrain.data, dtrain.sides["label"], num_boost_round,
        **{name: side for name, side in dtrain.sides.items() if name != "label"},
        **dtrain.columns, evals=[(one.rows, name) for one, name in evals or ()],
        early_stopping_rounds=early_stopping_rounds, verbose=bool(verbose_eval and evals),
        model=before, **options,
    )  # fmt: skip
    booster = Booster(params, model_file=model.save_raw("json"))
    return {"booster": booster, "history": model.history}


def _model_of(model: Any) -> Model:
    booster = model["booster"] if isinstance(model, Mapping) else model
    if isinstance(booster, distributed.Future):
        booster = booster.result()
    if not isinstance(booster, Booster):
        raise DataTypeError(
            f"model is of type {type(model).__name__}: expected what train returned, or its "
            "booster; give one"
        )
    ensemble = booster.copy()._ensemble()
    if isinstance(ensemble, LinearEnsemble):
        raise ParameterError("model is linear: expected trees on Dask; predict on one host")
    ensemble.attributes.pop("best_iteration", None)  # all trees predict here
    return Model(ensemble)


@named_arguments
def predict(
    client: distributed.Client | None,
    model: Any,
    data: Any,
    *,
    output_margin: bool = False,
    missing: float = float("nan"),
    pred_leaf: bool = False,
    pred_contribs: bool = False,
    approx_contribs: bool = False,
    pred_interactions: bool = False,
    validate_features: bool = True,
    iteration_range: tuple[int, int] = (0, 0),
    strict_shape: bool = False,
) -> Any:
    """Predict the rows of a Dask collection where they lie; return a Dask array.

    Parameters
    ----------
    client
        Has no effect: Dask's current one computes the result.
    model : Booster, or what ``train`` returned
    data : DaskDMatrix, dask.array.Array or dask.dataframe.DataFrame
    validate_features
        Has no effect: columns with names have to be those of training.
    strict_shape
        Refused.
    output_margin, missing, pred_leaf, pred_contribs, approx_contribs, pred_interactions
        As for ``Booster.predict``.
    iteration_range : (int, int)
    """
    _refuse("False on Dask", "reshape the result", strict_shape=strict_shape)
    del client, validate_features
    rows = data.data if isinstance(data, DaskDMatrix) else data
    rounds = None if tuple(iteration_range) == (0, 0) else iteration_range
    return predict_rows(
        _model_of(model), rows, output_margin=output_margin, pred_leaf=pred_leaf,
        pred_contribs=pred_contribs, pred_interactions=pred_interactions,
        approx_contribs=approx_contribs, missing=missing, iteration_range=rounds,
    )  # fmt: skip


@named_arguments
def inplace_predict(
    client: distributed.Client | None,
    model: Any,
    data: Any,
    *,
    iteration_range: tuple[int, int] = (0, 0),
    predict_type: str = "value",
    missing: float = float("nan"),
    validate_features: bool = True,
    base_margin: Any = None,
    strict_shape: bool = False,
) -> Any:
    """Predict the rows of a Dask collection; see ``predict``. ``base_margin`` is refused."""
    _refuse("None on Dask", "add it to the margins", base_margin=base_margin)
    if predict_type not in ("value", "margin"):
        raise ParameterError(
            f"predict_type={show(predict_type)}: expected 'value' or 'margin'; give one"
        )
    return predict(
        client, model, data, output_margin=predict_type == "margin", missing=missing,
        validate_features=validate_features, iteration_range=iteration_range,
        strict_shape=strict_shape,
    )  # fmt: skip


class _OnDask:
    """What the estimators share: they train and predict by the functions of this module."""

    _client: distributed.Client | None = None

    @property
    def client(self) -> distributed.Client | None:
        """The cluster's client; None is the current one."""
        return self._client

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        self._client = client

    def _fit(self, X: Any, y: Any, sides: dict[str, Any], eval_set: Any, verbose: Any) -> None:
        own: Any = self
        params = own.get_xgb_params()
        matrix = DaskDMatrix(own.client, X, y, missing=own.missing, **sides)
        evals = [
            (DaskDMatrix(own.client, *pair, missing=own.missing), f"validation_{n}")
            for n, pair in enumerate(eval_set or ())
        ]
        found = train(
            own.client, params, matrix, own.get_num_boosting_rounds(), evals=evals,
            early_stopping_rounds=own.early_stopping_rounds, verbose_eval=verbose,
            callbacks=own.callbacks,
        )  # fmt: skip
        own._Booster = found["booster"]
        if evals:
            own.evals_result_ = found["history"]

    def _predicted(self, X: Any, **options: Any) -> Any:
        own: Any = self
        rounds = own._range(options.pop("iteration_range", None))
        return predict(
            own.client, own.get_booster(), X, iteration_range=rounds, missing=own.missing, **options
        )  # fmt: skip


class DaskXGBRegressor(_OnDask, estimators.XGBRegressor):
    """``XGBRegressor`` whose rows are Dask's collections."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, *, sample_weight: Any = None, base_margin: Any = None,
        eval_set: Any = None, verbose: int | bool | None = True,
    ) -> DaskXGBRegressor:  # fmt: skip
        """Train on the workers; the arguments are Dask's collections."""
        sides = {"weight": sample_weight, "base_margin": base_margin}
        self._fit(X, y, sides, eval_set, verbose)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Return predictions, a Dask array."""
        return self._predicted(X, **options)


class DaskXGBClassifier(_OnDask, estimators.XGBClassifier):
    """``XGBClassifier`` whose rows are Dask's collections; classes are 0 .. n_classes - 1."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, *, sample_weight: Any = None, base_margin: Any = None,
        eval_set: Any = None, verbose: int | bool | None = True,
    ) -> DaskXGBClassifier:  # fmt: skip
        """Train on the workers; the arguments are Dask's collections."""
        self.n_classes_ = int(y.max().compute()) + 1
        if self.n_classes_ > 2:
            self.objective = "multi:softprob"
            self.set_params(num_class=self.n_classes_)
        sides = {"weight": sample_weight, "base_margin": base_margin}
        self._fit(X, y, sides, eval_set, verbose)
        return self

    def predict_proba(self, X: Any, **options: Any) -> Any:  # type: ignore[override]
        """Return the probability of each class, a Dask array (n_rows, n_classes)."""
        from dask import array

        found = self._predicted(X, **options)
        return found if found.ndim > 1 else array.stack([1 - found, found], axis=1)

    def predict(self, X: Any, *, output_margin: bool = False, **options: Any) -> Any:
        """Return the most probable class of each row, a Dask array."""
        if output_margin:
            return self._predicted(X, output_margin=True, **options)
        return self.predict_proba(X, **options).argmax(axis=1)


class DaskXGBRFRegressor(DaskXGBRegressor, estimators.XGBRFRegressor):  # type: ignore[misc]
    """``XGBRFRegressor`` whose rows are Dask's collections."""


class DaskXGBRFClassifier(DaskXGBClassifier, estimators.XGBRFClassifier):  # type: ignore[misc]
    """``XGBRFClassifier`` whose rows are Dask's collections."""


class DaskXGBRanker(_OnDask, XGBRanker):
    """``XGBRanker`` whose rows are Dask's collections."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None,
        base_margin: Any = None, verbose: int | bool | None = False,
    ) -> DaskXGBRanker:  # fmt: skip
        """Train on the workers; ``qid`` ascends over all partitions."""
        if qid is None:
            raise ParameterError("qid=None: expected the query of each row; give it")
        sides = {"weight": sample_weight, "base_margin": base_margin, "qid": qid}
        self._fit(X, y, sides, None, verbose)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Return predictions, a Dask array."""
        return self._predicted(X, **options)
