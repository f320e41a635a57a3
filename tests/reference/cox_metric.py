"""Twin of ``evaluation.cox_metric``: the partial likelihood of proportional hazards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.exact_sums import LARGEST_KEY, plane_bits
from pyopencl_gbdt.numerics.portable_math import df_from_i64, portable_log, power_of_two, reciprocal
from pyopencl_gbdt.objectives.survival import EVENT, in_time
from tests.reference.mean_loss import sum_words

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32


def planes_of(hazard: F32, width: int) -> tuple[I64, I64]:
    """Split hazards into two bit planes; the largest hazard has nearly 2^(2 width) units."""
    bits = hazard.view(np.uint32)
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.int64)
    shift = (bits >> 23).astype(np.int64) - int(bits.max() >> 23) + 2 * width - 24
    above = shift - width
    high = np.where(
        above < 0, mantissa >> np.clip(-above, 0, 63), mantissa << np.clip(above, 0, 38)
    )
    moved = (mantissa.astype(np.uint64) << np.clip(shift, 0, 63).astype(np.uint64)).astype(np.int64)
    low = np.where(shift < 0, mantissa >> np.clip(-shift, 0, 63), moved) & ((1 << width) - 1)
    return high, np.where(shift < width, low, 0)


def losses(hazard: F32, label: F32) -> F32:
    """Return ln(S / hazard) of every event, in order of time.

    S is the sum of the hazards of all rows at the event's time or later.

    Parameters
    ----------
    hazard : float32 array, shape (n_rows,)
        Normal numbers above 0.
    label : float32 array, shape (n_rows,)
        Times, negated for censored rows.
    """
    order, starts = in_time(label)
    event, start = starts >= EVENT, (starts & ~EVENT).astype(np.int64)
    hazard, width = hazard[order], plane_bits(label.size)
    high, low = (
        to_float(sums[-1] - sums[start])
        for sums in (np.concatenate([[0], np.cumsum(p)]) for p in planes_of(hazard, width))
    )
    everything = high * power_of_two(width) + low
    bits = hazard.view(np.uint32)
    exponent = (bits >> 23).astype(np.int64) - int(bits.max() >> 23) + 2 * width + 126
    far = exponent < 107
    shifted = np.where(far, exponent + 86, exponent).astype(np.uint32) << 23
    own = (shifted | (bits & np.uint32(0x7FFFFF))).view(np.float32)
    top = np.where(far, everything * power_of_two(-50), everything)
    ln = portable_log(top * reciprocal(own))
    loss = np.where(everything == 0, _f(0), np.where(far, ln + _f(94.2680245), ln))
    found: F32 = loss[event]
    return found


def cox_words(hazard: F32, label: F32) -> I64:
    """Return the words of the sum of ``losses``, see ``sum_words``."""
    return sum_words(losses(hazard, label), None, LARGEST_KEY)


def to_float(v: I64) -> F32:
    """Convert integers to float32."""
    return df_from_i64(v)[0]
