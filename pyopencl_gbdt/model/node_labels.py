"""How nodes are written: names of columns and of levels, and functions of linear leaves.

A feature map is a file that names the columns of a model, and says what kind of numbers they hold.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.tree import Tree

#: A level that a list of levels can hold as it is: no comma, bracket, quote or line end.
_PLAIN = re.compile(r'[^,{}\[\]"\\\x00-\x1f\x7f]+')

INDICATOR, INTEGER = "i", "int"
KINDS = (INDICATOR, "q", INTEGER, "float")
"""Kinds of a column: 0 or absent; any number (``q``, ``float``); whole numbers."""

_EXPECTED = f"'id name kind', where kind is one of {', '.join(KINDS)}"


@dataclass(frozen=True)
class FeatureMap:
    """Names and kinds of the first columns.

    Attributes
    ----------
    names : tuple of str
    kinds : tuple of str
        For each name, an entry of ``KINDS``.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, source: str) -> FeatureMap:
        """Read XGBoost's form: a line ``id name kind`` for every column, ids from 0 in order.

        Parameters
        ----------
        text : str
            The content; blank lines are skipped.
        source : str
            The file's name, for error messages.

        Raises
        ------
        DataError
            If a line has another form; names the line.
        """
        names: list[str] = []
        kinds: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            place = f"{source}, line {number}"
            if len(words) != 3 or words[2] not in KINDS:
                move = "join the words of a name by '-'" if len(words) > 3 else "correct the line"
                raise DataError(f"{place}: {show(line.strip())}: expected {_EXPECTED}; {move}")
            if words[0] != str(len(names)):
                raise DataError(
                    f"{place}: id {show(words[0])}: expected {len(names)}, ids from 0 in order; "
                    "list every column"
                )
            names.append(words[1])
            kinds.append(words[2])
        return cls(tuple(names), tuple(kinds))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> FeatureMap:
        """Read a UTF-8 file in the form of `parse`.

        Raises
        ------
        DataError
            If the file holds something else.
        OSError
            If it cannot be read.
        """
        source = os.fspath(path)
        try:
            text = Path(source).read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source}: not UTF-8 text: expected lines {_EXPECTED}; give a feature map"
            ) from error
        return cls.parse(text, source)

    @classmethod
    def of_model(cls, ensemble: Ensemble) -> FeatureMap:
        """Return the names that a model knows; empty if its columns have none."""
        names = tuple(ensemble.feature_names or ())
        return cls(names, ("q",) * len(names))

    def name(self, feature: int) -> str:
        """Return a column's name; ``f0``, ``f1``, ... for columns that the map lacks."""
        return self.names[feature] if feature < len(self.names) else f"f{feature}"

    def kind(self, feature: int) -> str:
        """Return a column's kind; ``q`` for columns that the map lacks."""
        return self.kinds[feature] if feature < len(self.kinds) else "q"


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

    If there are more than ``most`` levels, only the first ones and their number are written.
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
        """Return a leaf's linear function, ``0.5+2*f3-1*f7``; empty if the leaf is a number."""
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
