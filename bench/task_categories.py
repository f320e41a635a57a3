"""Data for ``python -m bench tasks --categories``: categorical columns as categories.

Of small files, the columns that hold categories; and the seeded shapes of
``bench.category_shapes`` with fewer rows, made anew for each split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench import category_shapes
from bench.task_data import Table, tables

#: Rows of the seeded shapes; a fifth as many levels has the largest column of `clicks`, as of the
#: million rows that the shape is made for.
SEEDED_ROWS = 12_000
#: What is learned. Columns differ from those of the other tables, losses do not, so few will do.
CATEGORY_OBJECTIVES = ("binary:logistic", "reg:squarederror")
#: Categorical columns of tables of ``bench.task_data``: all columns of `categorical`, the maker of
#: a computer, the sex of a patient.
COLUMNS = {"categorical": tuple(range(8)), "machine": (0,), "diabetes": (1,)}
CATEGORY_NAMES = ("agaricus", *COLUMNS, "clicks", "access")


def of_one_hot(table: Table) -> Table:
    """Return a table of the columns that neighbouring columns of zeros and ones stand for.

    Every row has one 1 of each original column, so its n-th 1 is the n-th column's level.
    """
    place = np.nonzero(table.X)[1].reshape(table.y.size, -1)
    first, last = place.min(axis=0), place.max(axis=0)
    if (first[1:] <= last[:-1]).any():
        raise ValueError(f"{table.name}: expected one 1 of each original column in every row")
    X = (place - first).astype(np.float32)
    return replace(table, X=X, categorical=tuple(range(X.shape[1])))


def _numbered(table: Table) -> Table:
    """Return a table with codes 0, 1, ... for the levels of categorical columns."""
    X = table.X.copy()
    for column in table.categorical:
        X[:, column] = np.unique(X[:, column], return_inverse=True)[1]
    return replace(table, X=X)


def _seeded(name: str, seed: int = 1) -> Table:
    """Return a table of a seeded shape."""
    if name == "clicks":
        made = category_shapes.clicks(SEEDED_ROWS, SEEDED_ROWS // 5, seed)
    else:
        made = category_shapes.access(SEEDED_ROWS, seed)
    of_seed: Callable[[int], Table] = lambda own: _seeded(name, own)  # noqa: E731
    return Table(
        name, "binary", made.values, made.label, categorical=tuple(made.categorical),
        of_seed=of_seed,
    )  # fmt: skip


def category_tables(folder: Path, names: tuple[str, ...]) -> Iterator[Table | str]:
    """Yield each data set, or the reason why it is not here."""
    for name in names:
        if name in ("clicks", "access"):
            yield _seeded(name)
            continue
        (table,) = tables(folder, (name,))
        if isinstance(table, str):
            yield table
        elif name in COLUMNS:
            yield _numbered(replace(table, categorical=COLUMNS[name]))
        else:
            yield of_one_hot(table)
