"""Metrics that are means over rows, as kernels compute them: an expression of a row each.

A row's loss is a float32 computed by +, -, * in a fixed order and by functions of
``portable_math.h``, ``portable_log.h`` and ``portable_loss.h``. Some formulas of XGBoost are
small differences of large numbers, such as likelihoods close to the best prediction. Here the
loss is that difference itself; terms of the label alone are summed once, on the host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics.formulas import log64, log_gamma
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    divergence,
    evaluate,
    exp,
    log,
    log1p,
    reciprocal,
    size_of,
    sqrt,
    statements,
    where,
)

#: Statements that set ``most``, the row's largest margin, and ``share``, 1 / sum of exponentials.
_SOFTMAX = (
    "f32 most = margin; for (u32 k = 1; k < n_outputs; k++) { "
    "const f32 m = margins[(u64)k * n_rows + row]; most = m > most ? m : most; } "
    "f32 total = 0.0f; IN_ORDER for (u32 k = 0; k < n_outputs; k++) "
    "total = total + portable_exp(margins[(u64)k * n_rows + row] - most); "
    "const f32 share = reciprocal(total); (void)p; "
)

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


#: Least argument of a logarithm, largest value of a reciprocal, and labels that count as 0.
_EDGE, _MOST, _NO_LABEL = 1e-16, 1e36, 1e-30
_LOG_EDGE = float(np.log(1e-16))


def _difference(p: Number, y: Number) -> Term:
    return p - y


def _mae(p: Number, y: Number) -> Term:
    return size_of(p - y)


def _mape(p: Number, y: Number) -> Term:
    d, a = size_of(p - y), size_of(y)
    down = where(a > 2.0**100, 2.0**-64, 1)
    share = (d * down) * reciprocal(a * down)
    return where(a < 2.0**-120, where(d.equals(0), np.nan, np.inf), share)


def _log_ratio(p: Number, y: Number) -> Term:
    low, high = where(p < y, p, y), where(p < y, y, p)
    log = log1p((high - low) * reciprocal(at_most(1 + low, _MOST)))
    edge = where(low.equals(-1), where(high.equals(-1), np.nan, np.inf), log)
    return where(low < -1, np.nan, edge)


def _logloss(p: Number, y: Number) -> Term:
    other = where(1 - p < _EDGE, _LOG_EDGE, lambda: log1p(-p))
    return -(y * log(at_least(p, _EDGE)) + (1 - y) * other)


def _poisson(p: Number, y: Number) -> Term:
    p, some = at_most(at_least(p, _EDGE), _MOST), at_most(y, _MOST)
    return where(y < _NO_LABEL, p, lambda: divergence(p - some, p, some))


def _gamma_nloglik(p: Number, y: Number) -> Term:
    p = at_most(at_least(p, 1e-6), _MOST)
    return y * reciprocal(p) + log(p)


def _gamma_deviance(p: Number, y: Number) -> Term:
    a, b = y + 1e-6, at_most(p + 1e-6, _MOST)
    loss = divergence(y - p, a, b) * reciprocal(b)
    return where((a < _NO_LABEL) | (b < _NO_LABEL), np.nan, loss)


def _label_logs(y: F32) -> npt.NDArray[np.float64]:
    """Return y - y ln y; 0 for labels that count as 0."""
    there = y >= _NO_LABEL
    some = np.where(there, np.minimum(y, _MOST), 1.0).astype(np.float64)
    return np.where(there, some - some * log64(some), 0.0)


def _poisson_constant(y: F32) -> npt.NDArray[np.float64]:
    there = y >= _NO_LABEL
    some = np.where(there, np.minimum(y, _MOST), 0.0).astype(np.float64)
    return np.where(there, log_gamma(some + 1.0), 0.0) + _label_logs(y)


def _mphe(slope: float = 1.0) -> RowLoss:
    def of_row(p: Number, y: Number) -> Term:
        d = p - y
        a = size_of(d)
        z = a * (1.0 / slope)
        part = d * reciprocal(1 + sqrt(1 + z * z))
        return where(z > 1e12, a * slope, d * part)

    return LossOfRow(of_row)


def _quantile(alpha: float = 0.5) -> RowLoss:
    def of_row(p: Number, y: Number) -> Term:
        d = y - p
        return d * where(d >= 0, alpha, alpha - 1.0)

    return LossOfRow(of_row)


def _expectile(alpha: float = 0.5) -> RowLoss:
    def of_row(p: Number, y: Number) -> Term:
        d = p - y
        return (where(d >= 0, 1.0 - alpha, alpha) * d) * d

    return LossOfRow(of_row)


def _error(threshold: float = 0.5) -> RowLoss:
    return LossOfRow(lambda p, y: where(p > threshold, 1 - y, y))


def _tweedie(rho: float = 1.5) -> RowLoss:
    if rho == 1.0:
        return LossOfRow(_poisson, constant=_label_logs)

    def of_row(p: Number, y: Number) -> Term:
        ln = log(at_least(p, _NO_LABEL))
        scaled = (y * exp((1.0 - rho) * ln)) * (1.0 / (rho - 1.0))
        return exp((2.0 - rho) * ln) * (1.0 / (2.0 - rho)) + scaled

    return LossOfRow(of_row)


#: The loss per row of metrics by name, or what returns it for the metric's number.
ROW_LOSSES: dict[str, RowLoss | Callable[..., RowLoss]] = {
    "rmse": LossOfRow(_difference, root=True, scaled=True),
    "mae": LossOfRow(_mae),
    "mape": LossOfRow(_mape),
    "mphe": _mphe,
    "rmsle": LossOfRow(_log_ratio, root=True),
    "quantile": _quantile,
    "expectile": _expectile,
    "logloss": LossOfRow(_logloss),
    "error": _error,
    "mlogloss": MLOGLOSS,
    "merror": MERROR,
    "poisson-nloglik": LossOfRow(_poisson, constant=_poisson_constant),
    "gamma-nloglik": LossOfRow(_gamma_nloglik),
    "gamma-deviance": LossOfRow(_gamma_deviance, factor=2.0),
    "tweedie-nloglik": _tweedie,
}
