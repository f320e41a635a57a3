"""Training parameters: XGBoost's names and defaults, checked before anything runs.

``TABLE`` is the one place that knows a parameter's type, default, bounds and meaning. `Parameters`
has one typed attribute per row, in the same order; a test holds the two together.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyopencl_gbdt.data.places import show
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.xgboost_links import LINKS
from pyopencl_gbdt.parameter_row import ParameterRow, same

OBJECTIVES = (
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:gamma", "reg:tweedie",
    "reg:logistic", "count:poisson", "binary:logistic", "binary:logitraw", "binary:hinge",
    "survival:cox", "survival:aft",
    "huber",
    "fair", "mape", "cross_entropy",
)  # fmt: skip
"""XGBoost's names; the last four are LightGBM's losses."""
POISSON_DELTA_STEP = 0.7
"""XGBoost's default of ``max_delta_step`` for ``count:poisson``; 0 for every other objective."""

TABLE: tuple[ParameterRow, ...] = (
    ParameterRow("objective", str, OBJECTIVES[0], "The loss to minimise, or your own: "
                 "a callable, or kernel code behind kernel:.", allowed=(*OBJECTIVES, "custom")),
    ParameterRow("n_estimators", int, 100, "Boosting rounds (trees); 0 gives the base score alone.",
                 low=0, high=2**31 - 1, aliases=("num_boost_round",)),
    ParameterRow("learning_rate", float, 0.3, "Factor on every leaf value.",
                 low=0, low_open=True, aliases=("eta",)),
    ParameterRow("max_depth", int, 6, "Most splits between root and leaf.", low=1, high=32),
    ParameterRow("max_bin", int, 256, "Most bins per feature.", low=2, high=65535),
    ParameterRow("reg_lambda", float, 1.0, "L2 penalty on leaf values.",
                 low=0, aliases=("lambda",)),
    ParameterRow("reg_alpha", float, 0.0, "L1 penalty on leaf values.",
                 low=0, aliases=("alpha",)),
    ParameterRow("gamma", float, 0.0, "Least gain for which a node is split.",
                 low=0, aliases=("min_split_loss",)),
    ParameterRow("min_child_weight", float, 1.0, "Least sum of Hessians in a child.", low=0),
    ParameterRow("max_delta_step", float, 0.0,
                 "Largest size of a leaf value before learning_rate; 0 is no limit. Left out, "
                 f"it is {POISSON_DELTA_STEP} for count:poisson.", low=0),
    ParameterRow("base_score", float, None, "Prediction before the first tree (a probability "
                 "for binary:logistic); None takes it from the data."),
    ParameterRow("scale_pos_weight", float, 1.0, "Weight of rows with label 1, for "
                 "binary:logistic, binary:logitraw, reg:logistic and cross_entropy.", low=0),
    ParameterRow("huber_slope", float, 1.0, "reg:pseudohubererror and mphe: the difference where "
                 "the loss turns from squared to absolute.", low=1e-6, high=1e6),
    ParameterRow("tweedie_variance_power", float, 1.5, "reg:tweedie: 1 is like count:poisson, "
                 "towards 2 like reg:gamma.", low=1, high=2, high_open=True),
    ParameterRow("huber_alpha", float, 0.9, "huber: the largest gradient (LightGBM's alpha, a word "
                 "that is reg_alpha here).", low=0, low_open=True),
    ParameterRow("fair_c", float, 1.0, "fair: the largest gradient.", low=1e-6, high=1e6),
    ParameterRow("aft_loss_distribution", str, "normal", "survival:aft and aft-nloglik: the "
                 "distribution around ln time.", allowed=("normal", "logistic", "extreme")),
    ParameterRow("aft_loss_distribution_scale", float, 1.0, "survival:aft and aft-nloglik: its "
                 "scale.", low=1e-3, high=1e3),
    ParameterRow("quantile_alpha", float, 0.5, "The quantile of the metric quantile.",
                 low=0, high=1),
    ParameterRow("device", str, "auto", "Where to train: auto, opencl:0:1, cuda:0, ..."),
    ParameterRow("histogram", str, "auto", "Histogram kernel's variant; all give the same bits."),
    ParameterRow("work_group_size", int, 0, "Work-items per work-group; 0 is automatic.",
                 low=0, high=1024, power_of_two=True),
    ParameterRow("verbosity", int, 1, "0 silent, 1 warnings, 2 information, 3 debugging.",
                 low=0, high=3),
    ParameterRow("random_state", int, 0, "Seed of everything random.",
                 low=0, high=2**32 - 1, aliases=("seed",)),
)  # fmt: skip

_BINARY = ("binary:logistic", "binary:logitraw", "reg:logistic")

IGNORED = frozenset({"n_jobs", "nthread"})
"""Accepted and ignored, whatever their value: the device decides how parallel it is."""

