"""Refuse to use devices in a process that was forked after its parent had opened drivers.

Drivers run threads, and a fork copies none of them. In the child, PoCL and Intel's runtime would
wait for ever, and CUDA fails. This module raises an error instead.
"""

from __future__ import annotations

import os

from pyopencl_gbdt.errors import DeviceError

#: Id of the process that asked drivers for devices; 0 if none did.
_asked = 0
#: Whether this process was forked from the one that asked; checked before each use of a device.
_is_child = False


def remember() -> None:
    """Record that this process asks drivers for devices."""
    global _asked  # noqa: PLW0603 - a fact of the process
    if not _is_child:
        _asked = os.getpid()


def check() -> None:
    """Raise if drivers were opened before this process was forked.

    Raises
    ------
    DeviceError
        Says how to start processes that can use devices.
    """
    if _is_child or _asked not in (0, os.getpid()):
        raise DeviceError(
            f"this process, {os.getpid()}, was forked from process {_asked}, which had already "
            "opened the drivers of its devices; their threads do not survive a fork. Start "
            "processes another way: multiprocessing.get_context('spawn'), joblib's backend 'loky', "
            "or fork before the parent trains, predicts or lists devices"
        )


def check_device() -> None:
    """Check as ``check`` does, but faster; this does not notice a fork made outside Python."""
    if _is_child:
        check()


def _after_fork() -> None:
    global _is_child  # noqa: PLW0603 - a fact of the process
    _is_child = _asked != 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
