"""Errors, warnings and messages, as programs for LightGBM catch and redirect them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from pyopencl_gbdt.errors import GBDTError

#: Every error of this library is caught by LightGBM's name, too.
LightGBMError = GBDTError


class LGBMDeprecationWarning(FutureWarning):
    """Tells of arguments that LightGBM no longer recommends."""


class _Messages:
    """Where messages go: to the terminal and to Python's warnings, or to a logger."""

    def __init__(self) -> None:
        self.logger: Any = None
        self.names = "info", "warning"

    def info(self, text: str) -> None:
        self._tell(0, text, lambda: sys.stdout.write(text + "\n"))

    def warning(self, text: str) -> None:
        self._tell(1, text, lambda: warnings.warn(text, stacklevel=5))

    def _tell(self, place: int, text: str, plainly: Callable[[], object]) -> None:
        if self.logger is None:
            plainly()
        else:
            getattr(self.logger, self.names[place])(text)


MESSAGES = _Messages()
log_info, log_warning = MESSAGES.info, MESSAGES.warning


def log_native(text: str) -> None:
    """Tell what LightGBM's library tells itself: a line of the terminal, or of the logger."""
    log_info(f"[LightGBM] [Warning] {text}")


def register_logger(
    logger: Any, info_method_name: str = "info", warning_method_name: str = "warning"
) -> None:
    """Send the messages of this interface to a logger.

    Parameters
    ----------
    logger : object
        Has the two methods, each of which takes a text.
    info_method_name, warning_method_name : str

    Raises
    ------
    TypeError
        If the logger lacks one of the methods.
    """
    names = info_method_name, warning_method_name
    if not all(callable(getattr(logger, name, None)) for name in names):
        raise TypeError(
            f"Logger must provide '{info_method_name}' and '{warning_method_name}' method"
        )
    MESSAGES.logger, MESSAGES.names = logger, names
