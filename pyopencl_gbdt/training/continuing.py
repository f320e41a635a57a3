"""Check that a training can continue a model."""

from __future__ import annotations

import os

from pyopencl_gbdt.arguments import check_file
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import Ensemble, read_model
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.fitting import StartingPoint

Before = Model | Ensemble | str | os.PathLike[str] | bytes | bytearray


def as_ensemble(before: Before) -> Ensemble:
    """Return the model to continue; a path, or the content of a file, is read.

    A tree whose leaves are vectors becomes a tree for each output.
    """
    if isinstance(before, Ensemble):
        return before.with_numbers()
    if isinstance(before, Model):
        return before.ensemble.with_numbers()
    if isinstance(before, (str, os.PathLike, bytes, bytearray)):
        check_file("model", before)
        return read_model(before).with_numbers()
    raise ParameterError(
        f"model={type(before).__name__}: expected a Model or the path of one; give what train "
        "returned"
    )


def continued(before: Ensemble, data: Dataset) -> StartingPoint:
    """Check that a model has the columns of the training data; return where training starts."""
    check_same_columns("model: the one to continue", before.n_features, before.feature_names, data)
    return StartingPoint(before.base_score, before.base_margin, before)


def check_same_columns(what: str, n_features: int, names: list[str] | None, data: Dataset) -> None:
    """Raise an error for columns that are not those of the training data."""
    if n_features != data.n_features:
        raise DataError(
            f"{what} has {n_features} features, the training data {data.n_features}; give both the "
            "same columns"
        )
    check_columns(names, data.feature_names, what, "the training data")
