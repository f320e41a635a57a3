"""A launch of one work-group as the end of the launch before it.

    one after the other   | find: groups 0 1 2 .. |  | decide: one group |
    joined                | find: groups 0 1 2 ..; the last one that finishes decides |

A round of few rows takes as long as its launches take the host, of which every other one has one
work-group. The kernel of such a launch becomes a block at the end of the kernel before it, see
``followed_source``. A group does there what it does alone, so no result changes.

Work-groups count their arrivals in global memory (``cl_kernels/last_group.h``), and none waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.program import Action, BoundKernel, Launch, Program, bound_kernel
from pyopencl_gbdt.device.render import used_headers
from pyopencl_gbdt.device.signature import Parameter, signatures
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError
from pyopencl_gbdt.lazy_dataclasses import dataclass


def _as_built(program: Program) -> Program:
    return program


def followed(
    actions: Sequence[Action],
    pairs: Mapping[str, str],
    arrived: DeviceArray,
    built: Callable[[Program], Program] = _as_built,
) -> list[Action]:
    """Return the same actions, some launches of one work-group as the end of those before them.

    A pair of launches stays as it is where its kernels cannot be joined, or the driver does not
    build the joined one.

    Parameters
    ----------
    actions : sequence of Action
        Enqueued one after the other in one queue.
    pairs : mapping of str to str
        Kernels, and those that may follow them.
    arrived : uint32 array of one element
        0 between launches.
    built : callable
        Is given every new program, and returns it.
    """
    begun: list[tuple[Sequence[Action], _Begun | None]] = []
    place = 0
    while place < len(actions):  # begin all builds before one is needed
        own = actions[place : place + 2]
        wanted = _joined(own[0], own[1], pairs, arrived) if len(own) == 2 else None
        own = own if wanted else own[:1]
        begun.append((own, _begun(wanted, built)))
        place += len(own)
    found: list[Action] = []
    for own, made in begun:
        one = None if made is None else made.bound()
        found += own if one is None else [one]
    return found


@dataclass(frozen=True)
class _Wanted:
    """A launch whose program is not built yet; ``first`` has its work-groups."""

    source: str
    name: str
    first: BoundKernel
    args: tuple[Any, ...]


@dataclass(frozen=True)
class _Begun:
    """A launch whose program may still be being built."""

    program: Program
    wanted: _Wanted

    def bound(self) -> Launch | None:
        """Return the launch; None if its program does not build."""
        own = self.wanted
        with contextlib.suppress(KernelBuildError, KernelLaunchError):
            return self.program.bind_checked(own.name, own.first.grid[:2], own.args)
        return None


def _begun(wanted: _Wanted | None, built: Callable[[Program], Program]) -> _Begun | None:
    """Begin to build the program of joined launches; None if kernels are launched as they are."""
    if wanted is not None:
        with contextlib.suppress(KernelBuildError):
            one = wanted.first.program
            made: Program = one.device.build_rendered(one.kernel, wanted.source, one.wg_size, {})
            made.kernel, made.large_local = one.kernel, one.large_local
            if made.wg_size == one.wg_size:
                return _Begun(built(made), wanted)
    return None


def _joined(
    before: Action, after: Action, pairs: Mapping[str, str], arrived: DeviceArray
) -> _Wanted | None:
    """Return two launches as one; None if they stay two."""
    from pyopencl_gbdt.device.followed_source import NotFollowedError

    first, second = bound_kernel(before), bound_kernel(after)
    if first is None or second is None:
        return None
    small = second.grid == (1, 1, 1) and 0 not in first.grid and first.program.wg_size > 1
    if pairs.get(first.name) != second.name or not small or not second.program.template:
        return None
    shared = _shared(first, second)
    with contextlib.suppress(NotFollowedError):
        source = _source(first, second, shared)
        names = [one.name for one in signatures(second.program.source)[second.name]]
        own = zip(names, second.args, strict=True)
        rest = [value for name, value in own if name not in shared]
        args = *first.args, *rest, arrived
        return _Wanted(source, f"{first.name}_{second.name}", first, args)
    return None


@cache
def _headers(api: str, *templates: str) -> tuple[str, ...]:
    """Return the files that sources of these templates may contain."""
    used = {f"dialect_{api}", *chain.from_iterable(map(used_headers, templates))}
    return tuple(f"{word}.h" for word in sorted(used))


def _source(first: BoundKernel, second: BoundKernel, shared: Mapping[str, str]) -> str:
    from pyopencl_gbdt.device.followed_source import followed_source

    device, own, then = first.program.device, first.program, second.program
    api, wg_size = device.caps.api, own.wg_size
    text = then.source
    if then.wg_size != wg_size:
        text = device.programs.source(then.template, api, wg_size=wg_size, **then.params)
    headers = _headers(api, own.template, then.template)
    return followed_source(
        own.source, first.name, text, second.name, headers,
        tuple(sorted(shared.items())), first.grid == (1, 1, 1),
    )  # fmt: skip


def _shared(first: BoundKernel, second: BoundKernel) -> dict[str, str]:
    """Return the second kernel's parameters whose argument the first one has, and its names.

    Numbers are shared by their name, as launches of other levels have others.
    """
    from pyopencl_gbdt.device.followed_source import fixed_parameters

    fixed = fixed_parameters(first.program.source, first.name)
    numbers: dict[tuple[str, str], Any] = {}
    arrays: dict[tuple[str, int], list[str]] = {}
    for one, value in zip(_parameters(first), first.args, strict=True):
        if one.name in fixed and one.is_array:
            arrays.setdefault((one.type, id(value)), []).append(one.name)
        elif one.name in fixed:
            numbers[one.name, one.type] = value
    found: dict[str, str] = {}
    for one, value in zip(_parameters(second), second.args, strict=True):
        if not one.is_array:
            same = [one.name] if numbers.get((one.name, one.type)) == value else []
        else:
            same = arrays.get((one.type, id(value)), [])
        if same:
            found[one.name] = one.name if one.name in same else same[0]
    return found


def _parameters(bound: BoundKernel) -> tuple[Parameter, ...]:
    return signatures(bound.program.source)[bound.name]
