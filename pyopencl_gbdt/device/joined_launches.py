"""Launches of several fits as one launch, in which every fit has work-groups of its own.

    one after another   | a: groups 0 1 2 |   | b: groups 0 1 2 |
    joined              | a: groups 0 1 2, b: groups 0 1 2      |   z tells the fit

Fits of one kind launch the same kernels, with arrays of their own. In a joined launch a work-group
chooses the arguments of its fit; then it does what it does in a launch of that fit alone. So no
result changes. The fits share a queue.

NVIDIA's OpenCL takes 0.4 us for each array that a launch passes, and five fits have 40 to 80. So a
joined kernel takes the allocations in which the arrays lie, which are few, and a table:

    table    | a: place of "nodes", place of "codes", n_rows ... | b: ...    one row for each fit

A round of one fit of few rows takes as long as the host takes for its launches. Its launches take
the row of the fit by value: they are *packed*.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.joined_source import (
    ArgumentLayout,
    RowByValue,
    RowOfTable,
    RowText,
    joined_source,
)
from pyopencl_gbdt.device.program import Action, BoundKernel, Launch, Program, bound_kernel
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: For the ids of allocations: each, and the bytes from a fit's arrays there to the next fit's.
Steps = Mapping[int, tuple[DeviceArray, int]]


@dataclass
class _Step:
    """Launches of all fits that are alike.

    Attributes
    ----------
    bound : list of BoundKernel
        One of each fit; the first one alone where the others' places follow from its own.
    together : list of (int or None)
        For each argument the number of the first one that lies in the same allocation, in every
        fit; None for numbers.
    wholes : list of (tuple of int)
        For each argument the number of its allocation in each fit, from 0.
    words : list of int
        What the arguments are, fit by fit: places in an allocation, and numbers.
    """

    bound: list[BoundKernel]
    n_fits: int
    together: list[int | None]
    wholes: list[tuple[int, ...]]
    words: list[int]

    @classmethod
    def of(cls, bound: list[BoundKernel], places: dict[int, tuple[DeviceArray, int]]) -> _Step:
        """Return the launches of all fits; ``places`` keeps those of arrays, by their ids."""
        words: list[int] = []
        keys: list[list[int | None]] = []
        for one in bound:
            wholes: list[int | None] = []
            for arg in one.args:
                if isinstance(arg, DeviceArray):
                    place = places.get(id(arg))
                    if place is None:
                        place = places[id(arg)] = arg.place
                    wholes.append(id(place[0]))
                    words.append(place[1])
                else:
                    wholes.append(None)
                    words.append(_word(arg))
            keys.append(wholes)
        every = list(zip(*keys, strict=True))
        return cls(bound, len(bound), _first_ones(every), [*map(_numbered, every)], words)

    @classmethod
    def moved(cls, one: BoundKernel, n_fits: int, steps: Steps) -> _Step | None:
        """Return the launches of all fits by the first one's; None if an array lies elsewhere."""
        moved: list[tuple[int, int]] = []  # a word of the first fit, and its step to the next one
        keys: list[tuple[int | None]] = []
        for arg in one.args:
            if not isinstance(arg, DeviceArray):
                moved.append((_word(arg), 0))
                keys.append((None,))
                continue
            whole, begin = arg.place
            known = steps.get(id(whole))
            if known is None:
                return None
            moved.append((begin, known[1]))
            keys.append((id(whole),))
        words = [word + fit * step for fit in range(n_fits) for word, step in moved]
        return cls([one], n_fits, _first_ones(keys), [(0,) * n_fits] * len(keys), words)

    @property
    def program(self) -> Program:
        """Of the first fit; the others' have the same source."""
        return self.bound[0].program

    def allocations(self, layout: ArgumentLayout) -> list[DeviceArray]:
        """Return the allocations that the joined kernel takes, in order."""
        found: list[DeviceArray] = []
        for n, own in enumerate(layout.wholes):
            at = layout.slots.index(n)
            holders = (self.bound[own.index(whole)] for whole in range(max(own) + 1))
            found += [one.args[at].place[0] for one in holders]
        return found


