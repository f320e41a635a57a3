"""Measured facts about sums of 64 bits and recorded kernels; see ``measured_facts``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.program import Launch, Program

#: The answer of a fact whose kernel crashes the driver, or does not end.
FAILED = -1
_GROUP = 256


def fact_program(device: Device, fact: str) -> Program:
    """Build the kernel of ``device_facts`` that measures a fact."""
    return device.build("device_facts", wg_size=_GROUP, fact=fact)


def _atomic_sums(device: Device) -> tuple[DeviceArray, Launch, npt.NDArray[np.int64]]:
    """Return sums, a launch that adds to them, and what it adds."""
    program = fact_program(device, "int64_atomics")
    values = np.random.default_rng(11).integers(1, 1 << 20, 5000).astype(np.uint32)
    sums = device.zeros(8, np.int64)
    groups = -(-values.size // program.wg_size)
    launch = program.bind(
        "int64_atomics", groups, n=values.size, values=device.upload(values), sums=sums
    )
    wide = values.astype(np.int64)
    want = np.zeros(8, np.int64)
    want[0] = (wide << 24).sum()
    for turn in range(4):
        adds = (turn <= (wide & 3)) & ((wide + turn) % 3 != 0)
        np.add.at(want, 1 + wide[adds] % 7, -(wide[adds] << 8))
    return sums, launch, want


def int64_atomics(device: Device) -> int:
    """Return 1 if atomic sums of 64 bits are right, else 0."""
    sums, launch, want = _atomic_sums(device)
    launch()
    return int(np.array_equal(sums.get(), want))


def command_buffers(device: Device) -> int:
    """Return 1 if kernels that one call enqueues do what they do one by one, else FAILED."""
    sums, launch, want = _atomic_sums(device)
    actions = device.together([launch, launch])
    for _ in range(3):  # first one by one
        for action in actions:
            action()
    return 1 if np.array_equal(sums.get(), 6 * want) else FAILED


def word_sums(device: Device) -> int:
    """Return 1 if sums of 64 bits are right whose words are added to one by one, else FAILED."""
    caps = device.caps
    device.caps = replace(caps, int64_atomics=False)
    try:
        return int64_atomics(device) or FAILED
    finally:
        device.caps = caps
