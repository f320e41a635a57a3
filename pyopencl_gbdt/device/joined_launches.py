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


class _Step:
    """Launches of all fits that are alike.

    Parameters
    ----------
    bound : list of BoundKernel
        One of each fit.
    places : dict
        Places of arrays that were asked for, by the array's id.

    Attributes
    ----------
    together : list of (int or None)
        For each argument the number of the first one that lies in the same allocation, in every
        fit; None for numbers.
    shared : list of bool
        For each argument whether it lies in one allocation for all fits.
    words : list of int
        What the arguments are, fit by fit: places in an allocation, and numbers.
    """

    def __init__(
        self, bound: list[BoundKernel], places: dict[int, tuple[DeviceArray, int]]
    ) -> None:
        self.bound = bound
        self.words: list[int] = []
        keys: list[list[int | None]] = []
        for one in bound:
            wholes: list[int | None] = []
            for arg in one.args:
                if isinstance(arg, DeviceArray):
                    place = places.get(id(arg))
                    if place is None:
                        place = places[id(arg)] = arg.place
                    wholes.append(id(place[0]))
                    self.words.append(place[1])
                else:
                    wholes.append(None)
                    self.words.append(_word(arg))
            keys.append(wholes)
        first: dict[tuple[int | None, ...], int] = {}
        every = list(zip(*keys, strict=True))
        self.together = [
            None if key[0] is None else first.setdefault(key, number)
            for number, key in enumerate(every)
        ]
        self.shared = [len(set(key)) == 1 for key in every]

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
    alike = [step for step in steps if step is not None]
    programs = _programs(alike)
    table, begins = _table(alike)
    found: list[Action] = []
    for own, step in zip(actions, steps, strict=True):
        one = None if step is None else _bound(step, programs, table, begins[id(step)])
        found += own if one is None else [one]
    return found


def _step(actions: Sequence[Action], places: dict[int, tuple[DeviceArray, int]]) -> _Step | None:
    """Return the launches of all fits; None if they are not alike."""
    called: list[object] = [action.enqueue for action in actions if isinstance(action, Launch)]
    bound = [one for one in called if isinstance(one, BoundKernel)]
    kinds = {(one.program.source, one.program.wg_size, one.name, one.grid) for one in bound}
    is_alike = len(bound) == len(actions) > 1 and len(kinds) == 1 and bound[0].program.wg_size > 1
    return _Step(bound, places) if is_alike else None


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
        own, n_fits = example.program, len(example.bound)
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
    one, n_fits = step.bound[0], len(step.bound)
    args = (*step.allocations(joint.layouts[one.name]), table, np.uint32(begin))
    with contextlib.suppress(KernelBuildError, KernelLaunchError):
        return joint.program.bind_fits(one.name, one.grid[:2], args, n_fits)
    return None
