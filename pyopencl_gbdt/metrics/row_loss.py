"""`RowLoss`: the loss per row of a metric that is a mean over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.expressions import Number, Term, evaluate, statements

F32 = npt.NDArray[np.float32]
_BOUNDS = ("y", "y_rest", "u", "u_rest")
_READ_BOUNDS = """const f32 y_rest = labels[(u64)n_rows + row], u = labels[2 * (u64)n_rows + row];
    const f32 u_rest = labels[3 * (u64)n_rows + row];
    """


class RowLoss(ABC):
    """The loss of one row, whose mean over rows is the metric.

    A NaN or infinite loss makes the mean NaN or infinite.

    Attributes
    ----------
    root : bool
        Whether the metric is the root of the mean.
    factor : float
        The metric is the mean times this factor.
    constant : callable or None
        Computes from the labels a float64 array that is added to the losses.
    classes : bool
        Whether rows have one margin per class, and their class as label.
    bounds : bool
        Whether ``labels`` are bounds, see ``bounds_losses.log_pairs``.
    distributed : bool
        Whether rows have a margin for each parameter of a distribution.
    scaled : bool
        Whether an error of a ``root`` has the labels' unit: its square could be out of range.
    """

    root: bool = False
    factor: float = 1.0
    constant: Callable[[F32], npt.NDArray[np.float64]] | None = None
    classes: ClassVar[bool] = False
    distributed: ClassVar[bool] = False
    bounds: bool = False
    scaled: bool = False

    @property
    @abstractmethod
    def kernel(self) -> str:
        """Kernel statements that set ``loss`` from the prediction ``p``, label ``y`` and ``unit``.

        They may read the row's other labels and margins from ``labels`` and ``margins``.
        """

    @abstractmethod
    def twin(self, prediction: F32, label: F32, unit: np.float32) -> F32:
        """Return the losses with the kernel's bits.

        Parameters
        ----------
        prediction : float32 array, shape (n_rows,)
            With ``classes`` the probabilities, shape (n_classes, n_rows); if ``distributed`` the
            parameters, shape (2, n_rows).
        label : float32 array, shape (n_rows,)
            With ``bounds`` the result of ``log_pairs``, shape (4, n_rows).
        unit : float32
            Errors that are ``scaled`` are multiplied by it, so that their squares neither overflow
            nor underflow at any scale of the labels.
        """


@dataclass(frozen=True)
class LossOfRow(RowLoss):
    """A loss that is an expression of the row's prediction and label.

    Attributes
    ----------
    of_row : callable
        Returns the loss for ``Number`` of prediction and label; with ``bounds``, for prediction,
        lower bound, its rest, upper bound and its rest. With ``root`` it returns the row's error,
        whose square is the loss.
    """

    of_row: Callable[..., Term]
    root: bool = False
    factor: float = 1.0
    constant: Callable[[F32], npt.NDArray[np.float64]] | None = None
    bounds: bool = False
    scaled: bool = False

    @cached_property
    def kernel(self) -> str:  # cv asks for it twenty times
        if self.bounds:
            return _READ_BOUNDS + statements(self.of_row, ("p", *_BOUNDS), ("loss",))
        return statements(self._of_unit, ("p", "y", "unit"), ("loss",))

    def twin(self, prediction: F32, label: F32, unit: np.float32) -> F32:
        if self.bounds:
            loss: F32 = evaluate(self.of_row, prediction, *label)
        else:
            loss = evaluate(self._of_unit, prediction, label, unit)
        return loss

    def _of_unit(self, p: Number, y: Number, unit: Number) -> Term:
        found = self.of_row(p, y)
        if self.scaled:
            found = found * unit
        return found * found if self.root else found
