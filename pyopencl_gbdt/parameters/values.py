"""The values of all training parameters, and what follows from them."""

from __future__ import annotations

import json
import math
from typing import Literal

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.numerics.portable_math import as_margin


@dataclass(frozen=True)
class ParameterValues:
    """One typed attribute for each entry of ``TABLE``, in the same order; not checked.

    ``Parameters`` are the checked ones.
    """

    objective: str
    n_estimators: int
    learning_rate: float
    num_parallel_tree: int
    max_depth: int
    max_leaves: int
    grow_policy: str
    multi_strategy: str
    sketch: int
    boosting_type: str
    booster: str
    rate_drop: float
    skip_drop: float
    one_drop: bool
    sample_type: str
    normalize_type: str
    tree_method: str
    max_bin: int
    proposal: str | None
    max_bin_exact: bool
    cut_rule: str
    reg_lambda: float
    reg_alpha: float
    gamma: float
    min_child_weight: float
    min_samples_leaf: int
    path_smooth: float
    max_delta_step: float
    leaf_estimation_iterations: int
    linear_tree: bool
    linear_lambda: float
    subsample: float
    sampling_method: str
    bagging_temperature: float
    bagging_freq: int
    top_rate: float
    other_rate: float
    colsample_bytree: float
    colsample_bylevel: float
    colsample_bynode: float
    extra_trees: bool
    random_strength: float
    monotone_constraints: str
    interaction_constraints: str
    forced_splits: str
    cat_method: str
    max_set_levels: int
    min_statistic_levels: int | None
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
    expectile_alpha: float | tuple[float, ...]
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

    def starting_scores(self, n_outputs: int) -> Score | None:
        """Return ``base_score`` or None; a tuple if there are several outputs.

        If it has several numbers, there is one for each output.
        """
        if self.base_score is None:
            return None
        scores = as_margin(np.array(each(self.base_score), np.float32))
        given = tuple(float(score) for score in scores)
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
    def sorts_columns(self) -> bool:
        """Whether splits are searched in sorted columns, not in histograms."""
        return self.search != "hist"

    @property
    def sorted_pages(self) -> bool:
        """Whether pages of sorted columns are asked for."""
        return self.page == "sorted"

    @property
    def streamed_pages(self) -> bool:
        """Whether pages are asked to take turns on the device."""
        return self.page == "streamed"

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
    def draws_splits(self) -> bool:
        """Whether chance has a part in the choice of a node's split."""
        return self.extra_trees or self.random_strength > 0

    def has_vectors(self, n_outputs: int) -> bool:
        """Whether leaves of a model of so many outputs are vectors, with a value for each."""
        return self.multi_strategy == "multi_output_tree" and n_outputs > 1

    @property
    def symmetric_trees(self) -> bool:
        """Whether all nodes of a level share a split."""
        return self.grow_policy == "symmetric"

    @property
    def cache_folders(self) -> list[str]:
        """Where pages of codes are kept on disk; empty if they are kept in the host's memory."""
        return [] if self.cache_dir is None else list(json.loads(self.cache_dir))

    @property
    def has_classes(self) -> bool:
        """Whether the loss is one of several classes."""
        return self.objective in MULTICLASS

    @property
    def takes_expectiles(self) -> bool:
        """Whether the loss's outputs are expectiles."""
        return self.objective == "reg:expectileerror"

    @property
    def weighs_positives(self) -> bool:
        """Whether rows of label 1 have another weight."""
        return self.scale_pos_weight != 1

    @property
    def has_targets(self) -> bool:
        """Whether labels are numbers or classes that statistics of categories can count."""
        return not (self.objective.startswith("survival:") or self.objective == "custom")

    @property
    def least_statistic_levels(self) -> int:
        """Levels of a column from which on it offers statistics, with ``cat_method="auto"``."""
        least = self.min_statistic_levels
        return self.max_set_levels + 1 if least is None else least

    @property
    def n_orders(self) -> int:
        """Orders of the rows, for statistics of categories and for ordered boosting."""
        return 1 if self.has_time else self.permutation_count

    @property
    def is_ordered(self) -> bool:
        """Whether splits are found by gradients of models that have not learnt from the row."""
        return self.boosting_type == "ordered"

    @property
    def weighs_trees(self) -> bool:
        """Whether every tree has a weight, which rounds after its own may change.

        Margins are sums in fixed point then, and rows find their leaves of a tree by its codes.
        """
        return self.booster == "dart"

    @property
    def samples_rows(self) -> bool:
        """Whether the rows of each tree have factors; 0 leaves a row out."""
        return self.leaves_out_rows or (
            self.sampling_method == "bayesian" and self.bagging_temperature > 0
        )

    @property
    def leaves_out_rows(self) -> bool:
        """Whether each tree is trained on a sample of the rows."""
        return self.sampling_method == "goss" or self.drawn_share < 1

    @property
    def drawn_share(self) -> float:
        """``subsample`` where it has an effect, else 1."""
        return self.subsample if self.bagging_freq else 1.0

    @property
    def keep_below(self) -> np.uint32:
        """Uniform sampling keeps a row if its 32-bit random number is below this."""
        most: np.uint32 = np.uint32(min(int(self.drawn_share * 2.0**32), 2**32 - 1))
        return most

    @property
    def weighs_samples(self) -> bool:
        """Whether some factors of rows are neither 0 nor 1."""
        return self.samples_rows and self.other_sampling

    @property
    def other_sampling(self) -> bool:
        """Whether rows are sampled otherwise than uniformly."""
        return self.sampling_method != "uniform"

    @property
    def samples_by_gradient(self) -> bool:
        """Whether which rows are sampled depends on their gradients."""
        return self.samples_rows and self.sampling_method in ("gradient_based", "goss")

    @property
    def sampling_rates(self) -> tuple[float, float]:
        """The numbers ``rate`` and ``other`` of the kernel that draws rows."""
        rates = {"goss": self.top_rate, "bayesian": self.bagging_temperature}
        return rates.get(self.sampling_method, self.drawn_share), self.other_rate

    @property
    def limits_rows(self) -> bool:
        """Whether a child needs more than one row."""
        return self.min_samples_leaf > 1

    @property
    def takes_steps(self) -> bool:
        """Whether leaves take several Newton steps."""
        return self.leaf_estimation_iterations > 1

    @property
    def smooths(self) -> bool:
        """Whether weights of nodes are moved towards those of their parents; 1e-15 as LightGBM."""
        return self.path_smooth > 1e-15

    @property
    def smoothing(self) -> dict[str, float]:
        """The argument of kernels that smooth weights, at least 2^-20; empty for other kernels."""
        return {"path_smooth": max(self.path_smooth, 2.0**-20)} if self.smooths else {}

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

    def constrains(self, feature_weights: object | None) -> bool:
        """Whether splits are constrained, or columns drawn by these weights, if there are any."""
        given = self.monotone_constraints or self.interaction_constraints or self.forced_splits
        return bool(given) or (feature_weights is not None and self.samples_columns)

    def column_counts(self, n_features: int) -> tuple[int, int, int]:
        """Return the number of features sampled for a tree, for a level and for a node."""
        counts, n = [], n_features
        for share in (self.colsample_bytree, self.colsample_bylevel, self.colsample_bynode):
            n = max(1, int(np.float32(share) * np.float32(n)))
            counts.append(n)
        return counts[0], counts[1], counts[2]
