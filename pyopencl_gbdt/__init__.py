"""Gradient-boosted decision trees that train on any GPU, through OpenCL or CUDA.

Importing this package is quick and uses no device.
"""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.public_names import PUBLIC, public

__all__ = ["__version__", *PUBLIC]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = public(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
