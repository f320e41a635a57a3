"""Let mlflow record our estimators: ``import pyopencl_gbdt.estimators.mlflow``.

After the import, ``mlflow.sklearn.autolog()`` records the parameters, the scores and the model of a
fit of this library's estimators, as it does for scikit-learn's own classes, the only ones that it
lists by itself. A call of ``autolog`` before the import is to be repeated.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from pyopencl_gbdt.estimators.gradient_boosting import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.estimators.ranking import GBDTRanker

try:  # as an attribute of mlflow it is a stand-in
    _flavor = importlib.import_module("mlflow.sklearn")
except ImportError as error:
    raise ImportError(
        "estimators.mlflow needs mlflow and scikit-learn: expected both; pip install mlflow"
    ) from error

#: Subclasses, such as forests, inherit the ``fit`` of one of these.
ESTIMATORS = (GBDTClassifier, GBDTRegressor, GBDTRanker)
#: The function of ``mlflow.sklearn`` that returns the classes to record.
_LIST = "_gen_estimators_to_patch"


def with_ours(listed: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """Return a function that returns our estimators after the classes of another function."""

    @functools.wraps(listed)
    def both() -> list[Any]:
        found = listed()
        return [*found, *(one for one in ESTIMATORS if one not in found)]

    return both


if not hasattr(_flavor, _LIST):
    raise ImportError(
        f"mlflow.sklearn has no {_LIST}: expected mlflow 2 or 3; log a fitted estimator by "
        "mlflow.sklearn.log_model"
    )
setattr(_flavor, _LIST, with_ours(getattr(_flavor, _LIST)))
