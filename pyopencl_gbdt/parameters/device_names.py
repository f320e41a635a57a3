"""The parameter ``device``: one name, several, or names with weights, as one string."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


def device_text(value: object, name: str) -> object:
    """Return several devices as ``"gpu:0,gpu:1"`` or ``"gpu:0=3,cpu=1"``; else the value.

    Raises
    ------
    ParameterError
        If a list or a mapping holds something else.
    """
    if isinstance(value, Mapping):
        names, weights = list(value), list(value.values())
    elif isinstance(value, (list, tuple)):
        names, weights = list(value), []
    else:
        return value
    good = [isinstance(n, str) and bool(n.strip()) and not set(n) & set(",=") for n in names]
    if not names or not all(good):
        raise ParameterError(
            f"{name}={show(value)}: expected names of devices, such as ['gpu:0', 'gpu:1']; give "
            "at least one"
        )
    if any(isinstance(w, bool) or not isinstance(w, Real) or not float(w) > 0 for w in weights):
        raise ParameterError(
            f"{name}={show(value)}: expected a number above 0 for each device, which says how many "
            "rows it gets; give {'gpu:0': 3, 'cpu': 1}, say"
        )
    if not weights:
        return ",".join(names)
    return ",".join(f"{n}={float(w)!r}" for n, w in zip(names, weights, strict=True))
