"""Values of parameters that ``tune`` tries."""

from __future__ import annotations

from pyopencl_gbdt.device.variants.variant import TriedSizes

GROUP = TriedSizes(several=(64, 128, 256, 512, 1024), one=(1,))
PER_UNIT = TriedSizes(several=(1, 2, 4, 8, 16), one=(1, 2, 4, 8))
CHUNK = TriedSizes(several=(1024, 2048, 4096, 8192, 16384), one=(512, 1024, 2048, 4096, 8192))
CODES = TriedSizes(several=(1024, 2048, 4096, 5888), one=(2048, 4096, 8192, 16384))
ITEMS = TriedSizes(several=(1, 2, 4, 8, 16, 20, 24), one=(16, 64, 256, 512, 1024, 4096))
DEPTH = TriedSizes(several=tuple(range(7)), one=tuple(range(7)))
STRETCH = TriedSizes(several=(512, 1024), one=(1024, 2048, 4096, 8192))
BLOCK = TriedSizes(several=(1,), one=(128, 256, 512, 1024))
ROWS = TriedSizes(several=(0,), one=(64, 128, 256))
#: Values of several parameters: of histograms, of walks through trees, of searches by sets.
ADDED = {
    "wg_size": GROUP, "groups_per_unit": PER_UNIT, "chunk": CHUNK,
    "codes": CODES,
}  # fmt: skip
WALKED = {"wg_size": GROUP, "rows": BLOCK}
SEARCHED = {"wg_size": GROUP, "digit": TriedSizes(several=(2, 4, 8), one=(4, 8))}
