"""What the page of performance measures: one line for each shape, on a processor or on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.system import F32
from pyopencl_gbdt.comparison.plan import floor_bytes
from pyopencl_gbdt.comparison.shapes import Shape

#: Rows from whose scores the borders between classes are taken.
_SCORED = 20_000
#: The sizes that ``--quick`` allows, and rounds of a group.
_QUICK_ROWS, _QUICK_FEATURES, _QUICK_ROUNDS, _QUICK_CLASSES = 2000, 40, 3, 5


@dataclass(frozen=True)
class Line(Shape):
    """A line of the pages; ``n_rounds`` is the number of timed rounds of a group.

    Attributes
    ----------
    where : str
        ``"cpu"``, ``"gpu"`` or ``"both"``: on what kind of device ours runs.
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
    """

    where: str = "both"
    leaves: int = 0
    n_classes: int = 0
    n_values: int = 0
    drawn: float = 1.0
    trained: int = 0

    def make(
        self, seed: int, n_rows: int | None = None, *, held_out: bool = False
    ) -> tuple[F32, F32]:
        """Make rows and labels as `Shape.make`; a class is a range of the score."""
        values, label = super().make(seed, n_rows, held_out=held_out)
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


#: All lines, in the order of the page.
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
)  # fmt: skip


def quick(line: Line) -> Line:
    """Return the line with few rows, columns, classes and rounds, to try the command."""
    return replace(
        line,
        n_rows=min(line.n_rows, _QUICK_ROWS),
        n_features=min(line.n_features, _QUICK_FEATURES),
        n_rounds=min(line.n_rounds, _QUICK_ROUNDS),
        n_classes=min(line.n_classes, _QUICK_CLASSES),
        trained=min(line.trained, 4 * _QUICK_ROUNDS),
    )
