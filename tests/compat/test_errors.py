"""Errors of ``compat.xgboost``: programs for XGBoost catch them."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.errors import DataError, ParameterError


@pytest.mark.parametrize("raised", [DataError, ParameterError])
def test_errors_are_caught_by_both_names(raised):
    assert issubclass(raised, xgb.XGBoostError)
    assert issubclass(raised, ValueError)
