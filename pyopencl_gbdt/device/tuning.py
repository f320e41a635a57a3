"""What ``pyopencl-gbdt tune`` measured on a device: which variants, and with which sizes.

One file per device and driver in the user's cache folder. Without it the variant table holds. It
can change how long a fit takes and nothing else: it names rows of the table and sizes out of
``SIZES``, all of which give the same model, which tests see to. A file that is damaged, or was made
for another device, driver or table, is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.variant import Variant
from pyopencl_gbdt.device.variant_table import TABLE
from pyopencl_gbdt.errors import DeviceError

ENVIRONMENT = "PYOPENCL_GBDT_TUNING"
_FORMAT = "pyopencl_gbdt tuning 1"

#: Parameters that are tuned, per kernel.
TUNABLE: dict[str, tuple[str, ...]] = {
    "gradients": ("wg_size",),
    "histogram": ("wg_size", "groups_per_unit", "chunk", "codes"),
    "split": ("wg_size",),
    "partition": ("wg_size", "chunk"),
    "leaf": ("wg_size", "chunk"),
    "plan": ("wg_size",),
    "predict": ("wg_size", "items", "rows"),
    "radix_sort": ("items", "groups_per_unit"),
    "quantize": ("wg_size", "items"),
}
#: Values that are tried, where a work-group has several work-items, and where it has one.
SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "wg_size": ((64, 128, 256, 512, 1024), (1,)),
    "groups_per_unit": ((1, 2, 4, 8, 16), (1, 2, 4, 8)),
    "chunk": ((1024, 2048, 4096, 8192, 16384), (512, 1024, 2048, 4096, 8192)),
    "codes": ((1024, 2048, 4096, 5888), (2048, 4096, 8192, 16384)),
    "items": ((1, 2, 4, 8, 16, 20, 24), (16, 64, 256, 512, 1024, 4096)),
    "rows": ((0,), (64, 128, 256)),
}


@dataclass(frozen=True)
class Choice:
    """A variant of a kernel, with the parameters that it gets."""

    variant: str
    params: Mapping[str, int]


@dataclass(frozen=True)
class Tuning:
    """What is stored for a device.

    Attributes
    ----------
    path : Path
    choices : dict of str to Choice
        By kernel; of the others the table holds.
    problem : str
        Why a file that is there is ignored; empty if it is not.
    """

    path: Path
    choices: Mapping[str, Choice]
    problem: str = ""


#: Measuring replaces what is stored, in its own thread alone.
_instead: ContextVar[Mapping[str, Choice] | None] = ContextVar("instead", default=None)
_loaded: dict[tuple[Any, ...], Tuning | None] = {}


def sizes(row: Variant, parameter: str) -> tuple[int, ...]:
    """Return the values of a parameter that are tried for a row; its own is among them."""
    several, one = SIZES[parameter]
    values = one if row.params["wg_size"] == 1 else several
    return tuple(sorted({*values, row.params[parameter]}))


def is_off() -> bool:
    """Tell whether ``PYOPENCL_GBDT_TUNING`` is ``off``.

    Raises
    ------
    DeviceError
        If it is neither ``on`` nor ``off``.
    """
    word = os.environ.get(ENVIRONMENT, "").strip().lower()
    if word not in ("", "on", "off"):
        raise DeviceError(f"{ENVIRONMENT}={word!r}: expected 'on' or 'off'; unset it for 'on'")
    return word == "off"


@contextlib.contextmanager
def using(choices: Mapping[str, Choice]) -> Iterator[None]:
    """Let these choices hold instead of what is stored; ``{}`` is the table."""
    token = _instead.set(choices)
    try:
        yield
    finally:
        _instead.reset(token)


def tuned(kernel: str, rows: list[Variant], caps: Capabilities) -> list[Variant]:
    """Put the row that a tuning chose in front, with its sizes; behind it the table's rows.

    The table's row of that name stays too: it may hold features of more codes.

    Parameters
    ----------
    kernel : str
    rows : list of Variant
        Those that the device can run, best first by the table.
    caps : Capabilities
    """
    choices = _instead.get()
    if choices is None:
        stored = load(caps)
        choices = {} if stored is None else stored.choices
    choice = choices.get(kernel)
    if choice is None:
        return rows
    first = [replace(row, params=choice.params) for row in rows if row.name == choice.variant]
    return first + rows


# -- the file ----------------------------------------------------------------------------------
def _facts(caps: Capabilities) -> dict[str, Any]:
    """Return what a tuning holds for: two equal cards share one, wherever they are plugged in."""
    facts = asdict(caps)
    for name in ("device_id", "global_bytes", "max_alloc_bytes"):
        del facts[name]
    return facts


def path_of(caps: Capabilities) -> Path:
    """Return where the tuning of a device is stored."""
    key = cache.cache_key(json.dumps(_facts(caps), sort_keys=True))
    return cache.cache_folder() / f"tuning-{key[:16]}.json"


def load(caps: Capabilities) -> Tuning | None:
    """Return what is stored for a device, read once per process; None if there is nothing."""
    if is_off():
        return None
    # asked for a hundred times while a fit is prepared: no path is made, nothing is serialised
    key = (*map(os.environ.get, cache.PLACES), caps)
    if key not in _loaded:
        path = path_of(caps)
        data = cache.read(path.name)
        _loaded[key] = None if data is None else _read(path, data, caps)
    return _loaded[key]


def store(caps: Capabilities, choices: Mapping[str, Choice]) -> Path:
    """Store choices for a device.

    Raises
    ------
    DeviceError
        If the cache folder cannot be written.
    """
    path = path_of(caps)
    text = json.dumps(
        {
            "format": _FORMAT,
            "version": __version__,
            "table": _table_digest(),
            "device": _facts(caps),
            "kernels": {
                kernel: {"variant": choice.variant, "params": dict(choice.params)}
                for kernel, choice in choices.items()
            },
        },
        indent=2,
    )
    _loaded.clear()
    try:
        return cache.write(path.name, text.encode() + b"\n")
    except OSError as error:
        raise DeviceError(
            f"{error.filename or path}: cannot be written: {error.strerror}; choose another folder "
            "by PYOPENCL_GBDT_CACHE"
        ) from error


def reset(caps: Capabilities) -> bool:
    """Remove what is stored for a device; return whether there was anything.

    Raises
    ------
    DeviceError
        If the file is there and cannot be removed.
    """
    path = path_of(caps)
    _loaded.clear()
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DeviceError(
            f"{path}: cannot be removed: {error.strerror}; ask whoever owns it, or choose another "
            "folder by PYOPENCL_GBDT_CACHE"
        ) from error
    return True


def _table_digest() -> str:
    """Return what changes with the variant table: a tuning for another one says nothing."""
    rows = [[row.kernel, row.name, sorted(row.params.items())] for row in TABLE]
    return cache.cache_key(json.dumps(rows))[:16]


class _IgnoredError(ValueError):
    """A file that is whole, but says nothing about this device, driver and table."""


def _read(path: Path, data: bytes, caps: Capabilities) -> Tuning:
    try:
        facts = json.loads(data)
        if facts["format"] != _FORMAT:
            raise _IgnoredError("it is of another format")
        if facts["device"] != _facts(caps):
            raise _IgnoredError("it was made for another device or driver")
        if facts["table"] != _table_digest():
            raise _IgnoredError("it was made for another version of this library")
        choices = {
            kernel: _choice(kernel, entry["variant"], entry["params"])
            for kernel, entry in facts["kernels"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = str(error) if isinstance(error, _IgnoredError) else "it is damaged"
        return Tuning(path, {}, f"{said}; run `pyopencl-gbdt tune` again")
    return Tuning(path, choices)


def _choice(kernel: str, variant: str, params: Mapping[str, int]) -> Choice:
    """Check a choice: a row of the table, sizes out of ``SIZES``."""
    (row,) = (row for row in TABLE if (row.kernel, row.name) == (kernel, variant))
    allowed = {name: sizes(row, name) for name in TUNABLE[kernel] if name in row.params}
    for name in row.params.keys() | params.keys():
        value = params[name]
        if type(value) is not int or value not in allowed.get(name, (row.params[name],)):
            raise KeyError(name)
    return Choice(variant, params)


def describe(choices: Mapping[str, Choice], table: Sequence[Variant]) -> list[str]:
    """Return each choice in words: the variant, and the sizes that are not the table's."""
    rows = {(row.kernel, row.name): row for row in table}
    lines = []
    for kernel, choice in choices.items():
        own = rows[kernel, choice.variant].params
        changed = [f"{k}={v}" for k, v in choice.params.items() if v != own[k]]
        lines.append(f"{kernel}: {' '.join([choice.variant, *changed])}")
    return lines
