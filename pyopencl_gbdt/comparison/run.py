"""Run a whole comparison on this machine: every shape on every device, one after another."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.comparison.measure import (
    copy_bandwidth,
    describe,
    digest,
    int64_percent,
    measure,
)
from pyopencl_gbdt.comparison.plan import Options, floor_bytes, task_name
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.device import DeviceInfo
from pyopencl_gbdt.doctor.machine import Machine
from pyopencl_gbdt.doctor.report import Scrubber, versions

Json = dict[str, Any]
F32 = npt.NDArray[np.float32]
#: Called with the current task's name and its current step.
Tell = Callable[[str, str], None]

#: Values take main memory twice: as an array, and in a driver's copy.
_COPIES = 2
_SHAPE_FIELDS = (
    "name", "title", "n_rows", "n_features", "objective", "max_depth", "max_bin", "n_rounds",
    "n_models", "missing", "symmetric", "way",
)  # fmt: skip


def describe_machine(options: Options) -> Json:
    """Describe this machine as in `schema.MACHINE`, without results or personal names."""
    here = Machine.here()
    model = re.search(r"^model name\s*:\s*(.+)$", here.text("/proc/cpuinfo"), re.MULTILINE)
    mine = getattr(os, "sched_getaffinity", None)  # the cores that this process may use
    machine: Json = Scrubber.here().clean(
        {
            "name": model.group(1) if model else platform.processor() or platform.machine(),
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "library": __version__,
            "versions": versions(here),
            "threads": len(mine(0)) if mine else os.cpu_count() or 1,
            "memory_bytes": _memory(here, "MemTotal") or 0,
            "finished": False,
            "options": asdict(options),
            "devices": [],
            "shapes": [],
            "results": [],
        }
    )
    return machine


def describe_device(info: DeviceInfo) -> Json:
    """Describe a device as in `schema.DEVICE`; measures a copy and the cost of 64-bit integers."""
    assert info.caps is not None
    device: Json = {"device": info.device_id, "capabilities": asdict(info.caps), "problem": ""}
    device.update(notes=list(info.notes), copy_bytes_per_second=None, int64_percent=None)
    try:
        device["copy_bytes_per_second"] = copy_bandwidth(info.device_id)
        device["int64_percent"] = int64_percent(info.device_id)
    except Exception as error:  # a driver may raise anything; other devices go on
        device["problem"] = describe(error)
    cleaned: Json = Scrubber.here().clean(device)
    return cleaned


def run(machine: Json, shapes: Sequence[Shape], tell: Tell) -> Iterator[bool]:
    """Train every shape on every device; add shapes and results to ``machine``.

    Yields
    ------
    bool
        After each result: whether it is the last result of its shape.
    """
    options, scrubber = machine["options"], Scrubber.here()
    devices = [device for device in machine["devices"] if not device["problem"]]
    for shape in shapes:
        tell(shape.name, "making the data")
        entry, data = _prepare(shape, options["seed"])
        machine["shapes"].append(entry)
        if data is None or not devices:
            yield True
            continue
        for device in devices:
            task = task_name(shape, device["device"])
            result = measure(
                device["device"],
                shape,
                *data,
                bandwidth=device["copy_bytes_per_second"],
                repeats=options["repeats"],
                tell=partial(tell, task),
            )
            machine["results"].append(scrubber.clean(result))
            yield device is devices[-1]
        del data  # frees memory before the next shape's data are made
    machine["finished"] = True


def _prepare(shape: Shape, seed: int) -> tuple[Json, tuple[F32, F32] | None]:
    """Describe a shape as in `schema.SHAPE`; make its data if main memory is large enough."""
    entry: Json = {name: getattr(shape, name) for name in _SHAPE_FIELDS}
    entry.update(floor_bytes=floor_bytes(shape), data_bytes=shape.expected_bytes())
    entry.update(data_digest=None, problem="")
    needed, there = _COPIES * shape.expected_bytes(), _memory(Machine.here(), "MemAvailable")
    if there is not None and needed > there:
        entry["problem"] = (
            f"its data take {shape.expected_bytes() / 1e9:.1f} GB, and a fit as much again, of "
            f"main memory, which has {there / 1e9:.1f} GB left"
        )
        return entry, None
    try:
        values, labels = shape.make(seed)
    except MemoryError:
        entry["problem"] = f"its data take {needed / 1e9:.1f} GB, more than main memory gives"
        return entry, None
    entry["data_digest"] = digest(values, labels)
    return entry, (values, labels)


def _memory(machine: Machine, word: str) -> int | None:
    """Return the bytes in a line of Linux's memory information; None on other systems."""
    found = re.search(rf"^{word}:\s*(\d+) kB$", machine.text("/proc/meminfo"), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None
