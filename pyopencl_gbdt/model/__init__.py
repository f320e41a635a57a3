"""Trees, ensembles, model files, plots and explanations of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import (
    LEAST_STEP,
    margin_from_base_score,
    margins_from_base_scores,
)
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, NUMERIC_SPLIT, Tree
from pyopencl_gbdt.public_names import at_first_use

if TYPE_CHECKING:
    from pyopencl_gbdt.model.explain import dump_text, feature_importances
    from pyopencl_gbdt.model.formats.files import (
        from_xgboost_json,
        read_model,
        to_json,
        to_raw,
        to_xgboost_json,
        write_model,
    )
    from pyopencl_gbdt.model.importance_plot import plot_importance, plot_importances
    from pyopencl_gbdt.model.metric_plot import plot_metric
    from pyopencl_gbdt.model.node_labels import FeatureMap
    from pyopencl_gbdt.model.tree_plot import plot_tree
    from pyopencl_gbdt.model.xgboost_dump import dump_xgboost

_FILES = (
    "from_xgboost_json", "read_model", "to_json", "to_raw", "to_xgboost_json", "write_model",
)  # fmt: skip
__getattr__ = at_first_use(
    __name__,
    {
        **dict.fromkeys(_FILES, "formats.files"),
        **dict.fromkeys(("plot_importance", "plot_importances"), "importance_plot"),
        **dict.fromkeys(("dump_text", "feature_importances"), "explain"),
        "FeatureMap": "node_labels",
        "dump_xgboost": "xgboost_dump",
        "plot_metric": "metric_plot",
        "plot_tree": "tree_plot",
    },
)

__all__ = [
    "CATEGORY_SPLIT",
    "LEAST_STEP",
    "NO_NODE",
    "NUMERIC_SPLIT",
    "Ensemble",
    "FeatureMap",
    "Tree",
    "dump_text",
    "dump_xgboost",
    "feature_importances",
    "from_xgboost_json",
    "margin_from_base_score",
    "margins_from_base_scores",
    "plot_importance",
    "plot_importances",
    "plot_metric",
    "plot_tree",
    "read_model",
    "to_json",
    "to_raw",
    "to_xgboost_json",
    "write_model",
]
