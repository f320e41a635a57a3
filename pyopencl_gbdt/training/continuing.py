"""Check that a training can continue a model."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyopencl_gbdt.arguments import check_path
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import Ensemble, read_model
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.fitting import StartingPoint

Before = Model | Ensemble | str | os.PathLike[str]


def as_ensemble(before: Before) -> Ensemble:
    """Return the model to continue; a path is read."""
    if isinstance(before, Ensemble):
        return before
    if isinstance(before, Model):
        return before.ensemble
    if isinstance(before, (str, os.PathLike)):
        check_path("model", before)
        return read_model(before)
    raise ParameterError(
        f"model={type(before).__name__}: expected a Model or the path of one; give what train "
        "returned"
    )


def continued(
    before: Ensemble, p: Parameters, objective: Objective, data: Dataset
) -> StartingPoint:
    """Check that trees of this training can be added to an ensemble."""
    if before.statistics is not None:
        raise ParameterError(
            "model: the one to continue has statistics of categories, which are those of its own "
            "training rows: expected a model without; train a new one, or give cat_method='sets' "
            "to the first training too"
        )
    if before.objective != p.objective or before.objective_parameters != objective.parameters:
        theirs = " ".join([before.objective, *_settings(before.objective_parameters)])
        ours = " ".join([p.objective, *_settings(objective.parameters)])
        raise ParameterError(
            f"objective={ours}: the model to continue was trained for {theirs}; give the same "
            "objective and the same parameters of it"
        )
    check_same_columns("model: the one to continue", before.n_features, before.feature_names, data)
    asked = p.starting_scores(before.n_outputs)
    if asked is not None and asked != before.base_score:
        raise ParameterError(
            f"base_score={p.base_score}: the model to continue starts at {before.base_score}; "
            "leave it out"
        )
    return StartingPoint(before.base_score, before.base_margin, before)


def check_round(before: Ensemble, p: Parameters, n_outputs: int) -> None:
    """Raise an error if rounds have other numbers of trees than in the model to continue."""
    if before.n_outputs != n_outputs:
        raise DataError(
            f"y has {n_outputs} targets or classes: the model to continue has "
            f"{before.n_outputs}; give labels of as many"
        )
    if before.n_parallel != p.num_parallel_tree:
        raise ParameterError(
            f"num_parallel_tree={p.num_parallel_tree}: the model to continue has rounds of "
            f"{before.n_parallel}; give the same"
        )


def _settings(parameters: Mapping[str, float | str]) -> list[str]:
    shown = {k: v if isinstance(v, str) else f"{v:g}" for k, v in parameters.items()}
    return [f"{name}={value}" for name, value in sorted(shown.items())]


def check_same_columns(what: str, n_features: int, names: list[str] | None, data: Dataset) -> None:
    """Raise an error for columns that are not those of the training data."""
    if n_features != data.n_features:
        raise DataError(
            f"{what} has {n_features} features, the training data {data.n_features}; give both the "
            "same columns"
        )
    check_columns(names, data.feature_names, what, "the training data")
