"""What a model's predictions say about columns and rows."""

from __future__ import annotations

from pyopencl_gbdt.explain.dependence import partial_dependence
from pyopencl_gbdt.explain.proximity import proximities
from pyopencl_gbdt.explain.results import Explanation, PartialDependence, explain
from pyopencl_gbdt.explain.selection import SelectedFeatures, select_features
from pyopencl_gbdt.explain.shap_form import to_shap

__all__ = [
    "Explanation",
    "PartialDependence",
    "SelectedFeatures",
    "explain",
    "partial_dependence",
    "proximities",
    "select_features",
    "to_shap",
]
