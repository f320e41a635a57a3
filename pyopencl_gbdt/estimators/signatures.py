"""The parameters of an estimator's constructor, and their spellings."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.foreign import OWN_NAMES
from pyopencl_gbdt.parameters.parameters import ROWS
from pyopencl_gbdt.parameters.table import TABLE

#: The attribute of a class that keeps its constructor's signature as written.
_WRITTEN = "_written_signature"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: From every other spelling to the parameter's name.
SPELLINGS = {name: row.name for name, row in ROWS.items() if name != row.name} | OWN_NAMES
#: Those that are attributes too: XGBoost's, and those of ``fit``.
ATTRIBUTES = [name for row in TABLE for name in row.aliases]
ATTRIBUTES += ["nthread", "categorical_feature", "cat_features"]


def own_name(name: str) -> str:
    """Return a parameter's name for one of its spellings; return other names unchanged."""
    return SPELLINGS.get(name, name)


def _constructors(cls: type, base: type) -> Iterator[dict[str, inspect.Parameter]]:
    """Yield the parameters of each constructor from ``cls`` up to ``base``, without ``self``."""
    for ancestor in cls.__mro__:
        if "__init__" in vars(ancestor):
            written = vars(ancestor).get(_WRITTEN) or inspect.signature(vars(ancestor)["__init__"])
            yield dict(list(written.parameters.items())[1:])
        if ancestor is base:
            return


def _named(parameters: Mapping[str, inspect.Parameter]) -> dict[str, inspect.Parameter]:
    return {name: p for name, p in parameters.items() if p.kind in _NAMED}


def _hands_on(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def own_parameters(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the parameters that the constructor of ``cls`` names."""
    return _named(next(_constructors(cls, base)))


def parameters_of(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the constructor's parameters, including those it passes on by ``**``.

    Parameters
    ----------
    cls, base : type
        The estimator, and the base class at which to stop.

    Returns
    -------
    dict of str to inspect.Parameter
        In the order of ``base``; parameters that ``base`` lacks come last.
    """
    found: list[dict[str, inspect.Parameter]] = []
    for parameters in _constructors(cls, base):
        found.append(_named(parameters))
        if not _hands_on(parameters):
            break
    return _merged(found)


def every_parameter(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the parameters that any constructor from ``cls`` up to ``base`` names."""
    return _merged([_named(parameters) for parameters in _constructors(cls, base)])


def _merged(found: list[dict[str, inspect.Parameter]]) -> dict[str, inspect.Parameter]:
    merged: dict[str, inspect.Parameter] = {}
    for parameters in reversed(found):
        merged |= parameters
    return merged


def show_signature(cls: type, base: type, absent: tuple[str, ...]) -> None:
    """Set the signature of a class and its constructor to include parameters passed on by ``**``.

    scikit-learn's ``repr`` and checks read names and defaults from the signature, and do not
    count ``**`` as parameters.
    """
    if "__init__" in vars(cls):
        setattr(cls, _WRITTEN, inspect.signature(vars(cls)["__init__"]))
    own = next(_constructors(cls, base))
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    first = [p for p in own.values() if p.kind < keyword_only]
    given = {p.name for p in first} | {*absent}
    rest = [p for name, p in parameters_of(cls, base).items() if name not in given]
    shown = [*first, *(p.replace(kind=keyword_only) for p in rest)]
    cls.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    if "__init__" in vars(cls):
        me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        vars(cls)["__init__"].__signature__ = inspect.Signature([me, *shown])


def alike(one: object, other: object) -> bool:
    """Tell whether two values of a parameter are the same object, or equal numbers or strings."""
    if one is other:
        return True
    if isinstance(one, numbers.Real) and isinstance(other, numbers.Real):
        return bool(one == other) or (math.isnan(one) and math.isnan(other))
    return isinstance(one, str) and isinstance(other, str) and one == other


def refuse_twice(given: Mapping[str, Any]) -> None:
    """Raise ``ParameterError`` if two spellings of one parameter have different values."""
    first: dict[str, str] = {}
    for name, value in given.items():
        other = first.setdefault(own_name(name), name)
        if not alike(value, given[other]):
            raise ParameterError(
                f"{other} and {name} are two spellings of one parameter; give one of them"
            )
