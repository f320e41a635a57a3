"""What a model's predictions say about columns and rows."""

from __future__ import annotations

from pyopencl_gbdt.explain.contributions import explain
from pyopencl_gbdt.explain.dependence import partial_dependence
from pyopencl_gbdt.explain.proximity import proximities
from pyopencl_gbdt.explain.results import Explanation, PartialDependence

__all__ = [
    "Explanation",
    "PartialDependence",
    "explain",
    "partial_dependence",
    "proximities",
]
