"""Gradient-boosted decision trees that train on any GPU, through OpenCL or CUDA.

Importing this package is quick and uses no device.
"""

from __future__ import annotations

import importlib
from typing import Any

from pyopencl_gbdt._version import __version__

#: Public name -> module that defines it; modules are imported at first use.
_PUBLIC = {
    "Dataset": "pyopencl_gbdt.data.dataset",
    "DeviceArray": "pyopencl_gbdt.device",
    "DeviceObjective": "pyopencl_gbdt.objectives.custom",
    "GBDTClassifier": "pyopencl_gbdt.estimators.gradient_boosting",
    "GBDTRandomForestClassifier": "pyopencl_gbdt.estimators.forests",
    "GBDTRandomForestRegressor": "pyopencl_gbdt.estimators.forests",
    "GBDTRanker": "pyopencl_gbdt.estimators.ranking",
    "GBDTRegressor": "pyopencl_gbdt.estimators.gradient_boosting",
    "KernelObjective": "pyopencl_gbdt.objectives.custom",
    "Model": "pyopencl_gbdt.prediction.model",
    "cv": "pyopencl_gbdt.training.cross_validation",
    "devices": "pyopencl_gbdt.device",
    "plot_importance": "pyopencl_gbdt.model.importance_plot",
    "plot_metric": "pyopencl_gbdt.model.metric_plot",
    "plot_tree": "pyopencl_gbdt.model.tree_plot",
    "to_graphviz": "pyopencl_gbdt.model.graphviz",
    "register_logger": "pyopencl_gbdt.logger",
    "train": "pyopencl_gbdt.training.train",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