_EMPTY = ()
XGBOOST_ONLY: dict[str, tuple[object, ...]] = {
    "booster": ("gbtree",),
    "tree_method": ("auto", "hist"),
    "grow_policy": ("depthwise", 0),
    "sampling_method": ("uniform",),
    "monotone_constraints": ("", "()", _EMPTY),
    "interaction_constraints": ("", "[]", _EMPTY),
    "num_class": (0, 1),
    "multi_strategy": ("one_output_per_tree",),
    "max_cat_to_onehot": (4,),
    "max_cat_threshold": (64,),
    "max_cached_hist_node": (65536,),
    "missing": (math.nan,),
    "updater": ("", "grow_quantile_histmaker"),
    "process_type": ("default",),
    "importance_type": ("gain",),
    "validate_parameters": (True, False),
    "sample_type": ("uniform",),
    "normalize_type": ("tree",),
    "feature_selector": ("cyclic",),
    "lambdarank_pair_method": ("topk",),
    **dict.fromkeys(
        ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode",
         "num_parallel_tree", "num_target", "refresh_leaf",
         "lambdarank_normalization", "lambdarank_bias_norm",
         "lambdarank_score_normalization", "ndcg_exp_gain"),
        (1,),
    ),
    **dict.fromkeys(
        ("max_leaves", "enable_categorical", "extmem_single_page", "disable_default_eval_metric",
         "seed_per_iteration", "rate_drop", "one_drop", "skip_drop", "top_k",
         "expectile_alpha", "lambdarank_unbiased"),
        (0,),
    ),
    **dict.fromkeys(("feature_types", "feature_weights", "eval_metric", "callbacks"), (_EMPTY,)),
    **dict.fromkeys(("early_stopping_rounds", "lambdarank_num_pair_per_sample"), ()),
}  # fmt: skip
"""Parameters that XGBoost has and we do not yet, with the values that change nothing.

None changes nothing for any of them; ``_EMPTY`` stands for any empty container.
"""

_ROWS: dict[str, ParameterRow] = {
    spelling: row for row in TABLE for spelling in (row.name, *row.aliases)
}


@dataclass(frozen=True)
class Parameters:
    """Checked training parameters; `TABLE` has the meaning, default and bounds of each.

    Built with `from_dict`. Built directly or by `dataclasses.replace`, the values are checked too.
    """

    objective: str
    n_estimators: int
    learning_rate: float
    max_depth: int
    max_bin: int
    reg_lambda: float
    reg_alpha: float
    gamma: float
    min_child_weight: float
    max_delta_step: float
    base_score: float | None
    scale_pos_weight: float
    huber_slope: float
    tweedie_variance_power: float
    huber_alpha: float
    fair_c: float
    aft_loss_distribution: str
    aft_loss_distribution_scale: float
    quantile_alpha: float
    device: str
    histogram: str
    work_group_size: int
    verbosity: int
    random_state: int

    def __post_init__(self) -> None:
        """Convert and check every attribute, then what concerns two of them."""
        for field in fields(self):
            checked = _ROWS[field.name].convert(getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
        self._check_base_score()
        weighs = "scale_pos_weight" in LINKS[self.objective].parameters and (
            LINKS[self.objective].xgboost_name in _BINARY
        )
        if self.scale_pos_weight != 1 and not weighs:
            raise ParameterError(
                f"scale_pos_weight={self.scale_pos_weight!r}: expected 1 for "
                f"objective={self.objective!r}; give row weights instead"
            )

    def _check_base_score(self) -> None:
        """Refuse a score whose margin is infinite.

        In float32, as the kernels see it: 1 - 1e-9 is 1 there, and its log-odds are infinite.
        """
        link = LINKS[self.objective]
        score = self.base_score
        if score is None or link.lowest < np.float32(score) < link.highest:
            return
        unit = link.highest == 1
        bounds = "0 < base_score < 1" if unit else "base_score > 0"
        raise ParameterError(
            f"base_score={score!r}: expected {bounds} for objective={self.objective!r}; "
            f"give a {'probability' if unit else 'mean above 0'}, or None"
        )

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> Parameters:
        """Check a user's parameters and fill in the defaults.

        Parameters
        ----------
        mapping : mapping of str to object
            XGBoost's names or aliases. None stands for "not given", as in XGBoost. NumPy scalars,
            an int for a float and 6.0 for an int are accepted.

        Returns
        -------
        checked : Parameters
            Every attribute is a plain int, float, str or None.

        Raises
        ------
        ParameterError
            A name is unknown or given in two spellings; a value has the wrong type or is out of
            range; a parameter of XGBoost that is not supported yet has a value that matters.
        """
        if not isinstance(mapping, Mapping):
            raise ParameterError(f"parameters={show(mapping)}: expected a dict of names to values")
        values: dict[str, Any] = {row.name: row.default for row in TABLE}
        spelled: dict[str, str] = {}
        for name, value in mapping.items():
            row = _ROWS.get(name)
            if row is None:
                _check_foreign(name, value)
            elif value is not None:
                if row.name in spelled:
                    raise ParameterError(
                        f"{spelled[row.name]} and {name} are two spellings of one parameter; "
                        f"give one of them"
                    )
                spelled[row.name] = name
                values[row.name] = row.convert(value, name)
        if values["objective"] == "count:poisson" and "max_delta_step" not in spelled:
            values["max_delta_step"] = POISSON_DELTA_STEP
        return cls(**values)


def _check_foreign(name: object, value: object) -> None:
    """Accept what changes nothing; raise for anything else that is not in `TABLE`."""
    if name in IGNORED:
        return
    if isinstance(name, str) and name in XGBOOST_ONLY:
        if value is None or any(same(value, neutral) for neutral in XGBOOST_ONLY[name]):
            return
        raise ParameterError(
            f"{name}={show(value)}: known from XGBoost, not supported yet; leave it out"
        )
    near = difflib.get_close_matches(str(name).lower(), [*_ROWS, *IGNORED, *XGBOOST_ONLY], n=1)
    move = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(r.name for r in TABLE)
    raise ParameterError(f"unknown parameter {show(name)}; {move}")
