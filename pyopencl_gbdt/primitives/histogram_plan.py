"""Choose the histogram's variant for a device and data set; compute the sizes that depend on it."""

from __future__ import annotations

from pyopencl_gbdt.device import Capabilities, Variant
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose, fallbacks
from pyopencl_gbdt.dtypes import BLOCK_BYTES, code_dtype, row_codes

#: Work-groups of a histogram launch, as a multiple of those that a device runs at a time; where a
#: range has many groups, the first of these that leaves fewest idle in the last wave. H200, 1 M x
#: 200, 80 classes: 82 groups for each of 13 ranges are 4.04 waves; with 142, or 6.99 waves, a round
#: took 4 % less. 50 k x 3072, 192 ranges: 11 groups took 2 % longer than 6; each had 2 or 3 tasks.
_WAVES = range(4, 9)
_MANY_GROUPS = 32
#: Bytes of a code's local accumulators: 32 bits for the gradient, 32 for the Hessian.
_BYTES_PER_CODE = 8
#: Bytes of local memory for a code of all features of a block: a bank for each of 32 sums.
_BYTES_OF_BANKS = 128
#: Most features of a block.
_BLOCK_FEATURES = 16
#: The variant with a bank of local memory for each sum of a block.
OWN_BANKS = "own_banks"
#: The variant for features with any number of codes, on any device.
ANY_CODES = "bin_range_passes"
#: All variants for features with any number of codes: work-groups sum ranges of codes.
BY_RANGES = ("bin_range_atomic", ANY_CODES)


def choose_histogram(caps: Capabilities, most_codes: int, name: str = "auto") -> Variant:
    """Return the variant for features of at most ``most_codes`` codes.

    If the local accumulators of the device's variants hold fewer, this is one of ``BY_RANGES``.

    Raises
    ------
    ParameterError
        If ``name`` is unknown, or the device lacks what it needs.
    """
    variants = fallbacks("histogram", caps) if name == "auto" else [choose("histogram", caps, name)]
    for variant in variants:
        if can_hold(variant, caps, most_codes):
            return variant
    return choose("histogram", caps, ANY_CODES)


def can_hold(variant: Variant, caps: Capabilities, most_codes: int) -> bool:
    """Tell whether a variant can sum a feature of ``most_codes`` codes."""
    return variant.name in ("cpu", *BY_RANGES) or most_codes <= local_codes(variant, caps)


def local_codes(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes whose sums fit in a work-group's local memory.

    These are codes of one feature, if a block's other features can have as many beside them.
    """
    each = _BYTES_PER_CODE * (2 if variant.name == "private" else 1)  # 64-bit sums in "private"
    if variant.name == OWN_BANKS:
        each = _BYTES_OF_BANKS
    return min((caps.local_bytes - LOCAL_HEADROOM) // each, variant.params["codes"])


def capacity_of(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes that a work-group sums at a time."""
    if variant.name == "cpu":  # its sums are in global memory
        return variant.params["codes"]
    codes = local_codes(variant, caps)
    return codes * _BLOCK_FEATURES if variant.name == OWN_BANKS else codes


def work_groups(variant: Variant, caps: Capabilities, n_features: int, most_codes: int) -> int:
    """Return the number of work-groups that share the tasks of a level, for each range of codes.

    With many ranges, few work-groups for each are enough to keep the device busy.
    """
    dtype = code_dtype(most_codes)
    blocks = row_codes(n_features, dtype) * dtype.itemsize // BLOCK_BYTES
    return shared_groups(variant, caps, blocks)


def shared_groups(variant: Variant, caps: Capabilities, n_ranges: int) -> int:
    """Return the number of work-groups for each of some ranges; ``work_groups`` says more."""
    groups = caps.compute_units * variant.params["groups_per_unit"]
    if variant.name == "cpu":
        return groups
    least = min(groups, -(-_WAVES[0] * groups // n_ranges))
    # elsewhere each group has sums of its own, which take memory and time
    if least == groups or least < _MANY_GROUPS or not variant.int64_atomics:
        return least
    waves = max(_WAVES, key=lambda waves: waves * groups // n_ranges * n_ranges / waves)
    return waves * groups // n_ranges