def _first_ones(keys: Sequence[tuple[int | None, ...]]) -> list[int | None]:
    """Return the number of the first key that equals each one; None for numbers."""
    first: dict[tuple[int | None, ...], int] = {}
    return [
        None if key[0] is None else first.setdefault(key, number) for number, key in enumerate(keys)
    ]


def _numbered(keys: Sequence[int | None]) -> tuple[int, ...]:
    """Return a number for each key, from 0: the same for equal ones."""
    numbers: dict[int | None, int] = {}
    return tuple([numbers.setdefault(key, len(numbers)) for key in keys])


def _word(number: Any) -> int:
    """Return a number as 64 bits."""
    if number.__class__ is np.float32:
        return int(number.view(np.uint32))
    return int(number) & 0xFFFF_FFFF_FFFF_FFFF


class _GivenRows(Protocol):
    """The rows of launches; ``read`` tells how a kernel reads them."""

    read: RowText

    def arguments(self, step: _Step) -> tuple[Any, ...]:
        """Return the last arguments of a joined launch."""


class _Table:
    """The rows of all steps in one array."""

    def __init__(self, steps: Sequence[_Step]) -> None:
        words: list[int] = []
        self._begins: dict[int, int] = {}
        for step in steps:
            self._begins[id(step)] = len(words)
            words += step.words
        self._whole: DeviceArray | None = None
        self.read: RowText = RowOfTable("")
        if steps:
            program = steps[0].program
            self.read = RowOfTable(program.place_in_z)
            whole: npt.NDArray[np.uint64] = np.array(words, np.uint64)
            self._whole = program.device.upload(whole)

    def arguments(self, step: _Step) -> tuple[Any, ...]:
        """Return the table, and where a step's rows begin."""
        return self._whole, np.uint32(self._begins[id(step)])


class _Values:
    """The rows of one fit's launches, each an argument of many words."""

    read: RowText = RowByValue()

    def arguments(self, step: _Step) -> tuple[Any, ...]:
        """Return the row of a step."""
        return (np.array(step.words, np.uint64),)


def joined(fits: Sequence[Sequence[Action]]) -> list[Action]:
    """Return the actions of several fits; equal launches become one launch.

    ``fits``: the actions of each fit, in order; all are enqueued in one queue.
    """
    if len(fits) == 1 or len({len(own) for own in fits}) != 1:
        return list(chain.from_iterable(fits))
    return _in_place(fits, _Table)


def kinds(actions: Sequence[Action]) -> tuple[Hashable, ...]:
    """Return what is the same for launches that are one when they are joined."""
    bound = [bound_kernel(action) for action in actions]
    return tuple([None if one is None else _kind(one) for one in bound])


def packed(
    actions: Sequence[Action], built: Callable[[Program], Program] = lambda program: program
) -> list[Action]:
    """Return the same actions, whose launches take few arguments.

    NVIDIA's OpenCL takes the host 7.5 us for a launch, and 0.38 us for each array and 0.09 us for
    each number that it passes (H200). A round of few rows takes as long as the host does.

    Parameters
    ----------
    built : callable
        Is given every new program, and returns it.
    """
    return _in_place([actions], lambda _: _Values(), built)


def _in_place(
    fits: Sequence[Sequence[Action]],
    give: Callable[[Sequence[_Step]], _GivenRows],
    built: Callable[[Program], Program] = lambda program: program,
) -> list[Action]:
    """Return the actions of all fits; those that are launches, and alike, as one."""
    actions = list(zip(*fits, strict=True))
    places: dict[int, tuple[DeviceArray, int]] = {}
    steps = [_step(own, places) for own in actions]
    alike = [step for step in steps if step is not None]
    launches = iter(_launches(alike, give(alike), built))
    found: list[Action] = []
    for own, step in zip(actions, steps, strict=True):
        one = None if step is None else next(launches)
        found += own if one is None else [one]
    return found


