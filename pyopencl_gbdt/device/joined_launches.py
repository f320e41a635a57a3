"""Launches of several fits as one launch, in which every fit has work-groups of its own.

    one after another   | a: groups 0 1 2 |   | b: groups 0 1 2 |
    joined              | a: groups 0 1 2, b: groups 0 1 2      |   z tells the fit

Fits of one kind launch the same kernels, with arrays of their own. A joined kernel takes the
arguments of all of them, and a work-group chooses those of its fit; then it does what it does in
a launch of that fit alone. So no result changes. The fits share a queue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from pyopencl_gbdt.device.program import Action, BoundKernel, Launch
from pyopencl_gbdt.device.signature import signatures
from pyopencl_gbdt.errors import KernelBuildError

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
    found: list[Action] = []
    for actions in zip(*fits, strict=True):
        one = _joined(actions)
        found += actions if one is None else [one]
    return found


def _joined(actions: Sequence[Action]) -> Launch | None:
    """Return one launch in place of several; None if they are not alike."""
    called: list[object] = [action.enqueue for action in actions if isinstance(action, Launch)]
    bound = [one for one in called if isinstance(one, BoundKernel)]
    if len(bound) < max(2, len(actions)):
        return None
    first = bound[0].program
    kinds = {(one.program.source, one.program.wg_size, one.name, one.grid) for one in bound}
    if len(kinds) > 1 or first.wg_size == 1:
        return None
    try:
        program = first.of_fits(len(bound))
    except KernelBuildError:
        return None
    return program.bind_fits(bound[0].name, bound) if program.wg_size == first.wg_size else None
