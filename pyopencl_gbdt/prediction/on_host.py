"""Which rows walk the trees on the host: few rows, and all rows where there is no device."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.discovery import ENVIRONMENT
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.selection import any_will_do
from pyopencl_gbdt.errors import NoDeviceError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.prediction.host_walk import HostWalk
from pyopencl_gbdt.prediction.packing import PackedTrees, packed
from pyopencl_gbdt.prediction.predict_sparse import check_no_sets
from pyopencl_gbdt.prediction.with_statistics import RowsWithStatistics

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
#: Most rows times trees, and most nodes on a path, where there is a device. PoCL, 2 cores, 500
#: trees of depth 8: 0.7 ms for 32 rows on the host, 2.2 ms on the device; 1.4 and 2.0 for 64.
MOST_WALKS, MOST_NODES = 16_384, 40
#: Most nodes of all trees; the walk on the host keeps 24 bytes of each.
_MOST_KEPT = 1_000_000
#: Most rows times columns that trees ask for: the key of a value takes 15 ns.
_MOST_VALUES = 65_536
#: What ``device`` was, with the environment variable that decides too, and whether one was there.
_found: dict[tuple[str, str], bool] = {}


class HostRows:
    """Rows that walk an ensemble's trees on the host; the bits are those of a device."""

    def __init__(self, ensemble: Ensemble, values: Values, walk: HostWalk) -> None:
        host = values.host() if isinstance(values, DeviceMatrix) else values
        assert isinstance(host, np.ndarray | SparseMatrix)
        self._values, self._walk, self._ensemble = host, walk, ensemble

    def margins(self, start: F32, rounds: tuple[int, int], stages: F32 | None = None) -> F32:
        """Return margins after some rounds, float32, shape (n_outputs, n_rows).

        Parameters
        ----------
        start : float32 array, shape (n_outputs, n_rows)
        rounds : (int, int)
            First round, and last round plus 1.
        stages : float32 array, shape (n_rounds, n_outputs, n_rows), or None, written
            The margins after each of the rounds.
        """
        margins: F32 = start.copy()
        self._walk.add(self._values, margins, trees_of(self._ensemble, rounds), stages)
        return margins

    def leaf_ids(self, trees: Sequence[int]) -> I32:
        """Return the leaf of each row in trees, given by their place in ``PackedTrees``."""
        return self._walk.leaf_ids(self._values, np.asarray(trees, np.int64))


def host_rows(
    ensemble: Ensemble, values: Values, device: str | Device, rounds: tuple[int, int]
) -> HostRows | None:
    """Return rows that are to walk the trees on the host; None where a device is to do it.

    If the caller opened the device, rows walk the trees on it. The exception is sparse rows of
    trees with linear leaves: these walk on the host.

    Parameters
    ----------
    values : float32 array (C order), DeviceMatrix or SparseMatrix
        As ``Model.tree_values`` returns them, shape (n_rows, n_tree_features).
    device : str or Device
        With "auto", all rows walk on the host where no device can be used.
    rounds : (int, int)
        First round, and last round plus 1.

    Raises
    ------
    NoDeviceError
        If no device is what ``device`` asks for, and it is not "auto".
    """
    if isinstance(values, SparseMatrix) and ensemble.leaves is LINEAR:  # no kernel does
        return HostRows(ensemble, values, packed(ensemble).host_walk)
    if not isinstance(device, str):
        return None
    n_walks = values.shape[0] * ensemble.round_trees * (rounds[1] - rounds[0])
    if n_walks > MOST_WALKS and not any_will_do(device):
        return None
    there, trees = is_there(device), packed(ensemble)
    if there and not _are_few(values, trees, n_walks):
        return None
    if isinstance(values, SparseMatrix):
        check_no_sets(trees)
    return HostRows(ensemble, values, trees.host_walk)


def _are_few(values: Values, trees: PackedTrees, n_walks: int) -> bool:
    """Tell whether rows walk sooner on the host; those of a matrix on a device do not."""
    copied = isinstance(values, DeviceMatrix) and not isinstance(values, RowsWithStatistics)
    large = trees.longest > MOST_NODES or trees.nodes.size > _MOST_KEPT
    wide = values.shape[0] * trees.used.size > _MOST_VALUES
    return n_walks <= MOST_WALKS and not (copied or large or wide)


def trees_of(ensemble: Ensemble, rounds: tuple[int, int]) -> I64:
    """Return the trees of some rounds by their place in ``PackedTrees``, a line for each output.

    If leaves are vectors, there is one line.
    """
    n_groups = ensemble.n_outputs // ensemble.tree_outputs
    first = np.arange(n_groups) * ensemble.n_rounds + rounds[0]
    n_each = ensemble.n_parallel * (rounds[1] - rounds[0])
    return first[:, None] * ensemble.n_parallel + np.arange(n_each)


def is_there(device: str) -> bool:
    """Tell whether a string selects a device; the first time, it is opened."""
    asked = device, os.environ.get(ENVIRONMENT, "")
    if not _found.get(asked, True):
        return False
    forked.check()
    if asked not in _found:
        try:
            open_device(device)
            _found[asked] = True
        except NoDeviceError:
            if not any_will_do(device):
                raise
            _found[asked] = False
    return _found[asked]
