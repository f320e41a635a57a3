"""What a model is made of, in a few numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.explain import used_importances
from pyopencl_gbdt.model.node_labels import listed
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tables import tables_of
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree

#: Most names, and most levels of a column, that a line lists.
_MOST_NAMES, _MOST_LEVELS = 8, 5
_TASKS = {
    "reg": "regression", "binary": "two classes", "rank": "ranking", "survival": "survival times",
    "count": "counts", "custom": "a loss of your own", "dist": "distributions",
}  # fmt: skip


@dataclass(frozen=True)
class ModelSummary:
    """The size and the columns of a model.

    Attributes
    ----------
    task, growth : str
        What is predicted, and of what kind the trees are, in words.
    depths, leaves : list of int
        Depth and number of leaves of every tree.
    used : list of str
        Names of the columns that have a split, the most important by total gain first.
    n_set_splits : int
        Splits by sets of levels.
    """

    ensemble: Ensemble
    task: str
    growth: str
    depths: list[int]
    leaves: list[int]
    used: list[str]
    n_set_splits: int

    def lines(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a text."""
        own = self.ensemble
        starts = ", ".join(f"{score:.6g}" for score in each(own.base_score)[:_MOST_NAMES])
        starts += ", ..." if own.n_outputs > _MOST_NAMES else ""
        found = [
            ("kind", f"{self.task}, by {self.growth}"),
            ("objective", f"{own.objective}, starts from {starts}"),
            ("rounds", str(own.n_rounds)),
            ("trees", f"{len(own.trees)}, {own.round_trees} a round{self._weights()}"),
            ("depth", _range(self.depths)),
            ("leaves", f"{sum(self.leaves)}, a tree has {_range(self.leaves)}{self._vectors()}"),
            ("features", self._features()),
        ]
        if own.categories:
            found.append(("categories", self._categories()))
        if own.statistics is not None:
            counted = plural(own.statistics.n_features, "feature")
            found.append(("statistics", f"{counted} made of categorical columns"))
        return found

    def _vectors(self) -> str:
        n_values = self.ensemble.tree_outputs
        return f"; each is a vector of {n_values} numbers" if n_values > 1 else ""

    def _weights(self) -> str:
        weights = self.ensemble.tree_weights
        if not weights:
            return ""
        kind = self.ensemble.booster.upper()
        return f", weighted by {min(weights):.3g} to {max(weights):.3g} ({kind})"

    def _features(self) -> str:
        n_used, n_features = len(self.used), self.ensemble.n_features
        names = ", ".join(shorten(name) for name in self.used[:_MOST_NAMES])
        more = f", and {n_used - _MOST_NAMES} more" if n_used > _MOST_NAMES else ""
        return f"{n_used} of {n_features} used" + (f": {names}{more}" if names else "")

    def _categories(self) -> str:
        columns = []
        for column, levels in self.ensemble.categories.items():
            few = listed([shorten(str(one)) for one in levels.values[:_MOST_LEVELS]])
            more = f" and {levels.n_levels - _MOST_LEVELS} more levels"
            own = shorten(self.ensemble.feature_name(column)) + f" {few}"
            columns.append(own + (more if levels.n_levels > _MOST_LEVELS else ""))
        hidden = len(columns) - _MOST_NAMES
        text = "; ".join(columns[:_MOST_NAMES]) + (f"; and {hidden} more" if hidden > 0 else "")
        return f"{text}; {plural(self.n_set_splits, 'split')} by sets"


def summarize(ensemble: Ensemble) -> ModelSummary:
    """Return the summary of a model."""
    used, gains = used_importances(ensemble, "total_gain")
    strongest = used[np.argsort(-gains, kind="stable")].tolist()
    kind = ensemble.objective.partition(":")[0]
    task = "several classes" if kind == "multi" else _TASKS.get(kind, kind)
    by_set = sum(int((tree.split_kind == CATEGORY_SPLIT).sum()) for tree in ensemble.trees)
    return ModelSummary(
        ensemble,
        task + (f", {ensemble.n_outputs} outputs" if ensemble.n_outputs > 1 else ""),
        _growth(ensemble),
        [_depth(tree) for tree in ensemble.trees],
        [(tree.n_nodes + 1) // 2 for tree in ensemble.trees],
        [ensemble.feature_name(feature) for feature in strongest],
        by_set,
    )


def _growth(ensemble: Ensemble) -> str:
    symmetric = "symmetric " if tables_of(ensemble.trees) is not None else ""
    if ensemble.n_parallel == 1:
        return f"boosted {symmetric}trees"
    forest = "a random forest" if ensemble.n_rounds == 1 else "boosted random forests"
    return f"{forest} of {ensemble.n_parallel} {symmetric}trees"


def _depth(tree: Tree) -> int:
    """Return the depth of the deepest leaf."""
    depth, nodes = -1, np.zeros(1, np.int32)
    while nodes.size:
        left = tree.left[nodes]
        left = left[left >= 0]
        nodes, depth = np.concatenate([left, left + 1]), depth + 1
    return depth


def _range(numbers: list[int]) -> str:
    """Return the least and the largest of numbers, and their mean."""
    if not numbers:
        return "none"
    low, high = min(numbers), max(numbers)
    mean = sum(numbers) / len(numbers)
    return str(low) if low == high else f"{low} to {high}, {mean:.1f} on average"


def grouped_variants(variants: dict[str, str]) -> str:
    """Return how many kernels had each variant: ``portable 9, private 2``."""
    counts = Counter(variants.values()).most_common()
    return ", ".join(f"{name} {count}" for name, count in counts)
