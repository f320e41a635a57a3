"""What all kernels of contributions do with rows: lay them out, add up quanta, fetch the sums."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.device import Device, DeviceArray, staging
from pyopencl_gbdt.device.program import Program, bytes_a_launch
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.prediction.contributions.path_factors import PathFactors
from pyopencl_gbdt.prediction.contributions.quantum import Starts

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Rows = F32 | DeviceArray | SparseMatrix
#: Most work-groups of a launch; each takes one block of rows after another.
_GROUPS = 4096
#: Bytes of the quanta of the work-groups that share trees.
_QUANTA_BYTES = 256 * 1024 * 1024
#: Work-items that keep a compute unit busy, where work-groups have more than one.
_BUSY_ITEMS = 512


class DeviceRows(ABC):
    """Adds trees to the quanta of rows on a device; the sums have the same bits as on the host.

    Parameters
    ----------
    program : Program
        It has the kernels of `laid_rows`.
    block : int
        Rows of a work-group.
    pairs : bool, default False
        Whether it adds up pairs of features, too.
    """

    def __init__(
        self,
        device: Device,
        factors: PathFactors,
        program: Program,
        block: int,
        pairs: bool = False,
    ) -> None:
        self.device, self._factors, self._program = device, factors, program
        self._block, self._pairs, self._n_places = block, pairs, factors.n_places(pairs)
        trees = factors.trees
        self._sets = {} if trees.sets is None else {"sets": device.borrow(trees.sets)}

    def sums(
        self,
        values: Rows,
        rows: slice,
        trees: I64,
        told: I64,
        found: I64,
        starts: Starts | None = None,
    ) -> I64 | None:
        """Write the sums of some rows.

        Parameters
        ----------
        values : float32 array (C order), DeviceArray or SparseMatrix, shape (n_rows, n_features)
        trees : int64 array, shape (n_outputs, n)
            The trees of each output, by their places, which follow each other.
        told : int64 array, shape (n,)
            The place of each sum that is told; ``NO_PLACE`` is 0.
        found : int64 array, shape (n_rows, n_outputs, n), C order, written
        starts : Starts or None
            What the rows start from: ``found`` gets the bits of float64, but for the rest of
            ``Starts.add_rest``. None: ``found`` gets quanta.

        Returns
        -------
        int64 array, shape (n_rows, n_outputs, 3), or None
            As ``Starts.add_rest`` takes them.
        """
        if not (found.size and trees.size):
            found[...] = 0
            return None
        self._check_memory(rows.stop - rows.start, found.nbytes)
        with settled(self.device):
            laid = self.lay(values, rows)
            sums = self.device.empty(found.shape, np.int64)
            places = self.device.upload(told.astype(np.uint32))
            for output, own in enumerate(trees):
                self.tell(self.added(laid, (int(own[0]), int(own[-1]) + 1)), places, output, sums)
            totals = None if starts is None else self.finish(sums, starts).get()
            self.device.read_into(sums, found.reshape(-1).view(np.uint8))
        return totals

    def _check_memory(self, n_rows: int, result_bytes: int) -> None:
        """Raise ``MemoryPlanError`` if a piece of rows does not fit the device."""
        caps = self.device.caps
        n_sums = -(-n_rows // self._block) * self._block * self._n_places
        for n_bytes in (8 * n_sums, result_bytes):
            if n_bytes > caps.max_alloc_bytes:
                raise MemoryPlanError(
                    f"contributions of {n_rows} rows take an array of {n_bytes} bytes, for "
                    f"{self._n_places} sums of a row: expected at most {caps.max_alloc_bytes}, the "
                    f"largest of {caps.label}; predict few rows at a time, or pass device='cpu'"
                )

    def finish(self, sums: DeviceArray, starts: Starts) -> DeviceArray:
        """Write the bits of float64 over quanta; return totals as ``Starts.add_rest`` takes them.

        Parameters
        ----------
        sums : DeviceArray of int64, shape (n_rows, n_outputs, n), written
            The sums of columns, or of pairs of columns.
        """
        n_rows, n_outputs, n_told = sums.shape
        n, pairs = n_rows * n_outputs, self._pairs
        width = math.isqrt(n_told) if pairs else n_told
        totals = self.device.empty((n_rows, n_outputs, 3), np.int64)
        shared: dict[str, Any] = {
            "width": width, "bits": starts.bits, "n_starts": starts.base.size, "found": sums,
            "shifts": self.device.upload(starts.shift.astype(np.uint32)),
        }  # fmt: skip
        size = self._program.wg_size
        self._program.launch(
            "finish_rows", min(_GROUPS, -(-n // size)), n=n, n_told=n_told,
            step=width + 1 if pairs else 1, starts=self.device.upload(starts.base), totals=totals,
            **shared,
        )  # fmt: skip
        if pairs:
            groups = min(_GROUPS, -(-n * width // size))
            self._program.launch("finish_lines", groups, n_lines=n * width, **shared)
        return totals

    @abstractmethod
    def added(self, laid: DeviceArray, trees: tuple[int, int]) -> DeviceArray:
        """Return the quanta of laid-out rows.

        ``trees``: first tree, and last tree plus 1.

        Returns
        -------
        DeviceArray of int64, shape (n_chunks, n_blocks * n_places * rows of a block)
            Sums of the work-groups that share trees.
        """

    def tell(self, quanta: DeviceArray, told: DeviceArray, output: int, found: DeviceArray) -> None:
        """Write what one output's quanta add up to, row by row; see the kernel ``told_sums``."""
        n_rows, n_outputs, n_told = found.shape
        self._program.launch(
            "told_sums", min(_GROUPS, n_rows), n_rows=n_rows, n_blocks=-(-n_rows // self._block),
            n_places=self._n_places, n_chunks=quanta.shape[0], n_told=n_told, output=output,
            n_outputs=n_outputs, told=told, quanta=quanta, found=found,
        )  # fmt: skip

    def lay(self, values: Rows, rows: slice) -> DeviceArray:
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
        n_rows = rows.stop - rows.start
        n_blocks = -(-n_rows // self._block)
        laid = device.empty((n_blocks, used.size, self._block), np.float32)
        self._program.launch(
            "lay_rows", min(_GROUPS, n_blocks), n_rows=n_rows, n_features=there.shape[1],
            n_used=used.size, n_blocks=n_blocks, columns=device.upload(used), values=there,
            laid=laid,
        )  # fmt: skip
        return laid

    def _launch(
        self, kernel: str, laid: DeviceArray, trees: tuple[int, int], row_bytes: float, groups: int,
        quanta: DeviceArray, **arguments: Any,
    ) -> None:  # fmt: skip
        """Launch a kernel for as many trees at a time as a short launch takes.

        ``row_bytes`` stands for what a row and a tree take. The first dimension of ``quanta`` is
        that of work-groups that share trees.
        """
        n_blocks, n_used, block = laid.shape
        limit = bytes_a_launch(self.device.caps)
        together = max(1, int(limit / (n_blocks * block * row_bytes)))
        chunks = quanta.shape[0]
        for first in range(*trees, together):
            n_trees = min(together, trees[1] - first)
            self._program.launch(
                kernel, (groups, chunks), n_blocks=n_blocks, n_used=n_used, first_tree=first,
                n_trees=n_trees, trees_each=-(-n_trees // chunks), laid=laid, quanta=quanta,
                **self._sets, **arguments,
            )  # fmt: skip

    def _zeros(self, n_blocks: int, n_trees: int) -> DeviceArray:
        """Return quanta for the work-groups that share the trees of a block of rows."""
        size, wanted = self._program.wg_size, self.device.caps.compute_units
        if size > 1:
            wanted *= max(1, _BUSY_ITEMS // size)
        n = n_blocks * self._n_places * self._block
        chunks = max(1, min(n_trees, wanted // n_blocks, _QUANTA_BYTES // (8 * n)))
        return self.device.zeros((chunks, n), np.int64)

    def _groups(self, laid: DeviceArray) -> int:
        return min(_GROUPS, int(laid.shape[0]))