def joined_by_first(first: Sequence[Action], n_fits: int, steps: Steps) -> list[Action] | None:
    """Return one list of actions for several fits that differ only in where arrays lie.

    The others' launches are not bound.

    ``first``: the actions of the first fit.
    ``steps``: where the others' arrays lie.

    Returns
    -------
    list of Action, or None
        None: an action is not a launch, an array of it lies elsewhere, or the device does not take
        a joined launch.
    """
    found: list[_Step] = []
    for action in first:
        one = bound_kernel(action)
        step = None if one is None else _Step.moved(one, n_fits, steps)
        if step is None or step.program.wg_size == 1:
            return None
        found.append(step)
    launches = [one for one in _launches(found, _Table(found)) if one is not None]
    return [*launches] if len(launches) == len(found) else None


def _step(actions: Sequence[Action], places: dict[int, tuple[DeviceArray, int]]) -> _Step | None:
    """Return the launches of all fits; None if they are not alike."""
    bound = [one for one in map(bound_kernel, actions) if one is not None]
    found = set(map(_kind, bound))
    is_alike = len(bound) == len(actions) and len(found) == 1 and bound[0].program.wg_size > 1
    return _Step.of(bound, places) if is_alike else None


def _kind(one: BoundKernel) -> Hashable:
    return one.program.source, one.program.wg_size, one.name, one.grid


def _launches(
    steps: Sequence[_Step],
    rows: _GivenRows,
    built: Callable[[Program], Program] = lambda program: program,
) -> list[Launch | None]:
    """Return a launch of each step; None where the device does not take it."""
    programs = _programs(steps, rows.read, built)
    return [_bound(step, programs, rows) for step in steps]


#: A rendered source and the work-items of its groups.
_Key = tuple[str, int]


@dataclass
class _Joined:
    """A program of several fits, and the layouts of its kernels."""

    program: Program
    layouts: Mapping[str, ArgumentLayout]


def _programs(
    steps: Sequence[_Step], read: RowText, built: Callable[[Program], Program]
) -> dict[_Key, _Joined]:
    """Return the programs of joined launches, by those of the fits; all builds begin at once."""
    by_program: dict[_Key, dict[str, list[_Step]]] = {}
    for step in steps:
        key = step.program.source, step.program.wg_size
        by_program.setdefault(key, {}).setdefault(step.bound[0].name, []).append(step)
    found: dict[_Key, _Joined] = {}
    for key, kernels in by_program.items():
        layouts = {name: _layout(every) for name, every in kernels.items()}
        example = next(iter(kernels.values()))[0]
        own, n_fits = example.program, example.n_fits
        with contextlib.suppress(KernelBuildError):
            own_layouts = tuple((name, layouts[name]) for name in sorted(layouts))
            source = joined_source(own.source, n_fits, read, own_layouts)
            program = built(own.of_source(source))
            if program.wg_size == own.wg_size:
                found[key] = _Joined(program, layouts)
    return found


def _layout(steps: Sequence[_Step]) -> ArgumentLayout:
    """Return a layout that suits all launches of a kernel."""
    numbers: dict[tuple[int | None, ...], int] = {}
    slots: list[int | None] = []
    wholes: list[tuple[int, ...]] = []
    every = zip(*(step.together for step in steps), strict=True)
    for at, firsts in enumerate(every):
        if firsts[0] is None:
            slots.append(None)
            continue
        slots.append(numbers.setdefault(firsts, len(numbers)))
        if len(wholes) < len(numbers):
            known = {step.wholes[at] for step in steps}
            wholes.append(known.pop() if len(known) == 1 else tuple(range(steps[0].n_fits)))
    return ArgumentLayout(tuple(slots), tuple(wholes))


def _bound(step: _Step, programs: Mapping[_Key, _Joined], rows: _GivenRows) -> Launch | None:
    """Return a joined launch; None if the device does not take it."""
    joint = programs.get((step.program.source, step.program.wg_size))
    if joint is None:
        return None
    one, n_fits = step.bound[0], step.n_fits
    args = (*step.allocations(joint.layouts[one.name]), *rows.arguments(step))
    with contextlib.suppress(KernelBuildError, KernelLaunchError):
        return joint.program.bind_fits(one.name, one.grid[:2], args, n_fits)
    return None
