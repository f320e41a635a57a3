"""Evaluation sets on the device, whose margins are updated in training.

Of rows in batches only the margins stay on the device; the rows are read anew in every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.program import Action, rows_a_launch
from pyopencl_gbdt.device.room import lasting
from pyopencl_gbdt.device.staging import PIECE_BYTES
from pyopencl_gbdt.device.team.messages import Margins as AllMargins
from pyopencl_gbdt.dtypes import VALUE, WALK
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.growth.boosting import WeightedStart, starting_margins
from pyopencl_gbdt.growth.finalize import walked_terms
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.sources import uploaded

if TYPE_CHECKING:
    from pyopencl_gbdt.prediction.predict_sparse import SparseRows

#: An evaluation set in batches stays on the device if its values take at most this share of the
#: device's memory.
MOST_RESIDENT = 0.25


def is_read_anew(device: Device, rows: BatchedRows) -> bool:
    """Tell whether an evaluation set is too large to stay on a device."""
    return 4 * rows.shape[0] * rows.shape[1] > MOST_RESIDENT * device.caps.global_bytes


def piece_rows(rows: BatchedRows) -> int:
    """Return the rows that are brought to the device at a time."""
    return min(rows.most_rows, max(1, PIECE_BYTES // (4 * rows.shape[1])))


class RowsInBatches:
    """The rows of an evaluation set, and the place on the device for some of them."""

    def __init__(self, device: Device, rows: BatchedRows) -> None:
        self.device, self.rows = device, rows
        self.piece = device.empty((piece_rows(rows), rows.shape[1]), np.float32)


class AddTrees:
    """The action that adds finished trees to the margins of all rows, piece by piece.

    Parameters
    ----------
    margins : DeviceArray of float32, shape (n_rows,) or (n_outputs, n_rows), written
    nodes, roots : DeviceArray
        As for ``predict.prepare``.
    options : mapping of str to object
        Other arguments of ``predict.prepare``.
    """

    name = "add_trees"

    def __init__(
        self,
        rows: RowsInBatches,
        margins: DeviceArray,
        nodes: DeviceArray,
        roots: DeviceArray,
        options: Mapping[str, Any],
    ) -> None:
        self._rows, self._margins = rows, margins
        self._trees, self._options = (nodes, roots), dict(options)

    def __call__(self) -> None:
        """Read the rows once, and add the trees; waits for the device."""
        from pyopencl_gbdt.prediction import predict

        device, piece = self._rows.device, self._rows.piece
        margins = self._margins.get()
        for first, block in self._rows.rows.blocks(piece.shape[0]):
            device.write(piece, block, 0)
            some = slice(first, first + len(block))
            own = device.upload(np.ascontiguousarray(margins[..., some]))
            values = device.rows(piece, 0, len(block))
            for launch in predict.prepare(device, values, *self._trees, own, **self._options):
                launch()
            margins[..., some] = own.get()
        self._margins.set(margins)


F32 = npt.NDArray[np.float32]
#: Margins before the first tree; broadcasts to (n_rows,) or (n_outputs, n_rows).
Start = float | F32 | WeightedStart
#: Rows to evaluate, float32, shape (n_rows, n_features).
AnyRows = F32 | DeviceArray | SparseMatrix | BatchedRows


def prefix_of(name: str) -> str:
    """Return the prefix of the names of an evaluation set's arrays."""
    return f"evals {name!r}"


class PagedMargins:
    """The margins of training rows whose pages take turns on the device."""

    def __init__(self, rows: FitRows) -> None:
        self._rows = rows

    def get(self) -> npt.NDArray[Any]:
        """Return the margins of all rows; waits for the device."""
        return self._rows.get("margins")


#: Margins of a set: on the device, or page by page.
Margins = DeviceArray | PagedMargins


