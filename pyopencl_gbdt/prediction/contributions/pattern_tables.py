"""Contributions of trees whose levels have one split each: a table of the 2^depth patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.prediction.contributions.host_levels import TreeSums
from pyopencl_gbdt.prediction.contributions.path_factors import PathFactors

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: Deepest tree that gets a table: with 500 trees of depth 6, tables take 0.5 s and 10 MB once, of
#: depth 8 2 s and 80 MB.
_DEEPEST = 8
#: Rows for each pattern, from which on the time that the tables take is worth it.
_ROWS_A_PATTERN = 16


@dataclass(frozen=True)
class PatternTables:
    """Tables of an ensemble's trees.

    Attributes
    ----------
    shapes : uint32 array, shape (n_trees, 4)
        For each tree: its first split, number of splits, first of its features and number of them.
    splits : array of ``dtypes.WALK``, shape (n_splits,)
        A node of each level.
    features : uint32 array
        The features of each tree, as in ``PathFactors.trees``.
    first_sums : uint64 array, shape (n_trees,)
        Where each tree's table begins.
    sums : int64 array
        For each tree, feature of the tree and pattern: what the tree adds, in quanta.
    """

    shapes: U32
    splits: npt.NDArray[np.void]
    features: U32
    first_sums: npt.NDArray[np.uint64]
    sums: I64


def pattern_tables(factors: PathFactors, n_rows: int) -> PatternTables | None:
    """Return the tables of all trees; None if some tree is none, or the rows are too few."""
    tables = factors.trees.tables
    if tables is None or tables.shapes[:, 1].max() > _DEEPEST:
        return None
    if "patterns" not in factors.kept:
        if n_rows < _ROWS_A_PATTERN << int(tables.shapes[:, 1].max()):
            return None
        factors.kept["patterns"] = _made(factors, tables.shapes[:, 1].astype(np.int64))
    found: PatternTables = factors.kept["patterns"]
    return found


def _made(factors: PathFactors, depths: I64) -> PatternTables:
    trees, splits = TreeSums(factors), []
    features, sums = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for tree, depth in enumerate(depths.tolist()):
        first = int(factors.begin[tree]) + 2 ** np.arange(depth) - 1
        splits.append(first)
        bits = np.arange(depth - 1, -1, -1)[:, None]
        right = np.arange(2**depth) >> bits & 1 > 0  # of each level and pattern
        if depth:
            own, table = trees.pattern_sums(tree, np.repeat(right, 2 ** np.arange(depth), axis=0))
        else:
            own, table = features[0], sums[0]
        features.append(own)
        sums.append(table.T.ravel())
    n_features = np.array([own.size for own in features[1:]])
    sizes = np.array([table.size for table in sums[1:]])
    shapes = [np.cumsum(depths) - depths, depths, np.cumsum(n_features) - n_features, n_features]
    return PatternTables(
        shapes=np.column_stack(shapes).astype(np.uint32),
        splits=factors.trees.nodes[np.concatenate(splits).astype(np.int64)],
        features=np.concatenate(features).astype(np.uint32),
        first_sums=(np.cumsum(sizes) - sizes).astype(np.uint64),
        sums=np.concatenate(sums),
    )
