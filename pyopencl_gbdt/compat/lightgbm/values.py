"""The values that LightGBM's parameters may have: texts become numbers, others are refused."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

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
