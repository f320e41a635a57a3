"""Partial dependence: the mean prediction where a feature, or two, have a value in all rows.

Friedman, Greedy function approximation, 2001, section 8.2. The curve of each row is its individual
conditional expectation (Goldstein et al., Peeking inside the black box, 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.targets import check_weight
from pyopencl_gbdt.device import Device, DeviceArray, open_device
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.grid import check_range, given_grids, grid_of
from pyopencl_gbdt.explain.results import PartialDependence
from pyopencl_gbdt.explain.rows import ExplainedRows, column_of, rows_of
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.numerics.portable_math import exact_sum
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.prediction.margins import MOST_CLASSES, tried
from pyopencl_gbdt.prediction.walk_cells import margins_of_cells
from pyopencl_gbdt.prediction.walk_rows import is_there, walk

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
KINDS = ("average", "individual", "both")
RESPONSES = ("prediction", "margin")
#: Bytes of the exact sum of the responses at a value, and of what it becomes.
_MEAN_BYTES = 256


def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    kind: str = "average",
    grid: Any = None,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    response: str = "prediction",
    weight: Any = None,
    missing: float | None = None,
    device: str | Device | None = None,
) -> PartialDependence:
    """Return how predictions change with one feature or two, computed on the device.

    For every value of the grid, all rows get this value, and are predicted. Rows walk each tree
    once for 32 values; once for each value where trees have weights, leaves are linear, or
    statistics are made of the column, and on the host. Beside the trees, the device holds 128 MiB
    of rows and responses at most.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix or Dataset
        As for ``Model.predict``; sparse rows become an array.
    features : str, int, or a pair of them
        Columns, by name or number.
    kind : {"average", "individual", "both"}
        The mean of all rows, each row's own response, or both.
    grid : None, array-like, sequence of array-like, or dict
        The values of each feature, one array for each or by name: numbers, NaN for missing, or
        levels by name, None for missing. None: those that the rows have, see below.
    grid_resolution : int, default 100
        Of a feature with so many distinct numbers, or fewer, these are the grid; of others, as many
        evenly spaced ones. A categorical column may have so many levels.
    percentiles : (float, float), default (0.05, 0.95)
        Between which shares of the rows evenly spaced numbers lie.
    response : {"prediction", "margin"}
        What ``predict`` returns, of ``multi:softmax`` the probabilities of classes; or margins.
    weight : (n_rows,) array-like or None
        Weights of the rows in the mean.
    missing : float or None
        A number in X that also means "missing"; None: as the estimator has it.
    device : str, Device or None
        Where to predict; None: the estimator's device, or "auto". All devices give the same bits.

    Returns
    -------
    PartialDependence

    Raises
    ------
    DataError
        If the columns differ from those of training, or X has no rows or is in batches, or the
        individual responses would exceed the memory.
    ParameterError
        If a feature, level or option is unknown.
    """
    for name, value, known in (("kind", kind, KINDS), ("response", response, RESPONSES)):
        if value not in known:
            raise ParameterError(
                f"{name}={show(value)}: expected one of {', '.join(known)}; choose one of these"
            )
    resolution, shares = check_range(grid_resolution, percentiles)
    rows = rows_of(model, X, missing=missing, device=device)
    columns = _columns(features, rows.names)
    weights = check_weight(weight, rows.n_rows)
    given = given_grids(grid, columns, rows.names)
    grids = [grid_of(rows, c, given.get(c), resolution, shares) for c in columns]
    n_outputs, shape = rows.model.ensemble.n_outputs, [own.values.size for own in grids]
    each = kind != "average"
    _check_cells(rows.model.ensemble, columns, prod(shape))
    every = np.meshgrid(*(np.asarray(own.values, np.float32) for own in grids), indexing="ij")
    cells = np.stack(every, axis=-1).reshape(-1, len(columns))
    if each:
        check_free(
            4 * n_outputs * rows.n_rows * prod(shape),
            f"the responses of {rows.n_rows} rows at {prod(shape)} values",
            'give fewer rows or values, or kind="average"',
        )
    average, individual = _responses(
        rows, columns, cells, response, weights, average=kind != "individual", individual=each
    )
    return PartialDependence(
        [own.shown for own in grids],
        None if average is None else average.reshape(n_outputs, *shape),
        None if individual is None else individual.reshape(n_outputs, rows.n_rows, *shape),
        [rows.names[column] for column in columns],
    )


def _check_cells(ensemble: Ensemble, columns: Sequence[int], n_cells: int) -> None:
    """Raise ``DataError`` if the values, their means and the decisions of nodes do not fit."""
    asked = sum(int(np.isin(t.feature[~t.is_leaf], columns).sum()) for t in ensemble.trees)
    each = 12 * len(columns) + _MEAN_BYTES * ensemble.n_outputs + asked // 8
    move = "give fewer values, by grid_resolution= or grid="
    check_free(each * n_cells, f"partial dependence at {n_cells} values", move)


def _columns(features: Any, names: Sequence[str]) -> list[int]:
    listed = list(features) if isinstance(features, (list, tuple, np.ndarray)) else [features]
    columns = [column_of("features", one, names) for one in listed]
    if not 1 <= len(columns) <= 2 or len(set(columns)) < len(columns):
        raise ParameterError(
            f"features={show(features)}: expected one feature, or two distinct ones; call "
            "partial_dependence once for each"
        )
    return columns


def _responses(
    rows: ExplainedRows,
    columns: Sequence[int],
    cells: F32,
    response: str,
    weights: F32 | None,
    *,
    average: bool,
    individual: bool,
) -> tuple[F64 | None, F32 | None]:
    """Return the means, (n_outputs, n_cells), and each row's, (n_outputs, n_rows, n_cells)."""
    n_outputs = rows.model.ensemble.n_outputs

    def work() -> tuple[F64 | None, F32 | None]:
        means = _Means(n_outputs, len(cells), weights) if average else None
        shape = n_outputs, rows.n_rows, len(cells)
        found = np.empty(shape, np.float32) if individual else None
        for piece, some, own in _pieces(rows, columns, cells, response):
            if means is not None:
                means.add(piece, some, own)
            if found is not None:
                found[:, piece, some] = own.swapaxes(1, 2)
        return None if means is None else means.values(rows.n_rows), found

    return tried(work)


