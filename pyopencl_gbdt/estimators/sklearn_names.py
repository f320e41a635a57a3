"""Import the names that the estimators use from scikit-learn."""

from __future__ import annotations

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
    from sklearn.exceptions import DataConversionWarning
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
except ImportError as error:
    raise ImportError(
        "the estimators need scikit-learn: pip install 'pyopencl_gbdt[scikit-learn]'; "
        "pyopencl_gbdt.train works without it"
    ) from error

__all__ = [
    "BaseEstimator", "ClassifierMixin", "DataConversionWarning", "RegressorMixin",
    "SklearnNotFittedError", "clone",
]  # fmt: skip
