"""Written by ``python -m tests.stubs`` from the table of parameters; do not edit."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.estimators.spellings import AliasedParameters
from pyopencl_gbdt.objectives.custom import Custom
from pyopencl_gbdt.training.eval_metrics import Metrics

OWN: dict[str, tuple[str, Any]]
PARAMETERS: dict[str, Parameter]

class Constructed(AliasedParameters):
    n_estimators: int | str | None
    preset: str | None
    learning_rate: float | str | None
    num_parallel_tree: int
    max_depth: int | None
    max_leaves: int | None
    grow_policy: str | None
    multi_strategy: str
    sketch: int
    boosting_type: str | None
    booster: str
    rate_drop: float
    skip_drop: float
    one_drop: bool
    sample_type: str
    normalize_type: str
    tree_method: str
    max_bin: int | None
    proposal: str | None
    max_bin_exact: bool
    cut_rule: str
    reg_lambda: float | None
    reg_alpha: float
    gamma: float
    min_child_weight: float | None
    min_samples_leaf: int | None
    path_smooth: float
    max_delta_step: float | None
    leaf_estimation_iterations: int
    linear_tree: bool
    linear_lambda: float
    subsample: float | None
    sampling_method: str | None
    bagging_temperature: float
    bagging_freq: int
    top_rate: float
    other_rate: float
    colsample_bytree: float | None
    colsample_bylevel: float | None
    colsample_bynode: float | None
    feature_weights: Any
    categorical_features: Any
    extra_trees: bool
    random_strength: float | None
    cat_method: str | None
    max_set_levels: int | None
    min_statistic_levels: int | None
    permutation_count: int | None
    max_ctr_complexity: int | None
    has_time: bool | None
    target_border_count: int | None
    ctr_priors: float | Sequence[float] | None
    ctr_prior_weight: int | None
    monotone_constraints: Any
    interaction_constraints: Any
    forced_splits: Any
    max_cat_to_onehot: int
    max_cat_threshold: int
    cat_smooth: float
    cat_l2: float
    min_data_per_group: int
    objective: str | Callable[..., Any] | Custom | None
    base_score: float | Sequence[float] | None
    scale_pos_weight: float | None
    huber_slope: float | None
    tweedie_variance_power: float | None
    huber_alpha: float | None
    fair_c: float | None
    aft_loss_distribution: str | None
    aft_loss_distribution_scale: float | None
    quantile_alpha: float | Sequence[float] | None
    expectile_alpha: float | Sequence[float] | None
    lambdarank_pair_method: str | None
    lambdarank_num_pair_per_sample: int | None
    lambdarank_normalization: bool | None
    lambdarank_score_normalization: bool | None
    lambdarank_unbiased: bool | None
    lambdarank_bias_norm: float | None
    ndcg_exp_gain: bool | None
    eval_metric: Metrics
    early_stopping_rounds: int | None
    early_stopping: bool | str | None
    validation_fraction: float | str | None
    n_iter_no_change: int | None
    tol: float | None
    scoring: str | Callable[..., Any] | None
    refit: bool | None
    callbacks: Sequence[TrainingCallback] | None
    warm_start: bool
    importance_type: str | None
    device: str | Sequence[str] | Mapping[str, float]
    histogram: str
    page: str
    device_memory: int | str | None
    cache_dir: Any
    work_group_size: int
    random_state: int | np.random.RandomState | np.random.Generator | None
    missing: float
    n_jobs: int | None
    verbosity: int

    def __init__(
        self,
        *,
        n_estimators: int | str | None = ...,
        preset: str | None = ...,
        learning_rate: float | str | None = ...,
        num_parallel_tree: int = ...,
        max_depth: int | None = ...,
        max_leaves: int | None = ...,
        grow_policy: str | None = ...,
        multi_strategy: str = ...,
        sketch: int = ...,
        boosting_type: str | None = ...,
        booster: str = ...,
        rate_drop: float = ...,
        skip_drop: float = ...,
        one_drop: bool = ...,
        sample_type: str = ...,
        normalize_type: str = ...,
        tree_method: str = ...,
        max_bin: int | None = ...,
        proposal: str | None = ...,
        max_bin_exact: bool = ...,
        cut_rule: str = ...,
        reg_lambda: float | None = ...,
        reg_alpha: float = ...,
        gamma: float = ...,
        min_child_weight: float | None = ...,
        min_samples_leaf: int | None = ...,
        path_smooth: float = ...,
        max_delta_step: float | None = ...,
        leaf_estimation_iterations: int = ...,
        linear_tree: bool = ...,
        linear_lambda: float = ...,
        subsample: float | None = ...,
        sampling_method: str | None = ...,
        bagging_temperature: float = ...,
        bagging_freq: int = ...,
        top_rate: float = ...,
        other_rate: float = ...,
        colsample_bytree: float | None = ...,
        colsample_bylevel: float | None = ...,
        colsample_bynode: float | None = ...,
        feature_weights: Any = ...,
        categorical_features: Any = ...,
        extra_trees: bool = ...,
        random_strength: float | None = ...,
        cat_method: str | None = ...,
        max_set_levels: int | None = ...,
        min_statistic_levels: int | None = ...,
        permutation_count: int | None = ...,
        max_ctr_complexity: int | None = ...,
        has_time: bool | None = ...,
        target_border_count: int | None = ...,
        ctr_priors: float | Sequence[float] | None = ...,
        ctr_prior_weight: int | None = ...,
        monotone_constraints: Any = ...,
        interaction_constraints: Any = ...,
        forced_splits: Any = ...,
        max_cat_to_onehot: int = ...,
        max_cat_threshold: int = ...,
        cat_smooth: float = ...,
        cat_l2: float = ...,
        min_data_per_group: int = ...,
        objective: str | Callable[..., Any] | Custom | None = ...,
        base_score: float | Sequence[float] | None = ...,
        scale_pos_weight: float | None = ...,
        huber_slope: float | None = ...,
        tweedie_variance_power: float | None = ...,
        huber_alpha: float | None = ...,
        fair_c: float | None = ...,
        aft_loss_distribution: str | None = ...,
        aft_loss_distribution_scale: float | None = ...,
        quantile_alpha: float | Sequence[float] | None = ...,
        expectile_alpha: float | Sequence[float] | None = ...,
        lambdarank_pair_method: str | None = ...,
        lambdarank_num_pair_per_sample: int | None = ...,
        lambdarank_normalization: bool | None = ...,
        lambdarank_score_normalization: bool | None = ...,
        lambdarank_unbiased: bool | None = ...,
        lambdarank_bias_norm: float | None = ...,
        ndcg_exp_gain: bool | None = ...,
        eval_metric: Metrics = ...,
        early_stopping_rounds: int | None = ...,
        early_stopping: bool | str | None = ...,
        validation_fraction: float | str | None = ...,
        n_iter_no_change: int | None = ...,
        tol: float | None = ...,
        scoring: str | Callable[..., Any] | None = ...,
        refit: bool | None = ...,
        callbacks: Sequence[TrainingCallback] | None = ...,
        warm_start: bool = ...,
        importance_type: str | None = ...,
        device: str | Sequence[str] | Mapping[str, float] = ...,
        histogram: str = ...,
        page: str = ...,
        device_memory: int | str | None = ...,
        cache_dir: Any = ...,
        work_group_size: int = ...,
        random_state: int | np.random.RandomState | np.random.Generator | None = ...,
        missing: float = ...,
        n_jobs: int | None = ...,
        verbosity: int = ...,
        **others: Any,
    ) -> None: ...
