"""A new loss is its derivatives: kernels and host take all arithmetic from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.numerics.expressions import clamped, reciprocal
from pyopencl_gbdt.objectives.base import MeanStart, Objective
from pyopencl_gbdt.objectives.custom import FunctionObjective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import few_values


@dataclass(frozen=True)
class Cauchy(MeanStart):
    """Robust: the gradient of a far row tends to 0."""

    name = "cauchy"
    metric = "mae"
    cauchy_scale: float = 1.0

    def derivatives(self, margin, label):
        d = clamped(margin - label, -1e9, 1e9)
        z = d * (1.0 / self.cauchy_scale)
        share = reciprocal(1 + z * z)
        return d * share, share


def trees(objective, X, y):
    params = Parameters.from_dict({"max_depth": 3, "max_bin": 16})
    fit = Fit(open_device(TEST_DEVICE), params, objective, Dataset(X, y), 0.5)
    return fit.run(3)


def test_a_loss_trains_by_its_derivatives_alone():
    X, y = few_values("reg:squarederror", 0, 700)
    loss = Cauchy(2.0)
    by_numpy = FunctionObjective(
        custom_name="cauchy", function=lambda margins, rows: loss.gradient(margins, rows.label)
    )
    found = trees(loss, X, y)
    assert found == trees(by_numpy, X, y)
    assert found != trees(Cauchy(0.5), X, y)


def test_a_loss_without_derivatives_says_so():
    class Empty(Objective):
        name = "empty"
        metric = "mae"

    with pytest.raises(NotImplementedError, match="empty: write derivatives"):
        Empty().gradient(np.zeros(2, np.float32), np.ones(2, np.float32))
