"""Real data for ``python -m bench tasks``: small files, the package's HIGGS, scikit-learn's sets.

Categories are numbers here: their codes, or one-hot columns as they come. The data sets of
``bench.task_categories`` have them as categories.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import load_higgs7k, read_table

F32 = npt.NDArray[np.float32]
#: The files that come with the bench; the README there names their sources and licences.
FOLDER = Path(__file__).with_name("data")
#: Of the rows, or of the queries, this part is trained on; the rest is held out.
TRAINED = 0.7


@dataclass(frozen=True)
class Table:
    """A data set, or a part of one.

    Attributes
    ----------
    kind : str
        ``binary``, ``classes``, ``numbers`` (above 0), ``ranking`` or ``survival``.
    y : float32 array, shape (n_rows,)
        Of ``survival``: time to the event, or to the end of what is known.
    query : int64 array, shape (n_rows,), or None
        Ascending numbers of queries, for ``ranking``.
    upper : float32 array, shape (n_rows,), or None
        For ``survival``: the time again, infinity where the event was not seen.
    categorical : tuple of int
        Numbers of the columns of ``X`` that hold codes of categories, whole numbers from 0.
    of_seed : callable, or None
        Returns the table of a seed, where each split is to have rows of its own.
    """

    name: str
    kind: str
    X: F32
    y: F32
    query: npt.NDArray[np.int64] | None = None
    upper: F32 | None = None
    categorical: tuple[int, ...] = ()
    of_seed: Callable[[int], Table] | None = None

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def take(self, rows: Any) -> Table:
        """Return some of the rows."""
        query, upper = (None if c is None else c[rows] for c in (self.query, self.upper))
        return replace(self, X=self.X[rows], y=self.y[rows], query=query, upper=upper)


def split(table: Table, seed: int, most_rows: int) -> tuple[Table, Table]:
    """Draw at most ``most_rows`` rows, and part them; whole queries stay together."""
    table = table if table.of_seed is None else table.of_seed(seed)
    rng = np.random.default_rng(seed)
    if table.query is not None:
        queries = rng.permutation(np.unique(table.query))
        chosen = queries[: int(TRAINED * queries.size)]
        inside = np.isin(table.query, chosen)
        return table.take(inside), table.take(~inside)
    rows = rng.permutation(table.y.size)[:most_rows]
    n = int(TRAINED * rows.size)
    return table.take(rows[:n]), table.take(rows[n:])


def _libsvm(*paths: Path, one_based: bool = True) -> tuple[F32, F32]:
    """Read files of one width; what is absent is 0."""
    own = {"file_format": "libsvm", "one_based": one_based, "dense": True}
    width = max(read_table(path, **own).X.shape[1] for path in paths)
    parts = [read_table(path, **own, n_features=width) for path in paths]
    X = np.nan_to_num(np.concatenate([part.X for part in parts]))
    return X, np.concatenate([part.y for part in parts if part.y is not None])


def _agaricus(folder: Path) -> Table:
    files = (folder / f"agaricus.{part}.libsvm.gz" for part in ("train", "test"))
    return Table("agaricus", "binary", *_libsvm(*files))


def _categorical(folder: Path) -> Table:
    path = folder / "categorical.libsvm.gz"
    return Table("categorical", "binary", *_libsvm(path, one_based=False))


def _rank(folder: Path) -> Table:
    sizes: list[int] = []
    for part in ("train", "test"):
        with gzip.open(folder / f"rank.{part}.query.gz", "rt", encoding="ascii") as file:
            sizes += map(int, file.read().split())
    X, y = _libsvm(*(folder / f"rank.{part}.gz" for part in ("train", "test")))
    return Table("rank", "ranking", X, y, query=np.repeat(np.arange(len(sizes)), sizes))


def _machine(folder: Path) -> Table:
    """Return the maker's code and six figures of computers; the model's name is left out."""
    lines = (folder / "machine.data").read_text(encoding="utf-8").split()
    cells = [line.split(",") for line in lines]
    maker = np.unique([row[0] for row in cells], return_inverse=True)[1]
    figures = np.array([row[2:9] for row in cells], np.float32)
    X = np.column_stack([maker, figures[:, :-1]]).astype(np.float32)
    return Table("machine", "numbers", X, figures[:, -1])


def _veterans(folder: Path) -> Table:
    path = folder / "veterans_lung_cancer.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    return Table("veterans", "survival", rows[:, 2:].copy(), rows[:, 0], upper=rows[:, 1])


def _higgs() -> Table:
    X, y, X_test, y_test = load_higgs7k()
    return Table("higgs7k", "binary", np.concatenate([X, X_test]), np.concatenate([y, y_test]))


#: Readers of the folder's files, by the name of the data set.
FILES: dict[str, Callable[[Path], Table]] = {
    "agaricus": _agaricus,
    "categorical": _categorical,
    "machine": _machine,
    "rank": _rank,
    "veterans": _veterans,
}
#: Data that the package itself has.
PACKAGED: dict[str, Callable[[], Table]] = {"higgs7k": _higgs}
#: Functions of ``sklearn.datasets``, and the kind of each.
BUNDLED = {
    "breast_cancer": "binary",
    "digits": "classes",
    "iris": "classes",
    "wine": "classes",
    "diabetes": "numbers",
}
#: Fetched by scikit-learn; used where they have been already.
FETCHED = {"california_housing": "numbers"}
NAMES = (*PACKAGED, *FILES, *BUNDLED, *FETCHED)


def tables(folder: Path, names: tuple[str, ...]) -> Iterator[Table | str]:
    """Yield each data set, or the reason why it is not here."""
    from sklearn import datasets

    for name in names:
        try:
            if name in PACKAGED:
                yield PACKAGED[name]()
            elif name in FILES:
                yield FILES[name](folder)
            elif name in BUNDLED:
                X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
                yield Table(name, BUNDLED[name], X.astype(np.float32), y.astype(np.float32))
            else:
                fetch = getattr(datasets, f"fetch_{name}")
                X, y = fetch(return_X_y=True, download_if_missing=False)
                yield Table(name, FETCHED[name], X.astype(np.float32), y.astype(np.float32))
        except OSError as error:
            yield f"{name}: {error}"
