"""XGBoost's names for trainings on Dask, see ``docs/large-data.md``."""

from pyopencl_gbdt.compat.xgboost.dask.estimators import (
    DaskScikitLearnBase,
    DaskXGBClassifier,
    DaskXGBRanker,
    DaskXGBRegressor,
    DaskXGBRFClassifier,
    DaskXGBRFRegressor,
)
from pyopencl_gbdt.compat.xgboost.dask.matrices import DaskDMatrix, DaskQuantileDMatrix
from pyopencl_gbdt.compat.xgboost.dask.predictions import inplace_predict, predict
from pyopencl_gbdt.compat.xgboost.dask.training import (
    WorkerContext as CommunicatorContext,
)
from pyopencl_gbdt.compat.xgboost.dask.training import train

__all__ = [
    "CommunicatorContext", "DaskDMatrix", "DaskQuantileDMatrix", "DaskScikitLearnBase",
    "DaskXGBClassifier", "DaskXGBRFClassifier", "DaskXGBRFRegressor", "DaskXGBRanker",
    "DaskXGBRegressor", "inplace_predict", "predict", "train",
]  # fmt: skip
