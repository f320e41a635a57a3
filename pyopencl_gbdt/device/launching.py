"""How the launches of a round are made: which become one, and whether they take few arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial

import numpy as np

from pyopencl_gbdt.device import build_threads
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.drivers.fallback import Attempt
from pyopencl_gbdt.device.followed_source import without_kernels
from pyopencl_gbdt.device.last_group import followed
from pyopencl_gbdt.device.program import Action, Program, begin_builds, bound_kernel
from pyopencl_gbdt.device.switches import LAST_GROUP, PACKED_ARGUMENTS, asked
from pyopencl_gbdt.device.variants import KERNELS, choosing
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Kernels, and the kernel of one work-group that may follow each.
PAIRS = {
    "quantize_gradients": "begin_tree", "find": "decide", "move": "place", "finish_tree": "keep",
}  # fmt: skip
#: Templates of which these may be all kernels that a fit launches.
_WAIT = frozenset({"split", "level", "partition", "finalize"})
#: The same of those whose launches take few arguments.
_PACKED = _WAIT | {"gradients", "histogram", "histogram_banks", "plan", "update_margins"}


@dataclass(frozen=True)
class RoundSize:
    """What a round grows: trees level by level or not, and how many of what."""

    by_level: bool
    level_nodes: int
    """Most nodes of a level."""
    rows: int
    rounds: int
    """How many a fit has."""


class _Choice:
    """Whether a fit has the first variant of a kernel; if a launch fails, the next fit has not.

    ``environment``: its word takes the place of the rule.
    ``by_rule``: whether it is faster, on a device for which it is chosen.
    """

    def __init__(
        self,
        device: Device,
        kernel: str,
        environment: str,
        possible: bool,
        by_rule: bool,
    ) -> None:
        first, word = KERNELS[kernel].variants[0], asked(environment)
        self._attempt = Attempt(device, kernel, first)
        self._next = partial(choosing.choose, kernel, device.caps)
        self.taken = possible and word != "off"
        self.taken = self.taken and choosing.refusal(first, device.caps) not in choosing.REFUSED
        if word == "auto":
            self.taken = self.taken and by_rule and self._next().name == first.name

    def built(self, program: Program) -> Program:
        """Return a new program."""
        return self._attempt.built(program, self._next)


class Launching:
    """Makes launches of a fit's rounds few, and their arguments, or leaves them as they are.

    Joined, the last work-group of a launch does what else takes a launch. That is where groups see
    what others wrote, level by level, for trees of few nodes: one group takes longer for many.
    Packed, a launch passes few arguments, which take the host time through NVIDIA's OpenCL.
    """

    def __init__(self, arena: Arena, size: RoundSize) -> None:
        self._arena, device, caps = arena, arena.device, arena.device.caps
        joins, packs = (KERNELS[name].variants[0].params for name in ("last_group", "arguments"))
        by_level = size.by_level and device.profiler is None
        few = size.level_nodes <= joins["nodes"]
        self._joined = _Choice(
            device, "last_group", LAST_GROUP, by_level and few and caps.lookback,
            caps.api == "opencl",  # graphs of CUDA's gain nothing
        )  # fmt: skip
        alone = caps.api == "opencl" and device.room is None  # others' launches are joined with its
        small = size.rows <= packs["rows"] and size.rounds >= packs["rounds"]
        self._packed = _Choice(
            device, "arguments", PACKED_ARGUMENTS, by_level and alone, small and self.joins
        )
        arena.is_joint = self._packed.taken
        if self.joins:
            arena.array("arrived_groups", 1, np.uint32, zeros)  # every launch leaves it so

    @property
    def joins(self) -> bool:
        """Whether launches are joined."""
        return self._joined.taken

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """Let programs wait while kernels are built, if none of their kernels may be launched."""
        packed = _PACKED if self._packed.taken else frozenset[str]()
        return build_threads.waiting(packed | _WAIT if self.joins else packed)

    def alone(self, action: Action) -> Action:
        """Return a launch whose program is built for it alone, with no other kernel then."""
        kernel = bound_kernel(action)
        if kernel is None or not kernel.program.is_waiting:
            return action
        source = without_kernels(kernel.program.source, [kernel.name])
        program = kernel.program.of_source(source)
        return program.bind_checked(kernel.name, kernel.grid[:2], kernel.args)

    def actions(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions, by fewer launches and arguments where that is faster."""
        found = list(actions)
        with self.waiting():
            if self.joins:
                found = followed(found, PAIRS, self._arena["arrived_groups"], self._joined.built)
        if self._packed.taken:
            from pyopencl_gbdt.device.joined_launches import packed

            found = packed(found, self._packed.built)
        begin_builds(found)
        return found
