"""The public names, and the modules that define them, which are imported at first use.

A method of a class whose work belongs to a room above it finds the function there by its name.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

PUBLIC = {
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
    "analyze": "pyopencl_gbdt.explain.analysis",
    "cv": "pyopencl_gbdt.training.cross_validation",
    "devices": "pyopencl_gbdt.device",
    "open_fit": "pyopencl_gbdt.training.open_fit",
    "partial_dependence": "pyopencl_gbdt.explain.dependence",
    "plot_contributions": "pyopencl_gbdt.explain.contribution_plot",
    "plot_importance": "pyopencl_gbdt.model.importance_plot",
    "plot_metric": "pyopencl_gbdt.model.metric_plot",
    "plot_partial_dependence": "pyopencl_gbdt.explain.dependence_plot",
    "plot_split_histogram": "pyopencl_gbdt.model.importance_plot",
    "plot_tree": "pyopencl_gbdt.model.tree_plot",
    "proximities": "pyopencl_gbdt.explain.proximity",
    "register_logger": "pyopencl_gbdt.logger",
    "select_features": "pyopencl_gbdt.explain.selection",
    "to_graphviz": "pyopencl_gbdt.model.graphviz",
    "to_shap": "pyopencl_gbdt.explain.shap_form",
    "train": "pyopencl_gbdt.training.train",
}


def public(name: str) -> Any:
    """Return the object of a public name."""
    collects = gc.isenabled()
    gc.disable()  # modules leave no garbage: looking for it takes a tenth of their import
    try:
        return getattr(importlib.import_module(PUBLIC[name]), name)
    finally:
        if collects:
            gc.enable()


def at_first_use(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package whose names are imported at first use.

    ``names``: the module of each name, by its path within the package.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
