"""What a row adds to a metric that is a mean over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowLoss:
    """One row's part of a mean.

    Attributes
    ----------
    kernel : str
        Statements in the kernels' vocabulary that set ``loss`` from the prediction ``p``, the label
        ``y`` and ``unit`` (float32). NaN and infinity make the mean so. Of ``classes``, class k of
        ``n_outputs`` has the margin ``margins[(u64)k * n_rows + row]``.
    twin : callable
        Of prediction, label and unit: the same bits. Of ``classes``, of their probabilities, shape
        (n_classes, n_rows).
    root : bool
        Whether the metric is the root of the mean; the parts are then to be multiplied by unit^2,
        so that squares neither overflow nor vanish whatever the labels' own unit is.
    factor : float
        The metric is so many times the mean.
    constant : callable or None
        Of the label: a float64 array, what to add to each row's part.
    classes : bool
        Whether rows have a margin a class, and the number of their own class as label.
    bounds : bool
        Whether ``labels`` are bounds, see ``bounds_losses.log_pairs``: the twin gets all of them,
        and ``y`` is the first of a row.
    """

    kernel: str
    twin: Callable[[F32, F32, np.float32], F32]
    root: bool = False
    factor: float = 1.0
    constant: Callable[[F32], npt.NDArray[np.float64]] | None = None
    classes: bool = False
    bounds: bool = False
