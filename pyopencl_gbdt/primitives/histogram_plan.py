"""Which variant of the histogram data get on a device, and the sizes that follow from it."""

from __future__ import annotations

from pyopencl_gbdt.device import Capabilities, Variant
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose, fallbacks
from pyopencl_gbdt.dtypes import BLOCK_BYTES, code_dtype, row_codes

#: Work-groups of a histogram launch, over those that a device runs at a time.
_WAVES = 4
#: Local accumulators of a code: 32 bits for the gradient, 32 for the Hessian.
_BYTES_PER_CODE = 8
#: The variant that takes features of any number of codes.
ANY_CODES = "bin_range_passes"


def choose_histogram(caps: Capabilities, most_codes: int, name: str = "auto") -> Variant:
    """Return the row of the variant table for features of at most ``most_codes`` codes.

    A variant whose local accumulators hold fewer is replaced by ``bin_range_passes``.

    Raises
    ------
    ParameterError
        If ``name`` is unknown, or the device lacks what it needs.
    """
    rows = fallbacks("histogram", caps) if name == "auto" else [choose("histogram", caps, name)]
    return next((row for row in rows if can_hold(row, caps, most_codes)), None) or choose(
        "histogram", caps, ANY_CODES
    )


def can_hold(row: Variant, caps: Capabilities, most_codes: int) -> bool:
    """Tell whether a variant takes a feature of so many codes."""
    return row.name in ("cpu", ANY_CODES) or most_codes <= local_codes(row, caps)


def local_codes(row: Variant, caps: Capabilities) -> int:
    """Return the codes whose sums a work-group has room for in local memory."""
    each = _BYTES_PER_CODE * (2 if row.name == "private" else 1)  # of 64 bits there
    return min((caps.local_bytes - LOCAL_HEADROOM) // each, row.params["codes"])


def capacity_of(row: Variant, caps: Capabilities) -> int:
    """Return the codes that a work-group sums at a time."""
    return row.params["codes"] if row.name == "cpu" else local_codes(row, caps)  # in global memory


def work_groups(row: Variant, caps: Capabilities, n_features: int, most_codes: int) -> int:
    """Return the work-groups that share the tasks of a level, for each range of codes.

    Many ranges keep the device busy with few groups each; more would find nothing to do.
    """
    groups = caps.compute_units * row.params["groups_per_unit"]
    if row.name == "cpu":
        return groups
    dtype = code_dtype(most_codes)
    blocks = row_codes(n_features, dtype) * dtype.itemsize // BLOCK_BYTES
    return min(groups, -(-_WAVES * groups // blocks))
