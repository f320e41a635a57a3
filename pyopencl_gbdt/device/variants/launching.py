"""How a round's launches are made and how large they are, as rows of the variant table."""

from __future__ import annotations

from pyopencl_gbdt.device.capabilities import Kind
from pyopencl_gbdt.device.variants.variant import Kernel, Variant

_GPU: frozenset[Kind] = frozenset({"gpu", "accelerator"})

LAUNCHING = (
    Kernel.of(  # `nodes`: most of a level
        "last_group",
        Variant(
            "",
            "joined",
            {"wg_size": 256, "nodes": 256},
            "H200, OpenCL, ms a round by a launch for each kernel and joined: 10 k x 20, depth 6 "
            "0.324 and 0.244; 1 M x 28, depth 6 0.560 and 0.439; CUDA's graphs gain nothing",
            lookback=True,
            warp_words=True,
            chosen_on=_GPU,
        ),
        Variant("", "launches", {"wg_size": 256, "nodes": 256}, "a launch for each kernel"),
    ),
    Kernel.of(  # `rows`: most of a fit, `rounds`: fewest
        "arguments",
        Variant(
            "",
            "packed",
            {"wg_size": 256, "rows": 1 << 15, "rounds": 100},
            "H200, OpenCL, a slow host, ms a round by an argument for each array and packed: 10 k "
            "x 20, depth 6 0.382 and 0.317, 1 k x 20 0.370 and 0.279; whole fits, ms: 10 k x 20, "
            "100 rounds 48.5 and 41.1; 100 k x 28, 60 rounds 41.9 and 43.7; first fits of new "
            "processes, 100 rounds: 1.15 to 1.17 s both ways, without kept kernels 4.9 to 5.1",
            warp_words=True,
            chosen_on=_GPU,
        ),
        Variant("", "each", {"wg_size": 256, "rows": 0, "rounds": 0}, "each array is an argument"),
    ),
    Kernel.of(  # `rows`: most of a round's trees together, `places`: most rows times columns
        "small_fits",  # `leaves`: most of a round where a level is planned by `wg_size` work-items
        Variant(
            "",
            "few_a_group",
            {
                **{"wg_size": 64, "leaves": 128, "rows": 1 << 15, "columns": 200},
                **{"places": 20 << 15, "histogram_size": 256, "chunk": 256, "codes": 512},
            },
            "H100, a round of 20 columns, depth 6, against tasks of 2048 rows in own banks: 10 k "
            "rows 0.83 of the time, CUDA 0.83; 30 k 0.86, 0.89; 60 k 1.04, 0.97; 10 k x 100 1.00, "
            "0.92; 1 k x 1000 1.04, 1.12; 10 k x 20, depth 8 0.82, 0.90; 5 classes 0.90, 0.97; 31 "
            "leaves, leaf by leaf 1.20, 1.21; H200, CUDA, 10 k x 20, levels planned by 256 and by "
            "64 work-items: 0.191 and 0.184 ms",
            warp_words=True,
            chosen_on=_GPU,
        ),
        Variant(
            "",
            "as_others",
            {"wg_size": 256, "rows": 0, "columns": 0, "places": 0},
            "those of large fits",
        ),
    ),
)
