"""The table of kernels and their variants.

A kernel says when it runs and which parameters ``tune`` changes. Its variants have a name, needs,
parameters and a measurement. A device gets the first variant of a kernel whose needs it meets and
whose ``chosen_on`` contains its kind. The last variant of every kernel needs only the baseline:
OpenCL 1.2 (no images), work-groups of at most 256, 32 KiB of local memory, 32-bit atomics. Tests
run every variant that a device can run, not only the chosen one, and require equal bits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyopencl_gbdt.device.capabilities import Kind
from pyopencl_gbdt.device.variants import tried_sizes as tried
from pyopencl_gbdt.device.variants.launching import LAUNCHING
from pyopencl_gbdt.device.variants.variant import Kernel, Variant

#: Bytes of local memory that kernels leave to the driver: NVIDIA's refuses a kernel that takes all.
LOCAL_HEADROOM = 2048
_GPU: frozenset[Kind] = frozenset({"gpu", "accelerator"})
_CPU: frozenset[Kind] = frozenset({"cpu"})
_SEQUENTIAL = "one work-item per work-group: a barrier costs a CPU a loop split"
_BASELINE = "the baseline's work-group"
_EXACT, _SYMMETRIC = {"tree_method": "exact"}, {"grow_policy": "symmetric"}
_SETS, _STATISTICS = {"cat_method": "sets"}, {"cat_method": "statistics"}
_HISTOGRAM = {"histogram_size": 256, "histogram_groups": 4}

_kernel = Kernel.of
_variant = partial(Variant, "")
_on_gpu = partial(_variant, chosen_on=_GPU)
_on_cpu = partial(_variant, chosen_on=_CPU)


def _both(wg_size: int = 256, **sizes: tuple[int, int]) -> tuple[Variant, ...]:
    """Return two variants: for work-groups of one work-item and of several, with a size of each."""
    one, several = ({name: pair[place] for name, pair in sizes.items()} for place in (0, 1))
    return (
        _on_cpu("sequential", {"wg_size": 1, **one}, _SEQUENTIAL),
        _variant("portable", {"wg_size": wg_size, **several}, _BASELINE),
    )


def _alike(*names: str, **sizes: Any) -> list[Kernel]:
    """Return kernels that have the variants of ``_both`` and no other facts."""
    return [_kernel(name, *_both(**sizes)) for name in names]


_PLAIN = (
    "column_bins", "combination", "wide_rows", "tiles", "mean_loss", "ranking_metric",
    "cox_metric", "auc", "node_pieces", "row_nodes", "dropout", "renew_leaves", "linear_leaves",
    "predict_linear", "links",
)  # fmt: skip
_OF_LEAVES = "ordered_leaves", "leaves_by_next_order", "sketched_leaves", "newton_leaves"
#: A kernel of rounds, whose work-group's size is tuned; of predictions; of exact search.
_of_rounds = partial(_kernel, phase="rounds", tuned={"wg_size": tried.GROUP})
_of_predictions = partial(_kernel, phase="prediction")
_of_exact = partial(_kernel, fitted_with=_EXACT, tuned={"chunk": tried.CHUNK})
#: A kernel of fits on categorical columns; ``tune`` changes its work-group's size.
_of_categories = partial(_kernel, tuned={"wg_size": tried.GROUP}, fitted_on="categories")

#: All that the library knows of a kernel beside its source and its least bytes, in one place.
_ENTRIES = (
    _of_rounds(
        "histogram",
        _on_gpu(
            "own_banks",
            {"wg_size": 512, "groups_per_unit": 2, "chunk": 2048, "codes": 368},
            "H200, a round: 1.1x over local_atomic, 11 M x 28 and 1 M x 28; the root of 4 M rows "
            "126 against 156 us; no bank conflicts, and 3/4 of the instructions; rusticl on zink, "
            "1 M x 28, by two atomics a sum: 1.2 ms, local_atomic 1.7, with partial histograms 1.8",
            atomic_sums=True,
            template="histogram_banks",
        ),
        _on_gpu(
            "local_atomic",
            {"wg_size": 256, "groups_per_unit": 2, "chunk": 2048, "codes": 5888},
            "H200, 5 M x 28 x 256, a round: 1.1x over 3 to 5 groups a unit, 1.4x over 128 "
            "work-items; through CUDA as good as 512, at which NVIDIA's OpenCL does not run it",
            atomic_sums=True,
        ),
        _variant(
            "private",
            {"wg_size": 256, "groups_per_unit": 4, "chunk": 2048, "codes": 2944},
            "H200: 9 to 20 times slower than local atomics, docs/measuring-speed.md; for GPUs "
            "whose atomics on local memory are loops of compare and swap",
            chosen_on=frozenset(),
        ),
        _on_cpu(
            "cpu",
            {"wg_size": 1, "groups_per_unit": 1, "chunk": 2048, "codes": 16448},
            "PoCL, 2 cores, 1 M x 28 x 256: 14x over GPU-style local atomics; own sums at 256 a "
            "feature 1.24x over packed sums that follow each other",
        ),
        _variant(
            "bin_range_passes",
            {"wg_size": 256, "groups_per_unit": 4, "chunk": 8192, "codes": 2048},
            "more codes in a feature than local memory holds: several passes over ranges of codes; "
            "H200, 1 M rows, 26 columns of up to 60 000 levels: partial histograms took two thirds "
            "of a round",
            atomic_sums=True,
        ),
        tuned=tried.ADDED,
        timed_with=("plan",),
    ),
    _kernel(
        "tiled_histogram",
        _on_cpu(
            "cpu",
            {"wg_size": 1, "groups_per_unit": 1, "chunk": 2048, "codes": 16448},
            "PoCL, 2 cores, 100 k x 968, 81 % missing, a round: 7.7x over dense codes",
        ),
        _variant(
            "local_atomic",
            {"wg_size": 256, "groups_per_unit": 8, "chunk": 2048, "codes": 5888},
            "H200, 1.07 M x 968, 81 % missing, a round: 1.06x over dense codes, in a third of the "
            "memory; 1.02x over 4 groups a unit, 1.4x over 128 work-items",
            atomic_sums=True,
        ),
        tuned=tried.ADDED,
        fitted_with={"page": "tiled"},
        fitted_on="missing",
    ),
    _kernel(
        "scan",
        _on_gpu(
            "decoupled_lookback",
            {"wg_size": 128, "items": 20, "items_of_8": 20, "window": 8, "spin": 4096},
            "H200, 2^28 int32: 5.2x over portable, 1.05x over 256 work-items, 1.5x over 4 items; "
            "int64: 1.2x over 10 items",
            lookback=True,
            template="scan_lookback",
        ),
        *_both(),
    ),
    _kernel("reduce", *_both(items=(4, 1))),
    _kernel(
        "segmented_scan",
        _on_gpu(
            "decoupled_lookback",
            {"wg_size": 128, "items": 12, "items_of_8": 8, "window": 8, "spin": 4096},
            "H200, 2^28 int32, segments of 1000: 4.4x over portable, 1.2x over 8 items; 16 spill "
            "on sm_70, of 8 bytes 12 on sm_80",
            lookback=True,
            template="segmented_scan_lookback",
        ),
        *_both(),
    ),
    # 64 items: H200, 2^28, segments of 1000: 1.1x over 32
    _kernel("segmented_reduce", *_both(items=(64, 64))),
    _kernel(
        "radix_sort",
        _on_gpu(
            "onesweep",
            {
                **{"wg_size": 256, "items": 24, "items_with_values": 16, "radix_bits": 8},
                **{"match": 2, "window": 4, "spin": 4096, "copies": 4, "groups_per_unit": 8},
            },
            "H200, 2^28 uint32 keys: 3.7x over portable, 84 % of CUB; ballots 1.5x over matches; "
            "24 keys a work-item 1.14x over 16, with values 16 1.2x over 24",
            lookback=True,
            warp_words=True,
            template="radix_onesweep",
        ),
        _on_gpu(
            "onesweep_portable",
            {
                **{"wg_size": 256, "items": 8, "radix_bits": 8, "match": 0, "window": 1},
                **{"spin": 4096, "copies": 1, "groups_per_unit": 8},
            },
            "look-back without NVIDIA's words; ranks are found in local memory; for GPUs of other "
            "makers whose driver has passed the trial of look-back",
            lookback=True,
            template="radix_onesweep",
        ),
        *_both(items=(4096, 8), radix_bits=(8, 4), groups_per_unit=(4, 8)),
        phase="set-up",
        tuned={"items": tried.ITEMS, "groups_per_unit": tried.PER_UNIT},
    ),
    _kernel(
        "segmented_radix_sort",
        *_both(  # H200, 10^5 segments of 1000: 64 work-items 1.3x over 128
            wg_size=64, items=(1, 16), tiny=(64, 64), large_tiles=(1, 4), groups_per_unit=(64, 64)
        ),
    ),
    _kernel("multi_scan", *_both(wg_size=128, items=(1024, 8), groups_per_unit=(4, 8))),
    _kernel("quantile_summary", *_both(items=(1024, 4), groups_per_unit=(4, 16))),
    _kernel(
        "quantize",
        _on_cpu(
            "sequential",
            {"wg_size": 1, "items": 512},
            "1 M x 28, 2 cores, encode: PoCL 8.8x over portable, Intel 1.5x; 128 to 2048 items "
            "alike",
        ),
        _variant("portable", {"wg_size": 256, "items": 1}, _BASELINE),
        phase="set-up",
        tuned={"wg_size": tried.GROUP, "items": tried.ITEMS},
    ),
    _of_categories("order_codes", *_both(), fitted_with=_STATISTICS),
    _of_categories("ordered_statistics", *_both(), fitted_with=_STATISTICS),
    _of_categories("pair_scores", *_both(), fitted_with=_STATISTICS),
    *_alike(*_PLAIN),
    *_alike(*_OF_LEAVES, cells=(512, 512)),
    *_alike("multi_reduce", "run_length", items=(1024, 8), groups_per_unit=(4, 8)),
    *_alike("compact", "stable_partition", items=(1024, 16), groups_per_unit=(4, 8)),
    _of_rounds("gradients", *_both(items=(1024, 4))),
    _of_rounds(
        "split",
        _on_cpu(
            "sequential",
            {"wg_size": 1, "run": 256},
            "2 cores, a tree of depth 8: PoCL 1.4x, Intel 3x over border by border; with doubles "
            "2.1x again",
        ),
        _on_gpu(  # `least`: to that many work-items groups shrink where features have few codes
            "warps",
            {"wg_size": 64, "least": 32},
            "H200, us a round by groups of 64 and of 32: 700 k x 2000 of 5 values, depth 10 3592 "
            "and 1802, CUDA 3927 and 1974; depth 5 223 and 149; 200 k x 300, depth 9, of 16 values "
            "476 and 274, of 31 481 and 279, CUDA 526 and 304",
            warp_words=True,
        ),
        _variant("portable", {"wg_size": 64}, _BASELINE),
    ),
    _kernel(  # most percent of all histograms that those of columns of trees, or `levels`, may take
        "gather_columns",
        _on_cpu(
            "sequential",
            {"wg_size": 1, "rows": 1, "percent": 75, "levels": 60},
            "PoCL, 2 cores, 200 k x 100, processor ms a round gathered and masked: depth 6, 10 % "
            "drawn 10.5 and 67, 50 % 50 and 85, 80 % 72 and 80; depth 2, 50 % 21 and 33, 80 % 35 "
            "and 33; columns of levels gathered and left open, levels draw 5 %, depth 6 18 and 29, "
            "10 %, depth 4 27 and 32, depth 6 40 to 54 and 46 to 50, 20 %, depth 4 44 and 42; 50 k "
            "x 300 16 and 35, 15 and 34, 30 and 53, 32 and 57",
        ),
        _on_gpu(
            "by_blocks",
            {"wg_size": 256, "rows": 8, "percent": 50, "levels": 60},
            "H200, 700 k x 2000 of 5 values, 10 % drawn, ms a round gathered and masked: depth 5 "
            "1.07 and 5.35, CUDA 0.84 and 4.25; depth 10 2.34 and 14.0, CUDA 2.47 and 12.9; depth "
            "5, 50 % drawn 4.72 and 5.77, CUDA 2.93 and 4.31; 75 % 5.91 and 5.18, CUDA 4.18, 4.48; "
            "of 200 values, CUDA, levels draw 5 %, depth 6 1.45 and 2.95; 10 %, depth 4 1.37 and "
            "2.02, depth 6 2.39 and 3.16; 15 %, depth 4 1.94 and 1.98; 20 %, 2.37 and 1.98; OpenCL "
            "before deep levels left columns out, 5 %, depth 6 2.20 and 3.61, 10 % 3.82 and 3.83",
        ),
        _variant(
            "masked",
            {"wg_size": 256, "rows": 1, "percent": 0, "levels": 0},
            "histograms of all columns, of which nodes may split on those that their tree draws",
        ),
    ),
    _kernel(  # `percent`: most that joint codes may be of all, `rows`: least for each leaf; others
        "joint_blocks",  # are the groups of the histogram that reads joint codes
        _on_gpu(
            "by_blocks",
            {"wg_size": 256, "percent": 50, "rows": 683, **_HISTOGRAM},
            "H200, all of 700 k x 2000 of 5 values drawn, ms a round with plain and joint codes: "
            "depth 5 5.22 and 2.65, CUDA 4.18 and 1.58; depth 10, histograms alone, 8.71 and "
            "3.69, CUDA 7.25 and 2.67; 700 k x 400 of 2 values, depth 6 1.76 and 0.89, CUDA 1.45 "
            "and 0.74; the histogram at depth 5 by groups of 512 and 256, us: 2424 and 1270, CUDA "
            "1216 and 1177",
            atomic_sums=True,
            warp_words=True,
        ),
        _variant(
            "plain",
            {"wg_size": 256, "percent": 0, "rows": 0, **_HISTOGRAM},
            "histograms read each column's own codes",
        ),
    ),
    _of_rounds("symmetric", *_both(wg_size=64, run=(256, 1)), fitted_with=_SYMMETRIC),
    # PoCL, 2 cores, 20 k x 20, 5 classes, a round: runs of 64 borders 1.25x over runs of 8
    _kernel("vector_split", *_both(wg_size=128, run=(64, 2))),
    _kernel(
        "whole_trees",
        _on_cpu(
            "one_launch",
            {"wg_size": 1, "groups_per_unit": 4},
            "PoCL, 2 cores, depth 6, a round: 1 k x 20 2.5x over steps, 10 k x 20 2.3x, "
            "10 k x 968 2x, 20 k x 300 2.2x; symmetric trees by drawn columns and noise, processor "
            "time: 10 k x 20 1.4x, 10 k x 968 1.4x, 20 k x 300 1.5x",
            lookback=True,
        ),
        _variant("steps", {"wg_size": 1}, "a launch or more for each step of a level"),
        tuned={"groups_per_unit": tried.PER_UNIT},
    ),
    *LAUNCHING,
    _of_rounds(
        "partition",
        _on_gpu(
            "ballots",
            {"wg_size": 256, "chunk": 2048},
            "H200, CUDA, 11 M x 28, moving rows: 224 against 298 us a round (chunks of 4096: "
            "253, 1024 290); 10 k x 20, a round: 1.07x over portable; OpenCL 1.01x",
            warp_words=True,
        ),
        *_both(chunk=(2048, 4096)),
        tuned={"wg_size": tried.GROUP, "chunk": tried.CHUNK},
        timed_with=("plan",),
    ),
    _of_categories("category_split", *_both(digit=(8, 4)), fitted_with=_SETS, tuned=tried.SEARCHED),
    _of_categories("category_sets", *_both(), fitted_with=_SETS),
    _of_categories("symmetric_sets", *_both(wg_size=64), fitted_with={**_SETS, **_SYMMETRIC}),
    _of_exact(
        "exact",
        _on_cpu("sequential", {"wg_size": 1, "chunk": 512}, _SEQUENTIAL),
        _variant(
            "portable",
            {"wg_size": 256, "chunk": 2048},
            "H200, 1 M x 28, a round: 1.2x over chunks of 1024, 1.04x over 128 work-items",
        ),
    ),
    _of_exact(
        "column_search",
        _variant("sequential", {"wg_size": 1, "groups_per_unit": 8, "chunk": 16384}, _SEQUENTIAL),
    ),
    _of_exact("columns", *_both(chunk=(2048, 2048))),
    _of_exact(  # `depth`: levels below the root whose entries stay in the data's order
        "interleaved",
        _on_cpu(
            "sequential",
            {"wg_size": 1, "chunk": 4096, "depth": 5},
            "PoCL, 2 cores, 100 k x 28, depth 6: 1.3x over depth 0, 1.1x over depth 3",
        ),
        _variant(
            "portable",
            {"wg_size": 128, "chunk": 512, "depth": 0},
            "H200, 1 M x 28, depth 6: depth 1 takes 1.2x as long, 3 2x, 5 4x; 16 k x 62 k, 20 "
            "classes: 1 1.1x, 5 2.8x",
        ),
        tuned={"depth": tried.DEPTH, "chunk": tried.STRETCH},
        timed_with=("exact", "columns", "node_pieces", "row_nodes"),
    ),
    _of_rounds("plan", *_both(picks=(1, 32))),
    _of_rounds(
        "update_margins",
        _on_cpu(
            "by_rows",
            {"wg_size": 1, "chunk": 2048},
            "2 cores, 1 M x 28, depth 6 and 8: PoCL 7x over walking, Intel 11x",
        ),
        _variant(
            "walk",
            {"wg_size": 256, "chunk": 2048, "local_nodes": 1023, "ahead_rows": 500_000},
            "H200, 5 M x 28, depth 6 and 8: 1.8x over following the row lists; 11 M x 28, depth 6, "
            "us in global and in local memory (there by bytes of codes): 150 and 120, CUDA 153 and "
            "120; PoCL, 300 k x 28, ms of a processor 25 and 10; H200, us with quantize_gradients, "
            "by it and ahead: 11 M 187 and 156, 1 M 38 and 36, 10 k 19 and 22",
        ),
        tuned={"wg_size": tried.GROUP, "chunk": tried.CHUNK},
        timed_with=("plan",),
    ),
    _of_predictions(
        "predict",
        _on_cpu(
            "blocks",
            {"wg_size": 1, "items": 64, "rows": 128},
            "PoCL, 2 cores, 1 M x 28, 500 trees of depth 8: 11x over a row after the other",
        ),
        _variant("portable", {"wg_size": 256, "items": 1, "rows": 0}, _BASELINE),
        tuned={"wg_size": tried.GROUP, "items": tried.ITEMS, "rows": tried.ROWS},
    ),
    _of_predictions(
        "predict_codes",
        _variant(
            "sequential",
            {"wg_size": 1, "rows": 512},
            "PoCL, 2 cores, 1 M x 28, 500 trees of depth 8: 1.4x over predict's blocks; 256 rows "
            "1.1x as long",
        ),
        tuned={"rows": tried.BLOCK},
    ),
    _of_predictions(
        "predict_tables", *_both(rows=(256, 1)), tuned=tried.WALKED, fitted_with=_SYMMETRIC
    ),
    _kernel("predict_vectors", *_both(rows=(64, 1))),
    _kernel("walk_cells", *_both(wg_size=64, rows=(64, 1))),
    _kernel("proximities", *_both(wg_size=128, rows=(8, 8), columns=(128, 1))),
    _kernel(
        "contributions",
        _on_gpu(
            "nested",
            {"wg_size": 128, "rows": 1, "levels": 8},
            "trees of up to 8 levels in registers; H200, 10^5 rows, 500 trees of depth 8: 0.25 s; "
            "AMD's compilers take 112 to 132 registers; of Intel's pvc 128, and 91 spill",
            registers=255,
        ),
        *_both(wg_size=128, rows=(16, 1), levels=(0, 0)),
    ),
    _kernel("contribution_tables", *_both(wg_size=128, rows=(16, 1))),
    _kernel("predict_sparse", *_both(wg_size=64, items=(64, 1))),
)

#: Every kernel by its name, and the variants of all.
KERNELS: dict[str, Kernel] = {kernel.name: kernel for kernel in _ENTRIES}
TABLE: tuple[Variant, ...] = tuple(variant for kernel in _ENTRIES for variant in kernel.variants)
