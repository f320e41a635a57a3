"""Choose the fastest variant and sizes of each kernel on a device, by a clock of kernels.

Kernels are tuned one after another, parameter by parameter, each with the earlier choices in place.
The clock refuses a candidate whose model has other bytes than the table's. A candidate is accepted
only if it is faster twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.variants.choosing import REFUSED, fallbacks, refusal, runnable
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.device.variants.tuning import Choice, sizes, tunable, using
from pyopencl_gbdt.device.variants.variant import Variant
from pyopencl_gbdt.errors import GBDTError

#: A candidate must take at most this share of the table's time, since clocks are noisy.
_WORTH = 0.97


class KernelClock(Protocol):
    """What times kernels: `pyopencl_gbdt.comparison.tuning_fits` does it in whole fits."""

    def seconds(self, kernel: str, choices: Mapping[str, Choice]) -> float:
        """Return a kernel's time in seconds on the device.

        Raises
        ------
        GBDTError
            If the kernel does not build or run, or changes the model.
        """


@dataclass(frozen=True)
class Tuned:
    """The result for a kernel.

    Attributes
    ----------
    kernel : str
    table, chosen : Choice
        The variant table's choice, and the fastest; equal if nothing is faster.
    table_seconds, chosen_seconds : float
        Time of the kernel in one measurement, by the device's clock.
    tried : int
        Number of candidates that ran.
    failed : tuple of str
        Candidates that did not run, and why.
    """

    kernel: str
    table: Choice
    chosen: Choice
    table_seconds: float
    chosen_seconds: float
    tried: int
    failed: tuple[str, ...] = ()


def candidates(best: Variant, *, quick: bool) -> Iterator[tuple[str, int]]:
    """Yield (parameter, value) to try instead of ``best``'s; only next sizes if ``quick``."""
    for name in KERNELS[best.kernel].tuned:
        if name not in best.params:
            continue
        values = sizes(best, name)
        at = values.index(best.params[name])
        near = values[max(0, at - 1) : at + 2] if quick else values
        yield from ((name, value) for value in near if value != values[at])


def tune(
    caps: Capabilities,
    clock: KernelClock,
    *,
    quick: bool = False,
    report: Callable[[Tuned], None] = lambda tuned: None,
    ended: Callable[[], bool] = lambda: False,
) -> list[Tuned]:
    """Measure and choose; stores nothing.

    Parameters
    ----------
    caps : Capabilities
    clock : KernelClock
    quick : bool, default False
        Of every parameter only the values next to the table's; no variants that are made for
        another kind of device.
    report : callable
        Called with each kernel's result.
    ended : callable
        Tells whether the time is over: then no further candidate is tried.

    Returns
    -------
    list of Tuned
        One for each kernel of ``tunable``, in its order, that was begun in time.

    Raises
    ------
    DeviceError
        If the variant table's choice fails on the device.
    """
    chosen: dict[str, Choice] = {}
    outcomes = []
    for kernel in tunable():
        if ended():
            break
        outcome = tune_kernel(kernel, caps, clock, chosen, quick=quick, ended=ended)
        if outcome.chosen != outcome.table:
            chosen[kernel] = outcome.chosen
        outcomes.append(outcome)
        report(outcome)
    return outcomes


def tune_kernel(
    kernel: str,
    caps: Capabilities,
    clock: KernelClock,
    before: Mapping[str, Choice],
    *,
    quick: bool,
    ended: Callable[[], bool] = lambda: False,
) -> Tuned:
    """Choose the variant and sizes of one kernel, given the choices for others.

    A kernel that the device does not run in its fit keeps the table's choice.
    """
    with using({}):
        table = fallbacks(kernel, caps)[0]
    tried, failed = 0, []

    def seconds(variant: Variant) -> float:
        nonlocal tried
        choice = Choice(variant.name, dict(variant.params))
        try:
            result = clock.seconds(kernel, {**before, kernel: choice})
        except GBDTError as error:
            if variant is table:
                raise
            failed.append(f"{variant.name} {dict(variant.params)}: {str(error).splitlines()[0]}")
            return float("inf")
        tried += 1
        return result

    best, best_seconds = table, seconds(table)
    there = best_seconds > 0
    for variant in runnable(kernel, caps) if there else []:
        other_kind = not variant.suits(caps)
        if (
            variant.name != table.name
            and refusal(variant, caps) not in REFUSED
            and not (quick and other_kind)
            and not ended()
        ):
            took = seconds(variant)
            if took < _WORTH * best_seconds:
                best, best_seconds = variant, took
    for name, value in candidates(best, quick=quick) if there else []:
        if ended():
            break
        variant = replace(best, params={**best.params, name: value})
        took = seconds(variant)
        if took < _WORTH * best_seconds:
            best, best_seconds = variant, took
    table_seconds = best_seconds
    if best is not table:  # time both again, in case the first time was a matter of luck
        table_seconds, best_seconds = seconds(table), seconds(best)
        if not best_seconds < _WORTH * table_seconds:
            best, best_seconds = table, table_seconds
    return Tuned(
        kernel,
        Choice(table.name, dict(table.params)),
        Choice(best.name, dict(best.params)),
        table_seconds,
        best_seconds,
        tried,
        tuple(failed),
    )


__all__ = ["KernelClock", "Tuned", "candidates", "tune", "tune_kernel"]
