"""Collect the facts that decide whether a training is refused, and which classes make up a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyopencl_gbdt.categories.statistic_columns import has_targets, statistic_columns
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.gradients.sources import takes_pages
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.objectives.custom import DeviceObjective, FunctionObjective
from pyopencl_gbdt.parameters.constraints import Constraints
from pyopencl_gbdt.parameters.facts import CategoryFacts, FitFacts, LossFacts, ModelFacts
from pyopencl_gbdt.parameters.parameters import Parameters


def fit_facts(
    params: Parameters,
    objective: Objective,
    data: Dataset,
    limits: Constraints,
    *,
    evals: Sequence[tuple[Dataset, str]] = (),
    before: Ensemble | None = None,
    in_hosts: bool = False,
    profile: bool = False,
) -> FitFacts:
    """Return all facts about a training.

    Raises
    ------
    DeviceError
        If one of several devices is not there.
    """
    device, several = params.device, names_several(params.device)
    return FitFacts(
        params,
        loss_facts(params, objective),
        n_rows=data.n_rows,
        n_targets=data.n_targets,
        sparse=data.sparse is not None,
        in_batches=data.batches is not None,
        categories=_categories(params, data, limits),
        sparse_evals=tuple(name for rows, name in evals if rows.sparse is not None),
        model=None if before is None else _model(params, objective, before),
        n_devices=len(find_several(device)) if several and not in_hosts else 1,
        names_several=several,
        in_hosts=in_hosts,
        profile=profile,
    )


def loss_facts(params: Parameters, objective: Objective) -> LossFacts:
    """Return the facts about a loss."""
    return LossFacts(
        name=getattr(objective, "custom_name", ""),
        n_outputs=objective.n_outputs,
        one_target=objective.given or objective.n_outputs > 1,
        given=objective.given,
        own_kernels=objective.given and not isinstance(objective, SoftProb),
        renews=objective.renews,
        takes_pages=takes_pages(objective),
        fills_device_arrays=isinstance(objective, DeviceObjective),
        fills_host_arrays=isinstance(objective, FunctionObjective),
        has_targets=has_targets(params),
    )


def _categories(
    params: Parameters, data: Dataset, limits: Constraints
) -> tuple[CategoryFacts, ...]:
    if not data.categories:  # a sparse matrix may have 2^31 columns
        return ()
    names = data.feature_names or [""] * data.n_features
    statistics = set(statistic_columns(params, data))
    return tuple(
        CategoryFacts(
            column,
            names[column],
            levels.n_levels,
            as_statistics=column in statistics,
            monotone=limits.monotone is not None and bool(limits.monotone[column]),
        )
        for column, levels in sorted(data.categories.items())
    )


def _model(params: Parameters, objective: Objective, before: Ensemble) -> ModelFacts:
    return ModelFacts(
        shown_loss=_shown(before.objective, before.objective_parameters),
        asked_loss=_shown(params.objective, objective.parameters),
        base_score=before.base_score,
        n_outputs=before.n_outputs,
        n_parallel=before.n_parallel,
        has_statistics=before.statistics is not None,
        has_trees=bool(before.trees),
        has_weights=before.tree_weights is not None,
        splits_alike=with_vectors(before.trees, before.n_outputs, before.n_parallel) is not None,
    )


def _shown(loss: str, parameters: Mapping[str, float | str]) -> str:
    shown = {k: v if isinstance(v, str) else f"{v:g}" for k, v in parameters.items()}
    return " ".join([loss, *(f"{name}={value}" for name, value in sorted(shown.items()))])
