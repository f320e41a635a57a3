"""Where the sums of contributions are computed: on a device, or on the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows, not_whole
from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.pages.sources import ALIGNED_ROWS
from pyopencl_gbdt.prediction.contributions.device_rows import DeviceRows
from pyopencl_gbdt.prediction.contributions.device_walk import plan_sums
from pyopencl_gbdt.prediction.contributions.host_levels import HostLevels
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import PathFactors
from pyopencl_gbdt.prediction.contributions.quantum import Starts
from pyopencl_gbdt.prediction.margins import given_to
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.walk_rows import is_there

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Bytes of the results of a piece of rows.
PIECE_BYTES = 64 * 1024 * 1024
#: Most rows times trees that the host takes where there is a device. PoCL, 2 cores, trees of depth
#: 8: a row and a tree take 8 us on the host, and 10 ms go by before a device has the trees.
FEW_WALKS = 1024
#: In places: no tree asks for the column, or for both columns of the pair.
NO_PLACE = -1


class Sums(ABC):
    """Sums of rows, for one game after the other."""

    def __init__(self, trees: I64) -> None:
        self._trees = trees

    @abstractmethod
    def pieces(self, row_bytes: int) -> Iterator[slice]:
        """Yield slices of the rows whose results take few bytes."""

    def of(
        self,
        game: PathFactors,
        kind: Kind,
        rows: slice,
        told: I64 | None = None,
        found: I64 | None = None,
    ) -> I64:
        """Return the sums of rows in quanta: int64 (n_rows, n_outputs, n).

        Parameters
        ----------
        told : int64 array, shape (n,), or None
            The places of the sums that are told, ``NO_PLACE`` for 0; None: all. See
            ``told_places``.
        found : int64 array, shape (n_rows, n_outputs, n), C order, or None
            Is written and returned; None: a new array.
        """
        told = np.arange(game.n_places(kind is Kind.PAIRS)) if told is None else told
        if found is None:
            found = np.empty((rows.stop - rows.start, self._trees.shape[0], told.size), np.int64)
        self._write(game, kind, rows, told, found)
        return found

    def finished(
        self, game: PathFactors, kind: Kind, rows: slice, told: I64, starts: Starts, found: F64
    ) -> I64 | None:
        """Write what columns or pairs add to rows; return None where only ``of`` can tell.

        Parameters
        ----------
        told : int64 array, shape (n_features + 1,), or (n_features + 1, n_features + 1)
        found : float64 array, shape (n_rows, n_outputs) and that of ``told``, C order, written
            Lacks what ``Starts.add_rest`` adds.

        Returns
        -------
        int64 array, shape (n_rows, n_outputs, 3), or None
            As ``Starts.add_rest`` takes them.
        """
        return None

    @abstractmethod
    def _write(self, game: PathFactors, kind: Kind, rows: slice, told: I64, found: I64) -> None: ...


class HostSums(Sums):
    """Sums on the host."""

    def __init__(self, ensemble: Ensemble, values: F32 | SparseMatrix, trees: I64) -> None:
        super().__init__(trees)
        self._walk, self._values = packed(ensemble).host_walk, values

    def pieces(self, row_bytes: int) -> Iterator[slice]:
        return _pieces(self._values.shape[0], row_bytes)

    def _write(self, game: PathFactors, kind: Kind, rows: slice, told: I64, found: I64) -> None:
        values, levels = self._values, HostLevels(game, self._walk)
        if isinstance(values, SparseMatrix):
            part: F32 | SparseMatrix = values.rows(rows.start, rows.stop)
        else:
            part = values[rows]
        shape = self._trees.shape[0], game.n_places(kind is Kind.PAIRS), part.shape[0]
        quanta = np.zeros(shape, np.int64)
        add = {
            Kind.FEATURES: levels.add, Kind.PAIRS: levels.add_pairs, Kind.MEANS: levels.add_means
        }[kind]  # fmt: skip
        add(part, quanta, self._trees)
        there = told != NO_PLACE
        found[..., ~there], found[..., there] = 0, quanta[:, told[there]].transpose(2, 0, 1)


class DeviceSums(Sums):
    """Sums on a device."""

    def __init__(self, device: Device, values: Values, trees: I64) -> None:
        given = given_to(values, device)
        if isinstance(given, np.ndarray):
            given = np.ascontiguousarray(given, np.float32)
        if isinstance(given, BatchedRows):
            raise not_whole(given)
        super().__init__(trees)
        self._device, self._values = device, given
        self._last: tuple[PathFactors, DeviceRows] | None = None

    def pieces(self, row_bytes: int) -> Iterator[slice]:
        on_host = isinstance(self._values, np.ndarray | SparseMatrix)
        return _pieces(self._values.shape[0], row_bytes, 1 if on_host else ALIGNED_ROWS)

    def finished(
        self, game: PathFactors, kind: Kind, rows: slice, told: I64, starts: Starts, found: F64
    ) -> I64 | None:
        quanta = found.reshape(*found.shape[:2], told.size).view(np.int64)
        flat = told.reshape(-1)
        return self._way(game, kind).sums(self._values, rows, self._trees, flat, quanta, starts)

    def _write(self, game: PathFactors, kind: Kind, rows: slice, told: I64, found: I64) -> None:
        self._way(game, kind).sums(self._values, rows, self._trees, told, found)

    def _way(self, game: PathFactors, kind: Kind) -> DeviceRows:
        """Return the object that adds up this game's trees; it is kept for the next rows."""
        if self._last is None or self._last[0] is not game:
            n_rows = self._values.shape[0]
            self._last = game, plan_sums(self._device, game, kind, n_rows)
        return self._last[1]


