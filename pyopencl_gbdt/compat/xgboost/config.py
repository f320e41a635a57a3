"""Settings of the calling thread, by XGBoost's functions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

_USUAL: dict[str, Any] = {
    "nthread": 0,
    "use_cuda_async_pool": False,
    "use_rmm": False,
    "verbosity": 1,
}


class _Settings(threading.local):
    """The settings of one thread; every thread begins with the usual ones."""

    def __init__(self) -> None:
        self.values = dict(_USUAL)


_SETTINGS = _Settings()


def set_config(**new_config: Any) -> None:
    """Change settings of this thread.

    Parameters
    ----------
    **new_config
        ``verbosity`` (0 to 3) is the default of trainings; ``nthread``, ``use_rmm`` and
        ``use_cuda_async_pool`` are kept and have no effect. None leaves a setting as it is.

    Raises
    ------
    ParameterError
        If there is no such setting, or its value is not allowed.
    """
    for name, value in new_config.items():
        if name not in _USUAL:
            raise ParameterError(
                f"Unknown global parameters: {{ {name} }}: expected some of {sorted(_USUAL)}; "
                "leave it out"
            )
        if name == "verbosity" and value is not None and value not in (0, 1, 2, 3):
            raise ParameterError(f"verbosity={show(value)}: expected 0..3; give 1, the usual one")
    given = {name: value for name, value in new_config.items() if value is not None}
    _SETTINGS.values.update(given)


def get_config() -> dict[str, Any]:
    """Return the settings of this thread."""
    return dict(_SETTINGS.values)


@contextmanager
def config_context(**new_config: Any) -> Iterator[None]:
    """Change settings of this thread for a ``with`` block.

    Parameters
    ----------
    **new_config
        As for ``set_config``.
    """
    before = get_config()
    set_config(**new_config)
    try:
        yield
    finally:
        _SETTINGS.values = before
