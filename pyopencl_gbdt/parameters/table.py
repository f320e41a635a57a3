"""THE table of parameters: XGBoost's names and defaults, types, bounds and meanings."""

from __future__ import annotations

import math

from pyopencl_gbdt.parameters.row import ParameterRow

OBJECTIVES = (
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:gamma", "reg:tweedie",
    "reg:logistic", "count:poisson", "binary:logistic", "binary:logitraw", "binary:hinge",
    "reg:absoluteerror", "reg:quantileerror", "multi:softprob", "multi:softmax", "rank:ndcg",
    "rank:map", "rank:pairwise", "survival:cox", "survival:aft", "huber", "fair", "mape",
    "cross_entropy",
)  # fmt: skip
"""XGBoost's names; huber, fair, mape and cross_entropy are LightGBM's losses."""
SAMPLING_METHODS = ("uniform", "gradient_based", "goss")
DEEPEST_LEVEL = 64
"""Most splits between root and leaf of trees that grow level by level, where max_depth is 0."""
POISSON_DELTA_STEP = 0.7
"""XGBoost's default of ``max_delta_step`` for ``count:poisson``; 0 for every other objective."""

TABLE: tuple[ParameterRow, ...] = (
    ParameterRow("objective", str, OBJECTIVES[0], "The loss to minimise, or your own: "
                 "a callable, or kernel code behind kernel:.", allowed=(*OBJECTIVES, "custom")),
    ParameterRow("n_estimators", int, 100, "Boosting rounds (trees); 0 gives the base score alone.",
                 low=0, high=2**31 - 1, aliases=("num_boost_round",)),
    ParameterRow("learning_rate", float, 0.3, "Factor on every leaf value; 0 gives leaves of 0.",
                 low=0, aliases=("eta",)),
    ParameterRow("num_parallel_tree", int, 1, "Trees that a round adds to each output, each "
                 "learning_rate / num_parallel_tree of its own: a random forest.",
                 low=1, high=2**16),
    ParameterRow("max_depth", int, 6, f"Most splits between root and leaf; 0 is no limit, but "
                 f"{DEEPEST_LEVEL} by depthwise.", low=0, high=32),
    ParameterRow("max_leaves", int, 0, "Most leaves of a tree; 0 is no limit.",
                 low=0, high=2**16),
    ParameterRow("grow_policy", str, "depthwise", "Which nodes split first: those nearest the "
                 "root, or (lossguide) those that gain most.",
                 allowed=("depthwise", "lossguide")),
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
    ParameterRow("subsample", float, 1.0, "Share of the rows that a tree sees.",
                 low=0, low_open=True, high=1),
    ParameterRow("sampling_method", str, "uniform", "How rows are drawn: uniform; gradient_based, "
                 "rows with large gradients rather than others; goss, LightGBM's way: the top_rate "
                 "of rows with largest gradients and an other_rate of the others.",
                 allowed=SAMPLING_METHODS),
    ParameterRow("top_rate", float, 0.2, "goss: share of the rows that are always seen.",
                 low=0, high=1),
    ParameterRow("other_rate", float, 0.1, "goss: share of the rows that are drawn of the others.",
                 low=0, low_open=True, high=1),
    ParameterRow("colsample_bytree", float, 1.0, "Share of the features that a tree may use.",
                 low=0, low_open=True, high=1),
    ParameterRow("colsample_bylevel", float, 1.0, "Share of the tree's features that a level of it "
                 "may use.", low=0, low_open=True, high=1),
    ParameterRow("colsample_bynode", float, 1.0, "Share of the level's features that a node may "
                 "use.", low=0, low_open=True, high=1),
    ParameterRow("monotone_constraints", str, "", "Columns along which predictions rise (1) or "
                 "fall (-1): a number for each, or a dict of some.", structured=True),
    ParameterRow("interaction_constraints", str, "", "Columns that may follow each other on the "
                 "way to a leaf: a list of lists.", structured=True),
    ParameterRow("base_score", float, None, "Prediction before the first tree (a probability "
                 "for binary:logistic), or a list with one for each class, target or quantile; "
                 "None takes it from the data.", several=True),
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
    ParameterRow("quantile_alpha", float, 0.5, "Which one: reg:quantileerror and the metric "
                 "quantile; a list of them gives an output for each.", low=0, high=1, several=True),
    ParameterRow("num_class", int, 0, "Classes of multi:softprob and multi:softmax.",
                 low=0, high=2**16),
    ParameterRow("lambdarank_pair_method", str, "topk", "Ranking: pairs with one of the best rows, "
                 "or with rows drawn for each row.", allowed=("topk", "mean")),
    ParameterRow("lambdarank_num_pair_per_sample", int, None, "Ranking: how many rows are best, "
                 "or are drawn for each; None is 32 or 1.", low=1, high=2**24),
    ParameterRow("lambdarank_normalization", bool, True, "Ranking: divide the gradients of a query "
                 "by about their sum."),
    ParameterRow("lambdarank_score_normalization", bool, True, "Ranking: pairs count less, the "
                 "further their margins are apart."),
    ParameterRow("lambdarank_unbiased", bool, False, "Ranking by clicks: estimate and correct the "
                 "bias of positions."),
    ParameterRow("lambdarank_bias_norm", float, 1.0, "Ranking by clicks: the larger, the less is "
                 "corrected.", low=0),
    ParameterRow("ndcg_exp_gain", bool, True, "rank:ndcg and ndcg: a label's gain is 2^label - 1, "
                 "else the label."),
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
    **dict.fromkeys(
        ("num_target", "refresh_leaf"),
        (1,),
    ),
    **dict.fromkeys(
        ("enable_categorical", "extmem_single_page", "disable_default_eval_metric",
         "seed_per_iteration", "rate_drop", "one_drop", "skip_drop", "top_k",
         "expectile_alpha"),
        (0,),
    ),
    **dict.fromkeys(("feature_types", "feature_weights", "eval_metric", "callbacks"), (_EMPTY,)),
    **dict.fromkeys(("early_stopping_rounds",), ()),
}  # fmt: skip
"""Parameters that XGBoost has and we do not yet, with the values that change nothing.

None changes nothing for any of them; ``_EMPTY`` stands for any empty container.
"""
