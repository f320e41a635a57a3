"""Import the names that the estimators use from scikit-learn."""

from __future__ import annotations

from pyopencl_gbdt.messages import pip_install

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
    from sklearn.exceptions import DataConversionWarning
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
    from sklearn.metrics import check_scoring
except ImportError as error:
    raise ImportError(
        "pyopencl_gbdt.train works without scikit-learn, but the estimators need scikit-learn: "
        + pip_install("scikit-learn")
    ) from error

__all__ = [
    "BaseEstimator", "ClassifierMixin", "DataConversionWarning", "RegressorMixin",
    "SklearnNotFittedError", "check_scoring", "clone",
]  # fmt: skip
