"""Which rows walk the trees on the host."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.device import Device, forked, open_device
from pyopencl_gbdt.device.discovery import ENVIRONMENT
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.with_statistics import RowsWithStatistics

F32 = npt.NDArray[np.float32]
#: Most rows times trees, and most nodes on a path. PoCL, 2 cores, 500 trees of depth 8: 1.1 ms for
#: 32 rows on the host, 2.2 ms on the device; 1.8 and 2.0 for 64.
MOST_WALKS, MOST_NODES = 16_384, 40
#: Most nodes of all trees; the walk on the host keeps 24 bytes of each.
_MOST_KEPT = 1_000_000
#: What ``device`` was when one was found, and the environment variable that decides too.
_found: set[tuple[str, str]] = set()


def few_margins(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    start: F32 | None,
    rounds: tuple[int, int],
) -> F32 | None:
    """Return the margins of few rows, computed on the host; None where a device is to do it.

    The parameters are those of ``predict_margins``. A device that was opened computes them itself.

    Raises
    ------
    DeviceError
        If no device is what ``device`` asks for.
    """
    n_rows, n_each = values.shape[0], ensemble.n_parallel * (rounds[1] - rounds[0])
    if n_rows * ensemble.n_outputs * n_each > MOST_WALKS or not _is_there(device):
        return None
    if isinstance(values, RowsWithStatistics):
        values = values.host()
    trees = packed(ensemble)
    large = trees.longest > MOST_NODES or trees.nodes.size > _MOST_KEPT
    if not isinstance(values, np.ndarray) or trees.sets is not None or large:
        return None
    out = np.empty((ensemble.n_outputs, n_rows), np.float32)
    out[:] = np.array(each(ensemble.base_margin))[:, None] if start is None else start
    if n_rows and n_each:
        first = np.arange(ensemble.n_outputs) * ensemble.n_rounds + rounds[0]
        chosen = first[:, None] * ensemble.n_parallel + np.arange(n_each)
        trees.host_walk.add(values, out, chosen)
    return out[0] if ensemble.n_outputs == 1 else out


def _is_there(device: str | Device) -> bool:
    """Tell whether a string selects a device; the first time, it is opened."""
    if not isinstance(device, str):
        return False
    forked.check()
    asked = device, os.environ.get(ENVIRONMENT, "")
    if asked not in _found:
        open_device(device)
        _found.add(asked)
    return True