def sums_of(ensemble: Ensemble, values: Values, device: str | Device, trees: I64) -> Sums:
    """Return where the sums are computed: few rows on the host, and all where there is no device.

    Parameters
    ----------
    values : float32 array (C order), DeviceMatrix or SparseMatrix
    trees : int64 array, shape (n_outputs, n)

    Raises
    ------
    NoDeviceError
        If no device is what ``device`` asks for, and it is not "auto".
    """
    if isinstance(device, str):
        there = is_there(device)
        if not there or values.shape[0] * trees.size <= FEW_WALKS:
            return HostSums(ensemble, on_host(values), trees)
    return DeviceSums(open_device(device), values, trees)


def on_host(values: Values) -> F32 | SparseMatrix:
    """Return rows that the host can read."""
    host = values.host() if isinstance(values, DeviceMatrix) else values
    if isinstance(host, BatchedRows):
        raise not_whole(host)
    assert isinstance(host, np.ndarray | SparseMatrix)
    return host


def _pieces(n_rows: int, row_bytes: int, aligned: int = 1) -> Iterator[slice]:
    most = max(1, PIECE_BYTES // row_bytes // aligned) * aligned
    for first in range(0, n_rows, most):
        yield slice(first, min(first + most, n_rows))


def told_places(ensemble: Ensemble, used: npt.NDArray[np.uint32], pairs: bool) -> I64 | None:
    """Return the place of the sum of each column, or of each pair of columns.

    Parameters
    ----------
    used : uint32 array, shape (n_used,)
        Features of trees.

    Returns
    -------
    int64 array, shape (n_features + 1,) or (n_features + 1, n_features + 1), or None
        The pair of the features i and j < i has the place ``i * (i - 1) / 2 + j``, and a feature,
        in the diagonal, one behind those of the pairs. None if a feature comes from several
        columns.
    """
    if (used >= ensemble.n_features).any():
        return None
    width = ensemble.n_features + 1
    found = np.full((width, width) if pairs else width, NO_PLACE, np.int64)
    if pairs:
        one, other = np.tril_indices(used.size, -1)
        found[used[one], used[other]] = found[used[other], used[one]] = np.arange(one.size)
        found[used, used] = one.size + np.arange(used.size)
    else:
        found[used] = np.arange(used.size)
    return found


def to_columns(ensemble: Ensemble, used: npt.NDArray[np.uint32], quanta: I64) -> I64:
    """Return contributions of columns.

    A feature that is made of several columns is shared out equally; what the division leaves goes
    to the first of them.

    Parameters
    ----------
    used : uint32 array, shape (n_used,)
        Features of trees.
    quanta : int64 array, shape (n_rows, n_outputs, n_used)

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1)
        The last column is 0.
    """
    found = np.zeros((*quanta.shape[:2], ensemble.n_features + 1), np.int64)
    for place, feature in enumerate(used.tolist()):
        own, sources = quanta[..., place], ensemble.sources(feature)
        share = own // len(sources)
        for source in sources:
            found[..., source] += share
        found[..., sources[0]] += own - len(sources) * share
    return found


def pairs_to_columns(ensemble: Ensemble, used: npt.NDArray[np.uint32], quanta: I64) -> I64:
    """Return interactions of columns; features of several columns are shared out equally.

    Parameters
    ----------
    used : uint32 array, shape (n_used,)
        Features of trees.
    quanta : int64 array, shape (n_rows, n_outputs, n_pairs + n_used)
        See ``told_places``.

    Returns
    -------
    int64 array, shape (n_rows, n_outputs, n_features + 1, n_features + 1)
        Symmetric; the diagonal has the contributions of columns.
    """
    width = ensemble.n_features + 1
    found = np.zeros((*quanta.shape[:2], width, width), np.int64)
    one, other = np.tril_indices(used.size, -1)
    sources = [ensemble.sources(feature) for feature in used.tolist()]
    for pair, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        own = quanta[..., pair]
        first, second = np.meshgrid(sources[i], sources[j], indexing="ij")
        share = own // first.size
        for a, b in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
            for line, column in ((a, b), (b, a)):
                found[..., line, column] += share
        rest = own - first.size * share
        for line, column in ((first[0, 0], second[0, 0]), (second[0, 0], first[0, 0])):
            found[..., line, column] += rest
    index = np.arange(width)
    found[..., index, index] = to_columns(ensemble, used, quanta[..., one.size :])
    return found
