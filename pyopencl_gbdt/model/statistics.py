"""Statistics of levels as numeric features: what a model keeps, and the values of rows."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import df_add, df_div, df_from_i64

if TYPE_CHECKING:
    from pyopencl_gbdt.model.combinations import CategoryRows, Combination

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Priors of each target.
Priors = tuple[tuple[float, ...], ...]
#: Most rows that a prior counts as.
MOST_WEIGHT = 2**20
#: Most rows that a model counts; sums of float pairs are exact below it.
_MOST_COUNTED = 2**31 - 1


@dataclass(frozen=True, eq=False)
class LevelTable:
    """Counts of the levels of a categorical column, or of a combination, in the training rows.

    Attributes
    ----------
    parts : tuple of Part
        A column alone is one part without a threshold.
    sizes : tuple of int
        Number of codes of each part.
    counts : int64 array, shape (n_levels,)
        Rows of each level, without those of weight 0.
    hits : int64 array, shape (n_targets, n_levels)
        How many of these rows hit each target.
    keys : int64 array, shape (n_levels,), or None
        The levels of a combination, as ``combined_keys`` numbers them, ascending. None: the code
        of a level is its place.
    """

    parts: Combination
    sizes: tuple[int, ...]
    counts: I64
    hits: I64
    keys: I64 | None = None
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def n_levels(self) -> int:
        return int(self.counts.size)

    @property
    def columns(self) -> tuple[int, ...]:
        """The user's columns, each once, ascending."""
        return tuple(sorted({part.column for part in self.parts}))

    def codes(self, rows: CategoryRows) -> I64:
        """Return the level of every row: -1 is missing, ``n_levels`` a level never seen."""
        from pyopencl_gbdt.model.combinations import MISSING, combined_keys

        if self.keys is None:
            return np.minimum(rows.level_codes(self.parts[0].column), self.n_levels)
        found = combined_keys(rows, self.parts, self.sizes)
        place = np.minimum(np.searchsorted(self.keys, found), max(0, self.n_levels - 1))
        seen = self.keys[place] == found if self.n_levels else np.zeros(found.shape, np.bool_)
        return np.where(found == MISSING, -1, np.where(seen, place, self.n_levels))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelTable):
            return NotImplemented
        same_keys = self.keys is None and other.keys is None
        if self.keys is not None and other.keys is not None:
            same_keys = np.array_equal(self.keys, other.keys)
        return (
            same_keys
            and (self.parts, self.sizes) == (other.parts, other.sizes)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.hits, other.hits)
        )

    def wrong(self, n_columns: int, n_targets: int) -> str:
        """Return what is wrong with the table; empty if nothing is."""
        shape = n_targets, self.n_levels
        if self.hits.shape != shape:
            return f"hits have the shape {self.hits.shape}: expected {shape}"
        few = self.hits.min(initial=0) >= 0 and (self.hits <= self.counts).all()
        if not few or self.counts.sum() > _MOST_COUNTED:
            return f"expected 0 <= hits <= counts for every level, and {_MOST_COUNTED} rows at most"
        return self._wrong_parts(n_columns)

    def _wrong_parts(self, n_columns: int) -> str:
        from pyopencl_gbdt.model.combinations import MOST_KEYS

        plain = len(self.parts) == 1 and self.parts[0].threshold is None
        if not self.parts or any(not 0 <= part.column < n_columns for part in self.parts):
            found = f"expected columns 0..{n_columns - 1}"
        elif len(self.sizes) != len(self.parts) or min(self.sizes) < 0:
            found = "expected a number of levels for each part"
        elif math.prod(self.sizes) > MOST_KEYS:
            found = f"expected {MOST_KEYS} levels at most"
        elif (self.keys is None) != plain:
            found = "expected keys for a combination, and none for a column"
        elif self.keys is None:
            found = "" if self.sizes[0] == self.n_levels else f"expected {self.sizes[0]} levels"
        else:
            good = self.keys.shape == self.counts.shape and _ascend(self.keys, self.sizes)
            found = "" if good else "expected a key for each level, ascending, below their number"
        return found


