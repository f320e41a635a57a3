"""LightGBM's names over this library: ``from pyopencl_gbdt.compat import lightgbm as lgb``."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.callback import (
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.engine import CVBooster, cv, train
from pyopencl_gbdt.compat.lightgbm.errors import (
    LGBMDeprecationWarning,
    LightGBMError,
    register_logger,
)
from pyopencl_gbdt.compat.lightgbm.estimator_base import LGBMModel
from pyopencl_gbdt.compat.lightgbm.estimators import LGBMClassifier, LGBMRanker, LGBMRegressor
from pyopencl_gbdt.compat.lightgbm.metrics import EvalResult
from pyopencl_gbdt.compat.lightgbm.plotting import (
    create_tree_digraph,
    plot_importance,
    plot_metric,
    plot_split_value_histogram,
    plot_tree,
)
from pyopencl_gbdt.compat.lightgbm.tables import Sequence

__all__ = [
    "Booster", "CVBooster", "Dataset", "EarlyStopException", "EvalResult", "LGBMClassifier",
    "LGBMDeprecationWarning", "LGBMModel", "LGBMRanker", "LGBMRegressor", "LightGBMError",
    "Sequence", "create_tree_digraph", "cv", "early_stopping", "log_evaluation", "plot_importance",
    "plot_metric", "plot_split_value_histogram", "plot_tree", "record_evaluation",
    "register_logger", "reset_parameter", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("DaskLGBM"):
        raise AttributeError(
            f"{name}: LightGBM's estimators on Dask are not here; use those of pyopencl_gbdt.dask"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
