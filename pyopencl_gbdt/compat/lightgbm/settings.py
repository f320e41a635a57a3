"""What LightGBM's parameters mean in a training of this library, and which are refused."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.lightgbm.objectives import RANKING
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.parameters import ROWS

_DEEPEST = 32
_FORCED = '{"feature": 0, "threshold": 0.5, "left": {"feature": 1, "threshold": 2}}'
_SAME: dict[str, tuple[str, Any]] = {
    "learning_rate": ("learning_rate", 0.1),
    "num_leaves": ("max_leaves", 31),
    "lambda_l1": ("reg_alpha", 0.0),
    "lambda_l2": ("reg_lambda", 0.0),
    "min_gain_to_split": ("gamma", 0.0),
    "min_sum_hessian_in_leaf": ("min_child_weight", 1e-3),
    "min_data_in_leaf": ("min_samples_leaf", 20),
    "feature_fraction": ("colsample_bytree", 1.0),
    "feature_fraction_bynode": ("colsample_bynode", 1.0),
    "max_bin": ("max_bin", 255),
    "cat_smooth": ("cat_smooth", 10.0),
    "cat_l2": ("cat_l2", 10.0),
    "max_cat_threshold": ("max_cat_threshold", 32),
    "min_data_per_group": ("min_data_per_group", 100),
    "fair_c": ("fair_c", 1.0),
    "tweedie_variance_power": ("tweedie_variance_power", 1.5),
    "lambdarank_norm": ("lambdarank_normalization", True),
    "lambdarank_truncation_level": ("lambdarank_num_pair_per_sample", 30),
    "seed": ("random_state", 0),
    "interaction_constraints": ("interaction_constraints", None),
    "extra_trees": ("extra_trees", False),
    "path_smooth": ("path_smooth", 0.0),
    "linear_tree": ("linear_tree", False),
    "linear_lambda": ("linear_lambda", 0.0),
}
"""The parameter here of the same meaning, and LightGBM's default."""
_BY_CHOICE = ("extra_trees", "path_smooth", "linear_tree", "linear_lambda")
"""Parameters that are passed on only where they are not LightGBM's default."""
_REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "feature_contri": ((None, "", ()), "gains of columns are not weighed; leave it out"),
    "monotone_penalty": ((0,), "splits on monotone columns get no penalty; leave it out"),
    "cegb_penalty_split": ((0,), "splits have no costs; raise min_gain_to_split"),
    "cegb_penalty_feature_lazy": ((None, "", ()), "columns have no costs; leave it out"),
    "cegb_penalty_feature_coupled": ((None, "", ()), "columns have no costs; leave it out"),
    "pos_bagging_fraction": ((1,), "give bagging_fraction, for the rows of both classes"),
    "neg_bagging_fraction": ((1,), "give bagging_fraction, for the rows of both classes"),
    "bagging_by_query": ((False,), "rows are drawn, not queries; leave it out"),
    "reg_sqrt": ((False,), "train on the square roots of the labels, and square what is predicted"),
    "sigmoid": ((1,), "the sigmoid has no factor here; scale learning_rate instead"),
    "lambdarank_position_bias_regularization": ((0,), "positions are not learnt; leave it out"),
    "num_machines": ((1,), "see docs/large-data.md for several hosts"),
    "machines": ((None, ""), "see docs/large-data.md for several hosts"),
    "machine_list_filename": ((None, ""), "see docs/large-data.md for several hosts"),
    "label_gain": ((None, "", ()), "gains of labels are 2^label - 1; give labels of other gains"),
}  # fmt: skip
"""Parameters without a counterpart: the values that have no effect, and what to do instead."""
_LEARNERS = ("serial", "feature", "data", "voting")
"""Those but the first have no effect with one machine; ``num_machines`` is refused."""


def trained_parameters(params: Mapping[str, Any], objective: str, loss: Any) -> dict[str, Any]:
    """Return the parameters of a training, by this library's names.

    Parameters
    ----------
    params : mapping
        LightGBM's, by main names.
    objective : str
        LightGBM's main name.
    loss : str or callable
        The loss here.

    Raises
    ------
    ParameterError
        For a parameter, or a value, that has no counterpart here; says what to do.
    """
    _check(params, objective)
    found: dict[str, Any] = {"objective": loss, "cat_method": "sets", "grow_policy": "lossguide"}
    for name, (own, default) in _SAME.items():
        value = _given(params, name, default)
        if own in ROWS and (value != default or name not in _BY_CHOICE):
            found[own] = value
        elif value not in (default, None):
            raise ParameterError(f"{name}={show(value)}: it is not here yet; leave it out")
    depth = int(_given(params, "max_depth", -1))
    found["max_depth"] = depth if 0 < depth <= _DEEPEST else 0
    found["max_cat_to_onehot"] = int(_given(params, "max_cat_to_onehot", 4))
    found["max_delta_step"] = max(float(_given(params, "max_delta_step", 0.0)), 0.0)
    found["verbosity"] = min(max(int(_given(params, "verbosity", 1)) - 1, 0), 3)  # LightGBM's 2: 1
    found["monotone_constraints"] = _signs(params)
    found["interaction_constraints"] = _groups(found["interaction_constraints"])
    if found["min_samples_leaf"] is not None:
        found["min_samples_leaf"] = max(int(found["min_samples_leaf"]), 0)
    if found.get("path_smooth", 0) > 0 and found.get("min_samples_leaf", 0) < 2:
        warnings.warn("min_data_in_leaf is raised to 2, which path_smooth needs", stacklevel=2)
        found["min_samples_leaf"] = 2
    found["forced_splits"] = forced_splits(params)
    found |= _of_loss(params, objective)
    found |= _sampling(params) | _boosting(params)
    if objective not in RANKING:
        found = {name: one for name, one in found.items() if not name.startswith("lambdarank_")}
    if isinstance(loss, str):
        _rescale(found, hessian_factor(params, objective))
    return {name: value for name, value in found.items() if value is not None}


