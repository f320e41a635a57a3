"""scikit-learn's HistGradientBoosting, trained by this library: change the import.

``from pyopencl_gbdt.compat.sklearn import HistGradientBoostingClassifier``
"""

from __future__ import annotations

from pyopencl_gbdt.compat.sklearn.estimators import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]
