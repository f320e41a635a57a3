"""How much a launch may do on a GPU, so that no kernel runs for long.

Drivers of GPUs that show a picture reset what runs for longer than 0.5 to 2 s, and the picture does
not move meanwhile. So kernels that read many rows do it in pieces, whose size follows from the
device's speed. No result depends on the pieces. CPUs have no such limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.program import Groups, Launch, Program

#: Seconds that a kernel takes at most on a GPU.
LONGEST_SECONDS = 0.2
#: Share of a copy's speed that every kernel reaches: the histogram, which adds the most for each
#: byte, has 0.25 on an H200 (11 M x 28, 0.33 ms). Half of it is left for other devices.
SHARE = 0.125
#: Bytes a second of a compute unit whose speed was not measured. NVIDIA's cards copy more: an L4
#: 5.2 GB/s for each of 58, a T4 8 for each of 40, an H200 31 for each of 132.
UNIT_SPEED = 5_000_000_000
_NO_LIMIT = 1 << 62


def bytes_a_launch(caps: Capabilities) -> int:
    """Return how many bytes a launch may read and write, counted once each, on a device."""
    if caps.kind == "cpu":
        return _NO_LIMIT
    speed = caps.copy_speed or UNIT_SPEED * caps.compute_units
    return int(LONGEST_SECONDS * SHARE * speed)


@dataclass(frozen=True)
class Parts:
    """Launches that share the tasks of a kernel.

    The kernel has the arguments ``n_groups``, the work-groups of all launches, and ``first_group``,
    the number of a launch's first one among them.

    Attributes
    ----------
    n_parts : int
        At least 1.
    """

    n_parts: int

    @classmethod
    def of(cls, caps: Capabilities, n_bytes: float) -> Parts:
        """Return as many as a kernel needs that reads and writes so many bytes."""
        return cls(max(1, ceil(n_bytes / bytes_a_launch(caps))))

    def bind(
        self, program: Program, kernel: str, groups: Groups, /, **named: object
    ) -> list[Launch]:
        """Return the launches of all parts; the arguments are those of ``Program.bind``."""
        width = groups if isinstance(groups, int) else groups[0]
        shared = {**named, "n_groups": self.n_parts * width}
        return [
            program.bind(kernel, groups, first_group=part * width, **shared)
            for part in range(self.n_parts)
        ]


def rows_a_launch(caps: Capabilities, row_bytes: float) -> int:
    """Return how many rows a launch may take, at least 1.

    Parameters
    ----------
    caps : Capabilities
    row_bytes : float
        Bytes that the kernel reads and writes for each row.
    """
    return max(1, int(bytes_a_launch(caps) / max(row_bytes, 1)))
