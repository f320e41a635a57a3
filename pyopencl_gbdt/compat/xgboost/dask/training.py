"""Rows, trainings and predictions on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import distributed

from pyopencl_gbdt.arguments import like, named_arguments
from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import CallbackContainer, TrainingCallback, by_arguments
from pyopencl_gbdt.compat.xgboost.inputs import check_types
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.team_rounds import booster_of, team_parameters, train_booster
from pyopencl_gbdt.compat.xgboost.training import PlainObj
from pyopencl_gbdt.dask import predict as predict_rows
from pyopencl_gbdt.dask.training import train_by_workers
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.prediction.model import Model

#: What comes with the rows of a ``DaskDMatrix``, by the names of ``pyopencl_gbdt.dask.train``.
_SIDES = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


def refuse(what: str, move: str, **given: Any) -> None:
    """Raise for arguments that trainings on Dask do not have."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ParameterError(f"{name}={show(value)}: expected {what}; {move}")


class DaskDMatrix:
    """Dask's collections of rows, labels and weights; the workers read them when they train.

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
    feature_types : sequence of str, or None
        The columns' types; ``"c"`` marks categories.
    feature_weights : array-like or None
    enable_categorical : bool
        Whether columns of a table that are categories count as such.
    group
        Refused, as in XGBoost: ``qid`` tells queries.
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
        refuse("None on Dask, as in XGBoost", "give qid=", group=group)
        del client, silent
        self.data = data
        given = (label, weight, base_margin, qid, label_lower_bound, label_upper_bound)
        self.sides = dict(zip(_SIDES, given, strict=True))
        self.columns = {
            "missing": missing, "feature_names": feature_names, "feature_weights": feature_weights,
            "categorical_features": None,
        }  # fmt: skip
        self.feature_types = check_types(feature_types, self.num_col())
        if self.feature_types is not None and "c" in self.feature_types:
            categorical = [n for n, one in enumerate(self.feature_types) if one == "c"]
            self.columns["categorical_features"] = categorical
        elif enable_categorical:
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
    @like(
        DaskDMatrix.__init__,
        after={
            "feature_types": ("max_bin", "ref"),
            "enable_categorical": ("max_quantile_batches",),
        },
    )
    def __init__(
        self,
        client: distributed.Client | None,
        data: Any,
        *,
        max_bin: int | None = None,
        ref: Any = None,
        max_quantile_batches: Any = None,
        **given: Any,
    ) -> None:
        super().__init__(client, data, **given)
        self.max_bin = max_bin


@named_arguments
def train(
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: DaskDMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DaskDMatrix, str]] | None = None,
    obj: PlainObj | None = None,
    early_stopping_rounds: int | None = None,
    xgb_model: Booster | None = None,
    verbose_eval: int | bool = True,
    callbacks: Sequence[TrainingCallback] | None = None,
    custom_metric: Metric | None = None,
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
    obj : callable or None
        A loss: ``function(margins, dtrain)`` returns gradients and Hessians. Each worker calls it
        with its own rows.
    callbacks : sequence of TrainingCallback, or None
        Every worker calls copies of them; what those of the worker with the first rows return
        counts. Only the learning rate can change.
    custom_metric : callable or None
        ``function(prediction, matrix)`` returns a name and a number, or a list of such pairs. That
        worker alone calls it, with all rows of a set, without values where the set is ``dtrain``;
        so ``collective`` knows one process there.
    coll_cfg
        Has no effect.

    Returns
    -------
    dict
        ``"booster"``, a ``Booster``, and ``"history"``, the metrics of every round.
    """
    del coll_cfg
    trained = team_parameters(params, dtrain, num_boost_round, continues=xgb_model is not None)
    listed = by_arguments(callbacks, verbose_eval, early_stopping_rounds)
    CallbackContainer(listed, custom_metric)  # raises here for what is none
    options = {
        "given": dict(params), "obj": obj, "custom_metric": custom_metric, "callbacks": listed,
        "before": None if xgb_model is None else xgb_model.copy(),
    }  # fmt: skip
    model = train_by_workers(
        client, trained, dtrain.rows, dtrain.columns,
        [(one.rows, name) for one, name in evals or ()], options, trainer=train_booster,
    )  # fmt: skip
    return {"booster": booster_of(model, params, dtrain), "history": model.history}


class WorkerContext(collective.CommunicatorContext):
    """As ``collective.CommunicatorContext``; the worker's name and address are its task."""

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        worker = distributed.get_worker()
        self.args["DMLC_TASK_ID"] = f"[xgboost.dask-{worker.name}]:{worker.address}"


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
    refuse("False on Dask", "reshape the result", strict_shape=strict_shape)
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
    refuse("None on Dask", "add it to the margins", base_margin=base_margin)
    if predict_type not in ("value", "margin"):
        raise ParameterError(
            f"predict_type={show(predict_type)}: expected 'value' or 'margin'; give one"
        )
    return predict(
        client, model, data, output_margin=predict_type == "margin", missing=missing,
        validate_features=validate_features, iteration_range=iteration_range,
        strict_shape=strict_shape,
    )  # fmt: skip
