"""`RowLoss`: the loss per row of a metric that is a mean over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowLoss:
    """The loss of one row, whose mean over rows is the metric.

    Attributes
    ----------
    kernel : str
        Statements in the kernels' vocabulary that set ``loss`` from the prediction ``p``, the
        label ``y`` and ``unit`` (float32). A NaN or infinite loss makes the mean NaN or infinite.
        With ``classes``, class k of ``n_outputs`` has margin ``margins[(u64)k * n_rows + row]``.
    twin : callable
        Computes the same bits on the host from prediction, label and unit. With ``classes``, the
        prediction is the array of probabilities, shape (n_classes, n_rows).
    root : bool
        Whether the metric is the root of the mean. The losses are then to be multiplied by
        unit^2, so that squares neither overflow nor underflow at any scale of the labels.
    factor : float
        The metric is the mean times this factor.
    constant : callable or None
        Computes from the labels a float64 array that is added to the losses.
    classes : bool
        Whether rows have one margin per class, and their class as label.
    bounds : bool
        Whether ``labels`` are bounds, see ``bounds_losses.log_pairs``: the twin gets all of them,
        and ``y`` is the row's first.
    """

    kernel: str
    twin: Callable[[F32, F32, np.float32], F32]
    root: bool = False
    factor: float = 1.0
    constant: Callable[[F32], npt.NDArray[np.float64]] | None = None
    classes: bool = False
    bounds: bool = False
