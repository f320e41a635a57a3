"""LightGBM's parameters: their other names, and the values that they may have.

Texts become numbers, other values are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.lightgbm.errors import log_native
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

_ALIASES = """
alpha
auc_mu_weights
bagging_by_query
bagging_fraction bagging sub_row subsample
bagging_freq subsample_freq
bagging_seed bagging_fraction_seed
bin_construct_sample_cnt subsample_for_bin
boost_from_average
boosting boost boosting_type
cat_l2
cat_smooth
categorical_feature cat_column cat_feature categorical_column categorical_features
cegb_penalty_feature_coupled
cegb_penalty_feature_lazy
cegb_penalty_split
cegb_tradeoff
config config_file
convert_model convert_model_file
convert_model_language
data train train_data data_filename train_data_file
data_random_seed data_seed
data_sample_strategy
deterministic
device_type device
drop_rate rate_drop
drop_seed
early_stopping_min_delta
early_stopping_round early_stopping n_iter_no_change early_stopping_rounds
enable_bundle bundle is_enable_bundle
eval_at map_at ndcg_at map_eval_at ndcg_eval_at
extra_seed
extra_trees extra_tree
fair_c
feature_contri fc fp feature_contrib feature_penalty
feature_fraction sub_feature colsample_bytree
feature_fraction_bynode colsample_bynode sub_feature_bynode
feature_fraction_seed
feature_pre_filter
first_metric_only
force_col_wise
force_row_wise
forcedbins_filename
forcedsplits_filename fs forced_splits forced_splits_file forced_splits_filename
gpu_device_id
gpu_device_id_list
gpu_platform_id
gpu_use_dp
group_column group query group_id query_id query_column
header has_header
histogram_pool_size hist_pool_size
ignore_column blacklist ignore_feature
input_model model_in model_input
interaction_constraints
is_enable_sparse sparse is_sparse enable_sparse
is_provide_training_metric train_metric training_metric is_training_metric
is_unbalance unbalance unbalanced_sets
label_column label
label_gain
lambda_l1 reg_alpha l1_regularization
lambda_l2 lambda reg_lambda l2_regularization
lambdarank_norm
lambdarank_position_bias_regularization
lambdarank_truncation_level
learning_rate eta shrinkage_rate
linear_lambda
linear_tree linear_trees
local_listen_port port local_port
machine_list_filename mlist machine_list machine_list_file
machines nodes workers
max_bin max_bins
max_bin_by_feature
max_cat_threshold
max_cat_to_onehot
max_delta_step max_leaf_output max_tree_output
max_depth
max_drop
metric metrics metric_types
metric_freq output_freq
min_data_in_bin
min_data_in_leaf min_data min_samples_leaf min_child_samples min_data_per_leaf
min_data_per_group
min_gain_to_split min_split_gain
min_sum_hessian_in_leaf min_hessian min_sum_hessian min_child_weight min_sum_hessian_per_leaf
monotone_constraints mc monotonic_cst monotone_constraint
monotone_constraints_method mc_method monotone_constraining_method
monotone_penalty mc_penalty ms_penalty monotone_splits_penalty
multi_error_top_k
neg_bagging_fraction neg_bagging neg_sub_row neg_subsample
num_class num_classes
num_gpu
num_grad_quant_bins
num_iteration_predict
num_iterations n_iter nrounds max_iter num_tree num_round num_trees num_rounds n_estimators num_iteration num_boost_round
num_leaves max_leaf num_leaf max_leaves max_leaf_nodes
num_machines num_machine
num_threads n_jobs nthread nthreads num_thread
objective app loss application objective_type
objective_seed
other_rate
output_model model_out model_output
output_result name_pred pred_name predict_name predict_result prediction_name prediction_result
parser_config_file
path_smooth
poisson_max_delta_step
pos_bagging_fraction pos_bagging pos_sub_row pos_subsample
pre_partition is_pre_partition
precise_float_parser
pred_early_stop
pred_early_stop_freq
pred_early_stop_margin
predict_contrib contrib is_predict_contrib
predict_disable_shape_check
predict_leaf_index leaf_index is_predict_leaf_index
predict_raw_score raw_score predict_rawscore is_predict_raw_score
quant_train_renew_leaf
refit_decay_rate
reg_sqrt
save_binary is_save_binary is_save_binary_file
saved_feature_importance_type
scale_pos_weight
seed random_seed random_state
sigmoid
skip_drop
snapshot_freq save_period
start_iteration_predict
stochastic_rounding
task task_type
time_out
top_k topk
top_rate
tree_learner tree tree_type tree_learner_type
tweedie_variance_power
two_round two_round_loading use_two_round_loading
uniform_drop
use_missing
use_quantized_grad
valid test test_data valid_data test_data_file valid_data_file valid_filenames
verbosity verbose
weight_column weight
xgboost_dart_mode
zero_as_missing
"""  # noqa: E501 - a line for each parameter
ALIASES: dict[str, tuple[str, ...]] = {
    line.split()[0]: tuple(line.split()[1:]) for line in _ALIASES.split("\n") if line
}
"""The other names of every parameter of LightGBM 4.7, by its name."""
MAIN_NAMES: dict[str, str] = {
    name: main for main, others in ALIASES.items() for name in (main, *others)
}


def spellings(*names: str) -> set[str]:
    """Return all names of some parameters."""
    return {one for name in names for one in (name, *ALIASES.get(name, ()))}


def choose(name: str, params: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """Return a copy of parameters where one of them has its main name alone.

    Its main name counts first, then the other names in LightGBM's order, then ``default``.
    """
    found = deepcopy(dict(params))
    listed = [found.pop(one) for one in (name, *ALIASES.get(name, ())) if one in found]
    return {**found, name: listed[0] if listed else default}


def by_main_names(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their main names; tell of unknown ones, and of names given twice.

    A ``verbosity`` below 0 tells nothing.
    """
    levels = [params[one] for one in ("verbosity", "verbose") if params.get(one) is not None]
    tells = not levels or int(levels[0]) >= 0
    found: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for spelling, value in params.items():
        name = MAIN_NAMES.get(spelling, "")
        if not name:
            if tells:
                log_native(f"Unknown parameter: {spelling}")
            continue
        former = spelled.get(name)
        if former is not None and former != spelling:
            kept = former if former == name or spelling != name else spelling
            if found[name] != value and tells:
                other, used, unused = spelling, found[name], value
                if kept == spelling:
                    other, used, unused = former, value, found[name]
                log_native(
                    f"{kept} is set={used}, {other}={unused} will be ignored. "
                    f"Current value: {name}={used}"
                )
            if kept == former:
                continue
        spelled[name], found[name] = spelling, value
    return found


