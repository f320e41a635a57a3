"""Store and load the variants and sizes that ``pyopencl-gbdt tune`` chose for a device.

The user's cache folder has one file per device and driver. Without a file, the variant table
decides. A file names variants of the table and sizes that ``Kernel.tuned`` lists. All of these give
the same model, so a file changes only how long a fit takes; tests check this. A file that is
damaged, or was made for another device, driver or table, is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.device.variants.variant import Variant
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.lazy_dataclasses import dataclass

ENVIRONMENT = "PYOPENCL_GBDT_TUNING"
_FORMAT = "pyopencl_gbdt tuning 1"


@dataclass(frozen=True)
class Choice:
    """A variant of a kernel, and the parameters to run it with."""

    variant: str
    params: Mapping[str, int]


@dataclass(frozen=True)
class Tuning:
    """The tuning that is stored for a device.

    Attributes
    ----------
    choices : dict of str to Choice
        By kernel. For kernels that are absent here, the variant table decides.
    problem : str
        Why the file is ignored; empty if it is used.
    """

    path: Path
    choices: Mapping[str, Choice]
    problem: str = ""


#: Choices that replace the stored ones, in this thread only; set while ``tune`` measures.
_instead: ContextVar[Mapping[str, Choice] | None] = ContextVar("instead", default=None)
_loaded: dict[tuple[Any, ...], tuple[Capabilities, Tuning | None]] = {}
#: What ``load`` has returned in the block of ``read_once``, by ids of capabilities.
_read_once: ContextVar[dict[int, tuple[Capabilities, Tuning | None]] | None] = ContextVar(
    "read_once", default=None
)


def tunable() -> list[str]:
    """Return the kernels that have parameters to tune, in the order in which they are tuned."""
    return [name for name, kernel in KERNELS.items() if kernel.tuned]


def sizes(variant: Variant, parameter: str) -> tuple[int, ...]:
    """Return the values of a parameter to try for a variant, the table's value among them."""
    sizes = KERNELS[variant.kernel].tuned[parameter]
    values = sizes.one if variant.params["wg_size"] == 1 else sizes.several
    return tuple(sorted({*values, variant.params[parameter]}))


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
    """Use these choices instead of the stored ones; with ``{}``, the variant table decides."""
    token = _instead.set(choices)
    try:
        yield
    finally:
        _instead.reset(token)


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Look up each device's tuning once in the block: a fit that is prepared asks 20 times."""
    token = _read_once.set({})
    try:
        yield
    finally:
        _read_once.reset(token)


def tuned(kernel: str, variants: list[Variant], caps: Capabilities) -> list[Variant]:
    """Return the variants with the tuned one, in its tuned sizes, added in front.

    The table's variant of the same name stays in the list: it may hold features of more codes.

    ``variants``: the ones that the device can run, best first by the table.
    """
    choices = _instead.get()
    if choices is None:
        stored = load(caps)
        choices = {} if stored is None else stored.choices
    choice = choices.get(kernel)
    if choice is None:
        return variants
    first = [replace(v, params=choice.params) for v in variants if v.name == choice.variant]
    return first + variants


# -- the file ----------------------------------------------------------------------------------
def _facts(caps: Capabilities) -> dict[str, Any]:
    """Return the facts that identify a tuning's device; equal cards share a tuning."""
    facts = asdict(caps)
    for name in ("device_id", "global_bytes", "max_alloc_bytes", "tested_driver"):
        del facts[name]
    return facts


def path_of(caps: Capabilities) -> Path:
    """Return the path of a device's tuning file."""
    key = cache.cache_key(json.dumps(_facts(caps), sort_keys=True))
    return cache.cache_folder() / f"tuning-{key[:16]}.json"


def load(caps: Capabilities) -> Tuning | None:
    """Return a device's stored tuning, or None if there is none; read once per process."""
    once = _read_once.get()
    if once is None:
        return _load(caps)
    found = once.get(id(caps))
    if found is None or found[0] is not caps:
        found = once[id(caps)] = caps, _load(caps)
    return found[1]


def _load(caps: Capabilities) -> Tuning | None:
    if is_off():
        return None
    # called a hundred times while a fit is prepared, so the key needs no path and no JSON
    places = tuple(map(os.environ.get, cache.PLACES))
    near = (*places, id(caps))  # to hash all facts takes as long as all else here
    found = _loaded.get(near)
    if found is None or found[0] is not caps:
        key = (*places, caps)
        if key not in _loaded:
            path = path_of(caps)
            data = cache.read(path.name)
            _loaded[key] = caps, None if data is None else _read(path, data, caps)
        found = _loaded[near] = caps, _loaded[key][1]
    return found[1]


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
    """Remove a device's stored tuning; return whether there was one.

    Raises
    ------
    DeviceError
        If the file exists and cannot be removed.
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
    """Return a digest of the variant table; a tuning made with another table is ignored."""
    entries = [
        [v.kernel, v.name, sorted(v.params.items())]
        for kernel in KERNELS.values()
        for v in kernel.variants
    ]
    return cache.cache_key(json.dumps(entries))[:16]


class _IgnoredError(ValueError):
    """A file that is not damaged, but was made for another device, driver or table."""


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
    """Check that a choice is a variant of the table with sizes that are tried; return it."""
    tuned = KERNELS[kernel].tuned
    if not tuned:
        raise KeyError(kernel)
    (known,) = (v for v in KERNELS[kernel].variants if v.name == variant)
    allowed = {name: sizes(known, name) for name in tuned if name in known.params}
    for name in known.params.keys() | params.keys():
        value = params[name]
        if type(value) is not int or value not in allowed.get(name, (known.params[name],)):
            raise KeyError(name)
    return Choice(variant, params)


def describe(choices: Mapping[str, Choice], table: Sequence[Variant]) -> list[str]:
    """Return each choice as text: the variant, and the sizes that differ from the table's."""
    variants = {(variant.kernel, variant.name): variant for variant in table}
    lines = []
    for kernel, choice in choices.items():
        own = variants[kernel, choice.variant].params
        changed = [f"{k}={v}" for k, v in choice.params.items() if v != own[k]]
        lines.append(f"{kernel}: {' '.join([choice.variant, *changed])}")
    return lines
