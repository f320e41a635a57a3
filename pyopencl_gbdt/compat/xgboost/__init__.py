"""XGBoost's interface; see ``docs/from-xgboost.md``."""

from __future__ import annotations

from pyopencl_gbdt.compat.xgboost.errors import XGBoostError

__all__ = ["XGBoostError"]
