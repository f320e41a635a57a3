"""The table of parameters: XGBoost's names and defaults, types, bounds and meanings."""

from __future__ import annotations

import math

from pyopencl_gbdt.parameters.row import ParameterRow

OBJECTIVES = (
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:gamma", "reg:tweedie",
    "reg:logistic", "count:poisson", "binary:logistic", "binary:logitraw", "binary:hinge",
    "reg:absoluteerror", "reg:quantileerror", "reg:expectileerror", "multi:softprob",
    "multi:softmax", "rank:ndcg", "rank:map", "rank:pairwise", "survival:cox", "survival:aft",
    "huber", "fair", "mape", "cross_entropy", "dist:normal", "dist:lognormal", "dist:gamma",
    "dist:negative_binomial",
)  # fmt: skip
"""XGBoost's names; LightGBM's of huber, fair, mape and cross_entropy; our own of dist:."""
#: 0 is automatic. PoCL 3.0 compiles groups of 2 and 4 to loops that run past their ends: `best` and
#: `best_piece` then read far behind an array, which ends the process.
WORK_GROUP_SIZES = (0, 1, 8, 16, 32, 64, 128, 256, 512, 1024)
SAMPLING_METHODS = ("uniform", "gradient_based", "goss", "bayesian", "none")
DEEPEST_LEVEL = 64
"""Largest depth of trees that grow level by level with max_depth=0."""
DEEPEST_TABLE = 16
"""Largest depth of symmetric trees."""
MOST_TERMS = 16
"""Most features in the linear function of a leaf: those of the splits nearest to it. A leaf has
170 sums then, about as many as a work-group has work-items."""
POISSON_DELTA_STEP = 0.7
"""XGBoost's default of ``max_delta_step`` for ``count:poisson``; 0 for every other objective."""
DROPPING = ("rate_drop", "skip_drop", "one_drop", "sample_type", "normalize_type")
"""Parameters that only ``booster="dart"`` uses."""

