"""The table of kernel variants.

A variant has a kernel, a name, needs, parameters and a measurement. A device gets the first variant
of a kernel whose needs it meets and whose ``chosen_on`` contains its kind. The last variant of
every kernel needs only the baseline: OpenCL 1.2 full profile, work-groups of at most 256, 32 KiB of
local memory, 32-bit atomics. Tests run every variant that a device can run, not only the chosen
one, and require equal bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyopencl_gbdt.device.capabilities import Kind
from pyopencl_gbdt.device.variant import Variant

#: Bytes of local memory that kernels leave to the driver: NVIDIA's refuses a kernel that takes all.
LOCAL_HEADROOM = 2048
_GPU: frozenset[Kind] = frozenset({"gpu", "accelerator"})
_CPU: frozenset[Kind] = frozenset({"cpu"})
_SEQUENTIAL = "one work-item per work-group: a barrier costs a CPU a loop split"
_BASELINE = "the baseline's work-group"


def _both(kernel: str, *, cpu: Mapping[str, int], gpu: Mapping[str, int]) -> list[Variant]:
    """Return two variants of a kernel with one template, which differ in the work-group's size."""
    return [
        Variant(kernel, "sequential", cpu, _SEQUENTIAL, chosen_on=_CPU),
        Variant(kernel, "portable", gpu, _BASELINE),
    ]


TABLE: tuple[Variant, ...] = (
    Variant(
        "histogram",
        "local_atomic",
        {"wg_size": 256, "groups_per_unit": 2, "chunk": 2048, "codes": 5888},
        "H200, 5 M x 28 x 256, a round: 1.1x over 3 to 5 groups a unit, 1.4x over 128 work-items; "
        "through CUDA as good as 512, at which NVIDIA's OpenCL does not run it",
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
        "H200: 9 to 20 times slower than local atomics, docs/performance.md",
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
    Variant(
        "scan",
        "decoupled_lookback",
        {"wg_size": 128, "items": 20, "window": 8, "spin": 4096},
        "H200, 2^28 int32: 5.2x over portable, 1.05x over 256 work-items, 1.5x over 4 items",
        lookback=True,
        template="scan_lookback",
        chosen_on=_GPU,
    ),
    *_both("scan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("reduce", cpu={"wg_size": 1, "items": 4}, gpu={"wg_size": 256, "items": 1}),
    Variant(
        "segmented_scan",
        "decoupled_lookback",
        {"wg_size": 128, "items": 12, "window": 8, "spin": 4096},
        "H200, 2^28 int32, segments of 1000: 4.4x over portable, 1.2x over 8 items; 16 spill on "
        "sm_70",
        lookback=True,
        template="segmented_scan_lookback",
        chosen_on=_GPU,
    ),
    *_both("segmented_scan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both(
        "segmented_reduce",
        cpu={"wg_size": 1, "items": 64},
        gpu={"wg_size": 256, "items": 64},  # H200, 2^28, segments of 1000: 1.1x over 32
    ),
    Variant(
        "radix_sort",
        "onesweep",
        {
            **{"wg_size": 256, "items": 24, "items_with_values": 16, "radix_bits": 8, "match": 2},
            **{"window": 4, "spin": 4096, "copies": 4, "groups_per_unit": 8},
        },
        "H200, 2^28 uint32 keys: 3.7x over portable, 84 % of CUB; ballots 1.5x over matches; 24 "
        "keys a work-item 1.14x over 16, with values 16 1.2x over 24",
        lookback=True,
        warp_words=True,
        template="radix_onesweep",
        chosen_on=_GPU,
    ),
    Variant(
        "radix_sort",
        "onesweep_portable",
        {
            **{"wg_size": 256, "items": 8, "radix_bits": 8, "match": 0, "window": 1},
            **{"spin": 4096, "copies": 1, "groups_per_unit": 8},
        },
        "look-back without NVIDIA's words; ranks are found in local memory",
        lookback=True,
        template="radix_onesweep",
        chosen_on=_GPU,
    ),
    *_both(
        "radix_sort",
        cpu={"wg_size": 1, "items": 4096, "radix_bits": 8, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "radix_bits": 4, "groups_per_unit": 8},
    ),
    *_both(
        "segmented_radix_sort",
        cpu={"wg_size": 1, "items": 1, "tiny": 64, "large_tiles": 1, "groups_per_unit": 64},
        # H200, 10^5 segments of 1000: 64 work-items 1.3x over 128
        gpu={"wg_size": 64, "items": 16, "tiny": 64, "large_tiles": 4, "groups_per_unit": 64},
    ),
    *_both(
        "compact",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 16, "groups_per_unit": 8},
    ),
    *_both(
        "multi_reduce",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "groups_per_unit": 8},
    ),
    *_both(
        "multi_scan",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 128, "items": 8, "groups_per_unit": 8},
    ),
    *_both(
        "run_length",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 8, "groups_per_unit": 8},
    ),
    *_both(
        "stable_partition",
        cpu={"wg_size": 1, "items": 1024, "groups_per_unit": 4},
        gpu={"wg_size": 256, "items": 16, "groups_per_unit": 8},
    ),
    Variant(
        "quantize",
        "sequential",
        {"wg_size": 1, "items": 512},
        "1 M x 28, 2 cores, encode: PoCL 8.8x over portable, Intel 1.5x; 128 to 2048 items alike",
        chosen_on=_CPU,
    ),
    Variant("quantize", "portable", {"wg_size": 256, "items": 1}, _BASELINE),
    *_both("mean_loss", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("ranking_metric", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("cox_metric", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("auc", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    *_both("gradients", cpu={"wg_size": 1, "items": 1024}, gpu={"wg_size": 256, "items": 4}),
    Variant(
        "split",
        "sequential",
        {"wg_size": 1, "run": 256},
        "2 cores, a tree of depth 8: PoCL 1.4x, Intel 3x over border by border",
        chosen_on=_CPU,
    ),
    Variant("split", "portable", {"wg_size": 64}, _BASELINE),
    *_both("partition", cpu={"wg_size": 1, "chunk": 2048}, gpu={"wg_size": 256, "chunk": 4096}),
    *_both("plan", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    Variant(
        "update_margins",
        "by_rows",
        {"wg_size": 1, "chunk": 2048},
        "2 cores, 1 M x 28, depth 6 and 8: PoCL 7x over walking, Intel 11x",
        chosen_on=_CPU,
    ),
    Variant(
        "update_margins",
        "walk",
        {"wg_size": 256, "chunk": 2048},
        "H200, 5 M x 28, depth 6 and 8: 1.8x over following the row lists",
    ),
    *_both("renew_leaves", cpu={"wg_size": 1}, gpu={"wg_size": 256}),
    Variant(
        "predict",
        "blocks",
        {"wg_size": 1, "items": 64, "rows": 128},
        "PoCL, 2 cores, 1 M x 28, 500 trees of depth 8: 11x over a row after the other",
        chosen_on=_CPU,
    ),
    Variant("predict", "portable", {"wg_size": 256, "items": 1, "rows": 0}, _BASELINE),
)
