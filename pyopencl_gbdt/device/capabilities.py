"""What a device can do: each fact with its unit and its names in OpenCL and CUDA."""

from __future__ import annotations

from typing import Any, Literal

from pyopencl_gbdt.lazy_dataclasses import dataclass

Api = Literal["opencl", "cuda"]
Kind = Literal["gpu", "cpu", "accelerator"]

#: Facts about devices with processors of their own, by their field of ``Capabilities``.
CARD: dict[str, Any] = {
    "coalesces_reads": True, "hides_latency": True, "unrolls_atomics": True, "on_host_cores": False,
}  # fmt: skip
#: The same facts about runtimes that run kernels on the host's cores: a core runs the work-items of
#: a group in turn. PoCL's compiler takes minutes to unroll a histogram's atomics.
HOST_CORES: dict[str, Any] = {name: not fact for name, fact in CARD.items()}


@dataclass(frozen=True)
class Capabilities:
    """Facts about one device, as its driver states them."""

    api: Api
    """Which interface opens the device."""
    device_id: str
    """The string that selects this device and no other, such as ``opencl:0:1`` or ``cuda:0``."""
    name: str
    """The device's name."""
    platform: str
    """OpenCL platform name; ``CUDA`` for CUDA."""
    vendor: str
    driver: str
    """Driver version string."""
    kind: Kind
    is_simulator: bool
    """True for Oclgrind, which reports itself as CPU, GPU and accelerator at once."""
    compute_units: int
    """Compute units (OpenCL) / multiprocessors (CUDA) / hardware threads (CPU)."""
    max_work_group: int
    """Most work-items in a work-group (OpenCL) / threads in a block (CUDA)."""
    local_bytes: int
    """Local (OpenCL) / shared (CUDA) memory per work-group, in bytes."""
    global_bytes: int
    """Device memory, in bytes."""
    max_alloc_bytes: int
    """Largest single allocation, in bytes."""
    int32_atomics: bool
    """32-bit integer atomics on local and global memory."""
    int64_atomics: bool
    """64-bit integer atomics on global memory."""
    lookback: bool
    """Work-groups see each other's volatile writes while they run. Set only for drivers with which
    the tests of decoupled look-back were run."""
    warp_words: bool
    """NVIDIA's votes and matches of 32 work-items: inline PTX (OpenCL) / built-in functions
    (CUDA)."""
    fp64: bool
    """Double precision; no kernel needs it, the split search of CPUs is faster with it."""
    unified_memory: bool
    """Whether device and host share memory (CPUs, integrated GPUs)."""
    vendor_id: int = 0
    """The driver's number of the vendor (OpenCL): for a card, its maker's on the PCI bus."""
    prefetches: bool = False
    """Whether prefetch instructions compile and make kernels faster. Set only for CPU runtimes with
    which this was measured."""
    command_buffers: bool = False
    """Whether the driver of a GPU enqueues recorded kernels by one call (OpenCL)."""
    tested_driver: bool = False
    """Whether the library's tests run on the driver. Devices of others are measured before their
    first use, see ``measured_facts``."""
    copy_speed: int = 0
    """Bytes a second that a large copy reads and writes; 0 if it was not measured, see
    ``bytes_a_launch``."""
    coalesces_reads: bool = True
    """Whether work-items of a group that read neighbouring words at the same time share one access
    to memory. If not, a work-item reads fastest what lies in a row of its own."""
    hides_latency: bool = True
    """Whether a compute unit keeps several work-groups in flight, so that some compute while others
    wait for memory. Small launches leave such a device idle. Others finish a group, then begin the
    next one."""
    unrolls_atomics: bool = True
    """Whether the compiler takes no more than seconds for unrolled loops of atomics."""
    skips_barriers: bool = True
    """Whether some work-groups of a loop's round may leave it before its barriers."""
    on_host_cores: bool = False
    """Whether kernels run on the host's cores, which then do nothing else."""
    registers: int = 0
    """Most 32-bit registers that compilers give a work-item; 0 where nobody has found it, see
    ``makers.registers``."""
    unit_local_bytes: int = 0
    """Local memory that the work-groups of a compute unit share, in bytes, where one that asks for
    it may have more than ``local_bytes`` (CUDA); 0 elsewhere."""

    def row_groups(self, n_rows: int) -> int:
        """Return the work-groups that share rows evenly in passes over every row."""
        return max(1, min(8 * self.compute_units, (n_rows + 255) // 256))

    @property
    def label(self) -> str:
        """Short description for people."""
        return f"{self.name} ({self.platform}, {self.device_id})"

    def describe(self) -> list[str]:
        """Return the capabilities as lines of text for people."""
        mib = 1024 * 1024

        def yes(flag: bool) -> str:
            return "yes" if flag else "no"

        return [
            f"{self.kind.upper()}, {self.compute_units} compute units, driver {self.driver}",
            f"work-groups of up to {self.max_work_group}, "
            f"{self.local_bytes // 1024} KiB local memory",
            f"{self.global_bytes // mib} MiB memory, "
            f"{self.max_alloc_bytes // mib} MiB in one allocation",
            f"atomics: 32-bit {yes(self.int32_atomics)}, 64-bit {yes(self.int64_atomics)}; "
            f"double precision: {yes(self.fp64)}; shares memory with the host: "
            f"{yes(self.unified_memory)}",
        ]