def _pieces(
    rows: ExplainedRows, columns: Sequence[int], cells: F32, response: str
) -> Iterator[tuple[slice, slice, F32]]:
    """Yield some rows, some cells, and the responses: shape (n_outputs, n_cells, n_rows)."""
    model, asked = rows.model, response == "prediction"
    ensemble, rounds = model.ensemble, (0, model.rounds_to_predict)
    statistics = range(ensemble.n_features, ensemble.n_tree_features)
    replaced = {column for feature in statistics for column in ensemble.sources(feature)}
    there = not isinstance(rows.device, str) or is_there(rows.device)
    apart = ensemble.tree_weights is not None or ensemble.leaves is LINEAR
    if apart or replaced.intersection(columns) or not there:
        for place, margins in enumerate(_by_prediction(rows, columns, cells, rounds)):
            own = _linked(model.objective, margins) if asked else margins
            yield slice(0, rows.n_rows), slice(place, place + 1), own
        return
    link = model.objective.device_link if asked else ""
    if link == "softmax" and ensemble.n_outputs > MOST_CLASSES:
        link = ""
    opened = open_device(rows.device)
    whole = model.tree_values(rows.features)
    values = whole.for_device(opened) if isinstance(whole, DeviceMatrix) else whole
    assert isinstance(values, np.ndarray | DeviceArray)
    found = margins_of_cells(opened, ensemble, values, columns, cells, rounds, link)
    for piece, own in found:
        ready = _linked(model.objective, own) if asked and not link else own
        yield piece, slice(0, len(cells)), ready


def _by_prediction(
    rows: ExplainedRows, columns: Sequence[int], cells: F32, rounds: tuple[int, int]
) -> Iterator[F32]:
    """Yield the margins of all rows at each cell, by a prediction of all rows for each."""
    ensemble, values = rows.model.ensemble, rows.host_values().copy()
    changed = replace(rows.features, values=values)
    for cell in cells:
        values[:, list(columns)] = cell
        whole = rows.model.tree_values(changed)
        yield walk(ensemble, whole, rows.device, None, rounds, "")[0][:, None]


def _linked(objective: Objective, margins: F32) -> F32:
    """Convert margins, shape (n_outputs, ...), to predictions, or to shares of classes."""
    flat = margins.reshape(-1) if len(margins) == 1 else margins.reshape(len(margins), -1)
    found = objective.to_prediction(flat)
    if found.shape != flat.shape:  # it is a class
        found = objective.to_probability(flat)
    return found.reshape(margins.shape)


class _Means:
    """Means over all rows, as exact sums: the pieces of rows do not matter."""

    def __init__(self, n_outputs: int, n_cells: int, weight: F32 | None) -> None:
        self._sums = np.full((n_outputs, n_cells), Fraction(0), object)
        self._infinite, self._weight = np.zeros((n_outputs, n_cells)), weight

    def add(self, rows: slice, cells: slice, responses: F32) -> None:
        """Add the responses of some rows at some cells, shape (n_outputs, n_cells, n_rows)."""
        own = None if self._weight is None else self._weight[rows]
        for output, cell in np.ndindex(responses.shape[:2]):
            values, place = responses[output, cell], (output, cells.start + cell)
            if np.isfinite(values).all():
                self._sums[place] += exact_sum(values, own)
            else:  # an exponential of a large margin
                self._infinite[place] += values.sum(dtype=np.float64)

    def values(self, n_rows: int) -> F64:
        count = n_rows if self._weight is None else exact_sum(self._weight, None)
        found: F64 = (self._sums / count).astype(np.float64) + self._infinite
        return found
