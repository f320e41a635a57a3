"""Launches of several fits as one launch, in which every fit has work-groups of its own.

    one after another   | a: groups 0 1 2 |   | b: groups 0 1 2 |
    joined              | a: groups 0 1 2, b: groups 0 1 2      |   z tells the fit

Fits of one kind launch the same kernels, with arrays of their own. In a joined launch a work-group
chooses the arguments of its fit; then it does what it does in a launch of that fit alone. So no
result changes. The fits share a queue.

A driver takes 0.2 us for each array that a launch passes, and five fits have 60 to 100. So a
joined kernel takes the allocations in which the arrays lie, few of each fit, and a table:

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
from pyopencl_gbdt.device.signature import Parameter, signatures
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_KERNEL = re.compile(r"(\bKERNEL\(\s*\d+\s*\)\s*)(\w+)\s*\(([^()]*)\)\s*\{")
#: Of each parameter of a kernel the number of the allocation in which its array lies, the same
#: number for arrays that lie together in every fit; None for a number.
Layout = tuple[int | None, ...]


@lru_cache(maxsize=128)
def joined_source(
    source: str, n_fits: int, place: str, layouts: tuple[tuple[str, Layout], ...]
) -> str:
    """Return a rendered source some of whose kernels serve several fits.

    Parameters
    ----------
    source : str
    n_fits : int
    place : str
        The expression of the work-group's place in z.
    layouts : tuple of (str, Layout)
        Of each kernel that serves several fits.
    """

    def kernel(found: re.Match[str]) -> str:
        begin, name, listed = found.groups()
        if name not in layout_of:
            return found.group()
        declared = [" ".join(text.split()) for text in listed.split(",")]
        return _head(begin, name, declared, known[name], layout_of[name], n_fits, place)

    known, layout_of = signatures(source), dict(layouts)
    return _KERNEL.sub(kernel, _COMMENT.sub(" ", source))


def _head(
    begin: str,
    name: str,
    declared: Sequence[str],
    parameters: Sequence[Parameter],
    layout: Layout,
    n_fits: int,
    place: str,
) -> str:
    """Return a joined kernel's parameters, and what chooses those of its fit."""
    n_wholes = n_allocations(layout)
    taken = [f"GLOBAL u8* fits_{n}_{fit}" for n in range(n_wholes) for fit in range(n_fits)]
    taken += ["GLOBAL const u64* RESTRICT fits_table", "const u32 fits_first"]
    lines = [f"GLOBAL const u64* fits_row = fits_table + fits_first + {len(layout)} * {place};"]
    for n in range(n_wholes):
        earlier = [f"{place} == {fit} ? fits_{n}_{fit} : " for fit in range(n_fits - 1)]
        lines.append(f"GLOBAL u8* fits_{n} = {''.join(earlier)}fits_{n}_{n_fits - 1};")
    for i, (text, parameter, n) in enumerate(zip(declared, parameters, layout, strict=True)):
        if n is not None:
            kind = text[: text.index("*") + 1]
            lines.append(f"{text} = ({kind})(fits_{n} + fits_row[{i}]);")
        elif parameter.type == "f32":
            lines.append(f"{text} = as_f32((u32)fits_row[{i}]);")
        else:
            lines.append(f"{text} = ({parameter.type})fits_row[{i}];")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{begin}{name}({', '.join(taken)}) {{\n{body}"


def n_allocations(layout: Layout) -> int:
    """Return how many allocations of each fit a kernel takes."""
    return max((n + 1 for n in layout if n is not None), default=0)


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
        self.together = [
            None if key[0] is None else first.setdefault(key, number)
            for number, key in enumerate(zip(*keys, strict=True))
        ]

    @property
    def program(self) -> Program:
        """Of the first fit; the others' have the same source."""
        return self.bound[0].program

    def allocations(self, layout: Layout) -> list[DeviceArray]:
        """Return the allocations that the joined kernel takes, in order."""
        found: list[DeviceArray] = []
        for n in range(n_allocations(layout)):
            at = layout.index(n)
            found += [one.args[at].place[0] for one in self.bound]
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
    layouts: Mapping[str, Layout]


def _programs(steps: Sequence[_Step]) -> dict[_Key, _Joined]:
    """Return the programs of joined launches, by those of the fits; all builds begin at once."""
    together: dict[_Key, dict[str, list[list[int | None]]]] = {}
    example: dict[_Key, _Step] = {}
    for step in steps:
        key = step.program.source, step.program.wg_size
        example.setdefault(key, step)
        together.setdefault(key, {}).setdefault(step.bound[0].name, []).append(step.together)
    found: dict[_Key, _Joined] = {}
    for key, kernels in together.items():
        layouts = {name: _layout(every) for name, every in kernels.items()}
        own, n_fits = example[key].program, len(example[key].bound)
        with contextlib.suppress(KernelBuildError):
            own_layouts = tuple(sorted(layouts.items()))
            program = own.of_source(joined_source(own.source, n_fits, own.place_in_z, own_layouts))
            if program.wg_size == own.wg_size:
                found[key] = _Joined(program, layouts)
    return found


def _layout(every: Sequence[Sequence[int | None]]) -> Layout:
    """Return a layout that suits all launches of a kernel, from what lies together in each."""
    numbers: dict[tuple[int | None, ...], int] = {}
    return tuple(
        None if firsts[0] is None else numbers.setdefault(firsts, len(numbers))
        for firsts in zip(*every, strict=True)
    )


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
