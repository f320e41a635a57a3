"""XGBoost's estimators for scikit-learn, with their signatures and defaults."""

from __future__ import annotations

from pyopencl_gbdt.compat.xgboost.estimator_base import XGBModel
from pyopencl_gbdt.compat.xgboost.estimators import (
    XGBClassifier,
    XGBRegressor,
    XGBRFClassifier,
    XGBRFRegressor,
)
from pyopencl_gbdt.compat.xgboost.ranker import XGBRanker, XGBRankerMixIn

__all__ = [
    "XGBClassifier",
    "XGBModel",
    "XGBRFClassifier",
    "XGBRFRegressor",
    "XGBRanker",
    "XGBRankerMixIn",
    "XGBRegressor",
]