TABLE: tuple[ParameterRow, ...] = (
    ParameterRow("objective", str, OBJECTIVES[0], "The loss to minimise, or your own loss: "
                 "a callable, or kernel code after kernel:.", allowed=(*OBJECTIVES, "custom")),
    ParameterRow("n_estimators", int, 100, "Boosting rounds; with 0, the model is base_score only.",
                 low=0, high=2**31 - 1, aliases=("num_boost_round",)),
    ParameterRow("learning_rate", float, 0.3, "Factor on every leaf value; 0 gives leaves of 0.",
                 low=0, aliases=("eta",)),
    ParameterRow("num_parallel_tree", int, 1, "Trees per round and output, each scaled by "
                 "learning_rate / num_parallel_tree; more than 1 gives a random forest.",
                 low=1, high=2**16),
    ParameterRow("max_depth", int, 6, "Most splits between root and leaf; 0 or -1 is no limit, "
                 f"except {DEEPEST_LEVEL} with grow_policy=depthwise.",
                 low=0, high=32, unlimited=True),
    ParameterRow("max_leaves", int, 0, "Most leaves of a tree; 0 is no limit.",
                 low=0, high=2**16),
    ParameterRow("grow_policy", str, "depthwise", "Which nodes split first: those closest to the "
                 "root, or (lossguide) the leaf with the largest gain; symmetric: all nodes of a "
                 "level, by one feature and threshold.",
                 allowed=("depthwise", "lossguide", "symmetric")),
    ParameterRow("multi_strategy", str, "one_output_per_tree", "Several outputs: a tree for each "
                 "(one_output_per_tree), or trees whose leaves are vectors (multi_output_tree).",
                 allowed=("one_output_per_tree", "multi_output_tree")),
    ParameterRow("sketch", int, 0, "multi_output_tree: random sums of the outputs' gradients by "
                 "which splits are searched, in place of all outputs; 0 is none.",
                 low=0, high=2**10),
    ParameterRow("boosting_type", str, "plain", "What splits are found by: gradients of the "
                 "model (plain), or (ordered) of models that have not learnt from the row, for "
                 "small data.", allowed=("plain", "ordered")),
    ParameterRow("booster", str, "gbtree", "What becomes of trees: they stay as they are (gbtree), "
                 "or (dart) rounds drop some, whose weights then change.",
                 allowed=("gbtree", "dart")),
    ParameterRow("rate_drop", float, 0.0, "dart: share of the earlier trees that a round drops.",
                 low=0, high=1),
    ParameterRow("skip_drop", float, 0.0, "dart: share of the rounds that drop no tree.",
                 low=0, high=1),
    ParameterRow("one_drop", bool, False, "dart: a round that would drop no tree drops one."),
    ParameterRow("sample_type", str, "uniform", "dart: trees are dropped alike (uniform), or by "
                 "their weights (weighted).", allowed=("uniform", "weighted")),
    ParameterRow("normalize_type", str, "tree", "dart: a new tree weighs as much as a dropped one "
                 "(tree), or as all dropped ones (forest).", allowed=("tree", "forest")),
    ParameterRow("tree_method", str, "auto", "How splits are found: hist, between max_bin bins; "
                 "exact, between all distinct values; approx, between bins that are cut anew for "
                 "every tree; auto, see docs/tree-methods.md.",
                 allowed=("auto", "hist", "exact", "approx")),
    ParameterRow("max_bin", int, 256, "Most bins per feature; approx: 1 / sketch_eps of "
                 "XGBoost's command line.", low=2, high=65535),
    ParameterRow("proposal", str, None, "approx: cut bins once for every tree (global), or for "
                 "every node (local); None is global.", allowed=("global", "local")),
    ParameterRow("max_bin_exact", bool, True, "Cut bins at exact quantiles; False: at nearly "
                 "exact ones, which depend on the batches, with one pass over the data."),
    ParameterRow("cut_rule", str, "shares", "hist: a bin ends behind the value that fills its "
                 "share of what remains, and thresholds lie half-way between values (shares); or "
                 "XGBoost's cut points, which are values, and max_bin of them also where some are "
                 "missing (xgboost).", allowed=("shares", "xgboost")),
    ParameterRow("reg_lambda", float, 1.0, "L2 penalty on leaf values.",
                 low=0, aliases=("lambda",)),
    ParameterRow("reg_alpha", float, 0.0, "L1 penalty on leaf values.",
                 low=0, aliases=("alpha",)),
    ParameterRow("gamma", float, 0.0, "Least gain of a split.",
                 low=0, aliases=("min_split_loss",)),
    ParameterRow("min_child_weight", float, 1.0, "Least sum of Hessians in a child.", low=0),
    ParameterRow("min_samples_leaf", int, 0, "Least rows in a child; 0 and 1 are no limit.",
                 low=0, high=2**31 - 1),
    ParameterRow("path_smooth", float, 0.0, "The weight of a node of n rows becomes (n weight + "
                 "path_smooth parent's) / (n + path_smooth), as in LightGBM; above 0 the default "
                 "of min_samples_leaf is 2.", low=0, high=1e12),
    ParameterRow("max_delta_step", float, 0.0,
                 "Largest absolute leaf value before learning_rate; 0 is no limit. The default of "
                 f"count:poisson is {POISSON_DELTA_STEP}.", low=0),
    ParameterRow("leaf_estimation_iterations", int, 1, "Newton steps of a leaf's value; with "
                 "several, each takes the gradients of all rows where the steps so far lead. "
                 "With several classes many steps can raise the loss.",
                 low=1, high=1000),
    ParameterRow("linear_tree", bool, False, "Leaves are linear functions of the numeric features "
                 "on their paths, as LightGBM's; those of the first round are numbers."),
    ParameterRow("linear_lambda", float, 0.0, "linear_tree: L2 penalty on the coefficients.",
                 low=0),
    ParameterRow("subsample", float, 1.0, "Share of the rows sampled for each tree.",
                 low=0, low_open=True, high=1),
    ParameterRow("sampling_method", str, "uniform", "Sampling of rows: uniform; gradient_based: "
                 "rows with large gradients more often; goss, as in LightGBM: the top_rate of "
                 "rows with the largest gradients, and other_rate sampled from the others; "
                 "bayesian: random weights, see bagging_temperature; none: all rows.",
                 allowed=SAMPLING_METHODS),
    ParameterRow("bagging_temperature", float, 1.0, "bayesian: each row of each tree has the "
                 "weight (-ln u)^bagging_temperature, with u even in 0 to 1; 0 is weights of 1.",
                 low=0),
    ParameterRow("bagging_freq", int, 1, "Rounds for which rows sampled by uniform, or their "
                 "weights by bayesian, are kept; 0: subsample has no effect, as in LightGBM.",
                 low=0, high=2**31 - 1),
    ParameterRow("top_rate", float, 0.2, "goss: share of rows kept for their large gradients.",
                 low=0, high=1),
    ParameterRow("other_rate", float, 0.1, "goss: share of the rows sampled from the others.",
                 low=0, low_open=True, high=1),
    ParameterRow("colsample_bytree", float, 1.0, "Share of the features sampled for each tree.",
                 low=0, low_open=True, high=1),
    ParameterRow("colsample_bylevel", float, 1.0, "Share of the tree's features sampled for each "
                 "level.", low=0, low_open=True, high=1),
    ParameterRow("colsample_bynode", float, 1.0, "Share of the level's features sampled for each "
                 "node.", low=0, low_open=True, high=1),
    ParameterRow("extra_trees", bool, False, "Draw one border of every feature at random for each "
                 "node, or for each level of symmetric trees; only these may split."),
    ParameterRow("random_strength", float, 0.0, "Noise in the scores by which splits are chosen, "
                 "in standard deviations of the gradients; it falls from round to round.",
                 low=0, high=1e6),
    ParameterRow("monotone_constraints", str, "", "Columns that predictions rise with (1) or fall "
                 "with (-1): a number for each column, or a dict.", structured=True),
    ParameterRow("interaction_constraints", str, "", "Groups of columns that may split along one "
                 "path: a list of lists.", structured=True),
    ParameterRow("forced_splits", str, "", "Splits at the top of every tree: a dict of feature, "
                 "threshold, and the splits of its left and right child.", structured=True),
    ParameterRow("cat_method", str, "auto", "What becomes of categorical columns: sets, splits on "
                 "sets of levels; statistics, numeric features made of the target's means of "
                 "levels; both, the better of these two in every node; auto, by a column's levels.",
                 allowed=("auto", "sets", "statistics", "both")),
    ParameterRow("max_set_levels", int, 16, "cat_method=auto: most levels of a column that is "
                 "split by sets; columns of more levels become statistics.",
                 low=0, high=2**31 - 1),
    ParameterRow("min_statistic_levels", int, None, "cat_method=auto: least levels of columns with "
                 "statistics; up to max_set_levels it has sets, too. None: max_set_levels + 1.",
                 low=1),
    ParameterRow("permutation_count", int, 2, "Statistics of categories, and "
                 "boosting_type=ordered: random orders of the rows; the rounds take turns.",
                 low=1, high=64),
    ParameterRow("max_ctr_complexity", int, 2, "Statistics of categories: most columns of a "
                 "combination; 1 is no combinations.", low=1, high=8),
    ParameterRow("has_time", bool, False, "Statistics of categories, and boosting_type=ordered: "
                 "rows are in the order of time, which is their one order."),
    ParameterRow("target_border_count", int, 1, "Statistics of categories: borders of a label "
                 "that is a number.", low=1, high=255, aliases=("ctr_target_border_count",)),
    ParameterRow("ctr_priors", float, None, "Statistics of categories: the mean of a level "
                 "without rows; a list gives a feature for each. None: that of all rows.",
                 low=0, high=1, several=True),
    ParameterRow("ctr_prior_weight", int, 10, "Statistics of categories: a prior counts as so "
                 "many rows of every level.", low=1, high=2**20),
    ParameterRow("max_cat_to_onehot", int, 4, "A categorical column of fewer levels than this is "
                 "split one level against the others.", low=1, high=2**31 - 1),
    ParameterRow("max_cat_threshold", int, 64, "Most levels on the smaller side of a split by a "
                 "set of levels.", low=1, high=2**31 - 1),
    ParameterRow("cat_smooth", float, 0.0, "Sets of levels: added to a level's sum of Hessians "
                 "when levels are ordered; levels of fewer rows go where missing values go.",
                 low=0),
    ParameterRow("cat_l2", float, 0.0, "Sets of levels: added to reg_lambda in the gain of a "
                 "split.", low=0),
    ParameterRow("min_data_per_group", int, 1, "Sets of levels: least rows on each side of a "
                 "split, estimated from Hessians.", low=1, high=2**31 - 1),
    ParameterRow("base_score", float, None, "Prediction before the first tree (a probability "
                 "for binary:logistic), or a list with one for each class, target or quantile; "
                 "None estimates it from the labels.", several=True),
    ParameterRow("scale_pos_weight", float, 1.0, "Weight of rows with label 1, for "
                 "binary:logistic, binary:logitraw, reg:logistic and cross_entropy.", low=0),
    ParameterRow("huber_slope", float, 1.0, "reg:pseudohubererror and mphe: the residual where "
                 "the loss turns from squared to absolute.", low=1e-6, high=1e6),
    ParameterRow("tweedie_variance_power", float, 1.5, "reg:tweedie: 1 is Poisson, values close to "
                 "2 are close to gamma.", low=1, high=2, high_open=True),
    ParameterRow("huber_alpha", float, 0.9, "huber: the largest gradient; LightGBM's alpha, which "
                 "means reg_alpha here.", low=0, low_open=True),
    ParameterRow("fair_c", float, 1.0, "fair: the largest gradient.", low=1e-6, high=1e6),
    ParameterRow("aft_loss_distribution", str, "normal", "survival:aft and aft-nloglik: the "
                 "distribution of errors of ln time.", allowed=("normal", "logistic", "extreme")),
    ParameterRow("aft_loss_distribution_scale", float, 1.0, "survival:aft and aft-nloglik: the "
                 "scale of that distribution.", low=1e-3, high=1e3),
    ParameterRow("quantile_alpha", float, 0.5, "reg:quantileerror and the metric quantile: which "
                 "quantile; a list gives an output for each.", low=0, high=1, several=True),
    ParameterRow("expectile_alpha", float, 0.5, "reg:expectileerror and the metric expectile: "
                 "which expectile; 0.5 is the mean. A list, ascending, gives an output for each.",
                 low=0, high=1, several=True),
    ParameterRow("num_class", int, 0, "Number of classes of multi:softprob and multi:softmax.",
                 low=0, high=2**16),
    ParameterRow("lambdarank_pair_method", str, "topk", "Ranking: pair rows with the top rows, "
                 "or with sampled rows (mean).", allowed=("topk", "mean")),
    ParameterRow("lambdarank_num_pair_per_sample", int, None, "Ranking: number of top rows, or of "
                 "rows sampled per row; None is 32 or 1.", low=1, high=2**24),
    ParameterRow("lambdarank_normalization", bool, True, "Ranking: divide a query's gradients "
                 "by roughly their sum."),
    ParameterRow("lambdarank_score_normalization", bool, True, "Ranking: reduce the gradient of a "
                 "pair by the difference of its margins."),
    ParameterRow("lambdarank_unbiased", bool, False, "Ranking by clicks: estimate and correct "
                 "position bias."),
    ParameterRow("lambdarank_bias_norm", float, 1.0, "Ranking by clicks: larger values correct "
                 "position bias less.", low=0),
    ParameterRow("ndcg_exp_gain", bool, True, "rank:ndcg and ndcg: the gain of a label is "
                 "2^label - 1, else the label itself."),
    ParameterRow("device", str, "auto", "Where to train: auto, nvidia, opencl:0:1, ...; several "
                 "devices: gpu:all, a list of names, or names with weights, see "
                 "docs/large-data.md."),
    ParameterRow("histogram", str, "auto", "Histogram kernel's variant; all give the same bits."),
    ParameterRow("page", str, "auto", "How codes lie on the device: dense; tiled, without those of "
                 "missing values; sorted by column, for sparse data; streamed, in pages that take "
                 "turns there, for more data than its memory; auto, see docs/tree-methods.md. "
                 "All give the same bits.",
                 allowed=("auto", "dense", "tiled", "sorted", "streamed")),
    ParameterRow("device_memory", int, None, "Most bytes of the device's memory to use, also with "
                 "a unit (500MB, 16GB); None is all. More data than fit are streamed.",
                 low=1, in_bytes=True),
    ParameterRow("cache_dir", str, None, "Folder for the codes of rows that do not fit the "
                 "device's memory, or a list of folders on several disks; None: the host's memory.",
                 paths=True),
    ParameterRow("work_group_size", int, 0, "Work-items per work-group; 0 is automatic.",
                 low=0, high=1024, one_of=WORK_GROUP_SIZES),
    ParameterRow("verbosity", int, 1, "0 silent, 1 notes, 2 also the device and its kernels, "
                 "3 also every build.",
                 low=0, high=3),
    ParameterRow("random_state", int, 0, "Seed of all random numbers.",
                 low=0, high=2**32 - 1, aliases=("seed",)),
)  # fmt: skip

