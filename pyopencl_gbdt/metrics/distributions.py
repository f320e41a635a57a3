"""Metrics of losses whose outputs are the parameters of a distribution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics.row_losses import RowLoss
from pyopencl_gbdt.numerics.expressions import Number, Term, evaluate, statements
from pyopencl_gbdt.numerics.portable_math import exact_mean, not_tiny
from pyopencl_gbdt.objectives.distributions import (
    DISTRIBUTIONS,
    Distribution,
    NormalDistribution,
)

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: Some devices flush subnormal labels; the prediction of one margin is of no use.
_LABEL = """const f32 second = margins[(u64)n_rows + row];
    const f32 label = as_u32(y) & 0x7F800000u ? y : 0.0f;
    (void)p;
    """
_BY_NAME: dict[str, Distribution] = {one.name: one for one in DISTRIBUTIONS}


def nll(
    label: F32, parameters: F32, weight: F32 | None, *, distribution: str = "dist:normal"
) -> float:
    """Return the mean negative logarithm of the likelihood.

    Parameters
    ----------
    label : float32 array, shape (n_rows,)
    parameters : float32 array, shape (2, n_rows)
        In the order of the distribution's ``parameter_names``.
    weight : float32 array, shape (n_rows,), or None

    Returns
    -------
    float
        NaN or infinite if a row's is. Rows' numbers are float32 and their sum is exact, so it has
        the same bits on every machine.
    """
    return _mean(row_loss_by_name(nll, distribution), parameters, label, weight)


def crps(
    label: F32, parameters: F32, weight: F32 | None, *, distribution: str = "dist:normal"
) -> float:
    """Return the mean continuous ranked probability score of ``dist:normal``; see ``nll``."""
    return _mean(row_loss_by_name(crps, distribution), parameters, label, weight)


def of_distribution(
    function: Callable[..., float], parameters: Parameters | None
) -> Callable[..., float]:
    """Return one of the metrics above for the distribution that is trained."""
    name = "" if parameters is None else parameters.objective
    return partial(function, distribution=name if name in _BY_NAME else "dist:normal")


@dataclass(frozen=True)
class LossOfDistribution(RowLoss):
    """The loss of a row's distribution.

    Attributes
    ----------
    of_row : callable
        Returns the loss for ``Number`` of both parameters and the label.
    """

    objective: Distribution
    of_row: Callable[..., Term]
    distributed: ClassVar[bool] = True

    @property
    def kernel(self) -> str:
        return _LABEL + statements(self._of_margins, ("margin", "second", "label"), ("loss",))

    def twin(self, prediction: F32, label: F32, unit: np.float32) -> F32:
        found: F32 = evaluate(self.of_row, *prediction, not_tiny(label, 2.0**-126))
        return found

    def _of_margins(self, first: Number, second: Number, label: Number) -> Term:
        parameters = self.objective.parameters_of(first, second)
        return self.of_row(*parameters, label)


def row_loss_by_name(function: Callable[..., float], distribution: str) -> LossOfDistribution:
    """Return the loss per row of one of the metrics above."""
    objective = _BY_NAME[distribution]
    of_row = NormalDistribution().crps_of if function is crps else objective.loss_of
    return LossOfDistribution(objective, of_row)


def _mean(loss: LossOfDistribution, parameters: F32, label: F32, weight: F32 | None) -> float:
    losses = loss.twin(parameters, label, np.float32(1))
    if np.isfinite(losses).all():
        return float(exact_mean(losses, weight))
    return float(np.average(losses, weights=weight))
