"""Contributions of rows, on a device or on the host: the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.data.threads import in_threads
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import (
    PathFactors,
    check_covers,
    path_factors,
)
from pyopencl_gbdt.prediction.contributions.quantum import (
    Starts,
    bit_length,
    divided,
    to_floats,
    to_matrices,
)
from pyopencl_gbdt.prediction.contributions.sums import (
    PIECE_BYTES,
    Sums,
    on_host,
    pairs_to_columns,
    sums_of,
    to_columns,
    told_places,
)
from pyopencl_gbdt.prediction.leaf_terms import PackedLinear, RowBlock
from pyopencl_gbdt.prediction.margins import tried
from pyopencl_gbdt.prediction.packing import Kept, numbers_of, packed
from pyopencl_gbdt.prediction.walk_rows import trees_of, walk
from pyopencl_gbdt.prediction.weighted_trees import plain_model

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Sums over so many background rows, in bits, are sure to fit 64 bits.
_BACKGROUND_BITS = 10
#: Nodes times rows of a background that are decided together.
_MOST_WALKS = 2**20
#: Bits of a row's sum in its quanta, as in ``quantum``.
_BITS = 52


class Games:
    """What becomes of a missing feature: the training rows' shares, or each background row's value.

    Attributes
    ----------
    bits : int
        k: contributions are multiples of 2^-k.
    """

    def __init__(self, ensemble: Ensemble, background: F32 | SparseMatrix | None) -> None:
        self._factors = path_factors(ensemble)
        self._right, spare = None, 0
        if background is not None:
            n_rows, inner = background.shape[0], self._factors.inner
            check_free(
                n_rows * inner.size, f"the ways of {n_rows} background rows",
                "give fewer of them; a hundred are usual",
            )  # fmt: skip
            walk = packed(ensemble).host_walk
            self._right = np.empty((n_rows, inner.size), np.bool_)
            for rows, block in walk.blocks(background, max(1, _MOST_WALKS // max(1, inner.size))):
                self._right[rows] = walk.goes_right(block, inner).T
            spare = max(0, bit_length(n_rows) - _BACKGROUND_BITS)
        self._spare = spare
        self.bits = self._factors.bits - spare

    def __iter__(self) -> Iterator[PathFactors]:
        if self._right is None:
            yield self._factors
            return
        for right in self._right:
            yield self._factors.for_row(right, self._spare)

    @property
    def only(self) -> PathFactors | None:
        """The game, if there is one."""
        return self._factors if self._right is None else None

    def mean(self, sums: Callable[[PathFactors], I64]) -> I64:
        """Return the mean over games of sums in quanta, rounded to the nearest, ties to even."""
        if self._right is None:
            return sums(self._factors)
        found: I64 = np.zeros(1, np.int64)
        for game in self:
            found = found + sums(game)
        return divided(found, len(self._right))

    def base(self, trees: I64) -> I64:
        """Return the mean of the trees of each output: int64 (n_outputs,)."""
        roots = self._factors.begin[:-1][trees]
        return self.mean(lambda game: game.mean_quanta[roots].sum(axis=1))


F64 = npt.NDArray[np.float64]
#: Arrays of a piece of rows that are there at a time.
PIECES = 4
#: Bytes of the results of rows that a thread finishes at a time: a core's cache holds them.
_BLOCK_BYTES = 256 * 1024


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
    values : float32 array (C order), DeviceMatrix or SparseMatrix
        As ``Model.tree_values`` returns them, shape (n_rows, n_tree_features).
    device : str or Device
        With "auto", the host computes them where no device can be used.
    start : float32 array, shape (n_rows,) or (n_outputs, n_rows), or None
        What the sum of every row starts from; None: the ensemble's ``base_margin``.
    rounds : (int, int)
        First round, and last round plus 1.
    background : as ``values``, or None
        Rows that missing features are taken from; None: the shares of the training rows.

    Returns
    -------
    float64 array, shape (n_rows, n_outputs, n_features + 1)
        The last column is the base. A row's sum is its margin. Pairs: of shape (n_rows, n_outputs,
        n_features + 1, n_features + 1), symmetric; lines add up to the contributions. With one
        output, without the second dimension.

    Raises
    ------
    ParameterError
        If trees do not know the cover of their nodes, and there is no background.
    DataError
        If the result does not fit the free memory; says how much it takes.
    """
    width = ensemble.n_features + 1
    shape = (values.shape[0], ensemble.n_outputs, *[width] * (1 + (kind is Kind.PAIRS)))
    check_free(
        8 * math.prod(shape) + PIECES * PIECE_BYTES, f"the contributions, float64 {shape},",
        "predict fewer rows at a time",
    )  # fmt: skip
    if ensemble.leaves is LINEAR and ensemble.statistics is None:
        plain = _OF_VALUES.of(ensemble)
        found = explain_rows(plain, values, device, start, rounds, kind, background)
        margins, _ = walk(ensemble, values, device, start, rounds, "")
        every = found.reshape(shape[0], shape[1], *shape[2:])
        add_linear_parts(ensemble, on_host(values), trees_of(ensemble, rounds), margins, every)
        return found
    if background is None:
        check_covers(numbers_of(ensemble))
    margins, _ = walk(ensemble, values, device, start, rounds, "")
    ensemble = numbers_of(plain_model(ensemble))
    games = Games(ensemble, None if background is None else on_host(background))
    trees = trees_of(ensemble, rounds)
    base = np.array(each(ensemble.base_margin), np.float32)[:, None] if start is None else start
    base = np.broadcast_to(base.reshape(margins.shape[0], -1), margins.shape)
    of_trees = games.base(trees)

    factors = path_factors(ensemble)
    check_free(
        factors.constant_bytes(kind is Kind.PAIRS), "the constants of the trees' nodes",
        "take fewer trees by iteration_range=",
    )  # fmt: skip
    used = factors.used
    told, game = told_places(ensemble, used, kind is Kind.PAIRS), games.only

    def work() -> F64:
        found, sums = np.empty(shape), sums_of(ensemble, values, device, trees)
        for rows in sums.pieces(8 * math.prod(shape[1:])):
            own, totals = found[rows], None
            if told is not None and game is not None:
                one = base[:, :1] if start is None else base[:, rows]
                starts = Starts.of(games.bits, of_trees, one)
                totals = sums.finished(game, kind, rows, told, starts, own)
                if totals is not None:
                    starts.add_rest(own, totals, margins[:, rows])
            if totals is None:
                quanta = _quanta(ensemble, games, sums, kind, rows, told, own.view(np.int64))
                finish(games.bits, of_trees, quanta, margins[:, rows], base[:, rows], own)
        return found

    explained = tried(work)
    return explained[:, 0] if ensemble.n_outputs == 1 else explained


