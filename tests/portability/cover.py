"""As few programs, or trainings, as show every kernel and every option that all of them show.

A fact is a kernel of a template, or a value of one of the template's parameters. A matrix that runs
each fact once takes half the time of one that runs some of them ten times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from tests.portability.null_device import Built

#: A template, and a kernel of it with an empty text, or one of its parameters with the value.
Fact = tuple[object, ...]
T = TypeVar("T")
_BARRIER = re.compile(r"(?<!#define )\bBARRIER\(\)")
_SUM_IN_MEMORY = re.compile(r"(?<!#define )(?<!FN void )\batomic_add_global_i64\(")


def shown(built: Built, kernels: Iterable[str] | None = None) -> set[Fact]:
    """Return what a program shows: its kernels, its work-group size and its parameters' values.

    Parameters
    ----------
    built : Built
    kernels : iterable of str, optional
        The kernels that count; all of the source by default. Without any, nothing is shown.
    """
    names = sorted(built.kernels if kernels is None else kernels)
    if not names:
        return set()
    values = {("wg_size", built.wg_size), *built.params.items(), *((name, "") for name in names)}
    return {(built.template, *value) for value in values}


def bound(programs: Iterable[Built]) -> set[Fact]:
    """Return what programs show with the kernels that were given arguments."""
    return {fact for one in programs for fact in shown(one, one.bound)}


def accesses(programs: Iterable[Built]) -> set[Fact]:
    """Return the same without the arithmetic of losses, which reads and writes no memory."""
    return {fact for fact in bound(programs) if not (isinstance(fact[2], str) and ";" in fact[2])}


def with_barriers(programs: Iterable[Built]) -> set[Fact]:
    """Return the kernels with arguments whose programs have barriers.

    In others no work-item reads what another one of its group wrote, so the number of work-items
    that advance together changes nothing.
    """
    return {
        (one.template, one.wg_size, name)
        for one in programs
        if _BARRIER.search(one.source("opencl"))
        for name in one.bound
    }


def with_sums_in_memory(programs: Iterable[Built]) -> set[Fact]:
    """Return the kernels with arguments whose programs add to sums of 64 bits in global memory.

    A device without 64-bit atomics adds to the words of a sum. Its other programs are those of
    GPUs.
    """
    return {
        (one.template, one.wg_size, name)
        for one in programs
        if _SUM_IN_MEMORY.search(one.source("opencl"))
        for name in one.bound
    }


def cover(
    facts: Mapping[T, Collection[Fact]], dearest_first: Sequence[T], kept: Collection[T] = ()
) -> list[T]:
    """Return some of the things, which show all that all of them show.

    Each in turn, the dearest first, is left out if the others that are left show all that it shows.

    Parameters
    ----------
    facts : mapping of T to collection of Fact
        What each thing shows.
    dearest_first : sequence of T
        The same things by what they cost.
    kept : collection of T, optional
        Those that stay in any case.

    Returns
    -------
    list of T
        In the order of ``facts``.
    """
    times = Counter(fact for own in facts.values() for fact in own)
    out = set()
    for one in dearest_first:
        if one not in kept and all(times[fact] > 1 for fact in facts[one]):
            times.subtract(facts[one])
            out.add(one)
    return [one for one in facts if one not in out]
