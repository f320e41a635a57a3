"""THE table of kernel variants.

A row is (kernel, variant, needs, parameters, measured). For a device, the first row wins whose
needs it meets and whose ``chosen_on`` names its kind; the last row of every kernel needs nothing
beyond the baseline: OpenCL 1.2 full profile, work-groups of at most 256, 32 KiB of local memory,
32-bit atomics. Tests run every row that a device meets, not only the chosen one, and demand equal
bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyopencl_gbdt.device import tuning
from pyopencl_gbdt.device.capabilities import Capabilities, Kind
from pyopencl_gbdt.errors import ParameterError

#: Local memory that kernels leave to the driver, in bytes: NVIDIA refuses a kernel that takes all.
LOCAL_HEADROOM = 2048


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    kernel: str
    name: str
    params: Mapping[str, int]
    """What the template and its launcher are given."""
    measured: str
    """Where the choice comes from: device, size, ratio to the next row, bench."""
    int64_atomics: bool = False
    """Needs 64-bit integer atomics on global memory."""
    chosen_on: frozenset[Kind] = frozenset({"gpu", "cpu", "accelerator"})
    """Kinds of device on which it is taken unasked; it runs wherever its needs are met."""

    def lacks(self, caps: Capabilities) -> str:
        """Return what a device lacks for this variant, or an empty string."""
        if self.int64_atomics and not caps.int64_atomics:
            return "64-bit integer atomics"
        return ""


_GPU: frozenset[Kind] = frozenset({"gpu", "accelerator"})
_CPU: frozenset[Kind] = frozenset({"cpu"})
_SEQUENTIAL = "one work-item per work-group: a barrier costs a CPU a loop split"
_BASELINE = "the baseline's work-group"


def _both(kernel: str, *, cpu: Mapping[str, int], gpu: Mapping[str, int]) -> list[Variant]:
    """Rows of a kernel whose one template serves both kinds by its work-group size."""
    return [
        Variant(kernel, "sequential", cpu, _SEQUENTIAL, chosen_on=_CPU),
        Variant(kernel, "portable", gpu, _BASELINE),
    ]


TABLE: tuple[Variant, ...] = (
    Variant(
        "histogram",
        "local_atomic",
        {"wg_size": 512, "groups_per_unit": 2, "chunk": 2048, "codes": 5888},
        "H200, 11 M x 28 x 256: 512 work-items, 2 groups a unit, chunks of 2048: as good as any",
        int64_atomics=True,
        chosen_on=_GPU,
    ),
    Variant(
        "histogram",
        "local_atomic_partials",
        {"wg_size": 256, "groups_per_unit": 4, "chunk": 2048, "codes": 5888},
        "GPU without 64-bit atomics: partial histograms and a reduce",
        chosen_on=_GPU,
    ),
    Variant(
        "histogram",
        "private",
        {"wg_size": 256, "groups_per_unit": 4, "chunk": 2048, "codes": 2944},
        "H200: see docs/performance.md; never ahead of local atomics there",
        chosen_on=frozenset(),
    ),
    Variant(
        "histogram",
        "cpu",
        {"wg_size": 1, "groups_per_unit": 1, "chunk": 2048, "codes": 16448},
        "PoCL, 2 cores, 1 M x 28 x 256: 14x over GPU-style local atomics",
        chosen_on=_CPU,
    ),
    Variant(
        "histogram",
        "bin_range_passes",
        {"wg_size": 256, "groups_per_unit": 4, "chunk": 8192, "codes": 2048},
        "more codes in a feature than local memory holds: several passes over ranges of codes",
    ),
    *_both("scan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("segmented_scan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both(
        "segmented_reduce",
        cpu={"wg_size": 1, "items": 64},
        gpu={"wg_size": 256, "items": 1},
    ),
    *_both(
        "radix_sort",
        cpu={"wg_size": 1, "items": 4096, "radix_bits": 8, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "radix_bits": 4, "groups_per_unit": 8},
    ),
    *_both(
        "compact",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "groups_per_unit": 8},
    ),
    *_both(
        "stable_partition",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "groups_per_unit": 8},
    ),
    Variant(
        "quantize",
        "sequential",
        {"wg_size": 1, "items": 512},
        "1 M x 28, 2 cores, encode: PoCL 8.8x over portable, Intel 1.5x; 128 to 2048 items alike",
        chosen_on=_CPU,
    ),
    Variant("quantize", "portable", {"wg_size": 256, "items": 1}, _BASELINE),
    *_both("gradients", cpu={"wg_size": 1, "items": 1024}, gpu={"wg_size": 256, "items": 4}),
    *_both("split", cpu={"wg_size": 1}, gpu={"wg_size": 64}),
    *_both("partition", cpu={"wg_size": 1, "chunk": 2048}, gpu={"wg_size": 256, "chunk": 4096}),
    *_both("plan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    Variant(
        "leaf",
        "by_rows",
        {"wg_size": 1, "chunk": 2048},
        "PoCL, 2 cores: see docs/performance.md",
        chosen_on=_CPU,
    ),
    Variant(
        "leaf",
        "walk",
        {"wg_size": 256, "chunk": 2048},
        "H200: see docs/performance.md",
    ),
    Variant(
        "predict",
        "blocks",
        {"wg_size": 1, "items": 64, "rows": 128},
        "PoCL, 2 cores, 1 M x 28, 500 trees of depth 8: 11x over a row after the other",
        chosen_on=_CPU,
    ),
    Variant("predict", "portable", {"wg_size": 256, "items": 1, "rows": 0}, _BASELINE),
)


def kernels() -> list[str]:
    """Return the kernels that have rows, in table order."""
    return list(dict.fromkeys(row.kernel for row in TABLE))


def runnable(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return every variant of a kernel that a device can run."""
    return [row for row in TABLE if row.kernel == kernel and not row.lacks(caps)]


#: What did not build in this process, as ``refusal`` spells it: not tried again.
REFUSED: set[tuple[str, str, str, str]] = set()


def refusal(row: Variant, caps: Capabilities) -> tuple[str, str, str, str]:
    """Return how ``REFUSED`` spells that a device's driver does not build a row."""
    return caps.device_id, caps.driver, row.kernel, row.name


def fallbacks(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return the variants that a device can run, those that its kind gets first.

    What was tuned for the device, see ``tuning``, comes before them. Those that its driver did not
    build are left out, as long as one is left.
    """
    rows = sorted(runnable(kernel, caps), key=lambda row: caps.kind not in row.chosen_on)
    rows = tuning.tuned(kernel, rows, caps)
    return [row for row in rows if refusal(row, caps) not in REFUSED] or rows


def choose(kernel: str, caps: Capabilities, name: str = "auto") -> Variant:
    """Return the row a device gets.

    Parameters
    ----------
    kernel : str
        Kernel name, as in the table.
    caps : Capabilities
        The device.
    name : str, default "auto"
        A variant to take instead of the first that fits.

    Raises
    ------
    ParameterError
        If ``name`` is no variant of the kernel or the device lacks what it needs.
    """
    rows = [row for row in TABLE if row.kernel == kernel]
    if name == "auto":
        return fallbacks(kernel, caps)[0]
    for row in rows:
        if row.name == name:
            if row.lacks(caps):
                raise ParameterError(
                    f"{kernel}={name!r}: {caps.label} lacks {row.lacks(caps)}; use 'auto'"
                )
            return row
    raise ParameterError(
        f"{kernel}={name!r}: expected 'auto' or one of {[row.name for row in rows]}"
    )