def _quanta(
    ensemble: Ensemble,
    games: Games,
    sums: Sums,
    kind: Kind,
    rows: slice,
    told: I64 | None,
    found: I64,
) -> I64:
    """Return what ``finish`` takes of some rows; it may lie in ``found``, which has its shape."""
    if told is None:
        shared_out = pairs_to_columns if kind is Kind.PAIRS else to_columns
        mean = games.mean(partial(sums.of, kind=kind, rows=rows))
        return shared_out(ensemble, path_factors(ensemble).used, mean)
    flat = found.reshape(*found.shape[:2], told.size)
    mean = games.mean(partial(sums.of, kind=kind, rows=rows, told=told.reshape(-1), found=flat))
    return mean.reshape(found.shape)


def finish(bits: int, of_trees: I64, quanta: I64, margins: F32, base: F32, found: F64) -> None:
    """Write what columns, or pairs of columns, add to margins, by threads.

    Parameters
    ----------
    bits : int
        k: contributions are multiples of 2^-k.
    of_trees : int64 array, shape (n_outputs,)
        The mean of the trees of each output, in quanta.
    quanta : int64 array, shape of ``found``, overwritten
        For pairs, the diagonal has the contributions of columns. It may lie in ``found``.
    margins, base : float32 array, shape (n_outputs, n_rows)
    found : float64 array, written
        Shape (n_rows, n_outputs, n_features + 1), or (n_rows, n_outputs, n_features + 1, n_features
        + 1) for pairs.
    """
    n_rows, step = len(found), max(1, _BLOCK_BYTES // max(1, found[:1].nbytes))
    in_threads(
        partial(_finish, bits, of_trees, quanta, margins, base, found),
        [slice(at, min(at + step, n_rows)) for at in range(0, n_rows, step)],
    )


def _finish(
    bits: int, of_trees: I64, quanta: I64, margins: F32, base: F32, found: F64, rows: slice
) -> None:
    """Write what some rows' columns or pairs add; see ``finish``."""
    own, every = quanta[rows], quanta[rows]
    if own.ndim > 3:
        every = np.diagonal(own, axis1=2, axis2=3).copy()
        index = np.arange(own.shape[3])
        own[..., index, index] = 0
    every[..., -1] = of_trees
    floats = to_floats(every, bits, margins[:, rows], base[:, rows])
    if own.ndim > 3:
        floats = to_matrices(own, bits, floats, base[:, rows])
    found[rows] = floats


def _of_values(ensemble: Ensemble) -> Ensemble:
    return replace(ensemble, trees=[tree.with_linear(None) for tree in ensemble.trees])


#: ``of`` returns the model whose leaves have their values alone.
_OF_VALUES = Kept(_of_values)


def add_linear_parts(
    ensemble: Ensemble, values: F32 | SparseMatrix, trees: I64, margins: F32, found: F64
) -> None:
    """Add the parts of linear functions to contributions, whose sums become the margins.

    A feature j of the row's leaf gets ``c_j x_j + (a - v) / m`` more: ``c_j`` is its coefficient,
    ``a`` the intercept, ``v`` the leaf's value and ``m`` the number of terms. They add up to what
    the function differs from the value. A row that misses one of the features gets nothing more.

    A row's quantum is 2^(e - 52): 2^e is more than the sum of all absolute contributions and parts.
    Both are rounded to it, and the rest goes where ``quantum.to_floats`` adds it.

    Parameters
    ----------
    ensemble : Ensemble
        Without statistics.
    values : float32 array or SparseMatrix, shape (n_rows, n_features)
    trees : int64 array, shape (n_outputs, n)
        The trees of each output.
    margins : float32 array, shape (n_outputs, n_rows)
    found : float64 array, shape (n_rows, n_outputs, n_features + 1), written
        Contributions of the values of leaves; or with a dimension more, interactions.
    """
    nodes = packed(ensemble)
    walk, linear, used = nodes.host_walk, nodes.compact.linear, nodes.used.astype(np.int64)
    assert linear is not None
    number = nodes.nodes["number"]
    for rows, block in walk.blocks(values):
        parts = np.zeros((block.n_rows, *found.shape[1:3]))
        for output, own in enumerate(trees):
            columns = np.zeros((used.size, block.n_rows))
            for tree in own:
                leaves = walk.leaves(block, np.array([tree]))[0]
                _add_tree(linear, number, leaves, block, columns)
            parts[:, output, used] = columns.T
        _add(found[rows], parts, margins[:, rows])


def _add_tree(
    linear: PackedLinear, number: F32, leaves: I64, block: RowBlock, columns: F64
) -> None:
    """Add the parts of a tree, float64 (n_used, n_rows), term by term."""
    begin = linear.begin.astype(np.int64)
    sizes = begin[leaves + 1] - begin[leaves]
    places = [begin[leaves] + k for k in range(int(sizes.max(initial=0)))]
    there = sizes > 0
    for k, at in enumerate(places):
        some = np.flatnonzero(sizes > k)
        there[some] &= ~np.isnan(block.values[linear.features[at[some]], some])
    shared = linear.intercepts[leaves].astype(np.float64) - number[leaves]
    share = shared / np.maximum(sizes, 1)
    for k, at in enumerate(places):
        some = np.flatnonzero(there & (sizes > k))
        feature = linear.features[at[some]]
        product = linear.coefficients[at[some]].astype(np.float64) * block.values[feature, some]
        columns[feature, some] += product + share[some]


def _add(found: F64, parts: F64, margins: F32) -> None:
    """Add the parts of some rows; see ``add_linear_parts``."""
    pairs = found.ndim > 3
    before = found.sum(axis=3) if pairs else found
    with np.errstate(invalid="ignore"):  # rows may hold infinities
        most = np.abs(before).sum(axis=2) + np.abs(parts).sum(axis=2)
        bits = (_BITS - np.frexp(most)[1])[..., None]
        quanta = np.rint(np.ldexp(before, bits)) + np.rint(np.ldexp(parts, bits))
        own = np.ldexp(quanta, -bits)
        rest = margins.T - np.ldexp(quanta.sum(axis=2), -bits[..., 0])
        place = np.argmax(np.abs(quanta[..., :-1]), axis=2)[..., None]
        none = np.take_along_axis(quanta, place, 2) == 0
        place = np.where(none, quanta.shape[2] - 1, place)
        np.put_along_axis(own, place, np.take_along_axis(own, place, 2) + rest[..., None], 2)
        if not pairs:
            found[:] = own
            return
        found[:] = np.ldexp(np.rint(np.ldexp(found, bits[..., None])), -bits[..., None])
        index = np.arange(found.shape[3])
        found[..., index, index] = 0
        found[..., index, index] = own - found.sum(axis=3)
