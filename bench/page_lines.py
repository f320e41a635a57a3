"""What ``python -m bench pages`` measures: lines of the page of performance, and named ones.

The lines of the page are on a processor or on a GPU. Others are measured where they are named: the
shapes of `comparison.shapes`, sparse matrices, and exact search.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.comparison.plan import floor_bytes
from pyopencl_gbdt.comparison.shapes import SHAPES, Shape

F32 = npt.NDArray[np.float32]
#: Rows from whose scores the borders between classes are taken.
_SCORED = 20_000
#: The sizes that ``--quick`` allows, and rounds of a group.
_QUICK_ROWS, _QUICK_FEATURES, _QUICK_ROUNDS, _QUICK_CLASSES = 2000, 40, 3, 5
_QUICK_WIDE, _QUICK_ENTRIES = 3000, 12
#: Entries of sparse rows that are drawn at a time.
_PIECE_ENTRIES = 1 << 20
#: Columns that the labels of sparse rows depend on.
_INFORMATIVE = 400
_NOISE = np.float32(0.3)


@dataclass(frozen=True)
class Line(Shape):
    """A line of the pages; ``n_rounds`` is the number of timed rounds of a group.

    Attributes
    ----------
    where : str
        ``"cpu"`` or ``"gpu"``: on what kind of device ours runs; ``"named"`` is on any device, if
        the line is named.
    leaves : int
        Trees grow leaf by leaf up to so many leaves, of any depth; 0: level by level.
    n_classes : int
        ``multi:softprob`` with so many classes; 0 for other objectives.
    n_values : int
        Columns hold so many different values, equally often; 0: as the recipe makes them.
    drawn : float
        Share of the columns that are drawn for each tree.
    trained : int
        Rounds that the model of a line of prediction has; such a line trains once, and its turns
        only predict. 0 for lines of training.
    tree_method : str
        Ours, if it is not ``auto``; XGBoost takes ``exact`` where it is ``exact``, else ``hist``.
    per_row : int
        Mean number of entries in a row of a sparse matrix; 0: rows are dense.
    power : float
        Column ``n_features * u**power`` for a uniform u: how uneven the columns of sparse rows are.
    params : dict
        Further parameters by XGBoost's names; such lines are ours and XGBoost's.
    ours_alone : bool
        Whether XGBoost lacks them.
    """

    where: str = "named"
    leaves: int = 0
    n_classes: int = 0
    n_values: int = 0
    drawn: float = 1.0
    trained: int = 0
    tree_method: str = ""
    per_row: int = 0
    power: float = 1.0
    params: Mapping[str, Any] = field(default_factory=dict)
    ours_alone: bool = False

    def queries(self, n_rows: int) -> npt.NDArray[np.int64] | None:
        """Return the rows of each query where the objective ranks: 5 to 43."""
        if not self.objective.startswith("rank:"):
            return None
        sizes = np.random.default_rng(n_rows).integers(5, 44, n_rows // 5 + 1)
        ends = np.minimum(np.cumsum(sizes), n_rows)
        return np.diff(np.unique(ends), prepend=0)

    def expected_bytes(self, n_rows: int | None = None) -> int:
        """Return the bytes of values and labels on the host: an index and a value an entry."""
        if not self.per_row:
            return super().expected_bytes(n_rows)
        return (self.n_rows if n_rows is None else n_rows) * (8 * self.per_row + 8)

    def make(
        self, seed: int, n_rows: int | None = None, *, held_out: bool = False
    ) -> tuple[Any, F32]:
        """Make rows and labels as `Shape.make`; a class is a range of the score.

        Of several models, the labels are those of the first. Sparse values are a ``csr_matrix``.
        """
        if self.per_row:
            rows = self.n_rows if n_rows is None else n_rows
            return self._sparse(rows, [seed, int(held_out)])
        values, label = super().make(seed, n_rows, held_out=held_out)
        if self.n_models > 1:
            label = np.ascontiguousarray(label[:, 0])
        if self.n_values:  # values are uniform in [0, 1)
            values *= np.float32(self.n_values)
            np.floor(values, out=values)
        if self.n_classes:
            label = np.digitize(label, self._borders(seed)).astype(np.float32)
        return values, label

    def _borders(self, seed: int) -> npt.NDArray[np.float32]:
        """Return the borders between classes; they are the same for any number of rows."""
        _, score = super().make(seed, min(_SCORED, self.n_rows))
        shares = np.arange(1, self.n_classes) / self.n_classes
        return np.quantile(score, shares).astype(np.float32)

    @property
    def floor_bytes(self) -> int:
        """The least bytes that a round moves, all its trees together."""
        depth = self.max_depth or int(np.ceil(np.log2(self.leaves)))
        drawn = max(1, round(self.n_features * self.drawn))
        read = replace(self, max_depth=depth, n_features=drawn)
        return floor_bytes(read) * max(1, self.n_classes)

    def _sparse(self, rows: int, key: list[int]) -> tuple[Any, F32]:
        """Return sparse rows and labels.

        A few columns have an entry in most rows, most columns in a handful. Labels are a weighted
        sum of some columns plus noise, or the class whose sum is the largest. Rows are made in
        pieces, each with a seed, and copied to their place: beside the result, the host holds few.
        """
        weights = self._weights()
        counts = np.random.default_rng(key).poisson(self.per_row, rows)
        step = max(1, _PIECE_ENTRIES // self.per_row)
        values, columns = np.empty(counts.sum(), np.float32), np.empty(counts.sum(), np.int32)
        ends, label = np.zeros(rows + 1, np.int64), np.empty(rows, np.float32)

        def piece(number: int) -> tuple[Any, F32]:
            rng = np.random.default_rng([*key, number])
            made = self._values(rng, counts[number * step : (number + 1) * step])
            score = made @ weights
            score += _NOISE * rng.standard_normal(score.shape, dtype=np.float32)
            return made, score.argmax(axis=1) if self.n_classes else score[:, 0]

        with ThreadPoolExecutor() as pool:
            first = 0
            for made, found in pool.map(piece, range(-(-rows // step))):
                end, at = first + len(found), slice(ends[first], ends[first] + made.nnz)
                label[first:end], values[at], columns[at] = found, made.data, made.indices
                ends[first + 1 : end + 1] = ends[first] + made.indptr[1:]
                first = end
        n = ends[-1]  # entries of the same place became one
        parts = (values[:n], columns[:n], ends)
        return scipy.sparse.csr_matrix(parts, (rows, self.n_features)), label

    def _values(self, rng: np.random.Generator, counts: npt.NDArray[np.int64]) -> Any:
        """Return rows of so many entries, of which those of the same place are summed."""
        ends = np.cumsum(np.append(0, counts))
        columns = self._columns(rng, int(ends[-1]), self.power)
        values = np.log1p(rng.standard_exponential(len(columns), np.float32)).round(3)
        made = scipy.sparse.csr_matrix((values, columns, ends), (len(counts), self.n_features))
        made.sum_duplicates()
        return made

    def _weights(self) -> F32:
        """Return a weight for every column and class, the same for all seeds."""
        rng = np.random.default_rng(self.n_features)
        weights = np.zeros((self.n_features, max(1, self.n_classes)), np.float32)
        # twice the power: columns with many entries are more likely to matter
        columns = self._columns(rng, _INFORMATIVE, 2 * self.power)
        weights[columns] = rng.standard_normal((_INFORMATIVE, weights.shape[1]), np.float32)
        return weights

    def _columns(self, rng: np.random.Generator, n: int, power: float) -> npt.NDArray[np.int32]:
        drawn = self.n_features * rng.random(n) ** power
        return np.minimum(drawn, self.n_features - 1).astype(np.int32)


def _classes(name: str, n_rows: int, n_features: int, n_classes: int, rounds: int) -> Line:
    return Line(
        name, f"{n_classes} classes", n_rows, n_features, "multi:softprob", n_rounds=rounds,
        where="gpu", n_classes=n_classes,
    )  # fmt: skip


def _leaf_wise(leaves: int) -> Line:
    return Line(
        f"leaves-{leaves}", f"leaf-wise, {leaves} leaves", 1_000_000, 28, max_depth=0, n_rounds=20,
        where="gpu", leaves=leaves,
    )  # fmt: skip


def _few(name: str, n_rows: int, n_features: int, depth: int, drawn: float, rounds: int) -> Line:
    share = "" if drawn == 1 else f", {drawn:.0%} of the columns drawn"
    return Line(
        name, f"columns of 5 values{share}, depth {depth}", n_rows, n_features, max_depth=depth,
        n_rounds=rounds, where=name.partition("-")[0], n_values=5, drawn=drawn,
    )  # fmt: skip


def _task(name: str, title: str, params: Mapping[str, Any], **more: Any) -> Line:
    own = {"objective": "reg:squarederror", "n_rounds": 40, **more}
    return Line(name, title, 1_000_000, 28, params=params, **own)


_FOREST = {
    "num_parallel_tree": 100, "learning_rate": 1.0, "subsample": 0.8, "colsample_bynode": 0.8,
    "reg_lambda": 1e-5,
}  # fmt: skip


def _of_shape(shape: Shape) -> Line:
    trained = shape.n_rounds if "predict" in shape.name else 0
    return Line(**vars(shape), trained=trained)


#: All lines, those of the page first and in its order.
LINES = (
    Line("cpu-1m-d6", "binary, depth 6", 1_000_000, 28, n_rounds=4, where="cpu"),
    Line("cpu-1m-d8", "binary, depth 8", 1_000_000, 28, max_depth=8, n_rounds=4, where="cpu"),
    Line("cpu-small", "binary, depth 6", 10_000, 20, n_rounds=100, where="cpu"),
    Line("cpu-tiny", "binary, depth 6", 1_000, 20, n_rounds=200, where="cpu"),
    Line("cpu-968", "binary, depth 6", 10_000, 968, n_rounds=5, where="cpu"),
    Line("cpu-300", "binary, depth 6", 20_000, 300, n_rounds=10, where="cpu"),
    _few("cpu-few", 60_000, 600, 5, 1.0, 20),
    _few("cpu-few-drawn", 60_000, 600, 5, 0.1, 40),
    Line("cpu-predict", "prediction, 500 trees of depth 8", 1_000_000, 28, max_depth=8,
         where="cpu", trained=500),
    Line("gpu-11m-d6", "binary, depth 6", 11_000_000, 28, n_rounds=20, where="gpu"),
    Line("gpu-11m-d8", "binary, depth 8", 11_000_000, 28, max_depth=8, n_rounds=20, where="gpu"),
    Line("gpu-1m-d6", "binary, depth 6", 1_000_000, 28, n_rounds=50, where="gpu"),
    Line("gpu-small", "binary, depth 6", 10_000, 20, n_rounds=200, where="gpu"),
    _few("gpu-few", 700_000, 2000, 5, 1.0, 50),
    _few("gpu-few-drawn", 700_000, 2000, 5, 0.1, 100),
    _few("gpu-few-drawn-d10", 700_000, 2000, 10, 0.1, 40),
    Line("gpu-predict", "prediction, 500 trees of depth 8", 1_000_000, 28, max_depth=8,
         where="gpu", trained=500),
    *map(_leaf_wise, (31, 63, 255)),
    _classes("classes-10", 50_000, 3072, 10, 8),
    _classes("classes-80", 1_000_000, 200, 80, 5),
    Line("classes", "bags of words, 20 classes", 16_000, 62_000, "multi:softprob", n_rounds=20,
         n_classes=20, per_row=80, power=3.0),
    Line("wide", "more columns than rows, regression", 16_000, 4_270_000, "reg:squarederror",
         n_rounds=20, per_row=6_000, power=2.0),
    Line("exact-d6", "dense, exact, depth 6", 1_000_000, 28, n_rounds=30, tree_method="exact"),
    Line("exact-d8", "dense, exact, depth 8", 1_000_000, 28, max_depth=8, n_rounds=30,
         tree_method="exact"),
    Line("ranks", "queries of 5 to 43 rows", 473_000, 700, "rank:ndcg", n_rounds=30,
         recipe="grades", params={"learning_rate": 0.1}),
    _task("forest", "forests of 100 trees", _FOREST, max_depth=8, n_rounds=3),
    _task("plain", "regression", {"max_depth": 6}),
    _task("gradient_based", "half of the rows by gradient",
          {"subsample": 0.5, "sampling_method": "gradient_based"}),
    _task("goss", "GOSS", {"sampling_method": "goss"}, ours_alone=True),
    _task("columns", "half of the columns a node", {"colsample_bynode": 0.5}),
    _task("monotone", "monotone constraints", {"monotone_constraints": "(1,1,1,-1)"}),
    _task("absolute", "absolute errors", {}, objective="reg:absoluteerror"),
    *(_of_shape(shape) for shape in SHAPES.values() if not shape.way),
)  # fmt: skip


def sized(line: Line, rows_scale: float = 1.0, rounds: int | None = None) -> Line:
    """Return the line with a part of its rows, or with other rounds."""
    n_rows = max(100, round(line.n_rows * rows_scale))
    return replace(line, n_rows=n_rows, n_rounds=rounds or line.n_rounds)


def quick(line: Line) -> Line:
    """Return the line with few rows, columns, classes and rounds, to try the command."""
    most_features = _QUICK_WIDE if line.per_row else _QUICK_FEATURES
    if line.recipe in ("stations", "images"):  # which have as many as their recipe needs
        most_features = line.n_features
    return replace(
        line,
        n_rows=min(line.n_rows, _QUICK_ROWS),
        n_features=min(line.n_features, most_features),
        per_row=min(line.per_row, _QUICK_ENTRIES),
        n_rounds=min(line.n_rounds, _QUICK_ROUNDS),
        n_classes=min(line.n_classes, _QUICK_CLASSES),
        trained=min(line.trained, 4 * _QUICK_ROUNDS),
    )
