"""XGBoost's names for trainings on Dask, see ``docs/large-data.md``."""

from pyopencl_gbdt.compat.xgboost.dask.estimators import (
    DaskScikitLearnBase,
    DaskXGBClassifier,
    DaskXGBRanker,
    DaskXGBRegressor,
    DaskXGBRFClassifier,
    DaskXGBRFRegressor,
)
from pyopencl_gbdt.compat.xgboost.dask.training import (
    DaskDMatrix,
    DaskQuantileDMatrix,
    inplace_predict,
    predict,
    train,
)
from pyopencl_gbdt.compat.xgboost.dask.training import (
    WorkerContext as CommunicatorContext,
)

__all__ = [
    "CommunicatorContext", "DaskDMatrix", "DaskQuantileDMatrix", "DaskScikitLearnBase",
    "DaskXGBClassifier", "DaskXGBRFClassifier", "DaskXGBRFRegressor", "DaskXGBRanker",
    "DaskXGBRegressor", "inplace_predict", "predict", "train",
]  # fmt: skip
