"""GPUs that are not here: what their drivers say of themselves, and their compilers' names.

Local memory and work-group limits as the vendors' OpenCL drivers report them; ROCm allows
work-groups of 256, other drivers for AMD's chips 1024, so some chips stand for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyopencl_gbdt.device import Capabilities

GIB = 1 << 30


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
        Whether the chip gets all programs by default. Others get the kernels that grow trees, which
        need most registers.
    on_request : bool
        Whether the chip is left out by default, as its instructions are nearly those of another.
    """

    maker: str
    chip: str
    people_say: str
    caps: Capabilities
    whole: bool = False
    on_request: bool = False


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
    return Target("amd", chip, people_say, caps)


def _intel(chip: str, people_say: str, max_work_group: int, local_kib: int = 64) -> Target:
    caps = replace(
        _GPU, name=chip, vendor="Intel", platform="Intel(R) OpenCL Graphics",
        max_work_group=max_work_group, local_bytes=local_kib * 1024, fp64=chip in ("skl", "pvc"),
    )  # fmt: skip
    return Target("intel", chip, people_say, caps)


def _nvidia(number: int, people_say: str, unit_local_kib: int) -> Target:
    caps = replace(
        _GPU, api="cuda", device_id="cuda:0", name=f"sm_{number}", vendor="NVIDIA",
        platform="CUDA", max_work_group=1024, local_bytes=48 * 1024,
        warp_words=number >= 70, lookback=number >= 70, unit_local_bytes=unit_local_kib * 1024,
    )  # fmt: skip
    return Target("nvidia", f"sm_{number}", people_say, caps)


#: One chip of each maker, with double precision and, of NVIDIA's, the operations of warps.
_WHOLE = {"gfx906", "pvc", "sm_90"}
#: Beside gfx942, gfx1201, dg2, and sm_90 or sm_120.
_ON_REQUEST = {"gfx90a", "gfx1100", "tgllp", "sm_70", "sm_80", "sm_100"}

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
NVIDIA = (
    _nvidia(60, "P100", 64),
    _nvidia(70, "V100", 96),
    _nvidia(80, "A100", 164),
    _nvidia(90, "H100, H200", 228),
    _nvidia(100, "B100, B200", 228),
    _nvidia(120, "GeForce RTX 50", 100),
)
ALL = {
    row: tuple(
        replace(chip, whole=chip.chip in _WHOLE, on_request=chip.chip in _ON_REQUEST)
        for chip in chips
    )
    for row, chips in (("amd", AMD), ("intel-gpu", INTEL), ("nvidia", NVIDIA))
}
