"""Compare public names and signatures with those of an installed library."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any


def public_members(owner: type) -> Iterator[str]:
    """Yield the public names of a class, without those of ``object``."""
    yield from (name for name in dir(owner) if not name.startswith("_"))


def parameters_of(function: Any) -> list[tuple[str, str, Any]]:
    """Return name, kind and default of each parameter."""
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind.name, _default(one.default)) for one in found]


def _default(value: Any) -> Any:
    """Return a default in a form that compares: NaN is not equal to itself."""
    plain = isinstance(value, (int, str, bool, type(None), tuple, list, dict))
    return value if plain else repr(value) if isinstance(value, float) else type(value).__name__


def differences(ours: type, theirs: type, reasons: Mapping[str, str]) -> list[str]:
    """Return how a class differs from the original, where no reason is given.

    ``reasons`` maps ``Class.member``, or ``Class`` for the constructor, to why it differs.
    """
    name = theirs.__name__
    found = []
    if name not in reasons and parameters_of(ours) != parameters_of(theirs):
        found.append(f"{name}: {parameters_of(ours)} instead of {parameters_of(theirs)}")
    for member in public_members(theirs):
        full = f"{name}.{member}"
        if full in reasons:
            continue
        if not hasattr(ours, member):
            found.append(f"{full} is missing")
            continue
        own, original = (inspect.getattr_static(one, member) for one in (ours, theirs))
        both = inspect.isfunction(own) and inspect.isfunction(original)
        if both and parameters_of(own) != parameters_of(original):
            found.append(f"{full}: {parameters_of(own)} not {parameters_of(original)}")
    return found
