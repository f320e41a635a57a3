"""Rows walk the trees on a device or on the host, and give margins or leaf ids: the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction import margins as on_device
from pyopencl_gbdt.prediction.on_host import HostRows, host_rows, trees_of
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.weighted_trees import weighted_margins, weighted_stages

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: Margins of several rounds that are in memory together take at most so many bytes.
_STAGES_BYTES = 256 * 1024 * 1024
#: A device computes leaf ids as float32, which has all whole numbers up to this one.
_MOST_IDS = 2**24


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
    """Return what each row's sum starts from, shape (n_outputs, n_rows)."""
    shape = ensemble.n_outputs, values.shape[0]
    if start is not None:
        return start.reshape(shape)
    base = np.array(each(ensemble.base_margin), np.float32)
    rows: F32 = np.ndarray(shape, np.float32, base, strides=(base.itemsize, 0))  # all are equal
    return rows