_WHOLE = """
num_iterations >=0
num_leaves >1 <=131072
min_data_in_leaf >=0
min_data_per_group >0
max_cat_threshold >0
max_cat_to_onehot >0
top_k >0
max_bin >1
min_data_in_bin >0
bin_construct_sample_cnt >0
num_class >0
lambdarank_truncation_level >0
metric_freq >0
multi_error_top_k >0
num_machines >0
time_out >0
num_gpu >0
max_depth
bagging_freq
max_drop
early_stopping_round
verbosity
num_grad_quant_bins
pred_early_stop_freq
snapshot_freq
"""
_REAL = """
learning_rate >0
min_sum_hessian_in_leaf >=0
bagging_fraction >0 <=1
pos_bagging_fraction >0 <=1
neg_bagging_fraction >0 <=1
feature_fraction >0 <=1
feature_fraction_bynode >0 <=1
early_stopping_min_delta >=0
max_delta_step
lambda_l1 >=0
lambda_l2 >=0
linear_lambda >=0
min_gain_to_split >=0
drop_rate >=0 <=1
skip_drop >=0 <=1
top_rate >=0 <=1
other_rate >=0 <=1
cat_l2 >=0
cat_smooth >=0
monotone_penalty >=0
refit_decay_rate >=0 <=1
cegb_tradeoff >=0
cegb_penalty_split >=0
path_smooth >=0
scale_pos_weight >0
sigmoid >0
alpha >0
fair_c >0
poisson_max_delta_step >0
tweedie_variance_power >=1 <2
lambdarank_position_bias_regularization >=0
pred_early_stop_margin
"""
_FLAGS = """
boost_from_average extra_trees first_metric_only is_unbalance lambdarank_norm linear_tree
predict_disable_shape_check reg_sqrt uniform_drop use_missing xgboost_dart_mode zero_as_missing
"""
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_FALSE, _TRUE = ("false", "-"), ("true", "+")
#: What each number may be: whether it is whole, and its bounds.
_NUMBERS: dict[str, tuple[bool, list[str]]] = {
    line.split()[0]: (is_whole, line.split()[1:])
    for is_whole, lines in ((True, _WHOLE), (False, _REAL))
    for line in lines.split("\n")
    if line
}


