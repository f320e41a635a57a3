"""GPUs that are not here: what their drivers say of themselves, and their compilers' names.

Local memory and work-group limits as the vendors' OpenCL drivers report them; ROCm allows
work-groups of 256, other drivers for AMD's chips 1024, so some chips stand for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.drivers import makers

GIB = 1 << 30
#: What ``device/opencl/device.py`` and ``device/cuda/device.py`` build with; a test compares them.
OPENCL_OPTIONS = ("-cl-std=CL1.2",)
CUDA_OPTIONS = ("-fmad=false", "-ftz=false", "--std=c++14")


@dataclass(frozen=True)
class Target:
    """A chip to compile for.

    Attributes
    ----------
    maker : {"amd", "intel", "nvidia"}
    chip : str
        The compiler's name for it.
    people_say : str
        Names under which people know it.
    caps : Capabilities
    whole : bool
        Whether the chip gets every kernel and every value of its parameters by default. Others get
        those that need most registers: of each template and variant that grows trees, the longest.
    on_request : bool
        Whether the chip is left out by default, as its instructions are nearly those of another.
    row : str
        Row of the matrix, which names the compiler.
    most_spilled : int
        Registers of a hardware thread that a kernel may spill. A chip whose least sub-group is 16
        cannot be given a narrower one instead, and the compiler takes few spills rather than half
        as many threads.
    """

    maker: str
    chip: str
    people_say: str
    caps: Capabilities
    whole: bool = False
    on_request: bool = False
    row: str = ""
    most_spilled: int = 0


_GPU = Capabilities(
    api="opencl",
    device_id="opencl:0:0",
    name="",
    platform="",
    vendor="",
    driver="offline",
    kind="gpu",
    is_simulator=False,
    compute_units=64,
    max_work_group=256,
    local_bytes=64 * 1024,
    global_bytes=16 * GIB,
    max_alloc_bytes=4 * GIB,
    int32_atomics=True,
    int64_atomics=True,
    lookback=False,
    warp_words=False,
    fp64=True,
    unified_memory=False,
)


def _amd(chip: str, people_say: str, max_work_group: int = 256) -> Target:
    caps = replace(
        _GPU, name=chip, vendor="AMD", platform="AMD Accelerated Parallel Processing",
        max_work_group=max_work_group,
    )  # fmt: skip
    caps = replace(caps, registers=makers.registers(caps))
    return Target("amd", chip, people_say, caps)


def _intel(
    chip: str, people_say: str, max_work_group: int, local_kib: int = 64, most_spilled: int = 0
) -> Target:
    caps = replace(
        _GPU, name=chip, vendor="Intel", platform="Intel(R) OpenCL Graphics",
        max_work_group=max_work_group, local_bytes=local_kib * 1024,
        fp64=chip not in ("tgllp", "dg2"),
    )  # fmt: skip
    return Target("intel", chip, people_say, caps, most_spilled=most_spilled)


def _nvidia(number: int, people_say: str, unit_local_kib: int) -> Target:
    caps = replace(
        _GPU, api="cuda", device_id="cuda:0", name=f"sm_{number}", vendor="NVIDIA",
        platform="CUDA", max_work_group=1024, local_bytes=48 * 1024,
        warp_words=number >= 70, lookback=number >= 70, unit_local_bytes=unit_local_kib * 1024,
        registers=255,
    )  # fmt: skip
    return Target("nvidia", f"sm_{number}", people_say, caps)


AMD = (
    _amd("gfx906", "Instinct MI50, Radeon VII"),
    _amd("gfx90a", "Instinct MI200", 1024),
    _amd("gfx942", "Instinct MI300", 1024),
    _amd("gfx1030", "Radeon RX 6800, 6900"),
    _amd("gfx1100", "Radeon RX 7900"),
    _amd("gfx1201", "Radeon RX 9070", 1024),
)
INTEL = (
    _intel("skl", "HD and UHD Graphics 510 to 580", 256),
    _intel("tgllp", "Iris Xe", 512),
    _intel("dg2", "Arc A", 1024),
    _intel("pvc", "Data Center GPU Max", 1024, 128),
)
#: For the newest compiler, which has given up skl.
INTEL_NEW = (
    INTEL[2],
    replace(INTEL[3], most_spilled=16),
    _intel("bmg", "Arc B", 1024, 128, most_spilled=16),
    _intel("lnl", "Core Ultra 200V", 1024, 128, most_spilled=16),
    _intel("ptl", "Core Ultra 300", 1024, 128, most_spilled=16),
)
NVIDIA = (
    _nvidia(60, "P100", 64),
    _nvidia(70, "V100", 96),
    _nvidia(80, "A100", 164),
    _nvidia(90, "H100, H200", 228),
    _nvidia(100, "B100, B200", 228),
    _nvidia(120, "GeForce RTX 50", 100),
)


def _row(row: str, chips: tuple[Target, ...], whole: str, on_request: str) -> tuple[Target, ...]:
    """Return chips of a row; ``whole`` and ``on_request`` are names between spaces."""
    every, left_out = whole.split(), on_request.split()
    return tuple(
        replace(c, row=row, whole=c.chip in every, on_request=c.chip in left_out) for c in chips
    )


#: The chips of each row. One of each compiler's gets every kernel: it has double precision and, of
#: NVIDIA's, the operations of warps. Those on request are nearly as one that is not.
ALL = {
    "amd": _row("amd", AMD, "gfx906", "gfx90a gfx942 gfx1030 gfx1100"),
    "amd-comgr": _row("amd-comgr", AMD, "gfx1030", "gfx90a gfx1100"),
    "intel-gpu": _row("intel-gpu", INTEL, "pvc", "tgllp dg2"),
    "intel-gpu-new": _row("intel-gpu-new", INTEL_NEW, "bmg", "lnl"),
    "nvidia": _row("nvidia", NVIDIA, "sm_90", "sm_70 sm_80 sm_100 sm_120"),
}
