"""A process that was forked from one that had asked drivers for devices.

Drivers run threads, of which a fork copies none: in the child, PoCL and Intel's runtime wait for
ever, and CUDA refuses. The child is told so instead.
"""

from __future__ import annotations

import os

from pyopencl_gbdt.errors import DeviceError

#: The process that asked drivers for devices; 0 as long as none did.
_asked = 0
#: Whether this process is a child of the one that asked; read before every work of a device.
_is_child = False


def remember() -> None:
    """Note that this process asks drivers for devices."""
    global _asked  # noqa: PLW0603 - a fact of the process
    if not _is_child:
        _asked = os.getpid()


def check() -> None:
    """Raise where drivers were opened before this process was forked.

    Raises
    ------
    DeviceError
        With the ways to start processes that can use devices.
    """
    if _is_child or _asked not in (0, os.getpid()):
        raise DeviceError(
            f"this process, {os.getpid()}, was forked from process {_asked}, which had already "
            "opened the drivers of its devices; their threads do not survive a fork. Start "
            "processes another way: multiprocessing.get_context('spawn'), joblib's backend 'loky', "
            "or fork before the parent trains, predicts or lists devices"
        )


def check_device() -> None:
    """Do the same as ``check``, at less cost: a child that Python did not fork is not noticed."""
    if _is_child:
        check()


def _after_fork() -> None:
    global _is_child  # noqa: PLW0603 - a fact of the process
    _is_child = _asked != 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
