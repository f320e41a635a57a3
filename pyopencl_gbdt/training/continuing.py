"""The model that a training starts from, and whether the training can continue it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_file
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.evaluation.watched import Start
from pyopencl_gbdt.growth.boosting import WeightedStart
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR, with_vectors
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.facts import ModelFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.task import StartingPoint

F32 = npt.NDArray[np.float32]
Before = Model | Ensemble | str | os.PathLike[str] | bytes | bytearray


def continued_point(before: Ensemble) -> StartingPoint:
    """Return where a training starts that adds trees to a model."""
    own = before.trees, before.n_rounds
    return StartingPoint(before.base_score, before.base_margin, before, *own)


def margins_after(
    before: Ensemble, rows: Dataset, device: Device, base: Start, *, weighted: bool
) -> Start:
    """Return the margins of rows, with the same bits as if the trees had just been trained.

    ``base``: the margins before the first tree.
    ``weighted``: whether the trees to come have weights, so that the sums of trees are needed.
    """
    if weighted:
        before = before.with_weights()
        from pyopencl_gbdt.prediction.margins import predict_sums

        sums = predict_sums(before, rows.features, device)
        assert not isinstance(base, WeightedStart)
        return WeightedStart(base, sums, before.trees, np.array(before.tree_weights, np.float32))
    from pyopencl_gbdt.prediction.margins import predict_margins

    own: F32 | None = None if rows.base_margin is None else rows.base_margin.T
    return predict_margins(before, rows.features, device, start=own)


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


def facts_of_model(params: Parameters, objective: Objective, before: Ensemble) -> ModelFacts:
    """Return the facts about a model to continue."""
    return ModelFacts(
        shown_loss=_shown(before.objective, before.objective_parameters),
        asked_loss=_shown(params.objective, objective.parameters),
        base_score=before.base_score,
        n_outputs=before.n_outputs,
        n_parallel=before.n_parallel,
        has_statistics=before.statistics is not None,
        has_trees=bool(before.trees),
        has_weights=before.tree_weights is not None,
        is_linear=before.leaves is LINEAR,
        splits_apart=params.weighs_trees and not _is_alike(before),
    )


def _is_alike(model: Ensemble) -> bool:
    """Tell whether trees of a round's outputs split alike, and have one weight."""
    n_outputs, n_parallel = model.n_outputs, model.n_parallel
    if with_vectors(model.trees, n_outputs, n_parallel) is None:
        return False
    weights = np.reshape(model.tree_weights or (), (-1, n_outputs, n_parallel))
    return bool((weights == weights[:, :1]).all())


def _shown(loss: str, parameters: Mapping[str, float | str]) -> str:
    shown = {k: v if isinstance(v, str) else f"{v:g}" for k, v in parameters.items()}
    return " ".join([loss, *(f"{name}={value}" for name, value in sorted(shown.items()))])