def checked_values(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by main names, with numbers and flags in place of their texts.

    Raises
    ------
    ParameterError
        For a value that LightGBM refuses, in its words.
    """
    found = dict(params)
    for name, value in params.items():
        if value is None or callable(value):
            continue
        if name in _NUMBERS:
            found[name] = _number(name, value)
        elif name in _FLAGS.split():
            found[name] = _flag(name, value)
    return found


def _number(name: str, value: Any) -> int | float:
    is_whole, bounds = _NUMBERS[name]
    try:
        number = int(str(value)) if is_whole else float(str(value))
    except ValueError:
        kind = "int" if is_whole else "double"
        raise ParameterError(
            f'Parameter {name} should be of type {kind}, got "{value}": {name}={show(value)}; give '
            f"{'a whole number' if is_whole else 'a number'}"
        ) from None
    for bound in bounds:
        sign = bound.rstrip("0123456789")
        limit = float(bound.removeprefix(sign))
        if not _HOLDS[sign](number, limit):
            shown = int(limit) if is_whole else limit
            raise ParameterError(
                f"Check failed: ({name}) {sign} ({shown}): {name}={show(value)}: expected "
                f"{' and '.join(bounds)}; {'lower' if sign[0] == '<' else 'raise'} {name}"
            )
    return number


def _flag(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text in (*_TRUE, *_FALSE):
        return text in _TRUE
    raise ParameterError(
        f'Parameter {name} should be "true"/"+" or "false"/"-", got "{value}": {name}='
        f"{show(value)}; give True or False"
    )


def loss_of_classes(params: Mapping[str, Any]) -> list[float]:
    """Return ``auc_mu_weights`` as numbers, row by row; an empty list if they are not given.

    Raises
    ------
    ParameterError
        Unless there are num_class x num_class numbers, not 0 but on the diagonal.
    """
    given = params.get("auc_mu_weights")
    if isinstance(given, str):
        given = [one for one in given.split(",") if one.strip()]
    if given is None or np.size(given) == 0:
        return []
    n_classes = int(params.get("num_class") or 1)
    found = [float(one) for one in given]
    if len(found) != n_classes**2:
        raise ParameterError(
            f"auc_mu_weights must have {n_classes**2} elements, but found {len(found)}: give a row "
            "for each class, or leave it out"
        )
    for place, weight in enumerate(found):
        row, column = divmod(place, n_classes)
        if row == column:
            found[place] = 0.0
        elif weight == 0:
            raise ParameterError(
                "AUC-mu matrix must have non-zero values for non-diagonal entries. Found zero "
                f"value in position {place} of auc_mu_weights; give another number there"
            )
    return found
