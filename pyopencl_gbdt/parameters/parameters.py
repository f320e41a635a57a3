"""Training parameters, checked before training starts.

`Parameters` has one typed attribute for each entry of `table.TABLE`, in the same order;
a test compares the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.model.formats.xgboost_links import LINKS, MULTICLASS
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.parameters.names import ROWS, as_mapping, check_foreign
from pyopencl_gbdt.parameters.table import DEEPEST_TABLE, POISSON_DELTA_STEP, TABLE

_BINARY = ("binary:logistic", "binary:logitraw", "reg:logistic")


@dataclass(frozen=True)
class Parameters:
    """Checked training parameters; `TABLE` has the meaning, default and bounds of each.

    Use `from_dict` to build it. Direct construction and `dataclasses.replace` check values too.
    """

    objective: str
    n_estimators: int
    learning_rate: float
    num_parallel_tree: int
    max_depth: int
    max_leaves: int
    grow_policy: str
    boosting_type: str
    tree_method: str
    max_bin: int
    proposal: str | None
    max_bin_exact: bool
    reg_lambda: float
    reg_alpha: float
    gamma: float
    min_child_weight: float
    max_delta_step: float
    subsample: float
    sampling_method: str
    top_rate: float
    other_rate: float
    colsample_bytree: float
    colsample_bylevel: float
    colsample_bynode: float
    monotone_constraints: str
    interaction_constraints: str
    cat_method: str
    permutation_count: int
    max_ctr_complexity: int
    has_time: bool
    target_border_count: int
    ctr_priors: float | tuple[float, ...] | None
    ctr_prior_weight: int
    max_cat_to_onehot: int
    max_cat_threshold: int
    cat_smooth: float
    cat_l2: float
    min_data_per_group: int
    base_score: float | tuple[float, ...] | None
    scale_pos_weight: float
    huber_slope: float
    tweedie_variance_power: float
    huber_alpha: float
    fair_c: float
    aft_loss_distribution: str
    aft_loss_distribution_scale: float
    quantile_alpha: float | tuple[float, ...]
    num_class: int
    lambdarank_pair_method: str
    lambdarank_num_pair_per_sample: int | None
    lambdarank_normalization: bool
    lambdarank_score_normalization: bool
    lambdarank_unbiased: bool
    lambdarank_bias_norm: float
    ndcg_exp_gain: bool
    device: str
    histogram: str
    page: str
    device_memory: int | None
    cache_dir: str | None
    work_group_size: int
    verbosity: int
    random_state: int

    def __post_init__(self) -> None:
        """Convert and check every attribute, then check combinations of attributes."""
        for field in fields(self):
            checked = ROWS[field.name].convert(getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
        self._check_base_score()
        self._check_sampling()
        self._check_bins()
        if self.search != "hist" and self.page not in ("auto", "sorted"):
            raise ParameterError(
                f"page={self.page!r}: expected 'auto' or 'sorted' for tree_method="
                f"{self.tree_method!r}, which has no pages of codes; leave it out, or use "
                "tree_method='hist'"
            )
        self._check_symmetric()
        if self.max_leaves == 1:
            raise ParameterError("max_leaves=1: expected 0 (no limit) or 2 or more; raise it")
        multiclass = self.objective in MULTICLASS
        if multiclass != (self.num_class > 1):
            expected = "2 or more" if multiclass else "0, or objective='multi:softprob'"
            raise ParameterError(
                f"num_class={self.num_class}: expected {expected} for "
                f"objective={self.objective!r}; give the number of classes"
            )
        weighs = "scale_pos_weight" in LINKS[self.objective].parameters and (
            LINKS[self.objective].xgboost_name in _BINARY
        )
        if self.scale_pos_weight != 1 and not weighs:
            raise ParameterError(
                f"scale_pos_weight={self.scale_pos_weight!r}: expected 1 for "
                f"objective={self.objective!r}; give row weights instead"
            )

    def _check_symmetric(self) -> None:
        if not self.symmetric_trees:
            return
        if self.max_leaves:
            raise ParameterError(
                f"max_leaves={self.max_leaves}: expected 0 for grow_policy='symmetric', whose "
                f"trees have 2^depth leaves; leave it out and give max_depth"
            )
        if not 1 <= self.max_depth <= DEEPEST_TABLE:
            raise ParameterError(
                f"max_depth={self.max_depth}{'' if self.max_depth else ' (no limit)'}: expected "
                f"1..{DEEPEST_TABLE} for grow_policy='symmetric', whose trees have 2^max_depth "
                "leaves; give another depth"
            )
        if self.search != "hist":
            raise ParameterError(
                f"tree_method={self.tree_method!r}: expected 'hist' for grow_policy='symmetric'; "
                f"leave it out"
            )

    def _check_bins(self) -> None:
        if self.tree_method == "exact" and self.max_bin != ROWS["max_bin"].default:
            raise ParameterError(
                f"max_bin={self.max_bin}: expected its default for tree_method='exact', which has "
                f"a bin for every distinct value; leave it out, or use tree_method='hist'"
            )
        if self.proposal is not None and self.tree_method != "approx":
            raise ParameterError(
                f"proposal={self.proposal!r}: expected None for tree_method={self.tree_method!r}; "
                f"leave it out, or use tree_method='approx'"
            )
        if not self.max_bin_exact and self.search != "hist":
            raise ParameterError(
                f"max_bin_exact=False: expected True for tree_method={self.tree_method!r}, whose "
                "quantiles are always exact; leave it out, or use tree_method='hist'"
            )

    def _check_sampling(self) -> None:
        if self.sampling_method != "goss":
            return
        if self.subsample != 1:
            raise ParameterError(
                f"subsample={self.subsample!r}: expected 1 for sampling_method='goss'; give "
                f"top_rate and other_rate"
            )
        if not 0 < self.top_rate + self.other_rate < 1:
            raise ParameterError(
                f"top_rate={self.top_rate!r}: expected top_rate + other_rate below 1, other_rate "
                f"is {self.other_rate!r}; lower one of them"
            )

    def starting_scores(self, n_outputs: int) -> Score | None:
        """Return ``base_score`` or None; a tuple if there are several outputs.

        Raises
        ------
        ParameterError
            If ``base_score`` has several numbers, but not one for each output.
        """
        if self.base_score is None:
            return None
        scores = as_margin(np.array(each(self.base_score), np.float32))
        given = tuple(float(score) for score in scores)
        if len(given) not in (1, n_outputs):
            many = f"1 or {n_outputs} numbers, one for each output" if n_outputs > 1 else "1 number"
            raise ParameterError(
                f"base_score has {len(given)} numbers: expected {many}; give as many"
            )
        if n_outputs == 1:
            return given[0]
        return given if len(given) > 1 else given * n_outputs

    @property
    def search(self) -> Literal["hist", "exact", "approx"]:
        """How splits are found."""
        if self.tree_method == "approx":
            return "approx"
        return "exact" if self.tree_method == "exact" else "hist"

    @property
    def page_kind(self) -> str:
        """How codes lie on the device; a histogram variant chosen by name is one of dense codes."""
        return "dense" if self.page == "auto" and self.histogram != "auto" else self.page

    def most_leaves(self, n_rows: int) -> int:
        """Return the leaves that a tree can have with so many rows."""
        most = n_rows if self.max_leaves <= 0 else min(n_rows, self.max_leaves)
        return most if self.max_depth <= 0 else min(most, 1 << self.max_depth)

    @property
    def leaf_wise(self) -> bool:
        """Whether trees grow leaf by leaf: only with a limit of leaves does the order matter."""
        return self.grow_policy == "lossguide" and self.max_leaves > 0

    @property
    def symmetric_trees(self) -> bool:
        """Whether all nodes of a level share a split."""
        return self.grow_policy == "symmetric"

    @property
    def cache_folders(self) -> list[str]:
        """Where pages of codes are kept on disk; empty if they are kept in the host's memory."""
        return [] if self.cache_dir is None else list(json.loads(self.cache_dir))

    @property
    def n_orders(self) -> int:
        """Orders of the rows, for statistics of categories and for ordered boosting."""
        return 1 if self.has_time else self.permutation_count

    @property
    def samples_rows(self) -> bool:
        """Whether each tree is trained on a sample of the rows."""
        return self.sampling_method == "goss" or self.subsample < 1

    @property
    def keep_below(self) -> np.uint32:
        """Uniform sampling keeps a row if its 32-bit random number is below this."""
        most: np.uint32 = np.uint32(min(int(self.subsample * 2.0**32), 2**32 - 1))
        return most

    @property
    def root_lambda(self) -> np.float32:
        """The factor of the squared Hessian in a row's sampling importance."""
        root: np.float32 = np.float32(math.sqrt(min(self.reg_lambda, 1e12)))
        return root

    @property
    def rounds_of_all_rows(self) -> int:
        """Rounds before GOSS starts to sample: 1 / learning_rate, as in LightGBM."""
        return int(min(1.0 / max(self.learning_rate, 2.0**-31), 2.0**31))

    @property
    def samples_columns(self) -> bool:
        """Whether trees, levels or nodes use a sample of the features."""
        return min(self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode) < 1

    def column_counts(self, n_features: int) -> tuple[int, int, int]:
        """Return the number of features sampled for a tree, for a level and for a node."""
        counts, n = [], n_features
        for share in (self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode):
            n = max(1, int(np.float32(share) * np.float32(n)))
            counts.append(n)
        return counts[0], counts[1], counts[2]

    def _check_base_score(self) -> None:
        """Raise an error if the margin of ``base_score`` is infinite.

        The check is in float32, as in kernels: there 1 - 1e-9 is 1, whose log-odds are infinite.
        """
        link = LINKS[self.objective]
        given = () if self.base_score is None else each(self.base_score)
        for score in given:
            if link.lowest < np.float32(score) < link.highest:
                continue
            unit = link.highest == 1
            bounds = "0 < base_score < 1" if unit else "base_score > 0"
            raise ParameterError(
                f"base_score={score!r}: expected {bounds} for objective={self.objective!r}; "
                f"give a {'probability' if unit else 'mean above 0'}, or leave it out"
            )

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object] | Sequence[tuple[str, object]]) -> Parameters:
        """Check a user's parameters and fill in defaults.

        Parameters
        ----------
        mapping : mapping of str to object, or sequence of (str, object)
            XGBoost's names or aliases. None means "not given", as in XGBoost. NumPy scalars, an int
            for a float, 6.0 for an int and numbers as strings are accepted. If a name occurs in
            several pairs, the last counts.

        Returns
        -------
        checked : Parameters
            Every attribute is a plain int, float, str, tuple of float, or None.

        Raises
        ------
        ParameterError
            A name is unknown or given in two spellings; a value has the wrong type or is out of
            range; an unsupported parameter of XGBoost has a value that would have an effect.
        """
        values: dict[str, Any] = {row.name: row.default for row in TABLE}
        spelled: dict[str, str] = {}
        for name, value in as_mapping(mapping).items():
            row = ROWS.get(name) if isinstance(name, str) else None
            if row is None:
                check_foreign(name, value)
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
