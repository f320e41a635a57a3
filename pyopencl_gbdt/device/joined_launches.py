"""Launches of several fits as one launch, in which every fit has work-groups of its own.

    one after another   | a: groups 0 1 2 |   | b: groups 0 1 2 |
    joined              | a: groups 0 1 2, b: groups 0 1 2      |   z tells the fit

Fits of one kind launch the same kernels, with arrays of their own. In a joined launch a work-group
chooses the arguments of its fit; then it does what it does in a launch of that fit alone. So no
result changes. The fits share a queue.

NVIDIA's OpenCL takes 0.4 us for each array that a launch passes, and five fits have 40 to 80. So a
joined kernel takes the allocations in which the arrays lie, which are few, and a table:

    table    | a: place of "nodes", place of "codes", n_rows ... | b: ...    one row for each fit
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import Action, BoundKernel, Launch, Program
from pyopencl_gbdt.device.signature import Parameter, signatures, without_comments
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError

_KERNEL = re.compile(r"(\bKERNEL\(\s*\d+\s*\)\s*)(\w+)\s*\(([^()]*)\)\s*\{")


@dataclass(frozen=True)
class ArgumentLayout:
    """Where a joined kernel's arrays lie.

    Attributes
    ----------
    slots : tuple of (int or None)
        Of each parameter the number of the allocation in which its array lies, the same number for
        arrays that lie together in every fit; None for a number.
    shared : tuple of bool
        Of each of these, whether it is one allocation for all fits.
    """

    slots: tuple[int | None, ...]
    shared: tuple[bool, ...]


@lru_cache(maxsize=128)
def joined_source(
    source: str, n_fits: int, place: str, layouts: tuple[tuple[str, ArgumentLayout], ...]
) -> str:
    """Return a rendered source some of whose kernels serve several fits.

    Parameters
    ----------
    source : str
    n_fits : int
    place : str
        The expression of the work-group's place in z.
    layouts : tuple of (str, ArgumentLayout)
        Of each kernel that serves several fits.
    """

    def kernel(found: re.Match[str]) -> str:
        begin, name, listed = found.groups()
        if name not in layout_of:
            return found.group()
        declared = [" ".join(text.split()) for text in listed.split(",")]
        return _head(begin, name, declared, known[name], layout_of[name], n_fits, place)

    known, layout_of = signatures(source), dict(layouts)
    return _KERNEL.sub(kernel, without_comments(source))


def _head(
    begin: str,
    name: str,
    declared: Sequence[str],
    parameters: Sequence[Parameter],
    layout: ArgumentLayout,
    n_fits: int,
    place: str,
) -> str:
    """Return a joined kernel's parameters, and what chooses those of its fit."""
    taken: list[str] = []
    lines = [f"GLOBAL const u64* fits_row = fits_table + fits_first + {len(declared)} * {place};"]
    for n, shared in enumerate(layout.shared):
        if shared:
            taken.append(f"GLOBAL u8* fits_{n}")
            continue
        taken += [f"GLOBAL u8* fits_{n}_{fit}" for fit in range(n_fits)]
        earlier = [f"{place} == {fit} ? fits_{n}_{fit} : " for fit in range(n_fits - 1)]
        lines.append(f"GLOBAL u8* fits_{n} = {''.join(earlier)}fits_{n}_{n_fits - 1};")
    taken += ["GLOBAL const u64* RESTRICT fits_table", "const u32 fits_first"]
    every = zip(declared, parameters, layout.slots, strict=True)
    for i, (text, parameter, slot) in enumerate(every):
        if slot is not None:
            kind = text[: text.index("*") + 1]
            lines.append(f"{text} = ({kind})(fits_{slot} + fits_row[{i}]);")
        elif parameter.type == "f32":
            lines.append(f"{text} = as_f32((u32)fits_row[{i}]);")
        else:
            lines.append(f"{text} = ({parameter.type})fits_row[{i}];")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{begin}{name}({', '.join(taken)}) {{\n{body}"


#: For the ids of allocations: each, and the bytes from a fit's arrays there to the next fit's.
Steps = Mapping[int, tuple[DeviceArray, int]]


@dataclass
class _Step:
    """Launches of all fits that are alike.

    Attributes
    ----------
    bound : list of BoundKernel
        One of each fit; the first one alone where the others' places follow from its own.
    n_fits : int
    together : list of (int or None)
        For each argument the number of the first one that lies in the same allocation, in every
        fit; None for numbers.
    shared : list of bool
        For each argument whether it lies in one allocation for all fits.
    words : list of int
        What the arguments are, fit by fit: places in an allocation, and numbers.
    """

    bound: list[BoundKernel]
    n_fits: int
    together: list[int | None]
    shared: list[bool]
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
        return cls(bound, len(bound), _first_ones(every), [len(set(k)) == 1 for k in every], words)

    @classmethod
    def moved(cls, one: BoundKernel, n_fits: int, steps: Steps) -> _Step | None:
        """Return the launches of all fits by the first one's; None if an array lies elsewhere."""
        words: list[int] = []
        moves: list[int] = []
        wholes: list[int | None] = []
        for arg in one.args:
            if not isinstance(arg, DeviceArray):
                words.append(_word(arg))
                moves.append(0)
                wholes.append(None)
                continue
            whole, begin = arg.place
            known = steps.get(id(whole))
            if known is None:
                return None
            words.append(begin)
            moves.append(known[1])
            wholes.append(id(whole))
        every = [
            word + fit * move
            for fit in range(n_fits)
            for word, move in zip(words, moves, strict=True)
        ]
        keys = [(whole,) for whole in wholes]
        return cls([one], n_fits, _first_ones(keys), [True] * len(keys), every)

    @property
    def program(self) -> Program:
        """Of the first fit; the others' have the same source."""
        return self.bound[0].program

    def allocations(self, layout: ArgumentLayout) -> list[DeviceArray]:
        """Return the allocations that the joined kernel takes, in order."""
        found: list[DeviceArray] = []
        for n, shared in enumerate(layout.shared):
            at = layout.slots.index(n)
            found += [one.args[at].place[0] for one in self.bound[: 1 if shared else None]]
        return found


def _first_ones(keys: Sequence[tuple[int | None, ...]]) -> list[int | None]:
    """Return the number of the first key that equals each one; None for numbers."""
    first: dict[tuple[int | None, ...], int] = {}
    return [
        None if key[0] is None else first.setdefault(key, number) for number, key in enumerate(keys)
    ]


def _word(number: Any) -> int:
    """Return a number as 64 bits."""
    if number.__class__ is np.float32:
        return int(number.view(np.uint32))
    return int(number) & 0xFFFF_FFFF_FFFF_FFFF


def joined(fits: Sequence[Sequence[Action]]) -> list[Action]:
    """Return what does the actions of several fits, launches that are alike by one launch.

    Parameters
    ----------
    fits : sequence of sequence of Action
        Of each fit; all are enqueued in one queue. Each keeps its order.
    """
    if len({len(own) for own in fits}) != 1:
        return list(chain.from_iterable(fits))
    actions = list(zip(*fits, strict=True))
    places: dict[int, tuple[DeviceArray, int]] = {}
    steps = [_step(own, places) for own in actions]
    launches = iter(_launches([step for step in steps if step is not None]))
    found: list[Action] = []
    for own, step in zip(actions, steps, strict=True):
        one = None if step is None else next(launches)
        found += own if one is None else [one]
    return found


def joined_by_first(first: Sequence[Action], n_fits: int, steps: Steps) -> list[Action] | None:
    """Return what does the actions of several fits that differ in the places of arrays alone.

    The others' launches are not bound.

    Parameters
    ----------
    first : sequence of Action
        Of the first fit.
    n_fits : int
    steps : mapping of int to (DeviceArray, int)
        Where the others' arrays lie.

    Returns
    -------
    list of Action, or None
        None: an action is no launch, an array of it lies elsewhere, or the device does not take a
        joined launch.
    """
    found: list[_Step] = []
    for action in first:
        one = _kernel(action)
        step = None if one is None else _Step.moved(one, n_fits, steps)
        if step is None or step.program.wg_size == 1:
            return None
        found.append(step)
    launches = [one for one in _launches(found) if one is not None]
    return [*launches] if len(launches) == len(found) else None


def _kernel(action: Action) -> BoundKernel | None:
    called: object = action.enqueue if isinstance(action, Launch) else None
    return called if isinstance(called, BoundKernel) else None


def _step(actions: Sequence[Action], places: dict[int, tuple[DeviceArray, int]]) -> _Step | None:
    """Return the launches of all fits; None if they are not alike."""
    bound = [one for one in map(_kernel, actions) if one is not None]
    kinds = {(one.program.source, one.program.wg_size, one.name, one.grid) for one in bound}
    is_alike = len(bound) == len(actions) > 1 and len(kinds) == 1 and bound[0].program.wg_size > 1
    return _Step.of(bound, places) if is_alike else None


def _launches(steps: Sequence[_Step]) -> list[Launch | None]:
    """Return a launch of each step; None where the device does not take it."""
    programs = _programs(steps)
    table, begins = _table(steps)
    return [_bound(step, programs, table, begins[id(step)]) for step in steps]


#: A rendered source and the work-items of its groups.
_Key = tuple[str, int]


@dataclass
class _Joined:
    """A program of several fits, and the layouts of its kernels."""

    program: Program
    layouts: Mapping[str, ArgumentLayout]


def _programs(steps: Sequence[_Step]) -> dict[_Key, _Joined]:
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
            program = own.of_source(joined_source(own.source, n_fits, own.place_in_z, own_layouts))
            if program.wg_size == own.wg_size:
                found[key] = _Joined(program, layouts)
    return found


def _layout(steps: Sequence[_Step]) -> ArgumentLayout:
    """Return a layout that suits all launches of a kernel."""
    numbers: dict[tuple[int | None, ...], int] = {}
    slots: list[int | None] = []
    shared: list[bool] = []
    every = zip(*(step.together for step in steps), strict=True)
    for at, firsts in enumerate(every):
        if firsts[0] is None:
            slots.append(None)
            continue
        slots.append(numbers.setdefault(firsts, len(numbers)))
        if len(shared) < len(numbers):
            shared.append(all(step.shared[at] for step in steps))
    return ArgumentLayout(tuple(slots), tuple(shared))


def _table(steps: Sequence[_Step]) -> tuple[DeviceArray | None, dict[int, int]]:
    """Return the rows of all steps, and where those of each step begin."""
    words: list[int] = []
    begins: dict[int, int] = {}
    for step in steps:
        begins[id(step)] = len(words)
        words += step.words
    if not words:
        return None, begins
    whole: npt.NDArray[np.uint64] = np.array(words, np.uint64)
    return steps[0].program.device.upload(whole), begins


def _bound(
    step: _Step, programs: Mapping[_Key, _Joined], table: DeviceArray | None, begin: int
) -> Launch | None:
    """Return a joined launch; None if the device does not take it."""
    joint = programs.get((step.program.source, step.program.wg_size))
    if joint is None:
        return None
    one, n_fits = step.bound[0], step.n_fits
    args = (*step.allocations(joint.layouts[one.name]), table, np.uint32(begin))
    with contextlib.suppress(KernelBuildError, KernelLaunchError):
        return joint.program.bind_fits(one.name, one.grid[:2], args, n_fits)
    return None
