"""Training parameters: XGBoost's names and defaults, checked before anything runs.

``TABLE`` is the one place that knows a parameter's type, default, bounds and meaning. `Parameters`
has one typed attribute per row, in the same order; a test holds the two together.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyopencl_gbdt.data.places import show
from pyopencl_gbdt.errors import ParameterError

FLOAT32_MAX = float(np.finfo(np.float32).max)
"""Parameters reach the kernels as float32, so a larger number would turn into infinity."""


@dataclass(frozen=True)
class ParameterRow:
    """One parameter: what is accepted, and what is used when it is left out.

    Attributes
    ----------
    name, aliases : str, tuple of str
        The attribute of `Parameters`, and XGBoost's other spellings of it.
    kind : type
        ``int``, ``float`` or ``str``.
    default : int, float, str or None
        Used for a parameter that is absent or None.
    low, high : float or None
        Bounds of a number; None is unbounded (a float still has to fit into float32).
        `high` is allowed itself, and so is `low` unless `low_open`.
    low_open : bool
        The number has to be above `low`.
    allowed : tuple of str
        The strings to choose from; empty for any string but "".
    power_of_two : bool
        The number is 0 or a power of two.
    doc : str
        One sentence for the user.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: int | float | str | None
    doc: str
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    allowed: tuple[str, ...] = ()
    power_of_two: bool = False
    aliases: tuple[str, ...] = ()

    def convert(self, value: object, spelling: str | None = None) -> int | float | str | None:
        """Return `value` as `kind`, or raise `ParameterError` in the user's own spelling."""
        if value is None:
            return self.default
        name = spelling or self.name
        if self.kind is str:
            return self._string(value, name)
        number = _number(value, name, self.expected, integral=self.kind is int)
        below = self.low is not None and (
            number < self.low or (self.low_open and number == self.low)
        )
        above = self.high is not None and number > self.high
        if below or above:
            move = "raise" if below else "lower"
            raise ParameterError(f"{name}={show(number)}: expected {self.expected}; {move} {name}")
        if self.power_of_two and int(number) & (int(number) - 1):
            near = 1 << (int(number).bit_length() - 1)
            raise ParameterError(f"{name}={number!r}: expected {self.expected}; try {near}")
        return number

    @property
    def expected(self) -> str:
        """What is allowed, in the words of an error message."""
        noun = "an integer" if self.kind is int else "a finite number"
        if self.kind is str:
            choices = " or ".join(map(repr, self.allowed))
            return choices or "a string that is not empty"
        if self.power_of_two:
            return f"0 (automatic) or a power of two up to {self.high}"
        if self.low is None:
            return noun
        if self.high is None:
            return f"{noun} {'>' if self.low_open else '>='} {self.low}"
        return f"{self.low}..{self.high}"

    def _string(self, value: object, name: str) -> str:
        if isinstance(value, str) and value and (not self.allowed or value in self.allowed):
            return str(value)
        known = self.allowed or (str(self.default),)
        near = difflib.get_close_matches(str(value), known, n=1)
        move = f"did you mean {near[0]!r}?" if near else f"leave it out for {self.default!r}"
        raise ParameterError(f"{name}={show(value)}: expected {self.expected}; {move}")


OBJECTIVES = ("reg:squarederror", "binary:logistic")

TABLE: tuple[ParameterRow, ...] = (
    ParameterRow("objective", str, OBJECTIVES[0], "The loss to minimise.", allowed=OBJECTIVES),
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
                 "Largest size of a leaf value before learning_rate; 0 is no limit.", low=0),
    ParameterRow("base_score", float, None, "Prediction before the first tree (a probability "
                 "for binary:logistic); None takes it from the data."),
    ParameterRow("device", str, "auto", "Where to train: auto, opencl:0:1, cuda:0, ..."),
    ParameterRow("histogram", str, "auto", "Histogram kernel's variant; all give the same bits."),
    ParameterRow("work_group_size", int, 0, "Work-items per work-group; 0 is automatic.",
                 low=0, high=1024, power_of_two=True),
    ParameterRow("verbosity", int, 1, "0 silent, 1 warnings, 2 information, 3 debugging.",
                 low=0, high=3),
    ParameterRow("random_state", int, 0, "Seed of everything random.",
                 low=0, high=2**32 - 1, aliases=("seed",)),
)  # fmt: skip

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
    "tweedie_variance_power": (1.5,),
    "aft_loss_distribution": ("normal",),
    "lambdarank_pair_method": ("topk",),
    **dict.fromkeys(
        ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode", "huber_slope",
         "num_parallel_tree", "scale_pos_weight", "num_target", "refresh_leaf",
         "aft_loss_distribution_scale", "lambdarank_normalization", "lambdarank_bias_norm",
         "lambdarank_score_normalization", "ndcg_exp_gain"),
        (1,),
    ),
    **dict.fromkeys(
        ("max_leaves", "enable_categorical", "extmem_single_page", "disable_default_eval_metric",
         "seed_per_iteration", "rate_drop", "one_drop", "skip_drop", "top_k", "quantile_alpha",
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
        logistic = self.objective == "binary:logistic"
        # In float32, as the kernels see it: 1 - 1e-9 is 1 there, and its log-odds are infinite.
        if logistic and self.base_score is not None and not 0 < np.float32(self.base_score) < 1:
            raise ParameterError(
                f"base_score={self.base_score!r}: expected 0 < base_score < 1 for "
                "objective='binary:logistic'; give a probability, or None"
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
        return cls(**values)


def _check_foreign(name: object, value: object) -> None:
    """Accept what changes nothing; raise for anything else that is not in `TABLE`."""
    if name in IGNORED:
        return
    if isinstance(name, str) and name in XGBOOST_ONLY:
        if value is None or any(_same(value, neutral) for neutral in XGBOOST_ONLY[name]):
            return
        raise ParameterError(
            f"{name}={show(value)}: known from XGBoost, not supported yet; leave it out"
        )
    near = difflib.get_close_matches(str(name).lower(), [*_ROWS, *IGNORED, *XGBOOST_ONLY], n=1)
    move = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(r.name for r in TABLE)
    raise ParameterError(f"unknown parameter {show(name)}; {move}")


def _same(value: object, neutral: object) -> bool:
    """Compare a value with a neutral one: NaN equals NaN, and empty equals empty."""
    if isinstance(neutral, tuple):
        return isinstance(value, (list, tuple, dict, np.ndarray)) and len(value) == 0
    if isinstance(neutral, str) or isinstance(value, str):
        return isinstance(value, str) and value == neutral
    if not isinstance(value, (numbers.Real, np.bool_)) or not isinstance(neutral, numbers.Real):
        return False
    return float(value) == float(neutral) or (math.isnan(value) and math.isnan(neutral))


def _number(value: object, name: str, expected: str, *, integral: bool) -> int | float:
    """Return a real number as int or float; bool, strings, NaN and infinity are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name}={show(value)}: expected {expected}; give a number")
    if integral and isinstance(value, numbers.Integral):
        return int(value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= FLOAT32_MAX:  # true for NaN as well
        raise ParameterError(
            f"{name}={show(value)}: expected {expected}; give a number that float32 can hold"
        )
    if not integral:
        return number
    if number != math.floor(number):
        raise ParameterError(f"{name}={show(value)}: expected {expected}; give a whole number")
    return int(number)
