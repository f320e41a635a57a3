"""Launches of the templates `contributions` and `contribution_tables`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Variant, build_variant_program
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.prediction.contributions.device_rows import DeviceRows
from pyopencl_gbdt.prediction.contributions.host_levels import TreeSums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
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
    """Return the tables of all trees; None if a tree has no table, or the rows are too few."""
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


#: Bytes of the stacks of all work-groups.
_STACK_BYTES = 128 * 1024 * 1024
#: Of walk_t.default_left, the first bit of the level of the node above with the same feature; and
#: that level if there is none, where levels are nested loops and where not.
_BEFORE_BIT, _NOT_BEFORE, _NOT_BEFORE_NESTED = 8, 0xFFFFFF, 31
#: Bytes of a launch's budget that stand for a point of a node, and for a step of a row's own path.
_POINT_BYTES, _STEP_BYTES = 32, 32


def plan_sums(device: Device, factors: PathFactors, kind: Kind, n_rows: int) -> DeviceRows:
    """Return the fastest way to add trees to the quanta of so many rows."""
    tables = pattern_tables(factors, n_rows) if kind is Kind.FEATURES else None
    if tables is not None and tables.sums.nbytes <= device.caps.max_alloc_bytes:
        return PatternWalk(device, factors, tables)
    return DeviceWalk(device, factors, kind)


def build(device: Device, factors: PathFactors, kind: Kind) -> tuple[Program, int, int]:
    """Return the program, the rows of a work-group, and the levels that are nested loops, or 0."""

    def levels(variant: Variant) -> int:
        even = max(2, factors.longest + factors.longest % 2)
        return even if even <= variant.params["levels"] else 0

    variant, program = build_variant_program(
        device, "contributions", "auto", derived=lambda variant: {"levels": levels(variant)},
        points=factors.points.n_each, interactions=kind is Kind.PAIRS,
        categories=factors.trees.sets is not None,
    )  # fmt: skip
    return program, variant.params["rows"] * program.wg_size, levels(variant)


class DeviceWalk(DeviceRows):
    """Rows walk all paths of trees, or their own one for the changes of the mean along it."""

    def __init__(self, device: Device, factors: PathFactors, kind: Kind) -> None:
        program, block, self._nested = build(device, factors, kind)
        super().__init__(device, factors, program, block, kind is Kind.PAIRS)
        self._kind = kind
        self._trees = {
            "nodes": device.borrow(_nodes(factors, bool(self._nested))),
            "tree_begin": device.upload(factors.trees.begin),
        }
        walks = [] if kind is Kind.MEANS else range(factors.points.n_walks)
        self._tables = [self._uploaded(walk) for walk in walks]

    def _uploaded(self, walk: int) -> dict[str, DeviceArray]:
        factors, borrow = self._factors, self.device.borrow
        weights = factors.points.weight[walk].astype(np.float32)
        found = {
            "weights": self.device.upload(weights),
            "steps": borrow(factors.all_steps[walk].reshape(-1).view(np.uint32)),
        }
        if self._kind is Kind.PAIRS:
            found["apart"] = borrow(factors.all_told_apart[walk].reshape(-1).view(np.uint32))
        return found

    def added(self, laid: DeviceArray, trees: tuple[int, int]) -> DeviceArray:
        if self._kind is Kind.MEANS:
            return self._followed(laid, trees)
        factors, n_blocks, groups = self._factors, laid.shape[0], self._groups(laid)
        quanta, more = self._zeros(n_blocks, trees[1] - trees[0]), {"n_sides": 2}
        if not self._nested:
            groups, more = self._stacks(groups, quanta.shape[0])
        times = factors.longest if self._kind is Kind.PAIRS else 1
        n_inner = 1 + factors.inner.size // factors.trees.n_trees
        row_bytes = _POINT_BYTES * factors.points.n_each * times * n_inner
        for tables in self._tables:
            self._launch(
                "contributions", laid, trees, row_bytes, groups, quanta, n_places=self._n_places,
                **self._trees, **tables, **more,
            )  # fmt: skip
        return quanta

    def _followed(self, laid: DeviceArray, trees: tuple[int, int]) -> DeviceArray:
        factors = self._factors
        changes = factors.mean_quanta - factors.mean_quanta[factors.parent]
        quanta = self._zeros(laid.shape[0], trees[1] - trees[0])
        self._launch(
            "follow_paths", laid, trees, _STEP_BYTES * factors.longest, self._groups(laid), quanta,
            n_levels=factors.longest, changes=self.device.upload(changes), **self._trees,
        )  # fmt: skip
        return quanta

    def _stacks(self, groups: int, chunks: int) -> tuple[int, dict[str, Any]]:
        """Return the work-groups that have memory for their stacks, and the stacks."""
        empty, block, size = self.device.empty, self._block, self._program.wg_size
        n_points, n_levels = self._factors.points.n_each, self._factors.longest
        level_bytes = 4 * block * (2 * n_points + 1) + 12 * size
        groups = max(1, min(groups, _STACK_BYTES // (level_bytes * n_levels * chunks)))
        n = groups * chunks * n_levels
        return groups, {
            "n_levels": n_levels,
            "products": empty((n, n_points * block), np.float32),
            "lefts": empty((n, n_points * block), np.float32),
            "ways": empty((n, block), np.uint32),
            "path": empty((n, 3 * size), np.uint32),
        }


class PatternWalk(DeviceRows):
    """Rows look up what trees add to them, where all trees are tables."""

    def __init__(self, device: Device, factors: PathFactors, tables: PatternTables) -> None:
        by_sets = factors.trees.sets is not None
        variant, program = build_variant_program(
            device, "contribution_tables", "auto", categories=by_sets
        )
        block = variant.params["rows"] * program.wg_size
        super().__init__(device, factors, program, block)
        self._tables = {
            name: device.upload(array)
            for name, array in (
                ("shapes", tables.shapes), ("splits", tables.splits.view(np.uint32)),
                ("features", tables.features), ("first_sums", tables.first_sums),
                ("tables", tables.sums),
            )
        }  # fmt: skip

    def added(self, laid: DeviceArray, trees: tuple[int, int]) -> DeviceArray:
        quanta = self._zeros(laid.shape[0], trees[1] - trees[0])
        row_bytes = 2 * _STEP_BYTES * self._factors.longest
        groups = self._groups(laid)
        self._launch("contribution_tables", laid, trees, row_bytes, groups, quanta, **self._tables)
        return quanta


def _nodes(factors: PathFactors, nested: bool) -> U32:
    """Return nodes whose leaves have their values in quanta, and that know the node above."""
    key = f"nodes, {nested}"
    if key not in factors.kept:
        nodes = factors.trees.nodes.copy()
        inner, leaf = factors.inner, factors.left == 0
        nodes["number"][leaf] = factors.values[leaf]
        before = factors.depth[factors.state[inner]] - 1
        before[before < 0] = _NOT_BEFORE_NESTED if nested else _NOT_BEFORE
        nodes["default_left"][inner] |= (before << _BEFORE_BIT).astype(np.uint32)
        factors.kept[key] = nodes.view(np.uint32)
    found: U32 = factors.kept[key]
    return found
