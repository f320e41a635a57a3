"""Choose the fastest variant and sizes of each kernel on a device, by a clock of kernels.

Kernels are tuned one after another, parameter by parameter, each with the earlier choices in place.
The clock refuses a candidate whose model has other bytes than the table's. A candidate is accepted
only if it is faster twice.

A kernel that is faster alone may make the kernels beside it slower, or lose on other sizes of data.
So whole fits decide, in turns with the variant table's choices::

    contest    a fit of each kind, a small fit, a fit by steps, a prediction
    turn       the table's choices, then tuned ones
    wins       a shorter median, by 1 % or more
    loses      a longer median, by more than 1 %

Every choice first stands alone, in all contests of its own: one that loses anywhere is dropped, so
no good choice carries a bad one. What is left stands together, also in the contests of fits that
run its kernels beside others, and has to win somewhere and lose nowhere. If it does not, those that
won alone stand together; if they do not do either, the best one of them; then nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.timing import in_turns
from pyopencl_gbdt.device.variants.choosing import (
    REFUSED,
    fallbacks,
    refusal,
    runnable,
    same_refusals,
)
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.device.variants.tuning import Choice, sizes, tunable, using
from pyopencl_gbdt.device.variants.variant import Variant
from pyopencl_gbdt.errors import GBDTError, KernelFallbackWarning
from pyopencl_gbdt.lazy_dataclasses import dataclass

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


Choices = Mapping[str, Choice]
#: Turns of a contest; a difference below the share is taken for none.
TURNS = 7
_MARGIN = 0.01


@dataclass(frozen=True)
class Contest:
    """Work that is timed twice: with the variants of the table, and with tuned ones.

    Attributes
    ----------
    name : str
        What is timed, for people.
    kernels : frozenset of str
        Kernels that the trials are for.
    seconds : callable
        Does the work with some choices in place of the table's; returns how long it took.
    beside : frozenset of str
        Kernels that run, too, but have contests of their own.
    """

    name: str
    kernels: frozenset[str]
    seconds: Callable[[Choices], float]
    beside: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """How a set of choices fared in a contest.

    Attributes
    ----------
    kernels : tuple of str
        The kernels whose choices stood.
    table_seconds, tuned_seconds : float
        Medians.
    """

    contest: str
    kernels: tuple[str, ...]
    table_seconds: float
    tuned_seconds: float

    @property
    def ratio(self) -> float:
        """Time with the tuned choices, divided by the time with the table's choices."""
        return self.tuned_seconds / self.table_seconds if self.table_seconds else math.inf

    @property
    def wins(self) -> bool:
        return self.ratio < 1 - _MARGIN

    @property
    def loses(self) -> bool:
        return self.ratio > 1 + _MARGIN


def keep_winners(
    choices: Choices,
    contests: Sequence[Contest],
    turns: int = TURNS,
    ended: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, Choice], list[Verdict]]:
    """Return the choices that make whole work faster and none slower, and all verdicts.

    Parameters
    ----------
    choices : dict of str to Choice
        By kernel.
    ended : callable
        Tells whether the time is over: choices that were not checked by then are dropped.
    """
    verdicts: list[Verdict] = []

    def stand(names: Sequence[str], *, alone: bool = False) -> list[Verdict]:
        some = {name: choices[name] for name in names}
        found = []
        for contest in contests:
            theirs = contest.kernels if alone else contest.kernels | contest.beside
            if theirs & some.keys():
                found.append(_verdict(contest, some, turns))
        verdicts.extend(found)
        return found

    alone = {name: stand([name], alone=True) for name in choices if not ended()}
    timed = {name: found for name, found in alone.items() if found}
    unharmful = [name for name, found in timed.items() if not any(one.loses for one in found)]
    winners = [name for name in unharmful if any(one.wins for one in timed[name])]
    best = sorted(winners, key=lambda name: min(one.ratio for one in timed[name]))[:1]
    for names in dict.fromkeys(map(tuple, (unharmful, winners, best))):
        if names and not ended() and _wins(stand(names)):
            return {name: choices[name] for name in names}, verdicts
    return {}, verdicts


def _wins(found: Sequence[Verdict]) -> bool:
    return any(one.wins for one in found) and not any(one.loses for one in found)


def _verdict(contest: Contest, choices: Choices, turns: int) -> Verdict:
    contest.seconds({})  # builds kernels
    try:
        with same_refusals():
            table, tuned = in_turns(
                [lambda: contest.seconds({}), lambda: contest.seconds(choices)], turns
            )
    except (GBDTError, KernelFallbackWarning):  # what does not run loses
        return Verdict(contest.name, tuple(choices), 0.0, math.inf)
    return Verdict(contest.name, tuple(choices), table.median, tuned.median)
