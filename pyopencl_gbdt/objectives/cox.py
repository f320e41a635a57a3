"""``survival:cox``: proportional hazards; negative labels are censored rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import (
    df_from_i64,
    portable_exp,
    power_of_two,
    reciprocal,
    to_quanta,
)
from pyopencl_gbdt.objectives.base import F32, LogLink

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_f = np.float32

#: Sums of 1 / S and 1 / S^2: (number of 31-bit planes, unit); the lowest plane counts 2^-unit.
PLANES = {"r": (2, 88), "s": (3, 122)}
EVENT = np.uint32(1 << 31)


@dataclass(frozen=True)
class Cox(LogLink):
    """Negative log partial likelihood of Cox's model of proportional hazards.

    A row with label t > 0 had its event at time t; a row with label -t was censored at time t.
    S is the sum of e^m over all rows that are not earlier than an event; r and s are the sums of
    1 / S and 1 / S^2 over the events up to the row's time. The gradient is ``e^m r - event``, the
    Hessian ``e^m r - e^2m s``. XGBoost 3.2, ``src/objective/regression_obj.cu``; Cox 1972,
    "Regression models and life-tables". Ties are as in XGBoost: events of a tie share one risk set
    (Breslow 1974) but count one after the other, in the order of the rows.

    Notes
    -----
    As in XGBoost, a weight multiplies its row's gradient and Hessian but not the risk sets: a row
    of weight k is not the same as k equal rows. Risks are integers, see ``top_bits``: a hazard
    below e^-28 of the largest one (among a million rows) counts as e^-28 of it.
    """

    name = "survival:cox"
    metric = "cox-nloglik"
    given = True

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Twin of ``templates/cox.cl.mako``."""
        order, starts = in_time(label)
        start, event = (starts & ~EVENT).astype(np.int64), starts >= EVENT
        risk = portable_exp(margin[order])
        largest = int(risk.max().view(np.uint32) >> 23)
        quanta = np.maximum(to_quanta(risk, top_bits(label.size) + 126 - largest), 1)
        sums = np.concatenate([[0], np.cumsum(quanta)])
        inverse = reciprocal(df_from_i64(sums[-1] - sums[start])[0])
        r, s = (
            _running_sum(np.where(event, _f(term), _f(0.0)), *PLANES[name])
            for name, term in (("r", inverse), ("s", inverse * inverse))
        )
        risk = df_from_i64(quanta)[0]
        g, h = np.empty_like(risk), np.empty_like(risk)
        first = risk * r
        g[order] = first - event.astype(np.float32)
        h[order] = np.maximum(first - (risk * risk) * s, _f(0.0))
        return g, h

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the gradients of a round, shape (1, n_rows)."""
        g, h = self.gradient(margins[0], data.label)
        return g[None], h[None]

    @property
    def starts_at_mean(self) -> bool:
        """Return False: the base score is the hazard after one Newton step from hazard 1."""
        return False


def in_time(label: F32) -> tuple[U32, U32]:
    """Return the row numbers by time, and per position the first position with the same time.

    Parameters
    ----------
    label : float32 array, shape (n_rows,)

    Returns
    -------
    order, starts : uint32 array, shape (n_rows,)
        Bit 31 of ``starts`` marks events.
    """
    times = np.abs(label)
    order = np.argsort(times, kind="stable").astype(np.uint32)
    times = times[order]
    head = np.concatenate([[True], times[1:] != times[:-1]])
    start = np.maximum.accumulate(np.where(head, np.arange(times.size), 0)).astype(np.uint32)
    return order, np.where(label[order] > 0, start | EVENT, start).astype(np.uint32)


def top_bits(n_rows: int) -> int:
    """Return the number of bits of the largest risk.

    All risks sum to less than 2^61. The unit of s, 2^-122, is at most 2^-20 of the product of the
    largest risk and that sum, so a Hessian is as precise, relative to ``e^m r``.
    """
    length = n_rows.bit_length()
    return min((102 - length) // 2, 61 - length)


def _running_sum(terms: F32, planes: int, unit: int) -> F32:
    """Return the running sums of float32 terms, rounded only once each, at the end."""
    total = np.zeros_like(terms)
    for j in range(planes):
        part = np.cumsum(plane_of(terms, unit, j, planes))
        total = total + df_from_i64(part)[0] * power_of_two(31 * j - unit)
    return total


def plane_of(x: F32, unit: int, j: int, planes: int) -> I64:
    """Return the bits of x >= 0 in plane j; the last plane holds all higher bits too."""
    bits = x.view(np.uint32)
    shift = (bits >> 23).astype(np.int64) - 150 + unit - 31 * j
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.int64)
    low = mantissa >> np.clip(-shift, 0, 63)
    moved = np.where(shift < 0, low, mantissa << np.clip(shift, 0, 39))
    if j < planes - 1:
        moved = np.where(shift >= 31, 0, moved & 0x7FFFFFFF)
    return np.where(x == 0, 0, moved)
