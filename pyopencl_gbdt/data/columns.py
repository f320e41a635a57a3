"""The columns of users' data as they were given, one at a time, before they are numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pyopencl_gbdt.data.category_columns import Column
from pyopencl_gbdt.data.containers import as_array, frame_names, is_frame, plain_column
from pyopencl_gbdt.data.tables import ColumnTable, is_table, open_table
from pyopencl_gbdt.messages import Source

#: pandas' dtypes of categories and strings, by name.
_CATEGORY = re.compile(r"(category|str|string)$|(large_)?string\[|dictionary<")


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Data whose columns can be read one by one.

    Attributes
    ----------
    X : DataFrame, Table or array
    names : list of str or None
    """

    X: Any
    names: list[str] | None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.X.shape)

    @property
    def n_columns(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 0

    def column(self, number: int) -> Any:
        """Return a column as ``factorize`` takes it."""
        if is_frame(self.X):
            return self.X.iloc[:, number]
        if isinstance(self.X, ColumnTable):
            return self.X.columns[number]
        return plain_column(self.X, number)

    def by_dtype(self) -> list[int]:
        """Return the columns of a table that are categories or strings."""
        if is_frame(self.X):
            return [
                number
                for number, dtype in enumerate(self.X.dtypes)
                if _is_category(dtype) or (dtype.kind == "O" and _has_text(self.column(number)))
            ]
        if isinstance(self.X, ColumnTable):
            return [number for number, one in enumerate(self.X.columns) if _is_text(one)]
        return []


def _is_category(dtype: Any) -> bool:
    return _CATEGORY.match(getattr(dtype, "name", "")) is not None


def _is_text(column: Column | NDArray[Any]) -> bool:
    if isinstance(column, Column):
        return True
    return column.dtype.kind == "U" or (column.dtype.kind == "O" and _has_text(column))


def _has_text(column: Any) -> bool:
    """Tell whether a column of objects holds a string."""
    return any(isinstance(value, str) for value in column)


def raw_columns(X: Any, name: str) -> RawColumns:
    """Open a table, or make an array of anything else."""
    source = Source(name)
    if is_frame(X):
        return RawColumns(X, frame_names(X, source))
    if is_table(X):
        table = open_table(X, source)
        return RawColumns(table, table.names)
    return RawColumns(as_array(X, source), None)
