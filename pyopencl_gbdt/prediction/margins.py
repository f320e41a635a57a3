"""Compute an ensemble's margins and leaf ids on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program, open_device
from pyopencl_gbdt.device.drivers.fallback import with_fallbacks
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.program import rows_a_launch
from pyopencl_gbdt.device.run_ahead import clear_frames, settled
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.numerics.tree_weights import margins_of
from pyopencl_gbdt.pages.sources import ALIGNED_ROWS
from pyopencl_gbdt.prediction import predict
from pyopencl_gbdt.prediction.packing import PackedTrees, numbers_of, packed
from pyopencl_gbdt.prediction.predict_sparse import check_no_sets, searched_bytes, walked_pieces
from pyopencl_gbdt.prediction.weighted_trees import weighted_sums

T = TypeVar("T")
F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: Rows are copied to the device in pieces of at most this many bytes.
_PIECE_BYTES = 256 * 1024 * 1024
#: Intel's CPU runtime uses host memory in place only at addresses that are multiples of so many
#: bytes (MEM_BASE_ADDR_ALIGN); else it copies, 28 MB in 17 ms. NumPy does not align arrays so.
_ALIGNED = 128
_WORTH_ALIGNING = 4 * 1024 * 1024
#: Fewer margins are converted on the host: NumPy takes as long as a launch and a build's look-up.
#: PoCL, 2 cores: 30 ns a margin on the host.
FEW_MARGINS = 16_384
#: Of more classes, a share could be a subnormal number, which some devices flush.
MOST_CLASSES = 1024
#: Margins of all classes are on the device together; of more bytes, the host converts them.
MOST_BYTES = 256 * 1024 * 1024


def predict_margins(
    ensemble: Ensemble,
    values: Values,
    device: str | Device = "auto",
    *,
    start: F32 | None = None,
    rounds: tuple[int, int] | None = None,
    link: str = "",
) -> F32:
    """Return each row's margin: the float32 sum, in order, of base score and leaf values.

    Parameters
    ----------
    values : float32 array (C order), DeviceMatrix, SparseMatrix or BatchedRows
        As ``Model.tree_values`` returns them, shape (n_rows, n_tree_features). NaN means missing.
        A matrix on the device is not copied.
    start : float32 array, shape of the result, or None
        What the sum of every row starts from; None: the ensemble's ``base_margin``.
    rounds : (int, int) or None
        First round, and last round plus 1; None: all rounds.
    link : str
        ``Objective.device_link`` to get predictions instead of margins.

    Returns
    -------
    float32 array, shape (n_rows,), or (n_outputs, n_rows) if there are several outputs

    Raises
    ------
    DataError
        If the rows have fewer or more columns than features that trees may use.
    """
    begin, end = rounds or (0, ensemble.n_rounds)
    if ensemble.tree_weights is not None:
        assert not link  # ``walk_rows.walk`` leaves links of these margins to the host
        sums = predict_sums(ensemble, values, device, (begin, end))
        base = np.array(each(ensemble.base_margin), np.float32)
        own = (base if sums.ndim == 1 else base[:, None]) if start is None else start
        return margins_of(own, sums)
    found: F32 = _margins(ensemble, values, device, start, [begin, end], link)[0]
    return found[0] if ensemble.n_outputs == 1 else found


def predict_sums(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    rounds: tuple[int, int] | None = None,
) -> npt.NDArray[np.int64]:
    """Return each row's sum of trees with weights, in units of 2^-32; as for ``predict_margins``.

    Returns
    -------
    int64 array, shape (n_rows,), or (n_outputs, n_rows) if there are several outputs
    """
    n_rows, n_outputs = values.shape[0], ensemble.n_outputs
    zeros = np.zeros((n_outputs, n_rows), np.float32)

    def walk_of(plain: Ensemble, some: tuple[int, int]) -> F32:
        found: F32 = _margins(plain, values, device, zeros, [*some])[0]
        return found

    sums = weighted_sums(ensemble, n_rows, rounds or (0, ensemble.n_rounds), walk_of)
    return sums[0] if n_outputs == 1 else sums


def staged_margins(
    ensemble: Ensemble, values: Values, device: str | Device, start: F32, rounds: tuple[int, int]
) -> F32:
    """Return each row's margin after each round; the rows walk every tree once.

    Parameters
    ----------
    start : float32 array, shape (n_outputs, n_rows)
    rounds : (int, int)
        First round, and last round plus 1.

    Returns
    -------
    float32 array, shape (n_rounds, n_outputs, n_rows)
    """
    return _margins(ensemble, values, device, start, list(range(rounds[0], rounds[1] + 1)))


def leaf_ids(ensemble: Ensemble, values: Values, device: str | Device, trees: Sequence[int]) -> I32:
    """Return the id of each row's leaf in each tree, counted within the tree.

    The walks that add leaf values add ids in their place, tree by tree.

    ``trees``: by their place in ``PackedTrees``.

    Returns
    -------
    int32 array, shape (n_rows, len(trees))
    """

    def work() -> I32:
        opened = open_device(device)
        found = np.empty((values.shape[0], len(trees)), np.int32)
        with settled(opened):
            for piece, walk in _walks(opened, packed(ensemble).of_ids, given_to(values, opened)):
                for place, tree in enumerate(trees):
                    ids = opened.zeros(found[piece].shape[:1], np.float32)
                    walk.add(ids, (tree, tree + 1))
                    found[piece, place] = ids.get()
        return found

    return tried(work)


def _margins(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    start: F32 | None,
    ends: list[int],
    link: str = "",
) -> F32:
    """Return the margins after each of some rounds, shape (n_stages, n_outputs, n_rows).

    ``ends`` has the first round, then the last round plus 1 of every stage; with a link there is
    one stage.
    """
    if values.shape[1:] != (ensemble.n_tree_features,):
        raise DataError(
            f"values have the shape {tuple(values.shape)}: expected {ensemble.n_tree_features} "
            "columns, the features of trees; give what Model.tree_values returns"
        )

    if isinstance(values, SparseMatrix):
        ensemble = numbers_of(ensemble)

    def work() -> F32:
        opened = open_device(device)
        out = np.empty((len(ends) - 1, ensemble.n_outputs, values.shape[0]), np.float32)
        out[0] = np.array(each(ensemble.base_margin))[:, None] if start is None else start
        with settled(opened):
            _add_trees(opened, ensemble, given_to(values, opened), out, ends, link)
        return out

    return tried(work)


def tried(work: Callable[[], T]) -> T:
    """Return the result of ``work``; another variant replaces one that is refused.

    After an error, no frame keeps the memory of the device.
    """
    try:
        return with_fallbacks(work)
    except BaseException as error:
        clear_frames(error)
        raise


def given_to(values: Values, opened: Device) -> F32 | DeviceArray | SparseMatrix | BatchedRows:
    """Return rows as a device reads them."""
    return values.for_device(opened) if isinstance(values, DeviceMatrix) else values


def _add_trees(
    opened: Device,
    ensemble: Ensemble,
    values: F32 | DeviceArray | SparseMatrix | BatchedRows,
    out: F32,
    ends: list[int],
    link: str,
) -> None:
    """Write margins; ``out[0]`` has those to start from."""
    trees = packed(ensemble)
    searched = searched_bytes(values) if isinstance(values, SparseMatrix) else 0
    walks = rows_a_launch(opened.caps, predict.walk_bytes(trees, searched))
    for piece, walk in _walks(opened, trees, values):
        of_rows = out[:, :, piece]
        every = opened.empty(of_rows.shape[1:], np.float32) if link == "softmax" else None
        for group in range(ensemble.n_outputs // ensemble.tree_outputs):
            of_group = of_rows if trees.vectors is not None else of_rows[:, group]
            margins = opened.upload(np.ascontiguousarray(of_group[0]))
            n_together = max(1, walks // max(1, of_rows.shape[2]))
            places = [(group * ensemble.n_rounds + r) * ensemble.n_parallel for r in ends]
            for own, (begin, end) in zip(of_group, pairwise(places), strict=True):
                for tree in range(begin, end, n_together):
                    walk.add(margins, (tree, min(tree + n_together, end)))
                if every is not None:
                    opened.copy(margins, every, group * margins.size)
                    continue
                if link:
                    apply_link(opened, link, margins)
                own[:] = margins.get()
        if every is not None:
            apply_link(opened, link, every)
            of_rows[0] = every.get()


def _walks(
    opened: Device, trees: PackedTrees, values: F32 | DeviceArray | SparseMatrix | BatchedRows
) -> Iterator[tuple[slice, predict.Adds]]:
    """Yield pieces of rows, each with a walk that has taken it."""
    limit = min(_PIECE_BYTES, opened.caps.max_alloc_bytes)
    if isinstance(values, BatchedRows):
        for first, block in values.pieces():
            for piece, walk in _walks(opened, trees, block):
                end = min(piece.stop, len(block))
                yield slice(first + piece.start, first + end), walk
            opened.finish()  # the source may write its next batch to the same memory
        return
    if isinstance(values, SparseMatrix):
        check_no_sets(trees)
        yield from walked_pieces(opened, trees, values, limit)
        return
    if not isinstance(values, DeviceArray):
        values = np.ascontiguousarray(values, np.float32)  # no copy if the caller kept the contract
    rows = rows_a_launch(opened.caps, predict.row_bytes(trees))
    limit = min(limit, rows * values.shape[1] * VALUE.itemsize)
    walk = predict.plan_walk(opened, trees, values.shape[0], limit)
    for piece in _pieces(values, walk.piece_rows, opened.borrows):
        walk.take(_rows(opened, values, piece))
        yield piece, walk


def _rows(opened: Device, values: F32 | DeviceArray, piece: slice) -> F32 | DeviceArray:
    if isinstance(values, DeviceArray):
        if piece.start == 0 and piece.stop >= values.shape[0]:
            return values
        return opened.rows(values, piece.start, min(piece.stop, values.shape[0]))
    return values[piece]


def _pieces(values: F32 | DeviceArray, most: int, borrows: bool) -> Iterator[slice]:
    """Split rows into pieces of at most ``most`` rows.

    If the device uses host memory in place, the first piece has only the rows up to an aligned
    address. Pieces of an array on the device start at multiples of 4096 bytes.
    """
    n_rows = values.shape[0]
    if isinstance(values, DeviceArray):
        most = max(1, most // ALIGNED_ROWS) * ALIGNED_ROWS
        for first in range(0, n_rows, most):
            yield slice(first, first + most)
        return
    row_bytes = values.shape[1] * values.itemsize
    head = 0
    if borrows and values.nbytes >= _WORTH_ALIGNING:
        rows = range(_ALIGNED // values.itemsize)
        aligned = [row for row in rows if (values.ctypes.data + row * row_bytes) % _ALIGNED == 0]
        head = min([*aligned[:1], most])
        yield from [slice(0, head)] if head else []
    for first in range(head, n_rows, most):
        yield slice(first, first + most)


def on_device(link: str, n_rows: int, n_outputs: int) -> bool:
    """Tell whether a device is to convert margins."""
    if n_rows * n_outputs < FEW_MARGINS:
        return False
    few = n_outputs <= MOST_CLASSES and 4 * n_rows * n_outputs <= MOST_BYTES
    return bool(link) and (few or link != "softmax")


def apply_link(device: Device, link: str, margins: DeviceArray) -> None:
    """Convert margins in place; the host does not wait.

    Parameters
    ----------
    link : str
        ``Objective.device_link``.
    margins : DeviceArray of float32, shape (n_rows,), or (n_classes, n_rows) for ``softmax``
    """
    classes = {"n_classes": margins.shape[0]} if link == "softmax" else {}
    n = margins.shape[1] if classes else margins.size
    _, program = build_variant_program(device, "links", "auto")
    program.launch(link, device.caps.row_groups(n), n=n, margins=margins, **classes)
