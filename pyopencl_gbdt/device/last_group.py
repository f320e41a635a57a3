"""A launch of one work-group as the end of the launch before it.

    one after the other   | find: groups 0 1 2 .. |  | decide: one group |
    joined                | find: groups 0 1 2 ..; the last one that finishes decides |

A round of few rows takes as long as its launches take the host, of which every other one has one
work-group. The kernel of such a launch becomes a block at the end of the kernel before it, see
``followed_source``; where several follow, they are joined from the last one on. A group does there
what it does alone, so no result changes.

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

    Launches stay as they are where their kernels cannot be joined, or the driver does not build the
    joined one.

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
    every: list[tuple[Sequence[Action], _Begun | None]] = []
    place = 0
    while place < len(actions):  # begin all builds before one is needed
        run, wanted = _run(actions[place:], pairs), None
        while len(run) > 1 and (wanted := _joined(run, arrived)) is None:
            run.pop()
        own = actions[place : place + max(1, len(run))]
        every.append((own, _begun(wanted, built)))
        place += len(own)
    found: list[Action] = []
    for own, made in every:
        one = None if made is None else made.bound()
        found += own if one is None else [one]
    return found


def _run(actions: Sequence[Action], pairs: Mapping[str, str]) -> list[BoundKernel]:
    """Return the first kernels of a list, each of which may follow the one before."""
    found: list[BoundKernel] = []
    for one in map(bound_kernel, actions):
        if one is None or (found and pairs.get(found[-1].name) != one.name):
            break
        found.append(one)
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


def _joined(run: Sequence[BoundKernel], arrived: DeviceArray) -> _Wanted | None:
    """Return launches as one; None if they stay apart."""
    from pyopencl_gbdt.device.followed_source import NotFollowedError

    first, *others = run
    small = all(one.grid == (1, 1, 1) and one.program.template for one in others)
    if not small or 0 in first.grid or first.program.wg_size == 1:
        return None
    headers = _headers(first.program.device.caps.api, *(one.program.template for one in run))
    calls = [KernelCall.of(one, first.program.wg_size) for one in run]
    then = calls.pop()
    with contextlib.suppress(NotFollowedError):
        while calls:
            one = calls.pop()
            then = _followed(one, then, headers, arrived, run[len(calls)].grid == (1, 1, 1))
        return _Wanted(then.source, then.name, first, then.args)
    return None


@dataclass(frozen=True)
class KernelCall:
    """A kernel of a rendered source, and its arguments in order."""

    source: str
    name: str
    args: tuple[Any, ...]

    @classmethod
    def of(cls, bound: BoundKernel, wg_size: int) -> KernelCall:
        """Return a launch's kernel, rendered for groups of this size."""
        own = bound.program
        text = own.source
        if own.wg_size != wg_size:
            programs, api = own.device.programs, own.device.caps.api
            text = programs.source(own.template, api, wg_size=wg_size, **own.params)
        return cls(text, bound.name, bound.args)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters."""
        return signatures(self.source)[self.name]

    def apart(self, shared: Mapping[str, str]) -> tuple[Any, ...]:
        """Return the arguments of the parameters that are not shared."""
        own = zip(self.parameters, self.args, strict=True)
        return tuple(value for one, value in own if one.name not in shared)


def _followed(
    first: KernelCall, then: KernelCall, headers: tuple[str, ...], arrived: DeviceArray, alone: bool
) -> KernelCall:
    """Return two kernels as one; ``alone``: the first one has one work-group, too."""
    from pyopencl_gbdt.device.followed_source import followed_source

    shared = _shared(first, then)
    source = followed_source(
        first.source, first.name, then.source, then.name, headers, tuple(sorted(shared.items())),
        alone,
    )  # fmt: skip
    return KernelCall(
        source, f"{first.name}_{then.name}", (*first.args, *then.apart(shared), arrived)
    )


@cache
def _headers(api: str, *templates: str) -> tuple[str, ...]:
    """Return the files that sources of these templates may contain."""
    used = {f"dialect_{api}", *chain.from_iterable(map(used_headers, templates))}
    return tuple(f"{word}.h" for word in sorted(used))


def _shared(first: KernelCall, second: KernelCall) -> dict[str, str]:
    """Return the second kernel's parameters whose argument the first one has, and its names.

    Numbers are shared by their name, as launches of other levels have others.
    """
    from pyopencl_gbdt.device.followed_source import fixed_parameters

    fixed = fixed_parameters(first.source, first.name)
    numbers: dict[tuple[str, str], Any] = {}
    arrays: dict[tuple[str, int], list[str]] = {}
    for one, value in zip(first.parameters, first.args, strict=True):
        if one.name in fixed and one.is_array:
            arrays.setdefault((one.type, id(value)), []).append(one.name)
        elif one.name in fixed:
            numbers[one.name, one.type] = value
    found: dict[str, str] = {}
    for one, value in zip(second.parameters, second.args, strict=True):
        if not one.is_array:
            same = [one.name] if numbers.get((one.name, one.type)) == value else []
        else:
            same = arrays.get((one.type, id(value)), [])
        if same:
            found[one.name] = one.name if one.name in same else same[0]
    return found
