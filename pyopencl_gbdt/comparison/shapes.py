"""Synthetic data of fixed shapes, for benches: seeded, learnable, the same bytes everywhere.

Values come from the integers of a seeded generator. Labels come from +, - and * in float32 and from
comparisons. So every machine makes the same rows, and models can be compared byte by byte across
machines. Labels are a score of some columns (products of two, a curved border, straight lines, with
decreasing weights) plus noise; no model of a few trees learns all of it.

    values   (seed, stream, block) -> uniform in [0, 1), then skewed, blanked out, ... by the recipe
    labels   score(values) + noise of the same block

Rows are made in blocks, each with a seed: fewer rows are a prefix of more rows, and several threads
fill the blocks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
Recipe = Literal["plain", "skewed", "stations", "grades", "images"]

#: Values per block: small enough for a processor's cache.
_BLOCK_VALUES = 1 << 19
#: Columns measured at the same station, and so present or missing together.
_STATION = 22
#: Consecutive rows that take the same route through the stations.
_LOT = 100
#: Number of routes through the stations.
_ROUTES = 25
#: Cells of a picture of 32 x 32 pixels in three colours: 8 x 8 cells of 4 x 4 pixels.
_CELLS = 8 * 8 * 3


@dataclass(frozen=True)
class Shape:
    """What to train: the shape of the data and the parameters that affect speed.

    Attributes
    ----------
    name, title : str
        Name for ``--shapes``, and one line for people.
    objective : str
        XGBoost's name.
    n_rounds : int
        Rounds after which quality is measured.
    n_models : int
        Models trained one after another, each on a different label.
    missing : float
        Share of missing values.
    recipe : str
        How to make the values; see `make`.
    symmetric : bool
        Whether trees are symmetric, in systems that have such trees.
    way : str
        The trainer, a name of `ways.WAYS`; empty is that of dense columns of numbers.
    """

    name: str
    title: str
    n_rows: int
    n_features: int
    objective: str = "binary:logistic"
    max_depth: int = 6
    max_bin: int = 256
    n_rounds: int = 100
    n_models: int = 1
    missing: float = 0.0
    recipe: Recipe = "plain"
    symmetric: bool = False
    way: str = ""

    def expected_bytes(self, n_rows: int | None = None) -> int:
        """Return the bytes of values and labels on the host."""
        rows = self.n_rows if n_rows is None else n_rows
        return 4 * rows * (self.n_features + self.n_models)

    def make(
        self, seed: int, n_rows: int | None = None, *, held_out: bool = False
    ) -> tuple[F32, F32]:
        """Make rows and labels.

        Parameters
        ----------
        seed : int
            Not negative. Another seed gives other rows of the same distribution.
        n_rows : int or None
            Number of rows; None is the shape's.
        held_out : bool, default False
            Make rows from a separate random stream, for measuring quality.

        Returns
        -------
        values : float32 array, shape (n_rows, n_features), C order
            NaN means missing.
        labels : float32 array, shape (n_rows,), or (n_rows, n_models) if n_models > 1
        """
        rows = self.n_rows if n_rows is None else n_rows
        values = np.empty((rows, self.n_features), np.float32)
        labels = np.empty((rows, self.n_models), np.float32)
        block = max(_LOT, _BLOCK_VALUES // self.n_features // _LOT * _LOT)

        def fill(number: int) -> None:
            mine = slice(number * block, min((number + 1) * block, rows))
            key = [seed, int(held_out), number]
            self._fill(key, values[mine], labels[mine])

        with ThreadPoolExecutor() as pool:
            list(pool.map(fill, range(-(-rows // block))))  # list() raises threads' errors
        return values, labels if self.n_models > 1 else labels[:, 0]

    def _fill(self, key: list[int], values: F32, labels: F32) -> None:
        """Fill a block; values, noise and routes have separate generators."""
        rng, noise_rng, route_rng = (np.random.default_rng([*key, part]) for part in range(3))
        rng.random(out=values, dtype=np.float32)
        if self.recipe == "images":
            _paint(route_rng, noise_rng, values, labels)
            return
        if self.recipe == "skewed":  # in every other column, nine of ten rows are 0
            odd = values[:, 1::2]
            odd[...] = np.maximum(odd - np.float32(0.9), np.float32(0)) * np.float32(10)
        if self.recipe == "stations":
            _leave_out(route_rng, values, self.missing)
        noise = noise_rng.random((len(values), 4), dtype=np.float32)
        score = _score(values, self._informative())
        score += (noise[:, 0] + noise[:, 1]) + (noise[:, 2] + noise[:, 3]) - np.float32(2)
        if self.recipe == "grades":  # 0 to 4, like judged relevance
            labels[:, 0] = np.clip(np.floor(score + np.float32(2.5)), 0, 4)
        elif self.objective == "binary:logistic":
            labels[:, 0] = score > 0
        else:
            labels[:, 0] = score

    def _informative(self) -> npt.NDArray[np.intp]:
        """Return the columns that the label depends on, in groups of four."""
        if self.recipe == "stations":  # four columns of every station
            return np.arange(self.n_features).reshape(-1, _STATION)[:, :4].ravel()
        n_informative = 4 * min(max(self.n_features // 5, 1), 24)
        return np.linspace(0, self.n_features - 1, n_informative).astype(np.intp)


def _score(values: F32, columns: npt.NDArray[np.intp]) -> F32:
    """Sum over groups (a, b, c, d) of columns: ``2ab + a/2``, and 1/2 if c > d^2 - 1/3.

    The sum is centred at 0 for uniform values; groups with missing values add nothing.
    """
    score = np.zeros(len(values), np.float32)
    half, third = np.float32(0.5), np.float32(1 / 3)
    for first in range(0, len(columns), 4):
        # transposed into contiguous rows, since reading strided columns repeatedly is slow
        a, b, c, d = np.float32(2) * values[:, columns[first : first + 4]].T - np.float32(1)
        term = np.float32(2) * a * b + half * a + np.where(c > d * d - third, half, -half)
        weight = np.float32(1 / (1 + 3 * first / len(columns)))
        score += weight * np.nan_to_num(term, copy=False, nan=0.0)
    return score


def _leave_out(rng: np.random.Generator, values: F32, missing: float) -> None:
    """Set the stations that a lot of rows does not pass to NaN.

    The routes are the same for every block and seed. They pass a share of all stations of
    ``1 - missing``, rounded to whole stations.
    """
    n_stations = values.shape[1] // _STATION
    visits = round((1 - missing) * n_stations * _ROUTES)
    per_route = np.full(_ROUTES, visits // _ROUTES)
    per_route[: visits % _ROUTES] += 1
    fixed = np.random.default_rng(n_stations)
    passes = np.zeros((_ROUTES, n_stations), np.bool_)
    for route, n_passed in enumerate(per_route):
        passes[route, fixed.permutation(n_stations)[:n_passed]] = True
    lots = rng.integers(0, _ROUTES, -(-len(values) // _LOT))
    for lot, route in enumerate(lots):
        rows = values[lot * _LOT : (lot + 1) * _LOT].reshape(-1, n_stations, _STATION)
        rows[:, ~passes[route]] = np.nan


def _paint(
    cell_rng: np.random.Generator, noise_rng: np.random.Generator, values: F32, labels: F32
) -> None:
    """Make pictures of 32 x 32 x 3 pixels, 0 to 255: coarse cells with grain, a class each."""
    n, n_classes = labels.shape
    cells = cell_rng.random((n, 8, 8, 3), dtype=np.float32)
    grain = values.reshape(n, 8, 4, 8, 4, 3)
    grain *= np.float32(64)
    grain += np.float32(192) * cells[:, :, None, :, None, :]
    np.floor(values, out=values)
    flat = cells.reshape(n, _CELLS)
    score = np.empty((n, n_classes), np.float32)
    for k in range(n_classes):
        score[:, k] = _score(flat, np.arange(16 * k, 16 * (k + 1)))
    score += noise_rng.random((n, n_classes), dtype=np.float32)
    labels[...] = score.argmax(axis=1)[:, None] == np.arange(n_classes)


def _all_shapes() -> list[Shape]:
    n = 11_000_000
    half = "half the features with 90 % of the rows in one value"
    lines = Shape("bosch", "Bosch-like, 81 % missing in blocks", 1_070_000, 968,
                  missing=0.81, recipe="stations")  # fmt: skip
    shapes = [
        Shape("higgs", "HIGGS-like, depth 6", n, 28),
        Shape("higgs-d8", "HIGGS-like, depth 8", n, 28, max_depth=8),
        Shape("higgs-d12", "HIGGS-like, depth 12", n, 28, max_depth=12),
        Shape("higgs-skewed", f"HIGGS-like, {half}", n, 28, recipe="skewed"),
        lines,
        Shape("yahoo", "Yahoo-LTR-like, graded relevance as regression", 473_000, 700,
              "reg:squarederror", recipe="grades"),
        Shape("cifar", "CIFAR10-like pictures, ten binary models", 50_000, 3072,
              n_rounds=20, n_models=10, recipe="images"),
        Shape("small", "small", 10_000, 20),
        Shape("tiny", "tiny", 1_000, 20),
        Shape("predict", "500 trees of depth 8, for prediction", 1_000_000, 28,
              max_depth=8, n_rounds=500),
        Shape("symmetric", "HIGGS-like, symmetric trees of depth 6", n, 28, symmetric=True),
        Shape("symmetric-d8", "HIGGS-like, symmetric trees of depth 8", n, 28, max_depth=8,
              symmetric=True),
        Shape("symmetric-predict", "500 symmetric trees of depth 8, for prediction", 1_000_000, 28,
              max_depth=8, n_rounds=500, symmetric=True),
    ]  # fmt: skip
    n = 200_000
    shapes += [
        Shape("exact", "exact search", 100_000, 28, n_rounds=20, way="exact"),
        Shape("sparse", "a sparse matrix, 90 % absent", n, 100, n_rounds=30, missing=0.9,
              way="sparse"),
        Shape("statistics", "six categorical columns, statistics", n, 28, n_rounds=30,
              way="statistics"),
        Shape("sets", "six categorical columns, sets of levels", n, 28, n_rounds=30, way="sets"),
        Shape("oblivious", "oblivious, that is symmetric, trees", n, 28, n_rounds=30,
              symmetric=True),
    ]  # fmt: skip
    for max_bin in (16, 64, 256, 1024, 4096):
        shapes.append(
            Shape(f"bins-{max_bin}", f"{max_bin} bins", 5_000_000, 28, max_bin=max_bin, n_rounds=30)
        )
    for power in range(3, 9):
        shapes.append(Shape(f"rows-1e{power}", f"10^{power} rows", 10**power, 28, n_rounds=30))
    return shapes


#: All shapes by name.
SHAPES: dict[str, Shape] = {shape.name: shape for shape in _all_shapes()}

__all__ = ["SHAPES", "Shape"]
