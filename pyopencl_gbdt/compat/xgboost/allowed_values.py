"""Values that XGBoost refuses and this library's own parameters take; with XGBoost's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.table import TABLE

_WHOLE = frozenset(row.name for row in TABLE if row.kind is int) | {"n_jobs", "nthread"}
_SWITCHES = frozenset(
    ("disable_default_eval_metric", "refresh_leaf", "seed_per_iteration", "validate_parameters")
)
_WORDS = {
    "grow_policy": ("depthwise", "lossguide"),
    "process_type": ("default", "update"),
    "sampling_method": ("gradient_based", "uniform"),
    "tree_method": ("approx", "auto", "exact", "hist"),
}
_LEAST = {"max_depth": 0, "scale_pos_weight": 0}
#: The names of XGBoost's updaters of trees, and the tree method that each one is.
UPDATERS = {
    "grow_colmaker": "exact", "grow_histmaker": "approx", "grow_quantile_histmaker": "hist",
    "grow_gpu_hist": "hist", "grow_gpu_approx": "approx", "grow_quantile_histmaker_sycl": "hist",
    "prune": "", "refresh": "", "sync": "",
}  # fmt: skip


def check_values(values: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    """Raise for what XGBoost refuses.

    Parameters
    ----------
    values : mapping of str to object
        By the names of the table of parameters, or XGBoost's.
    spelled : mapping of str to str
        The names that the user has given.

    Raises
    ------
    ParameterError
    """
    for name, value in values.items():
        _check(name, value, spelled.get(name, name))
    if "gpu_id" in values:
        raise ParameterError(
            "`gpu_id` has been removed since 3.1. Use `device` instead.; give device='cuda:0', say"
        )
    for updater in str(values.get("updater") or "").split(","):
        if updater and updater not in UPDATERS:
            raise ParameterError(
                f"Unknown tree updater {updater}: expected some of {sorted(UPDATERS)}; leave "
                "updater out"
            )


def _check(name: str, value: Any, given: str) -> None:
    text = str(value)
    if name in _WHOLE and _is_number(value) and not re.fullmatch(r"\s*[+-]?\d+\s*", text):
        raise _wrong_format(given, "int", text, "give a whole number")
    if name in _SWITCHES and text.lower() not in ("0", "1", "true", "false"):
        raise _wrong_format(given, "boolean", text, "give True or False")
    if name in _WORDS and text not in _WORDS[name]:
        listed = ", ".join(f"'{word}'" for word in _WORDS[name])
        raise ParameterError(
            f"{given}={text!r}: Invalid Input: '{text}', valid values are: {{{listed}}}; give one"
        )
    least = _LEAST.get(name)
    if least is not None and _is_number(value) and float(text) < least:
        raise ParameterError(
            f"value {text} for Parameter {given} should be greater equal to {least}; raise {given}"
        )


def _wrong_format(given: str, kind: str, text: str, move: str) -> ParameterError:
    return ParameterError(
        f"Invalid Parameter format for {given} expect {kind} but value='{text}'; {move}"
    )


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number or the text of one; the table refuses the others."""
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        float(str(value))
    except ValueError:
        return False
    return True
