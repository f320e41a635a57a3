"""Multiclass metrics that are means over rows, as kernels compute them, with host twins.

Probabilities are the softmax of a row's margins; sums are in the order of
``objectives.softmax.softmax``.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.metrics.row_loss import F32, RowLoss
from pyopencl_gbdt.numerics.expressions import literal
from pyopencl_gbdt.numerics.portable_log import portable_log

_EDGE = np.float32(1e-16)
#: Statements that set ``most``, the row's largest margin, and ``share``, 1 / sum of exponentials.
_SOFTMAX = (
    "f32 most = margin; for (u32 k = 1; k < n_outputs; k++) { "
    "const f32 m = margins[(u64)k * n_rows + row]; most = m > most ? m : most; } "
    "f32 total = 0.0f; IN_ORDER for (u32 k = 0; k < n_outputs; k++) "
    "total = total + portable_exp(margins[(u64)k * n_rows + row] - most); "
    "const f32 share = reciprocal(total); (void)p; "
)


def _mlogloss(p: F32, y: F32, unit: np.float32) -> F32:
    own = p[y.astype(np.intp), np.arange(y.size)]
    loss: F32 = -portable_log(np.maximum(own, _EDGE))
    return loss


def _merror(p: F32, y: F32, unit: np.float32) -> F32:
    wrong: F32 = (np.argmax(p, axis=0) != y).astype(np.float32)
    return wrong


MLOGLOSS = RowLoss(
    _SOFTMAX + "const f32 own = portable_exp(margins[(u64)(u32)y * n_rows + row] - most) * share; "
    f"const f32 edge = {literal(_EDGE)}; loss = -portable_log(own < edge ? edge : own);",
    _mlogloss,
    classes=True,
)
MERROR = RowLoss(
    _SOFTMAX + "f32 best = -1.0f; u32 first = 0; for (u32 k = 0; k < n_outputs; k++) { "
    "const f32 of_k = portable_exp(margins[(u64)k * n_rows + row] - most) * share; "
    "if (of_k > best) { best = of_k; first = k; } } loss = first == (u32)y ? 0.0f : 1.0f;",
    _merror,
    classes=True,
)
