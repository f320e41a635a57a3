"""Facts about a device that are measured, because drivers state them wrongly or not at all.

A fact is a small kernel, the answer that is expected, and what a device loses if it gives another
one. Each is measured once for a device and driver; ``fact_store`` keeps the answers beside the
built kernels. Devices whose driver the library's tests run on (``Capabilities.tested_driver``) are
measured only by the doctor.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import fact_store
from pyopencl_gbdt.device.drivers.atomic_facts import (
    FAILED,
    command_buffers,
    fact_program,
    int64_atomics,
    word_sums,
)  # fmt: skip
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Seconds that a timed kernel takes at least, and at most: drivers of displays end long kernels.
_LEAST_SECONDS, _MOST_SECONDS = 0.003, 0.1
_MOST_GROUPS = 4096
#: More groups run faster if they gain so much; none do after so many doublings without a gain.
_FASTER, _SAME = 1.1, 2
_MOST_ROUNDS = 1 << 22
#: Bytes that a copy reads and writes: more than the caches of most GPUs hold.
_COPIED = 256 * 1024 * 1024
#: Megabytes a second of a copy that any GPU reaches, if no other program uses it.
_LEAST_SPEED = 2000


def _always(caps: Capabilities) -> bool:
    return True


def _unchanged(caps: Capabilities, answer: int) -> Capabilities:
    return caps


@dataclass(frozen=True)
class MeasuredFact:
    """A fact that a kernel of ``device_facts`` measures.

    Attributes
    ----------
    name : str
        Key in the file of answers.
    measure : callable or None
        Returns the answer, an int; raises what the driver raises. None: the doctor's self-test
        finds the answer.
    says : callable
        The answer as text for people.
    due : callable
        Tells on which devices the fact is measured.
    applied : callable
        Returns the capabilities of a device that gave an answer.
    first : bool
        Whether it is measured before the first use of a device; else only the doctor does.
    needed : str
        Where nothing works without it: what fails then, for people.
    """

    name: str
    measure: Callable[[Device], int] | None
    says: Callable[[int], str]
    due: Callable[[Capabilities], bool] = _always
    applied: Callable[[Capabilities, int], Capabilities] = _unchanged
    first: bool = False
    needed: str = ""


# -- subnormals ----------------------------------------------------------------------------------
def subnormals(device: Device) -> int:
    """Return 0 if a device keeps numbers below 2^-126, 1 if it flushes them to zero.

    Returns
    -------
    int
        ``FAILED`` if its results are neither: then it computes wrongly.
    """
    program = fact_program(device, "subnormals")
    values = np.array([2.0**-126, 1.5 * 2.0**-126, 2.0**-130, 1.0, -(2.0**-128)], np.float32)
    out = device.zeros((values.size, 4), np.float32)
    groups = -(-values.size // program.wg_size)
    program.launch(
        "subnormals", groups, n=values.size, values=device.upload(values), out=out
    )  # fmt: skip
    got = out.get()
    columns = (values / 4, values * 4, values - values[0], values > 0)
    kept = np.stack(columns, axis=1).astype(np.float32)
    if np.array_equal(got, kept):
        return 0
    # a device may flush what it reads, what it writes, or both
    tiny = np.abs(kept) < np.float32(2.0**-126)
    tiny |= np.abs(values)[:, None] < np.float32(2.0**-126)
    return 1 if np.array_equal(got[~tiny], kept[~tiny]) else FAILED


# -- loads that no work-item asks for -------------------------------------------------------------
def skipped_loads(device: Device) -> int:
    """Return 1 if a device leaves out loads that no work-item asks for.

    Returns
    -------
    int
        ``FAILED`` if its sums are wrong. A driver that executes such loads reads far outside of an
        array, which ends the process.
    """
    program = fact_program(device, "skipped_loads")
    none, n_groups = 0xFFFFFFFF, 8
    picks = np.array([0, none, 1, none, none, 2, 0, none, 1] * 3, np.uint32)
    nodes = np.full((3, 24), none, np.uint32)
    nodes[:2, 0] = 1, 0
    out = device.zeros(n_groups, np.uint32)
    program.launch(
        "skipped_loads", n_groups, n=picks.size, picks=device.upload(picks),
        nodes=device.upload(nodes), values=device.upload(np.array([5, 7], np.uint32)), out=out,
    )  # fmt: skip
    added = np.array([7, 5, 0], np.uint32)[np.where(picks == none, 2, picks)]
    want = np.bincount(np.arange(picks.size) % n_groups, added, n_groups)
    return 1 if np.array_equal(out.get(), want) else FAILED


# -- atomics of 64 bits, and what is recorded ------------------------------------------------------
def _without_command_buffers(caps: Capabilities, answer: int) -> Capabilities:
    return caps if answer == 1 else replace(caps, command_buffers=False)


def _without_int64(caps: Capabilities, answer: int) -> Capabilities:
    return caps if answer == 1 else replace(caps, int64_atomics=False)


# -- timings -------------------------------------------------------------------------------------
def units_of(seconds: Callable[[int], float]) -> int:
    """Return how many work-groups run at once.

    Parameters
    ----------
    seconds : callable
        The time of so many equal work-groups, each of which keeps a compute unit busy.
    """
    one = time = seconds(1)
    groups, best, same = 1, 1.0, 0
    while groups < _MOST_GROUPS and time < _MOST_SECONDS and same < _SAME:
        groups *= 2
        time = seconds(groups)
        one = min(one, seconds(1))  # other programs may have slowed it down before
        speed = groups * one / max(time, 1e-9)  # groups that ran at once, in the mean
        same = 0 if speed > _FASTER * best else same + 1
        best = max(best, speed)
    return round(best)


def width_of(seconds: Callable[[int], float], most: int) -> int:
    """Return how many work-items execute an instruction together.

    Parameters
    ----------
    seconds : callable
        The time of a work-group in which runs of so many work-items take one of two loops, in
        turn. Work-items that execute together have to run both loops if they disagree.
    most : int
        Work-items in the group.
    """
    apart = seconds(most)  # all take the same loop
    width = 1
    while width < most and seconds(width) > 1.4 * apart:
        width *= 2
    return width


def _rounds(device: Device, seconds: Callable[[int], float]) -> int:
    """Return how many rounds of a kernel take long enough to be timed."""
    rounds = 64
    while rounds < _MOST_ROUNDS and seconds(rounds) < _LEAST_SECONDS:
        rounds *= 2
    return rounds


def compute_units(device: Device) -> int:
    """Return how many work-groups a device runs at once, from times."""
    program = fact_program(device, "compute_units")
    out = device.empty(_MOST_GROUPS * program.wg_size, np.uint32)

    def seconds(groups: int, rounds: int) -> float:
        launch = program.prepare("compute_units", groups, rounds=rounds, out=out)
        return min(device.elapsed(launch) for _ in range(5))

    seconds(1, 1)  # some drivers compile at the first launch
    rounds = _rounds(device, lambda rounds: seconds(1, rounds))
    empty = seconds(1, 1)
    return units_of(lambda groups: max(1e-6, seconds(groups, rounds) - empty))


def wave_width(device: Device) -> int:
    """Return how many work-items of a device execute an instruction together, from times."""
    program = fact_program(device, "wave_width")
    out = device.empty(program.wg_size, np.uint32)

    def seconds(width: int, rounds: int) -> float:
        launch = program.prepare("wave_width", 1, rounds=rounds, width=width, out=out)
        return min(device.elapsed(launch) for _ in range(5))

    seconds(1, 1)
    rounds = _rounds(device, lambda rounds: seconds(program.wg_size, rounds))
    return width_of(lambda width: seconds(width, rounds), program.wg_size)


def int64_cost(device: Device) -> int:
    """Return the time of sums and comparisons of 64 bits, in percent of those of 32 bits."""
    program = fact_program(device, "int64_cost")
    out = device.empty(program.wg_size, np.uint32)

    def seconds(kernel: str, rounds: int) -> float:
        launch = program.prepare(kernel, 1, rounds=rounds, out=out)
        return min(device.elapsed(launch) for _ in range(5))

    seconds("wide", 1)
    rounds = _rounds(device, lambda rounds: seconds("narrow", rounds))
    launches = (("narrow", 1), ("narrow", rounds), ("wide", rounds))
    # in turns, as another program on the device may slow down some of them
    turns = np.array([[seconds(*launch) for launch in launches] for _ in range(3)])
    empty, narrow, wide = turns.min(axis=0).tolist()
    percent: float = 100 * max(0.0, wide - empty) / max(1e-6, narrow - empty)
    return round(percent)


def copy_speed(device: Device) -> int:
    """Return how many megabytes a second a large copy reads and writes."""
    from pyopencl_gbdt.device.bandwidth import copy_bandwidth

    caps = device.caps
    n_bytes = min(_COPIED, caps.global_bytes // 8, 2 * caps.max_alloc_bytes)
    # the driver may count too few compute units
    found = int(copy_bandwidth(device, n_bytes, repeats=3, groups=_MOST_GROUPS) / 1e6)
    return max(_LEAST_SPEED, found)


def _with_speed(caps: Capabilities, answer: int) -> Capabilities:
    return replace(caps, copy_speed=answer * 10**6) if answer > 0 else caps


def _counts_one(caps: Capabilities) -> bool:
    """Tell whether a driver says one compute unit, which some say of every card."""
    return caps.kind != "cpu" and caps.compute_units == 1


def _with_units(caps: Capabilities, answer: int) -> Capabilities:
    return replace(caps, compute_units=max(caps.compute_units, answer))


def _with_lookback(caps: Capabilities, answer: int) -> Capabilities:
    return replace(caps, lookback=caps.lookback or (answer == 1 and _may_look_back(caps)))


def _may_look_back(caps: Capabilities) -> bool:
    """Tell whether a trial can show that look-back is safe on a device.

    It reads words of 64 bits that other work-groups write. A device without atomics of 64 bits need
    not read them as a whole, and a trial sees halves of two words only now and then: rusticl's zink
    over an H200 passed it, and then 34 of 87 213 entries of a quantile summary were wrong.
    """
    return _untested(caps) and caps.kind != "cpu" and caps.int64_atomics


def _untested(caps: Capabilities) -> bool:
    return not caps.tested_driver


#: The result of the doctor's trial of decoupled look-back, see ``doctor/selftest.py``.
LOOKBACK = MeasuredFact(
    "lookback",
    None,
    lambda answer: f"decoupled look-back: {'safe' if answer == 1 else 'not safe'}",
    due=_may_look_back,
    applied=_with_lookback,
)
#: Whether the doctor's whole self-test gave the right bits.
SELF_TEST = MeasuredFact(
    "self_test",
    None,
    lambda answer: f"the last self-test {'passed' if answer == 1 else 'found wrong results'}",
    due=_untested,
)
#: Every fact, the smallest kernel first: if that one crashes, the device cannot be used.
TABLE: tuple[MeasuredFact, ...] = (
    MeasuredFact(
        "subnormals", subnormals,
        lambda answer: f"numbers below 2^-126: {'flushed to zero' if answer == 1 else 'kept'}",
        first=True, needed="the smallest kernel",
    ),
    MeasuredFact(
        "skipped_loads", skipped_loads,
        lambda answer: f"loads that no work-item asks for: {'left out' if answer == 1 else 'run'}",
        first=True, needed="loads that no work-item asks for, which it executes",
    ),
    MeasuredFact(
        "int64_atomics", int64_atomics,
        lambda answer: f"64-bit atomic sums: {'right' if answer == 1 else 'wrong, not used'}",
        due=lambda caps: caps.int64_atomics, applied=_without_int64, first=True,
    ),
    MeasuredFact(
        "word_sums", word_sums, lambda answer: "sums by 32-bit atomics: right",
        due=lambda caps: not caps.int64_atomics, first=True, needed="sums by 32-bit atomics",
    ),
    MeasuredFact(
        "compute_units", compute_units, lambda answer: f"work-groups at once: {answer}",
        due=_counts_one, applied=_with_units, first=True,
    ),
    MeasuredFact(
        "copy_speed", copy_speed,
        lambda answer: f"a copy reads and writes {answer / 1000:.1f} GB/s",
        due=lambda caps: caps.kind != "cpu", applied=_with_speed, first=True,
    ),
    MeasuredFact(
        "command_buffers", command_buffers,
        lambda answer: f"recorded kernels: {'right' if answer == 1 else 'wrong, not used'}",
        due=lambda caps: caps.command_buffers, applied=_without_command_buffers, first=True,
    ),
    MeasuredFact(
        "wave_width", wave_width, lambda answer: f"work-items that execute together: {answer}",
        due=lambda caps: caps.kind != "cpu",
    ),
    MeasuredFact(
        "int64_cost", int64_cost,
        lambda answer: f"64-bit integers take {answer / 100:.1f} times as long as 32-bit ones",
        due=lambda caps: caps.kind != "cpu",
    ),
    LOOKBACK,
    SELF_TEST,
)  # fmt: skip
#: Set in the doctor's processes, which also test devices that an earlier self-test found wrong.
DOCTOR = "PYOPENCL_GBDT_DOCTOR"


def applied(caps: Capabilities) -> Capabilities:
    """Return a device's capabilities, corrected by what was measured on it earlier."""
    if caps.tested_driver:
        return caps
    answers = fact_store.load(caps)
    for fact in TABLE:
        if fact.name in answers and fact.due(caps):
            caps = fact.applied(caps, answers[fact.name])
    return caps


def texts(caps: Capabilities) -> list[str]:
    """Return what was measured of a device of an untested driver, in words."""
    answers = {} if caps.tested_driver else fact_store.load(caps)
    return [fact.says(answers[fact.name]) for fact in TABLE if fact.name in answers]


def problem(caps: Capabilities) -> str:
    """Return why a device cannot be used, from what was measured on it; empty if it can."""
    if caps.tested_driver or os.environ.get(DOCTOR):
        return ""
    if fact_store.load(caps).get(SELF_TEST.name) != 0:
        return ""
    return (
        "the last self-test with this driver found wrong results; install another driver for it, "
        f"then run `pyopencl-gbdt doctor --device {caps.device_id}`"
    )
