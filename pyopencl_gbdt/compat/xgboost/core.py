"""The names that programs take from ``xgboost.core``."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.inputs import Categories
from pyopencl_gbdt.compat.xgboost.matrices import DataSplitMode, DMatrix
from pyopencl_gbdt.compat.xgboost.matrix_files import DataIter
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.objective import Objective, TreeObjective
from pyopencl_gbdt.compat.xgboost.quantile_matrices import (
    ExtMemQuantileDMatrix,
    QuantileDMatrix,
)
from pyopencl_gbdt.compat.xgboost.training import PlainObj
from pyopencl_gbdt.errors import GBDTError

#: All errors that this library raises on purpose; those about parameters and data are ValueErrors.
XGBoostError = GBDTError


def build_info() -> dict[str, Any]:
    """Return what the library was built with: GPUs are used through OpenCL and CUDA at run time."""
    names = ("CUDA", "FEDERATED", "NCCL", "OPENMP", "RMM")
    used = dict.fromkeys(("DEBUG", *(f"USE_{name}" for name in names)), False)
    return {**used, "libxgboost": "", "pyopencl_gbdt": __version__}


__all__ = [
    "Booster", "Categories", "DMatrix", "DataIter", "DataSplitMode", "ExtMemQuantileDMatrix",
    "Metric", "Objective", "PlainObj", "QuantileDMatrix", "TreeObjective", "XGBoostError",
    "build_info",
]  # fmt: skip