def _given(params: Mapping[str, Any], name: str, default: Any) -> Any:
    value = params.get(name)
    return default if value is None else value


def check_columns(params: Mapping[str, Any], n_columns: int) -> None:
    """Check that constraints are for all columns, and that forced splits are on some of them.

    Raises
    ------
    ParameterError
        As LightGBM does.
    """
    check_forced(params, n_columns)
    found = _signs(params)
    if found and len(found) != n_columns:
        raise ParameterError(
            f"monotone_constraints has {len(found)} entries: expected {n_columns}, one for each "
            "column; give 0 for a column without a constraint"
        )


def _signs(params: Mapping[str, Any]) -> list[Any] | None:
    given = _given(params, "monotone_constraints", None)
    if isinstance(given, str):
        return [int(one) for one in given.split(",") if one.strip()]
    return None if given is None else list(given)


def _check(params: Mapping[str, Any], objective: str) -> None:
    for name, (harmless, move) in _REFUSED.items():
        value = params.get(name)
        if value is not None and np.size(value) and value not in harmless:
            raise ParameterError(f"{name}={show(value)}: it has no counterpart here; {move}")
    learner = str(_given(params, "tree_learner", "serial"))
    if learner.removesuffix("_parallel") not in _LEARNERS:
        raise ParameterError(
            f"Unknown tree learner type {learner}: expected one of {', '.join(_LEARNERS)}; leave "
            "out tree_learner"
        )
    most = _given(params, "max_drop", 50)
    if boosting_of(params) == "dart" and most not in (50, 0, -1):
        raise ParameterError(
            f"max_drop={show(most)}: it has no counterpart here; a round may drop any number of "
            "trees; lower drop_rate"
        )
    weight = _given(params, "scale_pos_weight", 1.0)
    if objective in ("binary", "multiclassova") and params.get("is_unbalance") and weight != 1:
        raise ParameterError(
            "Cannot set is_unbalance and scale_pos_weight at the same time: "
            f"scale_pos_weight={show(weight)}; leave one of them out"
        )


def _groups(given: Any) -> Any:
    """Return lists of columns; LightGBM's text has them without outer brackets."""
    if not isinstance(given, str):
        return given
    if given.strip().startswith("[["):
        return given
    try:
        return json.loads(f"[{given}]") or None
    except json.JSONDecodeError as error:
        raise ParameterError(
            f"interaction_constraints={given!r}: expected lists of columns; give text such as "
            "'[0,1],[2,3]', or a list such as [[0, 1], [2, 3]]"
        ) from error


