"""How nodes are written: names of columns and of levels, and functions of linear leaves."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.feature_map import INDICATOR, INTEGER, FeatureMap
from pyopencl_gbdt.model.tree import Tree

#: A level that a list of levels can hold as it is: no comma, bracket, quote or line end.
_PLAIN = re.compile(r'[^,{}\[\]"\\\x00-\x1f\x7f]+')


def level_of(ensemble: Ensemble, feature: int, code: int) -> int | str:
    """Return a level of a categorical column; the code itself if the model has no level for it."""
    levels = ensemble.categories.get(feature)
    if levels is None or code >= levels.n_levels:
        return code
    value = levels.values[code]
    return value if isinstance(value, str) else int(value)


def right_levels(ensemble: Ensemble, tree: Tree, node: int) -> list[int | str]:
    """Return the levels that go right at a split by a set."""
    feature = int(tree.feature[node])
    codes = np.flatnonzero(tree.right_set(node)).tolist()
    return [level_of(ensemble, feature, code) for code in codes]


def listed(levels: list[int | str], most: int | None = None) -> str:
    """Return levels as text, ``{Bern,Ulm}``; a level with a comma or bracket gets JSON's quotes.

    Of more than ``most`` levels the first ones are written, and how many there are.
    """
    words = [
        word if _PLAIN.fullmatch(word) else json.dumps(word, ensure_ascii=False)
        for word in map(str, levels)
    ]
    if most is not None and len(words) > most:
        words = [*words[: most - 1], f".. {len(words)} levels"]
    return f"{{{','.join(words)}}}"


@dataclass(frozen=True)
class NodeLabels:
    """Names for the nodes of a model's trees.

    Attributes
    ----------
    ensemble : Ensemble
    names : FeatureMap
        Names and kinds that replace those of the model.
    """

    ensemble: Ensemble
    names: FeatureMap

    def name(self, feature: int) -> str:
        """Return a feature's name: that of the map, else of the model."""
        names = self.names.names
        return names[feature] if feature < len(names) else self.ensemble.feature_name(feature)

    def linear(self, tree: Tree, node: int) -> tuple[np.float32, list[tuple[str, np.float32]]]:
        """Return a leaf's intercept, and names with their coefficients; none of a number."""
        if tree.linear is None or not tree.is_leaf[node]:
            return np.float32(0), []
        intercept, terms = tree.linear.of(int(np.count_nonzero(tree.is_leaf[:node])))
        return intercept, [(self.name(feature), number) for feature, number in terms]

    def formula(self, tree: Tree, node: int, write: Callable[[Any], str]) -> str:
        """Return a leaf's linear function, ``0.5+2*f3-1*f7``; an empty text if it is a number."""
        intercept, terms = self.linear(tree, node)
        written = "".join(f"+{write(number)}*{name}" for name, number in terms)
        return (write(intercept) + written).replace("+-", "-") if terms else ""

    def is_indicator(self, tree: Tree, node: int) -> bool:
        """Tell whether a node asks if a column is there, without a threshold."""
        return self.names.kind(int(tree.feature[node])) == INDICATOR

    def threshold(self, tree: Tree, node: int) -> str:
        """Return a threshold; of whole numbers it is rounded up, which is the same."""
        if self.names.kind(int(tree.feature[node])) == INTEGER:
            return str(math.ceil(tree.threshold[node]))
        return nine_digits(tree.threshold[node])

    def levels(self, tree: Tree, node: int) -> list[int | str]:
        """Return the levels that go right at a split by a set."""
        return right_levels(self.ensemble, tree, node)


def nine_digits(number: np.float32) -> str:
    """Return a number in nine digits, which is enough to read the same float32 back."""
    return f"{float(number):.9g}"


def leaf_text(tree: Tree, node: int) -> str:
    """Return a leaf's number in nine digits, or its vector: ``[0.5, -0.25]``."""
    numbers = [nine_digits(value) for value in tree.value[node]]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def children(tree: Tree, node: int) -> tuple[int, int, int]:
    """Return the left child, the right child, and where missing values go."""
    left, right = int(tree.left[node]), int(tree.right[node])
    return left, right, left if tree.default_left[node] else right
