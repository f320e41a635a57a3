"""Shapes of ``python -m bench sparse``: sparse matrices, exact search, many missing values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from bench.system import F32
from pyopencl_gbdt.comparison.shapes import SHAPES as DENSE
from pyopencl_gbdt.comparison.shapes import Shape

#: Entries that are drawn at a time.
_PIECE_ENTRIES = 1 << 20
#: Columns that the labels depend on.
_INFORMATIVE = 400
_NOISE = np.float32(0.3)


@dataclass(frozen=True)
class SearchShape(Shape):
    """A shape with its way of finding splits; a sparse one if it has entries.

    Attributes
    ----------
    tree_method : str
        Ours; XGBoost takes ``exact`` where it is ``exact``, else ``hist``.
    per_row : int
        Mean number of entries in a row; 0 makes the dense rows of `Shape`.
    power : float
        Column ``n_features * u**power`` for a uniform u: how uneven the columns are.
    n_classes : int
        Number of classes; 0 for other objectives.
    peers : tuple of str
        XGBoost's exact search runs on the processor alone.
    cpu_rows : int
        Rows if our device is a processor; 0 for as many as on a GPU.
    quick : dict
        Fields that ``--quick`` replaces.
    """

    tree_method: str = "auto"
    per_row: int = 0
    power: float = 1.0
    n_classes: int = 0
    peers: tuple[str, ...] = ("xgboost",)
    cpu_rows: int = 0
    quick: dict[str, Any] = field(default_factory=dict)

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of ours that `Shape` does not have."""
        classes = {"num_class": self.n_classes} if self.n_classes else {}
        return {"tree_method": self.tree_method, **classes}

    def expected_bytes(self, n_rows: int | None = None) -> int:
        """Return the bytes of values and labels on the host: an index and a value an entry."""
        if not self.per_row:
            return super().expected_bytes(n_rows)
        rows = self.n_rows if n_rows is None else n_rows
        return rows * (8 * self.per_row + 8)

    def make(
        self, seed: int, n_rows: int | None = None, *, held_out: bool = False
    ) -> tuple[Any, F32]:
        """Make rows and labels, as `Shape.make`; sparse values are a ``csr_matrix``.

        A few columns have an entry in most rows, most columns in a handful. Labels are a weighted
        sum of some columns plus noise, or the class whose sum is the largest. Rows are made in
        pieces, each with a seed, and copied to their place: beside the result, the host holds few.
        """
        if not self.per_row:
            return super().make(seed, n_rows, held_out=held_out)
        rows = self.n_rows if n_rows is None else n_rows
        key, weights = [seed, int(held_out)], self._weights()
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


def _all_shapes() -> list[SearchShape]:
    exact = {"tree_method": "exact", "cpu_rows": 100_000, "n_rounds": 30}
    small = {"n_rows": 20_000, "n_rounds": 5}
    bosch = DENSE["bosch"]
    return [
        SearchShape(
            "classes", "bags of words, 20 classes", 16_000, 62_000, "multi:softprob", n_rounds=20,
            per_row=80, power=3.0, n_classes=20, peers=("xgboost", "lightgbm"),
            quick={"n_rows": 4_000, "n_features": 30_000, "n_rounds": 5},
        ),
        SearchShape(
            "wide", "more columns than rows, regression", 16_000, 4_270_000, "reg:squarederror",
            n_rounds=20, per_row=6_000, power=2.0, peers=("xgboost", "lightgbm"),
            quick={"n_rows": 2_000, "n_features": 100_000, "per_row": 600, "n_rounds": 5},
        ),
        SearchShape("exact-d6", "dense, exact, depth 6", 1_000_000, 28, quick=small, **exact),
        SearchShape(
            "exact-d8", "dense, exact, depth 8", 1_000_000, 28, max_depth=8, quick=small, **exact
        ),
        SearchShape(
            bosch.name, bosch.title, bosch.n_rows, bosch.n_features, n_rounds=30,
            missing=bosch.missing, recipe=bosch.recipe, tree_method="hist", cpu_rows=100_000,
            quick={"n_rows": 5_000, "n_rounds": 5},
        ),
    ]  # fmt: skip


#: All shapes by name.
SHAPES: dict[str, SearchShape] = {shape.name: shape for shape in _all_shapes()}
