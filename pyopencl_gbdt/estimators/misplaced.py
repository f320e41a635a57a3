"""Explain arguments that ``fit`` does not have: most are parameters of the estimator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.estimators.spellings import INSTEAD
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS
from pyopencl_gbdt.parameters.names import unknown

_Method = TypeVar("_Method", bound=Callable[..., Any])


def explains_arguments(method: _Method) -> _Method:
    """Let a method of an estimator refuse unknown arguments with an error that helps.

    The signature stays as written, without ``**``, since scikit-learn's metadata routing and
    editors read it.
    """
    own = set(inspect.signature(method).parameters)

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - own:
            raise _refused(self, method.__name__, name, kwargs[name], own)
        return method(self, *args, **kwargs)

    return cast("_Method", checked)


def _refused(estimator: Any, method: str, name: str, value: Any, own: set[str]) -> ArgumentError:
    kind = type(estimator).__name__
    try:
        parameter = estimator._known(name)
    except ParameterError as error:
        names = sorted(own - {"self"})
        other = unknown(name, names, f"argument of {kind}.{method}")
        return ArgumentError(str(error if name in INSTEAD else other))
    if parameter in ANSWERS:  # the constructor refuses most of its values, too
        return ArgumentError(f"{name}={show(value)}: {ANSWERS[parameter].text}")
    return ArgumentError(
        f"{name}={show(value)}: expected no such argument of {method}, as it is a parameter of the "
        f"estimator; give it to {kind}({name}=...), or to set_params"
    )
