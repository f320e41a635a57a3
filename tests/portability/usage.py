"""What a kernel takes of its chip, and how much of the chip it can fill then."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.portability.targets import Target

KIB = 1024


class CompileError(Exception):
    """A kernel does not compile; the compiler's log."""


@dataclass(frozen=True)
class Usage:
    """Resources of one kernel.

    Attributes
    ----------
    registers : int
        VGPRs of a lane (AMD), registers of a thread (NVIDIA), GRF of a hardware thread (Intel).
    spilled : int
        Registers (AMD, Intel) or bytes (NVIDIA) that did not fit and went to memory.
    scratch_bytes : int
        Private memory of a work-item that is no spill, such as an array.
    local_bytes : int
        Local memory of a work-group.
    width : int
        Work-items that a wave, warp or hardware thread holds.
    occupancy : float
        Share of the waves, warps or threads of a compute unit that can be there at once.
    in_lanes : int
        Scalar registers (AMD) that lie in lanes of vector registers: no memory is touched.
    """

    kernel: str
    registers: int
    spilled: int
    scratch_bytes: int
    local_bytes: int
    width: int
    occupancy: float
    in_lanes: int = 0


@dataclass(frozen=True)
class Made:
    """What a compiler makes of one program.

    Attributes
    ----------
    usages : list of Usage
        Of its kernels.
    seconds : float
        Of the processor; of one that compiles in batches, a batch's by the number of programs.
    faults : list of str
        What is wrong with the code itself.
    """

    usages: list[Usage]
    seconds: float
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Unit:
    """What the work-groups of one compute unit share."""

    threads: int
    """Warps or hardware threads."""
    local_bytes: int
    registers: int
    """32-bit registers of all threads; 0 where a thread's own do not limit how many there are."""
    groups: int


#: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_NVIDIA = {
    "sm_60": _Unit(64, 64 * KIB, 65536, 32),
    "sm_70": _Unit(64, 96 * KIB, 65536, 32),
    "sm_80": _Unit(64, 164 * KIB, 65536, 32),
    "sm_90": _Unit(64, 228 * KIB, 65536, 32),
    "sm_100": _Unit(64, 228 * KIB, 65536, 32),
    "sm_120": _Unit(48, 100 * KIB, 65536, 24),
}
#: oneAPI GPU Optimization Guide, "Intel Xe GPU Architecture": a subslice (skl) or Xe core. Of Xe2
#: and Xe3: 8 engines with the 8 threads that the compiler names (``eu_thread_count``).
_INTEL = {
    "skl": _Unit(56, 64 * KIB, 0, 16),
    "tgllp": _Unit(112, 128 * KIB, 0, 32),
    "dg2": _Unit(128, 128 * KIB, 0, 64),
    "pvc": _Unit(64, 128 * KIB, 0, 64),
    "bmg": _Unit(64, 128 * KIB, 0, 64),
    "lnl": _Unit(64, 128 * KIB, 0, 64),
    "ptl": _Unit(64, 128 * KIB, 0, 64),
}


def occupancy(
    target: Target, wg_size: int, *, width: int, registers: int, local_bytes: int
) -> float:
    """Return the share of a compute unit's threads that work-groups of this kernel can fill.

    Parameters
    ----------
    target : Target
        Of Intel or NVIDIA; AMD's compiler says it itself.
    wg_size, width : int
        Work-items of a work-group, and of a warp or hardware thread.
    registers, local_bytes : int
        Of a work-item, of a work-group.
    """
    unit = (_NVIDIA if target.maker == "nvidia" else _INTEL)[target.chip]
    per_group = -(-wg_size // width)
    groups = min(unit.groups, unit.threads // per_group)
    if unit.registers and registers:
        by_thread = -(-registers * width // 256) * 256  # handed out in units of 256
        groups = min(groups, unit.registers // (by_thread * per_group))
    if local_bytes:
        piece = -(-local_bytes // KIB) * KIB
        if target.maker == "intel":  # in powers of two
            piece = 1 << (piece - 1).bit_length()
        groups = min(groups, unit.local_bytes // piece)
    return groups * per_group / unit.threads
