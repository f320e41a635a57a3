"""XGBoost's interface; see ``docs/from-xgboost.md``.

``from pyopencl_gbdt.compat import xgboost as xgb`` in place of ``import xgboost as xgb``.
"""

from __future__ import annotations

import importlib
from typing import Any

from pyopencl_gbdt.compat.xgboost import (
    callback,
    collective,
    config,
    core,
    objective,
    plotting,
    tracker,
    training,
)
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.config import config_context, get_config, set_config
from pyopencl_gbdt.compat.xgboost.core import XGBoostError, build_info
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.matrix_files import DataIter
from pyopencl_gbdt.compat.xgboost.plotting import plot_importance, plot_tree, to_graphviz
from pyopencl_gbdt.compat.xgboost.quantile_matrices import (
    ExtMemQuantileDMatrix,
    QuantileDMatrix,
)
from pyopencl_gbdt.compat.xgboost.tracker import RabitTracker
from pyopencl_gbdt.compat.xgboost.training import cv, train

__version__ = "3.2.0"
"""The version of XGBoost whose interface this is."""

#: What needs scikit-learn, which is imported at first use.
_OF_SKLEARN = (
    "XGBClassifier", "XGBModel", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker", "XGBRegressor",
)  # fmt: skip
#: Modules that need another package.
_MODULES = ("dask", "sklearn")

__all__ = [
    "Booster", "DMatrix", "DataIter", "ExtMemQuantileDMatrix", "QuantileDMatrix", "RabitTracker",
    "XGBClassifier", "XGBModel", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker", "XGBRegressor",
    "XGBoostError", "build_info", "callback", "collective", "config", "config_context", "core",
    "cv", "get_config", "objective", "plot_importance", "plot_tree", "plotting", "set_config",
    "to_graphviz", "tracker", "train", "training",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OF_SKLEARN:
        return getattr(importlib.import_module(f"{__name__}.sklearn"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
