"""Keep the answers of ``measured_facts`` on disk: a small file for each device and driver.

It lies beside the built kernels. Equal cards share it. A file that is damaged, or of another
format, is ignored: the facts are measured again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.capabilities import Capabilities

_FORMAT = "pyopencl_gbdt facts 1"
#: Answers by file and place; also what could not be written. Discovery asks for each fit.
_known: dict[tuple[str | None, ...], dict[str, int]] = {}


def _identity(caps: Capabilities) -> list[str]:
    """Return what facts are stored by: chip, driver, and variables that change its builds."""
    return [caps.api, caps.platform, caps.name, caps.driver, *cache.compiler_settings()]


def file_name(caps: Capabilities) -> str:
    """Return the name of a device's file in the cache folder."""
    return f"facts-{cache.cache_key(*_identity(caps))[:16]}.json"


def _place(name: str) -> tuple[str | None, ...]:
    return (name, *map(os.environ.get, cache.PLACES))


def load(caps: Capabilities) -> Mapping[str, int]:
    """Return the answers that are known of a device, by the fact's name; read once a process."""
    name = file_name(caps)
    place = _place(name)
    if place not in _known:
        _known[place] = _read(cache.read(name), caps)
    return _known[place]


def _read(data: bytes | None, caps: Capabilities) -> dict[str, int]:
    try:
        kept = json.loads(data or b"{}")
        if kept["format"] != _FORMAT or kept["device"] != _identity(caps):
            return {}
        return {str(name): answer for name, answer in kept["facts"].items() if type(answer) is int}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def remember(caps: Capabilities, answers: Mapping[str, int]) -> dict[str, int]:
    """Add answers to those that this process knows of a device; return all."""
    known = {**load(caps), **answers}
    _known[_place(file_name(caps))] = known
    return known


def store(caps: Capabilities, answers: Mapping[str, int]) -> None:
    """Add answers to a device's file. If it cannot be written, this process remembers them."""
    kept = {"format": _FORMAT, "device": _identity(caps), "facts": remember(caps, answers)}
    with contextlib.suppress(OSError):
        cache.write(file_name(caps), json.dumps(kept, indent=2).encode() + b"\n")
