"""Statistics of levels as numeric features: what a model keeps, and the values of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.numerics.shrunken_means import shrunken_mean

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
#: Most rows that a model counts; sums of float pairs are exact below it.
_MOST_COUNTED = 2**31 - 1


@dataclass(frozen=True, eq=False)
class LevelTable:
    """Counts of one categorical column's levels in the training rows.

    Attributes
    ----------
    column : int
        The user's column.
    counts : int64 array, shape (n_levels,)
        Rows of each level, without those of weight 0.
    hits : int64 array, shape (n_targets, n_levels)
        Those of them that hit each target.
    """

    column: int
    counts: I64
    hits: I64
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def n_levels(self) -> int:
        return int(self.counts.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelTable):
            return NotImplemented
        return (
            self.column == other.column
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.hits, other.hits)
        )


@dataclass(frozen=True)
class Statistics:
    """Numeric features that stand behind the user's columns, made of categorical ones.

    A column has, for every target and prior, the feature ``(hits + prior) / (count + 1)`` of the
    row's level, and then the count itself. Missing values stay missing. A level that training has
    not seen has no hits and no count.

    Attributes
    ----------
    n_columns : int
        The user's columns; the features have the numbers after them.
    targets : tuple of str
        What a hit is, such as "> 0.5" or "= 2".
    priors : tuple of float
    tables : tuple of LevelTable

    Raises
    ------
    ModelFormatError
        If the tables contradict each other.
    """

    n_columns: int
    targets: tuple[str, ...]
    priors: tuple[float, ...]
    tables: tuple[LevelTable, ...]

    def __post_init__(self) -> None:
        last = -1
        for table in self.tables:
            where = f"the statistics of column {table.column}"
            if not last < table.column < self.n_columns:
                raise ModelFormatError(
                    f"{where}: expected columns {last + 1}..{self.n_columns - 1}, ascending; "
                    "correct the file"
                )
            last = table.column
            if table.hits.shape != (len(self.targets), table.n_levels):
                raise ModelFormatError(
                    f"{where}: hits have the shape {table.hits.shape}: expected "
                    f"{(len(self.targets), table.n_levels)}; correct the file"
                )
            few = table.hits.min(initial=0) >= 0 and (table.hits <= table.counts).all()
            if not few or table.counts.sum() > _MOST_COUNTED:
                raise ModelFormatError(
                    f"{where}: expected 0 <= hits <= counts for every level, and "
                    f"{_MOST_COUNTED} rows at most; correct the file"
                )
        if any(not 0 <= prior <= 1 for prior in self.priors):
            raise ModelFormatError(
                f"statistics: priors {self.priors}: expected 0..1; correct the file"
            )

    @property
    def per_column(self) -> int:
        """Number of features of a column."""
        return len(self.targets) * len(self.priors) + 1

    @property
    def n_features(self) -> int:
        return len(self.tables) * self.per_column

    def source(self, feature: int) -> int:
        """Return the user's column that a feature, counted from the first one, is made of."""
        return self.tables[feature // self.per_column].column

    def name(self, feature: int, column_name: str) -> str:
        """Return a feature's name, given its column's."""
        which = feature % self.per_column
        if which == self.per_column - 1:
            return f"count({column_name})"
        target, prior = divmod(which, len(self.priors))
        more = f", prior {self.priors[prior]:g}" if len(self.priors) > 1 else ""
        return f"mean({column_name}, {self.targets[target]}{more})"

    def of_levels(self, table: LevelTable) -> F32:
        """Return the features of each level: float32, shape (per_column, n_levels + 2).

        The last but one is a level never seen, the last one a missing value.
        """
        found = np.empty((self.per_column, table.n_levels + 2), np.float32)
        counts = np.append(table.counts, 0)
        for target, hits in enumerate(table.hits):
            for place, prior in enumerate(self.priors):
                own = found[target * len(self.priors) + place]
                own[:-1] = shrunken_mean(np.append(hits, 0), counts, prior)
        found[-1, :-1] = counts
        found[:, -1] = np.nan
        return found

    def of_rows(self, codes_of: Callable[[int], I32], n_rows: int) -> F32:
        """Return the features of rows: float32, shape (n_rows, n_features).

        Parameters
        ----------
        codes_of : callable
            Returns the codes of a column, int32 (n_rows,): below 0 is missing, ``n_levels`` or
            above a level never seen.
        n_rows : int
        """
        found = np.empty((n_rows, self.n_features), np.float32)
        for place, table in enumerate(self.tables):
            codes = np.minimum(codes_of(table.column), table.n_levels)
            first = place * self.per_column
            rows = found[:, first : first + self.per_column]
            rows[:] = self.of_levels(table).T[codes]  # -1 is the last one: missing
        return found


def level_table(column: int, codes: I32, n_levels: int, hits: Any, counted: Any) -> LevelTable:
    """Count the levels of a column.

    Parameters
    ----------
    column : int
    codes : int32 array, shape (n_rows,)
        Below 0 is missing.
    n_levels : int
    hits : uint8 array, shape (n_targets, n_rows)
    counted : uint8 array, shape (n_rows,)
    """
    kept = (codes >= 0) & (counted != 0)
    own = codes[kept]
    counts = np.bincount(own, minlength=n_levels).astype(np.int64)
    of_targets = [np.bincount(own[hit[kept] != 0], minlength=n_levels) for hit in hits]
    return LevelTable(column, counts, np.array(of_targets, np.int64).reshape(-1, n_levels))