IGNORED = frozenset({"n_jobs", "nthread"})
"""Numbers of threads, without effect: the device decides how much runs in parallel."""

_EMPTY = ()
XGBOOST_ONLY: dict[str, tuple[object, ...]] = {
    "max_cached_hist_node": (65536,),
    "missing": (math.nan,),
    "updater": ("", "grow_quantile_histmaker"),
    "process_type": ("default",),
    "importance_type": ("gain",),
    "validate_parameters": (True, False),
    "enable_categorical": (True, False),
    "feature_selector": ("cyclic",),
    **dict.fromkeys(
        ("num_target", "refresh_leaf"),
        (1,),
    ),
    **dict.fromkeys(
        ("extmem_single_page", "disable_default_eval_metric",
         "seed_per_iteration", "top_k"),
        (0,),
    ),
    **dict.fromkeys(("feature_types", "feature_weights", "eval_metric", "callbacks"), (_EMPTY,)),
    **dict.fromkeys(("early_stopping_rounds",), ()),
}  # fmt: skip
"""XGBoost's parameters that are not supported yet, with the values that have no effect.

None has no effect for any of them; ``_EMPTY`` stands for any empty container.
"""
#: Of these, what `pyopencl_gbdt.compat.xgboost` takes.
IN_COMPAT = ("process_type", "updater", "refresh_leaf", "disable_default_eval_metric")
