"""Launches of several fits as one launch, in which every fit has work-groups of its own.

    one after another   | a: groups 0 1 2 |   | b: groups 0 1 2 |
    joined              | a: groups 0 1 2, b: groups 0 1 2      |   z tells the fit

Fits of one kind launch the same kernels, with arrays of their own. A joined kernel takes the
arguments of all of them, and a work-group chooses those of its fit; then it does what it does in
a launch of that fit alone. So no result changes. The fits share a queue.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from pyopencl_gbdt.device.program import Action, BoundKernel, Launch, Program
from pyopencl_gbdt.device.signature import signatures
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_KERNEL = re.compile(r"(\bKERNEL\(\s*\d+\s*\)\s*)(\w+)\s*\(([^()]*)\)\s*\{")


@lru_cache(maxsize=128)
def joined_source(source: str, n_fits: int, place: str) -> str:
    """Return a rendered source whose kernels serve several fits.

    Parameters
    ----------
    source : str
    n_fits : int
        Every parameter of a kernel becomes so many, one behind the other.
    place : str
        The expression of the work-group's place in z.
    """

    def kernel(found: re.Match[str]) -> str:
        begin, name, listed = found.groups()
        names = [parameter.name for parameter in known[name]]
        declared = [text.strip() for text in listed.split(",")]
        taken = [f"{text}_{fit}" for text in declared for fit in range(n_fits)]
        chosen = [
            f"    {text} = {_choice(own, n_fits, place)};\n"
            for text, own in zip(declared, names, strict=True)
        ]
        return f"{begin}{name}({', '.join(taken)}) {{\n{''.join(chosen)}"

    known = signatures(source)
    return _KERNEL.sub(kernel, _COMMENT.sub(" ", source))


def _choice(name: str, n_fits: int, place: str) -> str:
    earlier = [f"{place} == {fit} ? {name}_{fit} : " for fit in range(n_fits - 1)]
    return f"{''.join(earlier)}{name}_{n_fits - 1}"


def joined(fits: Sequence[Sequence[Action]]) -> list[Action]:
    """Return what does the actions of several fits, launches that are alike by one launch.

    Parameters
    ----------
    fits : sequence of sequence of Action
        Of each fit; all are enqueued in one queue. Each keeps its order.
    """
    if len({len(own) for own in fits}) != 1:
        return list(chain.from_iterable(fits))
    steps = list(zip(*fits, strict=True))
    programs = [_program(_alike(step)) for step in steps]  # begin all builds before one is needed
    found: list[Action] = []
    for step, program in zip(steps, programs, strict=True):
        one = None if program is None else _bound(program, _alike(step))
        found += step if one is None else [one]
    return found


def _alike(actions: Sequence[Action]) -> list[BoundKernel]:
    """Return what the launches of all fits call; nothing if they are not alike."""
    called: list[object] = [action.enqueue for action in actions if isinstance(action, Launch)]
    bound = [one for one in called if isinstance(one, BoundKernel)]
    kinds = {(one.program.source, one.program.wg_size, one.name, one.grid) for one in bound}
    is_alike = len(bound) == len(actions) > 1 and len(kinds) == 1 and bound[0].program.wg_size > 1
    return bound if is_alike else []


def _program(bound: list[BoundKernel]) -> Program | None:
    """Return the program of a joined launch; None if there is none."""
    if not bound:
        return None
    with contextlib.suppress(KernelBuildError):
        program = bound[0].program.of_fits(len(bound))
        if program.wg_size == bound[0].program.wg_size:
            return program
    return None


def _bound(program: Program, bound: list[BoundKernel]) -> Launch | None:
    with contextlib.suppress(KernelBuildError, KernelLaunchError):
        return program.bind_fits(bound[0].name, bound)
    return None