@dataclass(frozen=True)
class EvaluationSet:
    """An evaluation set on the device.

    Attributes
    ----------
    values : DeviceArray of float32, shape (n_rows, n_features), SparseRows, RowsInBatches, or None
        None for the training rows, whose margins training updates anyway.
    start : float or float32 array
        Margins before the first tree; broadcasts to the shape of ``margins``.
    margins : DeviceArray of float32, shape (n_rows,) or (n_outputs, n_rows)
    gathered : bool
        Whether these are the training rows of all members of a team.
    """

    values: DeviceArray | SparseRows | RowsInBatches | None
    start: Start
    margins: Margins
    gathered: bool = False

    @classmethod
    def of(cls, rows: FitRows, values: AnyRows, start: Start) -> EvaluationSet:
        """Bring other rows to the device of a fit, with the margins that they start from.

        Parameters
        ----------
        values : float32 array, DeviceArray, SparseMatrix or BatchedRows, shape (n_rows, n_features)
        start : float, float32 array, shape (n_rows,) or (n_outputs, n_rows)
        """
        device, shape = rows.arena.device, rows.margin_shape(values.shape[0])
        margins = lasting(device, shape, np.float32, "evaluated margins")
        there: DeviceArray | SparseRows | RowsInBatches
        if isinstance(values, SparseMatrix):
            from pyopencl_gbdt.prediction.predict_sparse import SparseRows

            there = SparseRows.of(device, values)
        elif isinstance(values, BatchedRows):
            anew = is_read_anew(device, values)
            there = RowsInBatches(device, values) if anew else uploaded(device, values)
        else:
            there = values if isinstance(values, DeviceArray) else _uploaded(device, values)
        made = cls(there, start, margins)
        made.restart()
        return made

    @classmethod
    def of_training_rows(cls, rows: FitRows, start: Start) -> EvaluationSet:
        """Return the training rows, whose margins take no extra work."""
        margins = rows.arena["margins"] if rows.schedule is None else PagedMargins(rows)
        return cls(None, start, margins)

    @classmethod
    def of_team(cls, rows: FitRows, n_rows: int, start: Start) -> EvaluationSet:
        """Return room for the margins of all members' training rows, see ``gather``."""
        margins = rows.arena.device.empty(rows.margin_shape(n_rows), np.float32)
        return cls(None, start, margins, gathered=True)

    def restart(self) -> None:
        """Reset the margins to ``start``; those of training rows are reset with these."""
        if self.values is not None and isinstance(self.margins, DeviceArray):
            start = np.asarray(starting_margins(self.start), np.float32)
            self.margins.set(np.broadcast_to(start, self.margins.shape))

    @property
    def has_values(self) -> bool:
        """Whether the rows have features of their own, by which they walk trees."""
        return self.values is not None

    def launches(self, parts: FitParts, batch: Batch) -> list[Action]:
        """Return the launches that add finished trees to the margins."""
        if self.values is None or isinstance(self.margins, PagedMargins):
            return []
        first = batch.first // parts.nodes.n_parallel
        outputs = (first, first + max(1, batch.size // parts.nodes.n_parallel))
        arrays = (parts.arena["walk"], parts.arena["roots"], self.margins)
        sets = parts.arena["sets"] if parts.features.has_categories else None
        return self._walks(parts, arrays, (0, batch.size), outputs, parts.nodes.longest, sets)

    def walk(
        self, parts: FitParts, nodes: DeviceArray, roots: DeviceArray, tree: int, longest: int,
        values: DeviceArray, sets: DeviceArray | None,
    ) -> list[Action]:  # fmt: skip
        """Return the launches that add the leaf values of one tree to ``values``."""
        arrays = nodes, roots, values
        return self._walks(parts, arrays, (tree, tree + 1), (0, 1), longest, sets)

    def _walks(
        self,
        parts: FitParts,
        arrays: tuple[DeviceArray, DeviceArray, DeviceArray],
        trees: tuple[int, int],
        outputs: tuple[int, int],
        longest: int,
        sets: DeviceArray | None,
    ) -> list[Action]:
        from pyopencl_gbdt.prediction import predict, predict_sparse

        walk: dict[str, Any] = {"trees": trees, "outputs": outputs, "longest": longest}
        row_bytes = longest * (WALK.itemsize + VALUE.itemsize)
        most_rows = rows_a_launch(parts.arena.device.caps, row_bytes)  # of one tree
        walk["most_rows"] = most_rows
        most = most_rows // max(1, arrays[-1].shape[-1])
        pieces = [{**walk, **piece} for piece in _pieces(trees, outputs, most)]
        launches: list[Action] = []
        if isinstance(self.values, predict_sparse.SparseRows):
            for piece in pieces:
                launches += predict_sparse.prepare(
                    parts.arena.device, self.values, *arrays, **piece
                )
            return launches
        assert self.values is not None
        terms = walked_terms(parts.arena) if parts.nodes.params.linear_tree else None
        if isinstance(self.values, RowsInBatches):
            nodes, roots, margins = arrays
            options = {**walk, "sets": sets, "terms": terms}
            return [AddTrees(self.values, margins, nodes, roots, options)]
        for piece in pieces:
            launches += predict.prepare(
                parts.arena.device, self.values, *arrays, **piece, sets=sets, terms=terms
            )
        return launches


def _uploaded(device: Device, values: F32) -> DeviceArray:
    """Return a copy of host values that the fit keeps."""
    array = lasting(device, values.shape, np.float32)
    if device.room is not None and values.size:  # a fold's rows, which nobody changes
        device.hand_over(array, np.ascontiguousarray(values, np.float32), 0)
    else:
        array.set(values)
    return array


def gather(rows: FitRows, sets: Sequence[EvaluationSet]) -> None:
    """Bring the margins of all members' training rows together, where a member watches them."""
    parts = rows.team.exchange(AllMargins, rows.get("margins"))
    for one in sets:
        if one.gathered and isinstance(one.margins, DeviceArray):
            one.margins.set(np.concatenate(parts, axis=-1))


def _pieces(
    trees: tuple[int, int], outputs: tuple[int, int], most: int
) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield the trees and outputs of launches that each walk ``most`` trees, at least one."""
    n_outputs = outputs[1] - outputs[0]
    each = (trees[1] - trees[0]) // n_outputs
    together = max(1, most // each)  # outputs
    step = each if together > 1 else max(1, min(each, most))
    for first in range(0, n_outputs, together):
        last = min(n_outputs, first + together)
        for begin in range(0, each, step):
            end = min(each, begin + step)
            own = trees[0] + first * each + begin, trees[0] + (last - 1) * each + end
            yield {"trees": own, "outputs": (outputs[0] + first, outputs[0] + last)}
