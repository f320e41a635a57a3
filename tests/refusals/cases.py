"""A training for each row of ``REFUSED``, which that row refuses."""

from __future__ import annotations

from dataclasses import replace

from pyopencl_gbdt.compat.xgboost.objective import GivenGradients
from tests.conftest import TEST_DEVICE
from tests.refusals.case import (
    Case,
    of_forests,
    of_linear_leaves,
    of_other_weights,
    of_two_outputs,
    with_statistics,
)

_FACTS = "pyopencl_gbdt.parameters.facts"
_TABLE = "pyopencl_gbdt.parameters.refusals"


_ORDERED_LOSS = "expected a loss whose gradients depend on each row's own label"
_TOGETHER = "where several devices train together"
#: In the order of the table, by the names of its rows.
CASES: dict[str, Case] = {
    "Several `expectile_alpha` that do not ascend": Case(
        "expectile_alpha=(0.7, 0.2): expected ascending numbers",
        params={"objective": "reg:expectileerror", "expectile_alpha": [0.7, 0.2]},
    ),
    "`max_leaves` of 1": Case("max_leaves=1: expected 0 (no limit)", params={"max_leaves": 1}),
    "`path_smooth` with `min_samples_leaf` below 2": Case(
        "min_samples_leaf=1: expected 2 or more for path_smooth=2.0", "smoothed",
        {"min_samples_leaf": 1},
    ),
    "`base_score` of 0 or less, or of 1 or more, for a loss of probabilities": Case(
        "base_score=1.5: expected 0 < base_score < 1", "logistic", {"base_score": 1.5}
    ),
    "`base_score` of 0 or less for a loss with a logarithmic link": Case(
        "base_score=-1.0: expected base_score > 0", "gamma", {"base_score": -1}
    ),
    "`min_statistic_levels` above `max_set_levels` + 1": Case(
        "min_statistic_levels=18: expected max_set_levels + 1 at most",
        params={"min_statistic_levels": 18},
    ),
    '`subsample` with `sampling_method="goss"`': Case(
        "subsample=0.5: expected 1", "goss, subsample"
    ),
    '`subsample` with `sampling_method="none"`': Case(
        "subsample=0.5: expected 1 for sampling_method='none'", "subsample",
        {"bootstrap_type": "No"},
    ),
    "`bagging_freq` above 1 for rows that are sampled by their gradients": Case(
        "bagging_freq=3: expected 1 for sampling_method='goss'", "goss", {"bagging_freq": 3}
    ),
    '`top_rate` and `other_rate` of 1 or more together, with `sampling_method="goss"`': Case(
        "top_rate=0.9: expected top_rate + other_rate below 1", "goss",
        {"top_rate": 0.9, "other_rate": 0.2},
    ),
    '`booster="dart"` without `tree_method="hist"`': Case(
        "tree_method='approx': expected 'hist' for booster='dart'", "dropped, approx"
    ),
    '`booster="dart"` with ordered boosting': Case(
        "boosting_type='ordered': expected 'plain' for booster='dart'", "dropped, ordered"
    ),
    '`proposal` without `tree_method="approx"`': Case(
        "proposal='local': expected None", "hist", {"proposal": "local"}
    ),
    '`max_bin` with `tree_method="exact"`': Case("max_bin=16: expected", "exact, few bins"),
    '`max_bin_exact=False` without `tree_method="hist"`': Case(
        "max_bin_exact=False: expected True", "approximate quantiles, approx"
    ),
    '`cut_rule="xgboost"` without `tree_method="hist"`': Case(
        "cut_rule='xgboost': expected 'shares'", "XGBoost's bins, approx"
    ),
    'A `page` of codes without `tree_method="hist"`': Case(
        "page='streamed': expected 'auto' or 'sorted'", "exact, streamed"
    ),
    '`max_leaves` with `grow_policy="symmetric"`': Case(
        "max_leaves=5: expected 0", "symmetric, few leaves"
    ),
    '`max_depth=0` with `grow_policy="symmetric"`': Case(
        "max_depth=0 (no limit): expected 1..16", "symmetric, any depth"
    ),
    '`max_depth` above 16 with `grow_policy="symmetric"`': Case(
        "max_depth=17: expected 1..16", "symmetric", {"max_depth": 17}
    ),
    '`grow_policy="symmetric"` without `tree_method="hist"`': Case(
        "tree_method='approx': expected 'hist'", "symmetric, approx"
    ),
    "A loss of classes without `num_class`": Case(
        "num_class=0: expected 2 or more", params={"objective": "multi:softprob"}
    ),
    "`num_class` for another loss": Case(
        "num_class=3: expected 0, or objective='multi:softprob'", params={"num_class": 3}
    ),
    "`scale_pos_weight` for a loss of other than two classes": Case(
        "scale_pos_weight=2.0: expected 1", params={"scale_pos_weight": 2}
    ),
    '`booster="dart"` with statistics of categories': Case(
        "booster='dart': expected 'gbtree' where column 3 has statistics",
        "dropped, many levels",
    ),
    '`booster="dart"` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or 'tiled'", "dropped, sparse, sorted"
    ),
    "Several labels a row, for a loss of one label": Case(
        "y has 2 columns: expected one", "two targets, ranking"
    ),
    "Several numbers in `base_score`, for a loss with one output": Case(
        "base_score has 2 numbers: expected 1 number", params={"base_score": [1, 2]}
    ),
    "Another number of numbers in `base_score` than outputs": Case(
        "base_score has 3 numbers: expected 1 or 2 numbers", "softprob",
        {"base_score": [0.2, 0.3, 0.5]},
    ),
    'Statistics of categories without `tree_method="hist"`': Case(
        "tree_method='approx': expected 'hist' or 'auto'", "approx, many levels"
    ),
    "Statistics of categories for a loss of times, or of the user's own": Case(
        "objective='survival:cox': expected a loss whose labels are targets",
        "cox, categories, statistics",
    ),
    "Ordered boosting for a loss whose leaves take quantiles": Case(
        f"objective='reg:absoluteerror', whose leaves take quantiles: {_ORDERED_LOSS}",
        "ordered, absolute",
    ),
    "Ordered boosting for a loss with kernels of its own, or of the user's own": Case(
        f"objective='custom', with kernels of its own: {_ORDERED_LOSS}", "ordered, function"
    ),
    "Ordered boosting of forests": Case("num_parallel_tree=2: expected 1", "ordered, forest"),
    "Ordered boosting of more than 4294967295 margins": Case(
        "X has 40 rows, which have 40 margins in 2 orders: expected", "ordered",
        limit=(f"{_TABLE}.MOST_MARGINS", 39),
    ),
    'Rows in batches with `tree_method="approx"`': Case(
        "tree_method='approx': expected 'hist' for rows in batches", "batches, approx"
    ),
    "Rows in batches with statistics of categories": Case(
        "cat_method='auto': expected 'sets' for rows in batches, as column 3 of 20 levels",
        "batches, many levels",
    ),
    "`monotone_constraints` of a categorical column": Case(
        "monotone_constraints constrains column 3: expected columns of numbers",
        "monotone category, categories",
    ),
    "Sets of more than 65535 levels, for a loss that statistics can count": Case(
        "column 3 has 20 levels: expected 65535 at most", "sets, many levels",
        limit=(f"{_FACTS}.MOST_LEVELS", 19),
    ),
    "Sets of more than 65535 levels, for a loss of times or of the user's own": Case(
        "column 3 has 20 levels: expected 65535 at most", "aft, many levels",
        limit=(f"{_FACTS}.MOST_LEVELS", 19),
    ),
    "A sparse evaluation set where sets of categories are split": Case(
        "evals: 'sparse' is sparse: expected dense rows", "categories, sparse evaluated"
    ),
    'Sets of categories without `tree_method="hist"`': Case(
        "tree_method='exact': expected 'hist' where X has categorical", "exact, categories"
    ),
    'Sets of categories with `page="tiled"`': Case(
        "page='tiled': expected 'auto' or 'dense'", "tiled, categories"
    ),
    '`page="sorted"` of dense data with `tree_method="hist"`': Case(
        "page='sorted': expected a sparse matrix, or tree_method='exact'", "sorted"
    ),
    '`extra_trees` without `tree_method="hist"`': Case(
        "tree_method='exact': expected 'hist' or 'auto' for extra_trees", "drawn borders, exact"
    ),
    '`extra_trees` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or", "drawn borders, sparse, sorted"
    ),
    '`extra_trees` with `multi_strategy="multi_output_tree"`': Case(
        "multi_strategy='multi_output_tree': expected 'one_", "drawn borders, vectors"
    ),
    '`random_strength` without `tree_method="hist"`': Case(
        "tree_method='approx': expected 'hist' or 'auto' for random_strength=0.5", "noise, approx"
    ),
    '`random_strength` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or", "noise, sparse, sorted"
    ),
    '`random_strength` with `multi_strategy="multi_output_tree"`': Case(
        "multi_strategy='multi_output_tree': expected 'one_", "noise, vectors"
    ),
    '`path_smooth` without `tree_method="hist"`': Case(
        "tree_method='exact': expected 'hist' or 'auto' for path_smooth=2.0", "smoothed, exact"
    ),
    '`path_smooth` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or", "smoothed, sparse, sorted"
    ),
    '`path_smooth` with `multi_strategy="multi_output_tree"`': Case(
        "multi_strategy='multi_output_tree': expected 'one_", "smoothed, vectors"
    ),
    '`path_smooth` with `grow_policy="symmetric"`': Case(
        "grow_policy='symmetric': expected 'depthwise' or 'lossguide'", "smoothed, symmetric"
    ),
    "`path_smooth` with statistics of categories": Case(
        "path_smooth=2.0: expected 0 where column 3 has statistics", "smoothed, many levels"
    ),
    "`path_smooth` with `monotone_constraints`": Case(
        "monotone_constraints='[1, 0, 0, 0]': expected none for path", "smoothed, monotone"
    ),
    "`path_smooth` with ordered boosting": Case(
        "boosting_type='ordered': expected 'plain' for path_smooth=2.0", "smoothed, ordered"
    ),
    "`path_smooth` with `linear_tree`": Case(
        "linear_tree=True: expected False for path_smooth=2.0", "smoothed, linear"
    ),
    "`path_smooth` with several Newton steps": Case(
        "leaf_estimation_iterations=3: expected 1 for path_smooth=2.0", "smoothed, steps"
    ),
    '`forced_splits` without `tree_method="hist"`': Case(
        "tree_method='exact': expected 'hist' or 'auto' for forced_splits", "forced, exact"
    ),
    '`forced_splits` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or", "forced, sparse, sorted"
    ),
    '`forced_splits` with `multi_strategy="multi_output_tree"`': Case(
        "multi_strategy='multi_output_tree': expected 'one_", "forced, vectors"
    ),
    '`forced_splits` with `grow_policy="symmetric"`': Case(
        "grow_policy='symmetric': expected 'depthwise' or 'lossguide' for f", "forced, symmetric"
    ),
    "`forced_splits` of categorical columns": Case(
        "forced_splits: expected numeric columns, column 3 is categorical", "forced, categories"
    ),
    "`forced_splits` with `path_smooth`": Case(
        "path_smooth=2.0: expected 0 for forced_splits", "forced, smoothed"
    ),
    '`multi_strategy="multi_output_tree"` with `tree_method="approx"`': Case(
        "tree_method='approx': expected 'hist', 'exact' or 'auto' for multi", "vectors, approx"
    ),
    '`multi_strategy="multi_output_tree"` of sparse data without `page="tiled"`': Case(
        "page='sorted' of a sparse matrix: expected 'auto' or", "vectors, sparse, sorted"
    ),
    "A loss with `split_grad` without leaves that are vectors": Case(
        "multi_strategy='one_output_per_tree': expected 'multi_output_tree' and several outputs",
        params={"objective": GivenGradients(custom_name="own", splits=1)},
    ),
    '`sketch` without several outputs and `multi_strategy="multi_output_tree"`': Case(
        "sketch=1: expected 0 without several outputs and multi_strategy='multi_output_tree'",
        params={"sketch": 1},
    ),
    "`leaf_estimation_iterations` above 1 for a loss whose leaves take quantiles": Case(
        "objective='reg:absoluteerror', whose leaves take quantiles: expected another loss for s",
        "steps, absolute",
    ),
    "`leaf_estimation_iterations` above 1 for a loss with kernels of its own": Case(
        "objective='survival:cox', with kernels of its own: expected a loss whose gradients",
        "steps, cox",
    ),
    "`leaf_estimation_iterations` above 1 with ordered boosting": Case(
        "boosting_type='ordered': expected 'plain' for several Newton", "steps, ordered"
    ),
    '`linear_tree` without `tree_method="hist"`': Case(
        "tree_method='exact': expected 'hist' or 'auto' for linear_tree=True", "linear, exact"
    ),
    "`linear_tree` of a sparse matrix": Case(
        "X is sparse: expected dense rows for linear_tree=True", "linear, sparse"
    ),
    "`linear_tree` of rows in batches": Case(
        "X is in batches: expected an array for linear_tree=True", "linear, batches"
    ),
    '`linear_tree` with `page="streamed"`': Case(
        "page='streamed': expected 'auto', 'dense' or 'tiled' for linear", "linear, streamed"
    ),
    "`linear_tree` with statistics of categories": Case(
        "linear_tree=True: expected False where column 3 has statistics", "linear, many levels"
    ),
    "`linear_tree` with `monotone_constraints`": Case(
        "monotone_constraints='[1, 0, 0, 0]': expected none for linear", "linear, monotone"
    ),
    "`linear_tree` with ordered boosting": Case(
        "boosting_type='ordered': expected 'plain' for linear_tree=True", "linear, ordered"
    ),
    '`linear_tree` with `booster="dart"`': Case(
        "booster='dart': expected 'gbtree' for linear_tree=True", "linear, dropped"
    ),
    "`linear_tree` with vector leaves": Case(
        "multi_strategy='multi_output_tree': expected 'one_output_per_tree' for linear",
        "linear, vectors",
    ),
    "`linear_tree` for a loss whose leaves take quantiles": Case(
        "objective='reg:absoluteerror', whose leaves take quantiles: expected another loss for "
        "linear_tree=True",
        "linear, absolute",
    ),
    "`linear_tree` with a sparse evaluation set": Case(
        "evals: 'sparse' is sparse: expected dense rows for linear", "linear, sparse evaluated"
    ),
    "`linear_tree` on several devices": Case(
        "linear_tree=True: expected False where several", "linear, devices"
    ),
    "`linear_tree` with several Newton steps": Case(
        "leaf_estimation_iterations=3: expected 1 for linear_tree=True", "linear, steps"
    ),
    '`page="streamed"` of a sparse matrix': Case(
        "page='streamed': expected a fit whose pages can take turns on the device, but X is",
        "streamed, sparse",
    ),
    '`page="streamed"` with ordered boosting': Case(
        "page='streamed': expected a fit whose pages can take turns", "streamed, ordered"
    ),
    '`page="streamed"` with `booster="dart"`': Case(
        "page='streamed': expected a fit whose pages can take turns", "streamed, dropped"
    ),
    '`page="streamed"` with statistics of categories': Case(
        "page='streamed': expected a fit whose pages can take turns", "streamed, many levels"
    ),
    '`page="streamed"` for a loss that looks at several rows': Case(
        "page='streamed': expected a fit whose pages can take turns", "streamed, cox"
    ),
    "Statistics of categories for a model that is continued": Case(
        "model: expected none to continue with statistics", "statistics, many levels, continued"
    ),
    "Ordered boosting of a model that is continued": Case(
        "model: expected none to continue with ordered boosting", "ordered, continued"
    ),
    'A model to continue whose trees have weights, without `booster="dart"`': Case(
        "booster='gbtree': the model to continue has weights of trees: expected 'dart'",
        "continued", before=lambda model, data: model.with_weights(),
    ),
    'A model to continue whose leaves are linear functions, with `booster="dart"`': Case(
        "booster='dart': expected 'gbtree' for model, whose leaves are linear",
        "dropped, continued", before=of_linear_leaves,
    ),
    'A model to continue whose outputs split apart, with `booster="dart"` and vector leaves': Case(
        "multi_strategy='multi_output_tree': expected 'one_output_per_tree' for booster='dart' and",
        "dropped, continued, vectors", before=of_other_weights,
    ),
    "A model to continue that has statistics of categories": Case(
        "model: the one to continue has statistics of categories", "many levels, continued",
        before=with_statistics,
    ),
    "A model to continue of another loss": Case(
        "objective=binary:logistic: the model to continue was trained for huber",
        "logistic, continued", before=lambda model, data: replace(model, objective="huber"),
    ),
    "A model to continue with another `base_score`": Case(
        "base_score=0.25: the model to continue starts at 0.5", "base score, continued",
        before=lambda model, data: replace(model, base_score=0.5),
    ),
    "A model to continue with another number of outputs": Case(
        "y has 1 targets or classes: the model to continue has 2", "continued",
        before=of_two_outputs,
    ),
    "A model to continue with rounds of another number of trees": Case(
        "num_parallel_tree=1: the model to continue has rounds of 2", "continued",
        before=of_forests,
    ),
    "`lambdarank_unbiased` for a model that is continued, or training that is resumed": Case(
        "lambdarank_unbiased=True: trees cannot be added to a model", "clicks, continued"
    ),
    "Sparse data on several devices": Case(
        "sparse data: expected dense data and tree_method='hist'", "devices, sparse"
    ),
    '`tree_method="approx"` on several devices': Case(
        "tree_method='approx': expected dense data and tree_method='hist'", "hosts, approx"
    ),
    "Statistics of categories on several devices": Case(
        "cat_method='auto': expected no statistics", "devices, many levels"
    ),
    "Ordered boosting on several devices": Case(
        f"boosting_type='ordered': expected 'plain' {_TOGETHER}", "devices, ordered"
    ),
    "A `DeviceObjective` on several devices": Case(
        "objective=filled: expected no function of device arrays", "devices, device function"
    ),
    "Several devices in each of several processes": Case(
        f"device='{TEST_DEVICE}=1,", "hosts, devices"
    ),
    "A sparse evaluation set in several processes": Case(
        "evals: 'sparse' is sparse: expected dense rows where several processes",
        "hosts, sparse evaluated",
    ),
    "`profile=True` in several processes": Case(
        "profile=True: expected False with communicator=", "hosts, profile"
    ),
    "`profile=True` on several devices of one process": Case(
        "profile=True: expected False with device=", "devices, profile"
    ),
}  # fmt: skip
