"""Sizes of kernels in small fits on GPUs.

Launches of few rows take as long as their longest work-group, so histograms have smaller tasks and
fewer columns a group. One group plans a level, of as few work-items as the level has nodes.

              10 k rows, 20 columns                  tasks    groups
    large     2048 rows, 16 columns in own banks         5        10
    small      256 rows,  2 columns                     40       400
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.switches import SMALL_FITS, asked
from pyopencl_gbdt.device.variants import KERNELS, choose, fallbacks
from pyopencl_gbdt.device.variants.variant import Variant
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The histogram whose groups may have few columns.
_HISTOGRAM = "local_atomic"


@dataclass(frozen=True)
class FitSize:
    """Of a round: rows and leaves of all of its trees together, and columns."""

    rows: int
    leaves: int
    columns: int


def in_small_fits(kernel: str, size: FitSize, caps: Capabilities) -> Variant | None:
    """Return a kernel's variant in the sizes of small fits; None if it has those of large ones.

    That is for the histogram, and for what plans a level.

    Raises
    ------
    ParameterError
        If ``PYOPENCL_GBDT_SMALL_FITS`` is not a word of its own.
    """
    sizes = _sizes(size, caps)
    if sizes is None:
        return None
    if kernel == "plan":
        found = choose(kernel, caps)
        few = size.leaves <= sizes["leaves"]
        return replace(found, params={**found.params, "wg_size": sizes["wg_size"]}) if few else None
    own = {"wg_size": sizes["histogram_size"], "chunk": sizes["chunk"], "codes": sizes["codes"]}
    for variant in fallbacks(kernel, caps):  # one that failed to build is not among them
        if variant.name == _HISTOGRAM:
            return replace(variant, params={**variant.params, **own})
    return None


def _sizes(size: FitSize, caps: Capabilities) -> Mapping[str, int] | None:
    """Return the sizes of small fits; None if a fit is not small."""
    word, found = asked(SMALL_FITS), KERNELS["small_fits"].variants[0]
    if word == "off" or not found.suits(caps):
        return None
    if word == "auto":
        limits = choose("small_fits", caps).params
        own = {"rows": size.rows, "columns": size.columns, "places": size.rows * size.columns}
        if any(number > limits[name] for name, number in own.items()):
            return None
    return found.params