def _ascend(keys: I64, sizes: tuple[int, ...]) -> bool:
    inside = not keys.size or (keys[0] >= 0 and keys[-1] < math.prod(sizes))
    return bool(inside and (keys[1:] > keys[:-1]).all())


@dataclass(frozen=True)
class Statistics:
    """Numeric features that stand behind the user's columns, made of categorical ones.

    For every target and prior there is the feature ``(hits + weight * prior) / (count + weight)``
    of the row's level. A column has its level's count besides; a combination has not. Missing
    values stay missing. A level that training has not seen has no hits and no count.

    Attributes
    ----------
    n_columns : int
        The user's columns; the features have the numbers after them.
    targets : tuple of str
        What a hit is, such as "> 0.5" or "= 2".
    priors : tuple of tuple of float
        The priors of each target; all targets have equally many.
    tables : tuple of LevelTable
        First those of columns, then those of combinations.
    weight : int
        The rows that a prior counts as.

    Raises
    ------
    ModelFormatError
        If the tables contradict each other.
    """

    n_columns: int
    targets: tuple[str, ...]
    priors: Priors
    tables: tuple[LevelTable, ...]
    weight: int = 1

    def __post_init__(self) -> None:
        for number, table in enumerate(self.tables):
            wrong = table.wrong(self.n_columns, len(self.targets))
            if number and table.keys is None and self.tables[number - 1].keys is not None:
                wrong = "expected columns before combinations"
            if wrong:
                raise ModelFormatError(f"statistics, table {number}: {wrong}; correct the file")
        if len({table.parts for table in self.tables}) < len(self.tables):
            raise ModelFormatError("statistics: expected every combination once; correct the file")
        listed = [prior for own in self.priors for prior in own]
        if any(not 0 <= prior <= 1 for prior in listed) or not 1 <= self.weight <= MOST_WEIGHT:
            raise ModelFormatError(
                f"statistics: priors {listed[:9]} of weight {self.weight}: expected 0..1, and a "
                f"weight of 1..{MOST_WEIGHT}; correct the file"
            )
        if len(self.priors) != len(self.targets) or len({len(own) for own in self.priors}) > 1:
            raise ModelFormatError(
                f"statistics: {len(self.priors)} lists of priors: expected one for each of "
                f"{len(self.targets)} targets, equally long; correct the file"
            )

    @property
    def members(self) -> tuple[Statistics, ...]:
        """The statistics of every training, see ``JoinedStatistics``: this one."""
        return (self,)

    def checked(self) -> Statistics:
        """Return a copy that has been checked again."""
        return replace(self)

    @property
    def n_means(self) -> int:
        """Number of means of a table."""
        return len(self.targets) * self._n_priors

    @property
    def _n_priors(self) -> int:
        return len(self.priors[0]) if self.priors else 1

    @property
    def first_features(self) -> list[int]:
        """The first feature of every table, counted from 0, then their number."""
        widths = [self.n_means + (table.keys is None) for table in self.tables]
        return [0, *accumulate(widths)]

    @property
    def n_features(self) -> int:
        return self.first_features[-1]

    @property
    def alone(self) -> set[int]:
        """The columns that have a table of their own, without others."""
        return {table.parts[0].column for table in self.tables if table.keys is None}

    def _place(self, feature: int) -> tuple[LevelTable, int]:
        """Return the table of a feature, and the feature's number there."""
        first = self.first_features
        number = bisect_right(first, feature) - 1
        return self.tables[number], feature - first[number]

    def sources(self, feature: int) -> tuple[int, ...]:
        """Return the user's columns that a feature, counted from the first one, is made of."""
        return self._place(feature)[0].columns

    def parts(self, feature: int) -> Combination:
        """Return what a feature, counted from the first one, is a statistic of."""
        return self._place(feature)[0].parts

    def name(self, feature: int, column_names: Callable[[int], str]) -> str:
        """Return a feature's name, given those of columns."""
        table, which = self._place(feature)
        parts = [
            column_names(part.column)
            + ("" if part.threshold is None else f" >= {part.threshold:g}")
            for part in table.parts
        ]
        of = " & ".join(parts)
        if which == self.n_means:
            return f"count({of})"
        target, prior = divmod(which, self._n_priors)
        more = f", prior {self.priors[target][prior]:g}" if self._n_priors > 1 else ""
        return f"mean({of}, {self.targets[target]}{more})"

    def of_levels(self, table: LevelTable) -> F32:
        """Return the features of each level: float32, shape (n, n_levels + 2).

        The last but one is a level never seen, the last one a missing value.
        """
        return self._of_places(table, np.append(np.arange(table.n_levels + 1), -1))

    def _of_places(self, table: LevelTable, places: I64) -> F32:
        """Return the features of levels, as ``LevelTable.codes`` numbers them."""
        n, seen = self.n_means + (table.keys is None), (places >= 0) & (places < table.n_levels)
        found = np.empty((n, places.size), np.float32)
        own = np.where(seen, places, 0) if table.n_levels else None
        counts = np.zeros_like(places) if own is None else np.where(seen, table.counts[own], 0)
        for target, hits in enumerate(table.hits):
            sums = counts if own is None else np.where(seen, hits[own], 0)
            for place, prior in enumerate(self.priors[target]):
                mean = shrunken_mean(sums, counts, prior, self.weight)
                found[target * self._n_priors + place] = mean
        if table.keys is None:
            found[-1] = counts
        found[:, places < 0] = np.nan
        return found

    def of_rows(self, rows: CategoryRows) -> F32:
        """Return the features of rows: float32, shape (n_rows, n_features)."""
        found = np.empty((rows.values.shape[0], self.n_features), np.float32)
        for table, (first, end) in zip(self.tables, pairwise(self.first_features), strict=True):
            codes = table.codes(rows)
            if codes.size <= table.n_levels:
                found[:, first:end] = self._of_places(table, codes).T
            else:
                found[:, first:end] = self.of_levels(table).T[codes]  # -1 is the last one
        return found


