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
            {"wg_size": 256, "rows": 1 << 15, "rounds": 200},
            "H200, OpenCL, a slow host, ms a round by an argument for each array and packed: 10 k "
            "x 20, depth 6 0.382 and 0.317, 1 k x 20 0.370 and 0.279; whole fits, ms: 10 k x 20, "
            "100 rounds 48.5 and 41.1; 100 k x 28, 60 rounds 41.9 and 43.7; first fits of new "
            "processes, 100 rounds, kernels kept, s: 1.27 and 1.32",
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
                **{"wg_size": 64, "leaves": 128, "rows": 1 << 16, "places": 20 << 16},
                **{"histogram_size": 256, "chunk": 256, "codes": 512},
            },
            "H200, CUDA, 20 columns, depth 6, ms a round with tasks of 2048 rows in own banks, and "
            "with 256 rows of 2 columns: 10 k rows 0.200 and 0.181, 30 k 0.208 and 0.192, 100 k "
            "slower; levels of 10 k rows planned by 256 and by 64 work-items: 0.191 and 0.184",
            warp_words=True,
            chosen_on=_GPU,
        ),
        Variant("", "as_others", {"wg_size": 256, "rows": 0, "places": 0}, "those of large fits"),
    ),
)
