"""Predictions of Dask's collections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import distributed

from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.dask.matrices import DaskDMatrix, refuse
from pyopencl_gbdt.compat.xgboost.keyword_arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.dask import predict as predict_rows
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.prediction.model import Model


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
