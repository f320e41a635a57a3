"""Launches of the template `contributions`: sums of rows on a device, with the bits of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device import Device, DeviceArray, Variant, build_variant, staging
from pyopencl_gbdt.device.launch_size import bytes_a_launch
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import PathFactors

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Rows = F32 | DeviceArray | SparseMatrix
U32 = npt.NDArray[np.uint32]
#: Most work-groups of a launch; each takes one block of rows after another.
_GROUPS = 4096
#: Bytes of the stacks of all work-groups, and of the quanta of the work-groups that share trees.
_STACK_BYTES = 128 * 1024 * 1024
_QUANTA_BYTES = 256 * 1024 * 1024
#: Work-items that keep a compute unit busy, where work-groups have more than one.
_BUSY_ITEMS = 512
#: Of walk_t.default_left, the first bit of the level of the node above with the same feature; and
#: that level if there is none, where levels are nested loops and where not.
_BEFORE_BIT, _NOT_BEFORE, _NOT_BEFORE_NESTED = 8, 0xFFFFFF, 31


def build(
    device: Device, factors: PathFactors, kind: Kind, n_levels: int
) -> tuple[Program, int, int]:
    """Return the program, the rows of a work-group, and the levels that are nested loops, or 0."""
    nested = 0

    def made(variant: Variant) -> Program:
        nonlocal nested
        even = max(2, n_levels + n_levels % 2)
        nested = even if even <= variant.params["levels"] else 0
        return device.build(
            "contributions", wg_size=variant.params["wg_size"], rows=variant.params["rows"],
            points=factors.points.n_each, levels=nested, interactions=kind is Kind.PAIRS,
            categories=factors.trees.sets is not None,
        )  # fmt: skip

    variant, program = build_variant(device, "contributions", "auto", made)
    return program, variant.params["rows"] * program.wg_size, nested


class DeviceWalk:
    """Adds trees to the quanta of rows on a device.

    Parameters
    ----------
    device : Device
    factors : PathFactors
    kind : Kind
    """

    def __init__(self, device: Device, factors: PathFactors, kind: Kind) -> None:
        self.device, self._factors, self._kind = device, factors, kind
        self._n_levels = max(1, int(factors.depth.max(initial=0)))
        self._program, self._block, self._nested = build(device, factors, kind, self._n_levels)
        borrow = device.borrow
        self._nodes = borrow(_nodes(factors, bool(self._nested)).view(np.uint32))
        self._begin = borrow(factors.trees.begin)
        self._sets = {} if factors.trees.sets is None else {"sets": borrow(factors.trees.sets)}
        self._made: dict[int, dict[str, DeviceArray]] = {}
        self._n_places = factors.n_places(kind is Kind.PAIRS)

    def sums(self, values: Rows, rows: slice, trees: I64) -> I64:
        """Return the sums of some rows: int64 (n_outputs, n_places, n_rows).

        Parameters
        ----------
        values : float32 array (C order), DeviceArray or SparseMatrix, shape (n_rows, n_features)
        rows : slice
        trees : int64 array, shape (n_outputs, n)
            The trees of each output, by their places, which follow each other.
        """
        n_rows = rows.stop - rows.start
        found = np.empty((trees.shape[0], self._n_places, n_rows), np.int64)
        with settled(self.device):
            laid = self._lay(values, rows)
            for output, own in enumerate(trees):
                found[output] = self._sum(laid, own)[:, :n_rows]
        return found

    def _lay(self, values: Rows, rows: slice) -> DeviceArray:
        """Return the values of rows, block by block and column by column."""
        device, used = self.device, self._factors.used
        if isinstance(values, DeviceArray):
            whole = rows == slice(0, values.shape[0])
            there = values if whole else device.rows(values, rows.start, rows.stop)
        elif isinstance(values, SparseMatrix):
            there = staging.there(device, values.dense(used, rows.start, rows.stop))
            used = np.arange(used.size, dtype=np.uint32)
        else:
            there = staging.there(device, values[rows])
        n_blocks = -(-(rows.stop - rows.start) // self._block)
        laid = device.empty((n_blocks, used.size, self._block), np.float32)
        self._program.launch(
            "lay_rows", min(_GROUPS, n_blocks), n_rows=rows.stop - rows.start,
            n_features=there.shape[1], n_used=used.size, n_blocks=n_blocks,
            columns=device.borrow(used), values=there, laid=laid,
        )  # fmt: skip
        return laid

    def _sum(self, laid: DeviceArray, trees: I64) -> I64:
        """Return the sums of a block's rows over some trees: int64 (n_places, n_padded_rows)."""
        n_blocks, _, block = laid.shape
        if not (self._n_places and trees.size):
            return np.zeros((self._n_places, n_blocks * block), np.int64)
        add = self._follow if self._kind is Kind.MEANS else self._walk
        quanta = add(laid, trees)
        found = quanta.get().reshape(n_blocks, self._n_places, block)
        return np.ascontiguousarray(found.transpose(1, 0, 2)).reshape(self._n_places, -1)

    def _follow(self, laid: DeviceArray, trees: I64) -> DeviceArray:
        factors, (n_blocks, n_used, _) = self._factors, laid.shape
        change = factors.mean_quanta - factors.mean_quanta[factors.parent]
        changes, quanta = self.device.upload(change), self.device.zeros(laid.shape, np.int64)
        for first, n_trees in self._launches(trees, n_blocks, 32 * self._n_levels):
            self._program.launch(
                "follow_paths", min(_GROUPS, n_blocks), n_blocks=n_blocks, n_used=n_used,
                first_tree=first, n_trees=n_trees, n_levels=self._n_levels, nodes=self._nodes,
                **self._sets, tree_begin=self._begin, changes=changes, laid=laid, quanta=quanta,
            )  # fmt: skip
        return quanta

    def _walk(self, laid: DeviceArray, trees: I64) -> DeviceArray:
        factors, device = self._factors, self.device
        n_blocks, n_used, block = laid.shape
        n_sums = n_blocks * self._n_places * block
        chunks = self._chunks(n_blocks, 8 * n_sums, trees.size)
        n_groups, more = min(_GROUPS, n_blocks), {"n_sides": 2}
        if not self._nested:
            n_groups, more = self._stacks(n_groups, chunks)
        quanta = device.zeros((chunks, n_sums), np.int64)
        steps = self._n_levels if self._kind is Kind.PAIRS else 1
        n_inner = 1 + factors.inner.size // factors.trees.n_trees
        row_bytes = 32 * factors.points.n_each * steps * n_inner
        for walk in range(factors.points.n_walks):
            tables = self._tables(walk)
            for first, n_trees in self._launches(trees, n_blocks, row_bytes):
                self._program.launch(
                    "contributions", (n_groups, chunks), n_blocks=n_blocks, n_used=n_used,
                    n_places=self._n_places, first_tree=first, n_trees=n_trees,
                    trees_each=-(-n_trees // chunks), nodes=self._nodes,
                    **self._sets, tree_begin=self._begin, **tables, laid=laid, **more,
                    quanta=quanta,
                )  # fmt: skip
        if chunks == 1:
            return quanta
        sums = device.empty(n_sums, np.int64)
        self._program.launch(
            "add_chunks", min(_GROUPS, -(-n_sums // self._program.wg_size)), n=n_sums,
            n_chunks=chunks, quanta=quanta, sums=sums,
        )  # fmt: skip
        return sums

    def _stacks(self, n_groups: int, chunks: int) -> tuple[int, dict[str, Any]]:
        """Return the work-groups that have memory for their stacks, and the stacks."""
        empty, n_points = self.device.empty, self._factors.points.n_each
        level_bytes = 4 * self._block * (2 * n_points + 1) + 12 * self._program.wg_size
        most = _STACK_BYTES // (level_bytes * self._n_levels * chunks)
        n_groups = max(1, min(n_groups, most))
        n = n_groups * chunks * self._n_levels
        return n_groups, {
            "n_levels": self._n_levels,
            "products": empty((n, n_points * self._block), np.float32),
            "lefts": empty((n, n_points * self._block), np.float32),
            "ways": empty((n, self._block), np.uint32),
            "path": empty((n, 3 * self._program.wg_size), np.uint32),
        }

    def _tables(self, walk: int) -> dict[str, DeviceArray]:
        """Return the constants of one walk's points, which are made once."""
        if walk not in self._made:
            factors, borrow = self._factors, self.device.borrow
            self._made[walk] = {
                "weights": borrow(factors.points.weight[walk].astype(np.float32)),
                "steps": borrow(_steps(factors, walk)),
            }
            if self._kind is Kind.PAIRS:
                self._made[walk]["apart"] = borrow(_padded(factors.told_apart(walk)))
        return self._made[walk]

    def _chunks(self, n_blocks: int, sum_bytes: int, n_trees: int) -> int:
        """Return the work-groups that share the trees of a block of rows."""
        size, wanted = self._program.wg_size, self.device.caps.compute_units
        if size > 1:
            wanted *= max(1, _BUSY_ITEMS // size)
        return max(1, min(n_trees, wanted // n_blocks, _QUANTA_BYTES // sum_bytes))

    def _launches(self, trees: I64, n_blocks: int, row_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield the first tree, and the number of trees, of launches that are short."""
        n_rows = n_blocks * self._block
        together = max(1, bytes_a_launch(self.device.caps) // (n_rows * row_bytes))
        first, end = int(trees[0]), int(trees[-1]) + 1
        for tree in range(first, end, together):
            yield tree, min(together, end - tree)


def _nodes(factors: PathFactors, nested: bool) -> npt.NDArray[np.void]:
    """Return nodes whose leaves have their values in quanta, and that know the node above."""
    nodes: npt.NDArray[np.void] = factors.trees.nodes.copy()
    inner, leaf = factors.inner, factors.left == 0
    nodes["number"][leaf] = factors.values[leaf]
    before = factors.depth[factors.state[inner]] - 1
    before[before < 0] = _NOT_BEFORE_NESTED if nested else _NOT_BEFORE
    nodes["default_left"][inner] |= (before << _BEFORE_BIT).astype(np.uint32)
    return nodes


def _steps(factors: PathFactors, walk: int) -> U32:
    """Return ``PathFactors.steps`` side by side: factors, terms, and padding to 16 bytes."""
    found = factors.all_steps[walk]
    n, ways, _, n_points = found.shape
    sides = found.reshape(n, ways, 2, 2, n_points).swapaxes(2, 3)
    return _padded(sides.reshape(n, ways, 2, 2 * n_points))


def _padded(array: F32) -> U32:
    """Return the bits of an array whose last dimension becomes a multiple of 4."""
    more = -array.shape[-1] % 4
    padded = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)])
    return np.ascontiguousarray(padded if padded.size else np.zeros(4, np.float32)).view(np.uint32)
