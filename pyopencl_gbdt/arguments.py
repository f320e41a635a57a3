"""Checks of arguments, and signatures of functions that hand them on."""

from __future__ import annotations

import functools
import inspect
import numbers
import operator
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast, overload

import numpy as np

from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.messages import show

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Args = ParamSpec("_Args")
_Found = TypeVar("_Found")


@overload
def like(
    other: Callable[_Args, Any], *, without: Sequence[str] = ()
) -> Callable[[Callable[..., _Found]], Callable[_Args, _Found]]: ...


@overload
def like(
    other: Any, *, without: Sequence[str] = (), after: Mapping[str, Sequence[str]], **defaults: Any
) -> Callable[[Callable[..., _Found]], Callable[..., _Found]]: ...


def like(
    other: Callable[..., Any],
    *,
    without: Sequence[str] = (),
    after: Mapping[str, Sequence[str]] | None = None,
    **defaults: Any,
) -> Any:
    """Return a decorator of functions that take what another one takes, and hand it on by ``**``.

    Whatever is not given does not reach the function.

    Parameters
    ----------
    other : callable
        Has the signature.
    without : sequence of str
        Parameters that the function does not have.
    after : mapping of str to sequence of str, or None
        Further parameters, by the one that they follow, of the kind of the next one. Their default
        is None.
    **defaults
        Those that differ.
    """
    known = [one for n, one in inspect.signature(other).parameters.items() if n not in without]
    for place, names in (after or {}).items():
        at = [one.name for one in known].index(place) + 1
        near = [one.kind for one in (*known[at:], known[at - 1]) if one.kind < one.VAR_KEYWORD]
        known[at:at] = [inspect.Parameter(name, near[0], default=None) for name in names]
    known = [one.replace(default=defaults.get(one.name, one.default)) for one in known]
    rest = [one.name for one in known if one.kind is one.VAR_KEYWORD]
    signature = inspect.Signature(known)

    def decorator(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            more = given.pop(rest[0], {}) if rest else {}
            return function(**given, **more)

        taking.__signature__ = signature  # type: ignore[attr-defined]
        return taking

    return decorator


def refusing(
    refused: Callable[[Any, str, str, Any, set[str]], ArgumentError],
) -> Callable[[_Method], _Method]:
    """Return a decorator of methods that refuses unknown arguments with an error that helps.

    The method's signature stays as written, without ``**``, since scikit-learn's metadata routing
    and editors read it.

    Parameters
    ----------
    refused : callable
        Returns the error. Its arguments are the object, the name of its method, the name and value
        of the unknown argument, and the names of all that the method has.
    """

    def decorator(method: _Method) -> _Method:
        own = set(inspect.signature(method).parameters)

        @functools.wraps(method)
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() - own:
                raise refused(self, method.__name__, name, kwargs[name], own)
            return method(self, *args, **kwargs)

        return cast("_Method", checked)

    return decorator


def check_verbose(verbose: Any) -> int:
    """Return the number of rounds between prints of metrics; 0 means never.

    Raises
    ------
    ParameterError
    """
    if verbose is None:
        return 0
    try:
        period = operator.index(verbose)
    except TypeError:
        period = -1
    if period < 0:
        raise ParameterError(
            f"verbose={show(verbose)}: expected True, False or a number of rounds >= 1; give one"
        )
    return period


def check_callables(**given: Any) -> None:
    """Raise an error for an argument that is neither None nor a function.

    Raises
    ------
    ParameterError
    """
    for name, value in given.items():
        if value is not None and not callable(value):
            raise ParameterError(f"{name}={show(value)}: expected a function or None; give one")


def check_switches(**given: Any) -> None:
    """Raise an error for an argument that is not None, True, False, 1 or 0.

    Raises
    ------
    ParameterError
    """
    for name, value in given.items():
        number = isinstance(value, (bool, np.bool_, numbers.Integral))
        if value is not None and (not number or value not in (0, 1)):
            raise ParameterError(f"{name}={show(value)}: expected True or False; give one of them")


def whole_number(value: Any) -> int | None:
    """Return a whole number as ``int``; None for anything else, also for True and False."""
    try:
        return None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        return None


def check_whole(
    name: str, value: Any, least: int, most: int | None = None, *, move: str = "give one"
) -> int:
    """Return a whole number ``least .. most``; ``move`` is what an error says to do next.

    Raises
    ------
    ParameterError
    """
    number = whole_number(value)
    if number is None or number < least or (most is not None and number > most):
        allowed = f"{least} or more" if most is None else f"{least}..{most}"
        raise ParameterError(f"{name}={show(value)}: expected a whole number, {allowed}; {move}")
    return number


def check_file(name: str, source: Any) -> None:
    """Raise an error if ``source`` is neither the path of a file nor its content as bytes.

    Raises
    ------
    ParameterError
    """
    if not isinstance(source, (bytes, bytearray, memoryview)):
        check_path(name, source)


def check_path(name: str, path: Any) -> None:
    """Raise an error if ``path`` cannot be the path of a file.

    Raises
    ------
    ParameterError
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise ParameterError(
            f"{name}={show(path)}: expected the path of a file as str or Path; give one"
        )


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
