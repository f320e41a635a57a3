"""What a model's predictions say about columns and rows."""

from __future__ import annotations

from pyopencl_gbdt.explain.partial_dependence import partial_dependence
from pyopencl_gbdt.explain.results import Explanation, PartialDependence

__all__ = ["Explanation", "PartialDependence", "partial_dependence"]
