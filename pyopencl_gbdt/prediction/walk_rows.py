"""Rows walk the trees on a device or on the host, and give margins or leaf ids: the same bits.

The host walks few rows, and all rows where there is no device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

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
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.prediction import margins as on_device
from pyopencl_gbdt.prediction.host_walk import HostWalk
from pyopencl_gbdt.prediction.packing import PackedTrees, packed
from pyopencl_gbdt.prediction.predict_sparse import check_no_sets
from pyopencl_gbdt.prediction.weighted_trees import weighted_margins, weighted_stages
from pyopencl_gbdt.prediction.with_statistics import RowsWithStatistics

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: Margins of several rounds that are in memory together take at most so many bytes.
_STAGES_BYTES = 256 * 1024 * 1024
#: A device computes leaf ids as float32, which has all whole numbers up to this one.
_MOST_IDS = 2**24
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


def walk(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    start: F32 | None,
    rounds: tuple[int, int],
    link: str,
) -> tuple[F32, bool]:
    """Return margins, shape (n_outputs, n_rows), and whether the link has been applied to them.

    Parameters
    ----------
    values : float32 array (C order), DeviceMatrix or SparseMatrix
        As ``Model.tree_values`` returns them, shape (n_rows, n_tree_features).
    device : str or Device
        With "auto", rows walk on the host where no device can be used.
    start : float32 array, shape (n_outputs, n_rows), or None
        What the sum of every row starts from; None: the ensemble's ``base_margin``.
    rounds : (int, int)
        First round, and last round plus 1.
    link : str
        ``Objective.device_link``, which a device applies, or "".
    """
    own = _start(ensemble, values, start)
    if ensemble.tree_weights is not None:
        zeros = np.zeros(own.shape, np.float32)

        def walk_of(plain: Ensemble, some: tuple[int, int]) -> F32:
            return walk(plain, values, device, zeros, some, "")[0]

        return weighted_margins(ensemble, own, rounds, walk_of), False
    host = host_rows(ensemble, values, device, rounds)
    if host is not None:
        return host.margins(own, rounds), False
    found = on_device.predict_margins(ensemble, values, device, start=own, rounds=rounds, link=link)
    return found.reshape(own.shape), bool(link)


def staged_walk(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    start: F32 | None,
    rounds: tuple[int, int],
) -> Iterator[F32]:
    """Yield the margins after each round, shape (n_outputs, n_rows); rows walk every tree once."""
    margins = _start(ensemble, values, start)
    if ensemble.tree_weights is not None:
        zeros = np.zeros(margins.shape, np.float32)

        def stages_of(plain: Ensemble, some: tuple[int, int]) -> Iterator[F32]:
            return staged_walk(plain, values, device, zeros, some)

        yield from weighted_stages(ensemble, margins, rounds, stages_of)
        return
    host = host_rows(ensemble, values, device, rounds)
    together = max(1, _STAGES_BYTES // max(1, 4 * margins.size))
    for first in range(*rounds, together):
        some = first, min(first + together, rounds[1])
        if host is not None:
            stages = np.empty((some[1] - first, *margins.shape), np.float32)
            host.margins(margins, some, stages)
        else:
            stages = on_device.staged_margins(ensemble, values, device, margins, some)
        yield from stages
        margins = stages[-1]


def walk_to_leaves(
    ensemble: Ensemble, values: Values, device: str | Device, rounds: tuple[int, int]
) -> I32:
    """Return each row's leaf in each tree of some rounds: int32 array, shape (n_rows, n_trees).

    Trees have the order of the ensemble's, and leaves the numbers of nodes in the file that a tree
    was read from, or is written to.
    """
    of_rounds = trees_of(ensemble, rounds)
    of_outputs = of_rounds.reshape(of_rounds.shape[0], -1, ensemble.n_parallel)
    trees = of_outputs.swapaxes(0, 1).ravel().tolist()
    host = host_rows(ensemble, values, device, rounds)
    if host is None and max((tree.n_nodes for tree in ensemble.trees), default=0) > _MOST_IDS:
        host = HostRows(ensemble, values, packed(ensemble).host_walk)
    if host is not None:
        found = host.leaf_ids(trees)
    else:
        found = on_device.leaf_ids(ensemble, values, device, trees)
    first = rounds[0] * ensemble.round_trees
    for place, tree in enumerate(ensemble.trees[first : first + len(trees)]):
        if tree.file_numbers is not None:
            found[:, place] = tree.file_numbers[found[:, place]]
    return found


def _start(ensemble: Ensemble, values: Values, start: F32 | None) -> F32:
    """Return the start of each row's sum, shape (n_outputs, n_rows)."""
    shape = ensemble.n_outputs, values.shape[0]
    if start is not None:
        return start.reshape(shape)
    base = np.array(each(ensemble.base_margin), np.float32)
    rows: F32 = np.ndarray(shape, np.float32, base, strides=(base.itemsize, 0))  # all are equal
    return rows
