"""A class method that can also be called on an object, as XGBoost's ``load_model`` can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


class OfClassOrModel:
    """A class method that makes a model; called on a model, it replaces what that one holds."""

    def __init__(self, method: Any) -> None:  # what ``@classmethod`` returns
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, kind: type) -> Callable[..., Any]:
        make: Callable[..., Any] = self._method.__get__(None, kind)
        return make if model is None else partial(_replaced, model, make)


def _replaced(model: Any, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    model.__dict__ = make(*args, **kwargs).__dict__
    return model
