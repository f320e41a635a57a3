"""Programs as formats, and the nodes of all trees one after the other, as programs hold them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import OneOutputTrees
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT

I64 = npt.NDArray[np.int64]
DEFAULT_LEFT, BY_SET = 1, 2


class WrittenProgram(OneOutputTrees):
    """A program that predicts; it is written alone.

    Attributes
    ----------
    start : str
        What a file begins with.
    """

    start: ClassVar[str]
    reads, writes = False, True

    def sniff(self, head: bytes) -> bool:
        return head.startswith(self.start.encode())

    def read(self, data: bytes, source: str) -> Ensemble:
        raise NotImplementedError


@dataclass(frozen=True)
class FlatNodes:
    """Nodes of trees, output by output, and within an output round by round.

    Attributes
    ----------
    begin : int64 array, shape (n_trees,)
        The root of each tree.
    left : int64 array, shape (n_nodes,)
        The left child, counted from the root; the right one follows it. 0 in leaves.
    feature, flags : int64 array, shape (n_nodes,)
        ``flags`` adds up ``DEFAULT_LEFT`` and ``BY_SET``.
    number : float32 array, shape (n_nodes,)
        A leaf's value, or the threshold.
    set_begin : int64 array, shape (n_nodes,)
        Where in ``sets`` the node's set begins; 0 without a set.
    sets : int64 array
        For each set, its number of words, then the words.
    """

    begin: I64
    left: I64
    feature: I64
    flags: I64
    number: npt.NDArray[np.float32]
    set_begin: I64
    sets: I64


def flat_nodes(model: Ensemble) -> FlatNodes:
    """Return the nodes of a model's trees."""
    trees = model.by_output()
    columns: list[list[npt.NDArray[np.generic]]] = [[] for _ in range(5)]
    words: list[int] = []
    for tree in trees:
        leaf, by_set = tree.is_leaf, tree.split_kind == CATEGORY_SPLIT
        begin = np.zeros(tree.n_nodes, np.int64)
        for node in np.flatnonzero(by_set).tolist():
            own = tree.sets[tree.set_begin[node] : tree.set_begin[node + 1]]
            begin[node] = len(words)
            words += [own.size, *own.tolist()]
        for column, values in zip(
            columns,
            (
                np.where(leaf, 0, tree.left),
                tree.feature,
                tree.default_left * DEFAULT_LEFT + by_set * BY_SET,
                np.where(leaf, tree.value[:, 0], tree.threshold),
                begin,
            ),
            strict=True,
        ):
            column.append(values)
    left, feature, flags, number, set_begin = (
        np.concatenate([np.zeros(0, np.int64), *column]) for column in columns
    )
    sizes = [tree.n_nodes for tree in trees]
    return FlatNodes(
        begin=np.cumsum([0, *sizes])[:-1],
        left=left.astype(np.int64),
        feature=feature.astype(np.int64),
        flags=flags.astype(np.int64),
        number=number.astype(np.float32),
        set_begin=set_begin.astype(np.int64),
        sets=np.array(words, np.int64),
    )