def _of_loss(params: Mapping[str, Any], objective: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    alpha = _given(params, "alpha", 0.9)
    if objective == "quantile":
        found["quantile_alpha"] = alpha
    if objective == "huber":
        found["huber_alpha"] = alpha
    if objective == "multiclass":
        found["num_class"] = int(params["num_class"])
    if objective in ("binary", "cross_entropy"):
        found["scale_pos_weight"] = _given(params, "scale_pos_weight", 1.0)
    return found


def _sampling(params: Mapping[str, Any]) -> dict[str, Any]:
    strategy = str(_given(params, "data_sample_strategy", "bagging"))
    if strategy == "goss" or str(params.get("boosting", "")) == "goss":
        rates = {name: _given(params, name, usual) for name, usual in _RATES.items()}
        return {"sampling_method": "goss", **rates}
    if strategy != "bagging":
        raise ParameterError(
            f"data_sample_strategy={show(strategy)}: expected 'bagging' or 'goss'; give one"
        )
    freq, share = int(_given(params, "bagging_freq", 0)), _given(params, "bagging_fraction", 1.0)
    if freq <= 0 or float(share) == 1:
        return {}
    return {"subsample": share, "bagging_freq": freq}


_RATES = {"top_rate": 0.2, "other_rate": 0.1}
BOOSTING = {
    "gbdt": "gbdt", "gbrt": "gbdt", "dart": "dart", "rf": "rf", "random_forest": "rf",
    "goss": "gbdt",
}  # fmt: skip
"""The kind of boosting, by LightGBM's names."""


def boosting_of(params: Mapping[str, Any]) -> str:
    """Return ``"gbdt"``, ``"dart"`` or ``"rf"``.

    Raises
    ------
    ParameterError
        For any other name.
    """
    given = str(_given(params, "boosting", "gbdt"))
    if given not in BOOSTING:
        raise ParameterError(
            f"Unknown boosting type {given}: expected one of {', '.join(BOOSTING)}; give one"
        )
    return BOOSTING[given]


def _boosting(params: Mapping[str, Any]) -> dict[str, Any]:
    kind = boosting_of(params)
    if kind == "rf":
        samples = int(_given(params, "bagging_freq", 0)) > 0 and (
            0 < float(_given(params, "bagging_fraction", 1.0)) < 1
        )
        if not samples and float(_given(params, "feature_fraction", 1.0)) == 1:
            raise ParameterError(
                "boosting='rf': expected bagging_freq > 0 and 0 < bagging_fraction < 1, or "
                "0 < feature_fraction < 1; give one of them"
            )
        return {"learning_rate": 1.0}
    if kind == "gbdt":
        return {}
    return {
        "booster": "dart",
        "rate_drop": _given(params, "drop_rate", 0.1),
        "skip_drop": _given(params, "skip_drop", 0.5),
        "sample_type": "uniform" if _given(params, "uniform_drop", False) else "weighted",
    }


def column_shares(params: Mapping[str, Any], n_features: int) -> dict[str, float]:
    """Return the shares of columns by which trees and nodes draw as many as in LightGBM.

    It rounds their number to the nearest, and draws two at least.
    """
    found, n = {}, n_features
    for name in ("feature_fraction", "feature_fraction_bynode"):
        share = float(_given(params, name, 1.0))
        drawn = max(int(n * share + 0.5), min(2, n)) if share < 1 else n
        found[_SAME[name][0]] = (drawn + 0.5) / n if drawn < n else 1.0
        n = drawn
    return found


def hessian_factor(params: Mapping[str, Any], objective: str) -> float:
    """Return this library's Hessian divided by LightGBM's.

    For several classes it is 2 p (1 - p), and p (1 - p) n / (n - 1) there. That of a pair of ranks
    is twice as large, too, as in XGBoost. That of counts is e^(margin + max_delta_step), and
    e^(margin + poisson_max_delta_step) there, where max_delta_step limits leaves alone.
    """
    if objective == "multiclass":
        n_classes = int(params.get("num_class", 1) or 1)
        return 2 * (n_classes - 1) / n_classes
    if objective == "poisson":
        there = max(float(_given(params, "poisson_max_delta_step", 0.7)), 0.0)
        limit = max(float(_given(params, "max_delta_step", 0.0)), 0.0)
        return math.exp(_limit_here(limit * math.exp(there)) - there)
    return 2.0 if objective == "lambdarank" else 1.0


def _limit_here(product: float) -> float:
    """Return the number x >= 0 with x e^x = ``product``, by Newton's steps.

    A limit of leaves that is divided by the factor of the Hessians, which depends on it in turn.
    """
    x = math.log1p(product)
    for _ in range(50):
        x -= (x - product * math.exp(-x)) / (x + 1)
    return x


def _rescale(found: dict[str, Any], factor: float) -> None:
    """Change what depends on the scale of Hessians.

    With a learning rate, penalties and a least Hessian that are larger by the same factor, the
    trees are the same.
    """
    for name in ("learning_rate", "reg_lambda", "min_child_weight", "cat_l2", "linear_lambda"):
        if name in found:
            found[name] = found[name] * factor
    for name in ("gamma", "max_delta_step"):
        found[name] = found[name] / factor


def forced_splits(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the file holds; None if there is none, or if it is empty.

    Raises
    ------
    ParameterError
        If the file is not there, or holds no such splits.
    """
    path = params.get("forcedsplits_filename")
    if path in (None, ""):
        return None
    said, file = f"forcedsplits_filename={show(str(path))}", Path(path)
    if not file.is_file():
        raise ParameterError(
            f"{said}: there is no such file; give the path of a file such as {_FORCED}"
        )
    text = file.read_text(encoding="utf-8").strip()
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{said}: expected JSON such as {_FORCED}; correct it") from error
    if not isinstance(found, dict):
        raise ParameterError(f"{said}: expected a split such as {_FORCED}; correct it")
    return found or None


def check_forced(params: Mapping[str, Any], n_columns: int) -> None:
    """Check that forced splits are on columns of the data, which their numbers name.

    Raises
    ------
    ParameterError
        As LightGBM does.
    """
    for split in _splits(forced_splits(params)):
        feature = split.get("feature")
        if isinstance(feature, int) and not 0 <= feature < n_columns:
            raise ParameterError(
                f"Forced splits file includes feature index {feature}, but maximum feature index "
                f"in dataset is {n_columns - 1}: forcedsplits_filename="
                f"{show(str(params['forcedsplits_filename']))}; correct the file"
            )


def _splits(root: Any) -> Iterator[dict[str, Any]]:
    waiting = [root]
    for one in waiting:  # grows meanwhile
        if isinstance(one, dict):
            yield one
            waiting += [one.get("left"), one.get("right")]
