"""Choose the histogram's variant for a device and data set; compute the sizes that depend on it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Capabilities, Variant
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose, fallbacks
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, code_dtype

#: Work-groups of a histogram launch, as a multiple of those that a device runs at a time; where a
#: range has many groups, the first of these that leaves fewest idle in the last wave. H200, 1 M x
#: 200, 80 classes: 82 groups for each of 13 ranges are 4.04 waves; with 142, or 6.99 waves, a round
#: took 4 % less. 50 k x 3072, 192 ranges: 11 groups took 2 % longer than 6; each had 2 or 3 tasks.
_WAVES = range(4, 9)
_MANY_GROUPS = 32
#: Bytes of a code's local accumulators: 32 bits for the gradient, 32 for the Hessian.
_BYTES_PER_CODE = 8
#: Bytes of local memory for a code of all features of a block: a bank for each of 32 sums.
BYTES_OF_BANKS = 128
#: Most codes of a feature that kernels are built for, with a bank for each sum of a block.
_CODES_OF_BANKS = (32, 64, 128, 256, 272)
#: Blocks of all rows from which on work-groups sum pairs of them. H200, CUDA, ms a round with and
#: without pairs: 11 M x 28 1.65 and 1.69, 4 M 0.736 and 0.755, 1 M 0.361 and 0.360, 10 k x 20 0.247
#: and 0.215; 1 M x 200, 80 classes, 50.3 and 53.5.
_LEAST_PAIRED = 4_000_000
#: Most features of a block.
_BLOCK_FEATURES = 16
#: The variant with a bank of local memory for each sum of a block.
OWN_BANKS = "own_banks"
#: The variant for features with any number of codes: work-groups sum ranges of codes.
ANY_CODES = "bin_range_passes"


@dataclass(frozen=True)
class JointSums:
    """The sums over joint codes that are the sums of features' own codes.

    ``templates/primitives/joint_sums.cl.mako`` has a picture.

    Attributes
    ----------
    begins : uint32 array, shape (n_places + 1,)
        Where the entries of each place's features begin in ``entries``.
    entries : uint32 array, shape (n_codes, 2)
        For each code of a feature: its place in a histogram, and the joint codes that have it, as
        ``packed`` returns them.
    """

    begins: npt.NDArray[np.uint32]
    entries: npt.NDArray[np.uint32]

    @property
    def n_codes(self) -> int:
        """Codes of all features."""
        return len(self.entries)


def packed(first: npt.NDArray[np.int64], run: int, step: int) -> npt.NDArray[np.int64]:
    """Return joint codes as kernels know them.

    Parameters
    ----------
    first : int64 array
        The first one, below 256.
    run : int
        How many follow each other, at most 256.
    step : int
        The distance after which they repeat, at most 256.
    """
    return first | (run - 1) << 8 | (step - 1) << 16


def choose_histogram(caps: Capabilities, most_codes: int, name: str = "auto") -> Variant:
    """Return the variant for features of at most ``most_codes`` codes.

    If the local accumulators of the device's variants hold fewer, this is ``ANY_CODES``.

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
    return variant.name in ("cpu", ANY_CODES) or most_codes <= local_codes(variant, caps)


def local_codes(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes whose sums fit in a work-group's local memory.

    These are codes of one feature, if a block's other features can have as many beside them.
    """
    each = _BYTES_PER_CODE * (2 if variant.name == "private" else 1)  # 64-bit sums in "private"
    if variant.name == OWN_BANKS:
        each = BYTES_OF_BANKS
    return min((caps.local_bytes - LOCAL_HEADROOM) // each, variant.params["codes"])


def capacity_of(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes that a work-group sums at a time."""
    if variant.name == "cpu":  # its sums are in global memory
        return variant.params["codes"]
    codes = local_codes(variant, caps)
    return codes * _BLOCK_FEATURES if variant.name == OWN_BANKS else codes


def sums_pairs(
    variant: Variant, caps: Capabilities, order: BlockOrder, n_rows: int, most_codes: int
) -> bool:
    """Tell whether a work-group sums a pair of blocks at a time: it reads rows once for both.

    Two such groups have to find room on a compute unit.
    """
    few = n_rows * order.n_blocks < _LEAST_PAIRED
    if variant.name != OWN_BANKS or order.together != 2 or few:
        return False
    each = 2 * codes_of_banks(variant, caps, most_codes) * BYTES_OF_BANKS + LOCAL_HEADROOM
    return 2 * each <= caps.unit_local_bytes


def codes_of_banks(variant: Variant, caps: Capabilities, most_codes: int) -> int:
    """Return for how many codes of a feature the kernel with own banks is built."""
    capacity = local_codes(variant, caps)
    return next((n for n in _CODES_OF_BANKS if most_codes <= n <= capacity), capacity)


def work_groups(
    variant: Variant, caps: Capabilities, n_features: int, n_rows: int, most_codes: int
) -> int:
    """Return the number of work-groups that share the tasks of a level, for each range of codes.

    With many ranges, few work-groups for each are enough to keep the device busy.
    """
    dtype = code_dtype(most_codes)
    order = BlockOrder.of(n_features, dtype, coalesced=caps.coalesces_reads)
    pairs = sums_pairs(variant, caps, order, n_rows, most_codes)
    return shared_groups(variant, caps, order.n_blocks // 2 if pairs else order.n_used)


def shared_groups(variant: Variant, caps: Capabilities, n_ranges: int) -> int:
    """Return the number of work-groups for each of some ranges; ``work_groups`` says more."""
    groups = caps.compute_units * variant.params["groups_per_unit"]
    if variant.name == "cpu":
        return groups
    least = min(groups, -(-_WAVES[0] * groups // n_ranges))
    # elsewhere each group has sums of its own, which take memory and time
    if least == groups or least < _MANY_GROUPS or not variant.atomic_sums:
        return least
    waves = max(_WAVES, key=lambda waves: waves * groups // n_ranges * n_ranges / waves)
    return waves * groups // n_ranges
