"""Arguments that XGBoost wants by name, and still takes by their place."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Args = ParamSpec("_Args")
_Found = TypeVar("_Found")


def named_arguments(function: Callable[_Args, _Found]) -> Callable[_Args, _Found]:
    """Let a function take arguments by their place that are to be named, with a warning."""
    known = inspect.signature(function).parameters.values()
    placed = [one.name for one in known if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in known if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(function)
    def taking(*args: _Args.args, **kwargs: _Args.kwargs) -> _Found:
        more = args[len(placed) :]
        if more and len(more) <= len(named):
            names = ", ".join(named[: len(more)])
            warnings.warn(f"Pass `{names}` as keyword args.", FutureWarning, stacklevel=2)
            given: Any = dict(zip(named, more, strict=False))
            call: Callable[..., _Found] = function
            return call(*args[: len(placed)], **given, **kwargs)
        return function(*args, **kwargs)

    return taking
