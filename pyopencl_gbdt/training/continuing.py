"""The model that a training starts from, and whether the training can continue it."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_file
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.evaluation.watched import Start
from pyopencl_gbdt.growth.boosting import WeightedStart
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.fit_facts import StartingPoint, start_of

F32 = npt.NDArray[np.float32]
Before = Model | Ensemble | str | os.PathLike[str] | bytes | bytearray


@dataclass(frozen=True)
class ContinuedPoint(StartingPoint):
    """The model that the first new tree is added to, where it has trees already.

    Attributes
    ----------
    before : Ensemble
        The model to continue.
    """

    before: Ensemble

    @property
    def trees(self) -> list[Tree]:
        return self.before.trees

    @property
    def n_rounds(self) -> int:
        return self.before.n_rounds

    def margins(self, rows: Dataset, device: Device, *, weighted: bool = False) -> Start:
        """Return the margins of rows, with the same bits as if the trees had just been trained."""
        if not self.trees:
            return super().margins(rows, device, weighted=weighted)
        own: F32 | None = None if rows.base_margin is None else rows.base_margin.T
        if weighted:
            before = self.before.with_weights()
            from pyopencl_gbdt.prediction.margins import predict_sums

            sums = predict_sums(before, rows.features, device)
            base = start_of(self.base_margin) if own is None else own
            assert not isinstance(base, WeightedStart)
            weights = np.array(before.tree_weights, np.float32)
            return WeightedStart(base, sums, before.trees, weights)
        from pyopencl_gbdt.prediction.margins import predict_margins

        return predict_margins(self.before, rows.features, device, start=own)


def continued_point(before: Ensemble) -> StartingPoint:
    """Return where a training starts that adds trees to a model."""
    return ContinuedPoint(before.base_score, before.base_margin, before)


def as_ensemble(before: Before) -> Ensemble:
    """Return the model to continue; a path, or the content of a file, is read.

    A tree whose leaves are vectors becomes a tree for each output.
    """
    if isinstance(before, Ensemble):
        return by_outputs(before)
    if isinstance(before, Model):
        return by_outputs(before.ensemble)
    if isinstance(before, (str, os.PathLike, bytes, bytearray)):
        check_file("model", before)
        from pyopencl_gbdt.model import read_model

        return by_outputs(read_model(before))
    raise ParameterError(
        f"model={type(before).__name__}: expected a Model or the path of one; give what train "
        "returned"
    )


def by_outputs(ensemble: Ensemble) -> Ensemble:
    """Return the model with a tree for each output; linear leaves stay."""
    return ensemble if ensemble.leaves is LINEAR else ensemble.with_numbers()


def continued(before: Ensemble, data: Dataset) -> StartingPoint:
    """Check that a model has the columns of the training data; return where training starts."""
    check_same_columns("model: the one to continue", before.n_features, before.feature_names, data)
    return continued_point(before)


def check_same_columns(what: str, n_features: int, names: list[str] | None, data: Dataset) -> None:
    """Raise an error for columns that are not those of the training data."""
    if n_features != data.n_features:
        raise DataError(
            f"{what} has {n_features} features, the training data {data.n_features}; give both the "
            "same columns"
        )
    check_columns(names, data.feature_names, what, "the training data")
