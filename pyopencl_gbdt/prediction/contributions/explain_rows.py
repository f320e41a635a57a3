"""Contributions of rows, on a device or on the host: the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction.contributions.columns import pairs_to_columns, to_columns
from pyopencl_gbdt.prediction.contributions.games import Games
from pyopencl_gbdt.prediction.contributions.host_levels import HostLevels
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import (
    PathFactors,
    check_covers,
    path_factors,
)
from pyopencl_gbdt.prediction.contributions.quantum import to_floats, to_matrices
from pyopencl_gbdt.prediction.on_host import trees_of
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.walk_rows import walk

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Bytes of the quanta of a piece of rows.
_PIECE_BYTES = 64 * 1024 * 1024


def explain_rows(
    ensemble: Ensemble,
    values: Values,
    device: str | Device,
    start: F32 | None,
    rounds: tuple[int, int],
    kind: Kind = Kind.FEATURES,
    background: Values | None = None,
) -> F64:
    """Return what each column, or each pair of columns, adds to each row's margin.

    Parameters
    ----------
    ensemble : Ensemble
    values : float32 array (C order), DeviceMatrix or SparseMatrix
        As ``Model.tree_values`` returns them, shape (n_rows, n_tree_features).
    device : str or Device
        With "auto", the host computes them where no device can be used.
    start : float32 array, shape (n_rows,) or (n_outputs, n_rows), or None
        What the sum of every row starts from; None: the ensemble's ``base_margin``.
    rounds : (int, int)
        First round, and last round plus 1.
    kind : Kind
    background : as ``values``, or None
        Rows that missing features are taken from; None: the shares of the training rows.

    Returns
    -------
    float64 array, shape (n_rows, n_outputs, n_features + 1)
        The last column is the base. A row's sum is its margin. Pairs: of shape (n_rows, n_outputs,
        n_features + 1, n_features + 1), symmetric; lines add up to the contributions.

    Raises
    ------
    ParameterError
        If trees do not know the cover of their nodes, and there is no background.
    """
    if background is None:
        check_covers(ensemble)
    games = Games(ensemble, None if background is None else _host(background))
    trees, used = trees_of(ensemble, rounds), path_factors(ensemble).used
    margins, _ = walk(ensemble, values, device, start, rounds, "")
    base = np.array(each(ensemble.base_margin), np.float32)[:, None] if start is None else start
    base = np.broadcast_to(base.reshape(margins.shape[0], -1), margins.shape)
    of_trees = games.base(trees)
    shape = (margins.shape[1], ensemble.n_outputs, ensemble.n_features + 1)
    found = np.empty(shape if kind is not Kind.PAIRS else (*shape, shape[2]))
    given = _host(values)
    for rows in _pieces(shape[0], 8 * max(1, found.size // max(1, shape[0]))):
        part = given.rows(rows.start, rows.stop) if isinstance(given, SparseMatrix) else given[rows]
        add = HostLevels.add_means if kind is Kind.MEANS else HostLevels.add
        quanta = to_columns(ensemble, used, _quanta(ensemble, games, add, part, trees, used.size))
        quanta[..., -1] = of_trees
        floats = to_floats(quanta, games.bits, margins[:, rows], base[:, rows])
        if kind is Kind.PAIRS:
            add, n_pairs = HostLevels.add_pairs, used.size**2
            pairs = _quanta(ensemble, games, add, part, trees, n_pairs)
            pairs = pairs_to_columns(ensemble, used, pairs)
            floats = to_matrices(pairs, games.bits, floats, base[:, rows])
        found[rows] = floats
    return found


def _quanta(
    ensemble: Ensemble,
    games: Games,
    add: Callable[[HostLevels, F32 | SparseMatrix, I64, I64], None],
    values: F32 | SparseMatrix,
    trees: I64,
    n_places: int,
) -> I64:
    """Return the sums of a piece of rows: int64 (n_outputs, n_places, n_rows)."""
    walk = packed(ensemble).host_walk

    def add_game(game: PathFactors, quanta: I64) -> None:
        add(HostLevels(game, walk), values, quanta, trees)

    return games.mean((trees.shape[0], n_places, values.shape[0]), add_game)


def _host(values: Values) -> F32 | SparseMatrix:
    host = values.host() if isinstance(values, DeviceMatrix) else values
    assert isinstance(host, np.ndarray | SparseMatrix)
    return host


def _pieces(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices of rows that take at most ``_PIECE_BYTES``, or one row."""
    most = max(1, _PIECE_BYTES // row_bytes)
    for first in range(0, n_rows, most):
        yield slice(first, min(first + most, n_rows))