def check_categories(
    categories: Mapping[int, Levels], n_features: int, tables: Sequence[LevelTable]
) -> None:
    """Raise ``ModelFormatError`` unless levels belong to columns, are distinct and ascend.

    The tables of statistics have to have as many levels.
    """
    for table in tables:
        for part, size in zip(table.parts, table.sizes, strict=True):
            levels = categories.get(part.column)
            n_levels = levels.n_levels if isinstance(levels, Levels) else 0
            if part.threshold is None and n_levels != size:
                raise ModelFormatError(
                    f"the statistics of column {part.column} have {size} levels: expected "
                    f"{n_levels}, as in categories; correct the file"
                )
    for feature, levels in categories.items():
        if type(feature) is not int or not 0 <= feature < n_features:
            raise ModelFormatError(
                f"categories[{feature!r}]: expected a column, 0..{n_features - 1}; correct it"
            )
        kind = type(levels).__name__
        wrong = levels.wrong() if isinstance(levels, Levels) else f"is of type {kind}"
        if wrong:
            raise ModelFormatError(
                f"categories[{feature}] {wrong}: expected Levels of distinct, ascending strings or "
                "whole numbers; take those of a Dataset"
            )


def prior_sum(prior: float, weight: int) -> np.float32:
    """Return the sum of a prior, which counts as ``weight`` rows."""
    found: np.float32 = np.float32(prior) * np.float32(weight)
    return found


def shrunken_mean(sums: npt.ArrayLike, counts: npt.ArrayLike, prior: float, weight: int = 1) -> F32:
    """Return ``(sum + weight * prior) / (count + weight)`` in float32; relative error below 2^-22.

    Parameters
    ----------
    sums, counts : array-like of int, 0..2^62
    prior : float
        What an element without a count gets; rounded to float32, 0..1.
    weight : int, 1..2^24
        The rows that the prior counts as.
    """
    sums, counts = np.asarray(sums, np.int64), np.asarray(counts, np.int64)
    own = np.full(sums.shape, prior_sum(prior, weight), np.float32)
    total = df_add(df_from_i64(sums), (own, np.zeros_like(own)))
    return df_div(total, df_from_i64(counts + weight))[0]
