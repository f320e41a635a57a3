"""Multiclass metrics that are means over rows, as kernels compute them, and on the host.

Probabilities are the softmax of a row's margins; sums are in the order of
``objectives.softmax.softmax``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyopencl_gbdt.metrics.row_loss import F32, RowLoss
from pyopencl_gbdt.numerics.expressions import Number, Term, at_least, evaluate, log, statements

#: Statements that set ``most``, the row's largest margin, and ``share``, 1 / sum of exponentials.
_SOFTMAX = (
    "f32 most = margin; for (u32 k = 1; k < n_outputs; k++) { "
    "const f32 m = margins[(u64)k * n_rows + row]; most = m > most ? m : most; } "
    "f32 total = 0.0f; IN_ORDER for (u32 k = 0; k < n_outputs; k++) "
    "total = total + portable_exp(margins[(u64)k * n_rows + row] - most); "
    "const f32 share = reciprocal(total); (void)p; "
)


@dataclass(frozen=True)
class LossOfClasses(RowLoss):
    """A loss of all margins of a row.

    Attributes
    ----------
    after_softmax : str
        Kernel statements that set ``loss`` from ``most`` and ``share``.
    of_probabilities : callable
        Computes the same bits from probabilities, shape (n_classes, n_rows), and classes.
    """

    after_softmax: str
    of_probabilities: Callable[[F32, F32], F32]
    classes: ClassVar[bool] = True

    @property
    def kernel(self) -> str:
        return _SOFTMAX + self.after_softmax

    def twin(self, prediction: F32, label: F32, unit: np.float32) -> F32:
        return self.of_probabilities(prediction, label)


def _minus_log(own: Number) -> Term:
    return -log(at_least(own, 1e-16))


def _mlogloss(p: F32, y: F32) -> F32:
    loss: F32 = evaluate(_minus_log, p[y.astype(np.intp), np.arange(y.size)])
    return loss


def _merror(p: F32, y: F32) -> F32:
    wrong: F32 = (np.argmax(p, axis=0) != y).astype(np.float32)
    return wrong


MLOGLOSS = LossOfClasses(
    "const f32 own = portable_exp(margins[(u64)(u32)y * n_rows + row] - most) * share; "
    + statements(_minus_log, ("own",), ("loss",)),
    _mlogloss,
)
MERROR = LossOfClasses(
    "f32 best = -1.0f; u32 first = 0; for (u32 k = 0; k < n_outputs; k++) { "
    "const f32 of_k = portable_exp(margins[(u64)k * n_rows + row] - most) * share; "
    "if (of_k > best) { best = of_k; first = k; } } loss = first == (u32)y ? 0.0f : 1.0f;",
    _merror,
)
