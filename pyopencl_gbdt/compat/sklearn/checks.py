"""Check the parameters of the estimators; errors have scikit-learn's words."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be: in words, and as a test."""

    words: str
    test: Callable[[Any], bool]

    def or_none(self) -> Allowed:
        return Allowed(f"{self.words} or None", lambda value: value is None or self.test(value))

    def beside(self, other: Allowed) -> Allowed:
        """Return a rule that allows a value if one of the two rules does."""
        return Allowed(
            f"{self.words}, {other.words}", lambda value: self.test(value) or other.test(value)
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def whole(low: int, high: float = math.inf) -> Allowed:
    """Return the whole numbers from ``low`` to ``high``."""
    end = "inf)" if high == math.inf else f"{high}]"
    return Allowed(
        f"an int in the range [{low}, {end}",
        lambda value: _is_whole(value) and low <= value <= high,
    )


def real(low: float, high: float = math.inf, *, ends: str = "[)") -> Allowed:
    """Return the numbers between two bounds; brackets tell which bounds belong to them."""

    def test(value: Any) -> bool:
        if not _is_real(value):
            return False
        above = value > low or (ends[0] == "[" and value == low)
        return bool(above and (value < high or (ends[1] == "]" and value == high)))

    return Allowed(f"a float in the range {ends[0]}{low}, {high}{ends[1]}", test)


def one_of(*names: str) -> Allowed:
    """Return some texts."""
    listed = "{" + ", ".join(map(repr, sorted(names))) + "}"
    return Allowed(f"a str among {listed}", lambda value: isinstance(value, str) and value in names)


def _is_list(value: Any) -> bool:
    listed = hasattr(value, "__len__") or hasattr(value, "__array__")
    return listed and not isinstance(value, (str, bytes, dict))


_FLAG = Allowed(
    "an instance of 'bool' or an instance of 'numpy.bool'",
    lambda value: isinstance(value, (bool, np.bool_)),
)
_ARRAY = Allowed("an array-like", _is_list)
_RANDOM = Allowed(
    "an int in the range [0, 4294967295], an instance of 'numpy.random.mtrand.RandomState'",
    lambda value: (
        isinstance(value, np.random.RandomState) or (_is_whole(value) and 0 <= value <= 2**32 - 1)
    ),
)
_SCORING = Allowed(
    "an instance of 'str', a callable", lambda value: isinstance(value, str) or callable(value)
)
_DICT = Allowed("an instance of 'dict'", lambda value: isinstance(value, dict))
_GROUPS = Allowed(
    "an instance of 'list', an instance of 'tuple'", lambda value: isinstance(value, (list, tuple))
)

PARAMETERS: dict[str, Allowed] = {
    "learning_rate": real(0, ends="()"),
    "max_iter": whole(1),
    "max_leaf_nodes": whole(2).or_none(),
    "max_depth": whole(1).or_none(),
    "min_samples_leaf": whole(1),
    "l2_regularization": real(0),
    "max_features": real(0, 1, ends="(]"),
    "max_bins": whole(2, 255),
    "categorical_features": _ARRAY.beside(one_of("from_dtype")).or_none(),
    "monotonic_cst": _ARRAY.beside(_DICT).or_none(),
    "interaction_cst": _GROUPS.beside(one_of("pairwise", "no_interactions")).or_none(),
    "warm_start": _FLAG,
    "early_stopping": one_of("auto").beside(_FLAG),
    "scoring": _SCORING.or_none(),
    "validation_fraction": real(0, 1, ends="()").beside(whole(1)).or_none(),
    "n_iter_no_change": whole(1),
    "tol": real(0),
    "verbose": whole(0).beside(_FLAG),
    "random_state": _RANDOM.or_none(),
}
"""What every parameter may be that both estimators have."""
REGRESSOR = {
    "loss": one_of("squared_error", "absolute_error", "gamma", "poisson", "quantile"),
    "quantile": real(0, 1, ends="[]").or_none(),
}
CLASSIFIER = {
    "loss": one_of("log_loss"),
    "class_weight": Allowed("an instance of 'dict', a str among {'balanced'}",
                            lambda value: isinstance(value, (dict, str))).or_none(),
}  # fmt: skip


def check_parameters(given: dict[str, Any], allowed: dict[str, Allowed], name: str) -> None:
    """Raise an error for the first parameter that is not allowed.

    Raises
    ------
    ParameterError
        In scikit-learn's words.
    """
    for parameter, rule in allowed.items():
        if not rule.test(given[parameter]):
            raise ParameterError(
                f"The {parameter!r} parameter of {name} must be {rule.words}. Got "
                f"{given[parameter]!r} instead."
            )
