"""The constructor of the estimators: its parameters come from the table of parameters.

``constructor.pyi`` shows them to editors and type checkers; ``python -m tests.stubs`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from pyopencl_gbdt.data.categories.chosen import FROM_DTYPE
from pyopencl_gbdt.estimators.presets import AUTO, SET_BY_PRESETS
from pyopencl_gbdt.estimators.spellings import AliasedParameters
from pyopencl_gbdt.parameters.row import ParameterRow
from pyopencl_gbdt.parameters.table import TABLE

#: Parameters that are not in the table: annotation and default.
OWN: dict[str, tuple[str, Any]] = {
    "preset": ("str | None", None),
    "feature_weights": ("Any", None),
    "categorical_features": ("Any", FROM_DTYPE),
    "eval_metric": ("Metrics", None),
    "early_stopping_rounds": ("int | None", None),
    "early_stopping": ("bool | str | None", None),
    "validation_fraction": ("float | str | None", AUTO),
    "n_iter_no_change": ("int | None", None),
    "tol": ("float | None", None),
    "scoring": ("str | Callable[..., Any] | None", "loss"),
    "refit": ("bool | None", None),
    "callbacks": ("Sequence[TrainingCallback] | None", None),
    "warm_start": ("bool", False),
    "importance_type": ("str | None", "gain"),
    "missing": ("float", np.nan),
    "n_jobs": ("int | None", None),
}
#: Parameters that follow others than in the table, in their order, by the name before them.
_PLACES = {
    "n_estimators": ("preset",),
    "colsample_bynode": ("feature_weights", "categorical_features"),
    "ctr_prior_weight": ("monotone_constraints", "interaction_constraints", "forced_splits"),
    "min_data_per_group": ("objective",),
    "ndcg_exp_gain": (
        "eval_metric", "early_stopping_rounds", "early_stopping", "validation_fraction",
        "n_iter_no_change", "tol", "scoring", "refit", "callbacks", "warm_start",
        "importance_type",
    ),
    "work_group_size": ("random_state", "missing", "n_jobs"),
}  # fmt: skip
#: Parameters of the table whose default is None, "not given": only some trainings take them.
#: So is that of the parameters that presets set.
_NOT_GIVEN = frozenset((
    "max_delta_step", "monotone_constraints", "interaction_constraints", "forced_splits",
    "objective",
    "cat_method", "max_set_levels", "permutation_count", "max_ctr_complexity", "has_time",
    "target_border_count", "ctr_prior_weight", "scale_pos_weight", "huber_slope",
    "tweedie_variance_power", "huber_alpha", "fair_c", "aft_loss_distribution",
    "aft_loss_distribution_scale",
    "quantile_alpha", "expectile_alpha", "lambdarank_pair_method", "lambdarank_normalization",
    "lambdarank_score_normalization", "lambdarank_unbiased", "lambdarank_bias_norm",
    "ndcg_exp_gain", "random_state",
))  # fmt: skip
#: Parameters of the table that estimators find by themselves.
_FOUND = frozenset(("num_class",))
#: Annotations of parameters that take more than the kind of their row in the table.
_TAKES = {
    "n_estimators": "int | str | None",
    "learning_rate": "float | str | None",
    "monotone_constraints": "Any",
    "interaction_constraints": "Any",
    "forced_splits": "Any",
    "objective": "str | Callable[..., Any] | Custom | None",
    "device": "str | Sequence[str] | Mapping[str, float]",
    "device_memory": "int | str | None",
    "cache_dir": "Any",
    "random_state": "int | np.random.RandomState | np.random.Generator | None",
}


def _of_row(row: ParameterRow) -> tuple[str, Any]:
    """Return a parameter's annotation and default."""
    default = None if row.name in _NOT_GIVEN | SET_BY_PRESETS else row.default
    kind = row.kind.__name__ + (" | Sequence[float]" if row.several else "")
    return _TAKES.get(row.name, kind if default is not None else f"{kind} | None"), default


def _parameters() -> Iterator[Parameter]:
    rows = {row.name: _of_row(row) for row in TABLE if row.name not in _FOUND}
    known, moved = rows | OWN, {name for names in _PLACES.values() for name in names}
    for place in rows:
        names = () if place in moved else (place, *_PLACES.get(place, ()))
        for name in names:
            annotation, default = known[name]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


#: By name, in order.
PARAMETERS = {parameter.name: parameter for parameter in _parameters()}


class Constructed(AliasedParameters):
    """An estimator whose constructor takes the parameters of the table, and its own."""

    def __init__(self, *unnamed: Any, **given: Any) -> None:
        self._refuse_unnamed(unnamed)
        for name, parameter in PARAMETERS.items():
            setattr(self, name, given.pop(name, parameter.default))
        for name, value in given.items():
            self._take_other(name, value)

    __init__.__signature__ = Signature([  # type: ignore[attr-defined]
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        *PARAMETERS.values(),
        Parameter("others", Parameter.VAR_KEYWORD, annotation="Any"),
    ], return_annotation="None")  # fmt: skip
