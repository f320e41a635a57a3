"""Tables of libraries other than pandas: polars, Arrow and whatever narwhals supports.

Columns are read through narwhals if it is installed, else by pyarrow through the Arrow interface,
else from the array that the table converts itself to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source

if TYPE_CHECKING:
    from pyopencl_gbdt.data.categories.columns import Column


@dataclass(frozen=True)
class ColumnTable:
    """The columns of a table.

    Attributes
    ----------
    columns : list of (n_rows,) array or Column
        Of any dtype; nulls are NaN, or None in object columns. A Column has strings.
    """

    names: list[str] | None
    columns: list[NDArray[Any] | Column]

    @property
    def shape(self) -> tuple[int, int]:
        return (len(self.columns[0]) if self.columns else 0, len(self.columns))


def is_table(values: object) -> bool:
    """Tell whether this is a table, but not of pandas, which callers test for first."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return False
    return isinstance(values, ColumnTable) or is_lazy(values) or _has_columns(values)


def is_lazy(values: object) -> bool:
    """Tell whether this is a lazy table that must be computed first, such as polars' LazyFrame."""
    return hasattr(values, "collect") and hasattr(values, "collect_schema")


def _has_columns(values: object) -> bool:
    offered = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__dataframe__")
    return offered and any(hasattr(values, name) for name in ("columns", "column_names", "schema"))


def table_names(values: Any) -> list[str] | None:
    """Return a table's column names, without computing or copying its rows."""
    if isinstance(values, ColumnTable):
        return values.names
    if is_lazy(values):
        return list(map(str, values.collect_schema().names()))
    for name in ("column_names", "columns"):
        found = getattr(values, name, None)
        if found is not None and not callable(found) and all(isinstance(one, str) for one in found):
            return list(found)
    return list(map(str, values.schema.names))


def collected(values: Any) -> Any:
    """Compute a lazy table; return anything else unchanged."""
    return values.collect() if is_lazy(values) else values


def open_table(values: Any, source: Source) -> ColumnTable:
    """Read a table's columns.

    Raises
    ------
    DataError
        If the table's library cannot return the columns.
    """
    if isinstance(values, ColumnTable):
        return values
    names = table_names(values)
    try:
        columns = _columns(collected(values))
    except MemoryError:
        raise
    except Exception as error:  # a foreign library may raise anything
        raise DataError(
            f"{source.name} is a {type(values).__name__} whose columns cannot be read: {error}; "
            f"convert it to a NumPy array or a pandas DataFrame"
        ) from error
    return ColumnTable(names, columns)


def _columns(values: Any) -> list[NDArray[Any] | Column]:
    try:
        import narwhals
    except ImportError:
        return _arrow_columns(values)
    try:
        frame = narwhals.from_native(values)
    except TypeError:  # narwhals does not support it; Arrow's record batches, for example
        return _arrow_columns(values)
    if isinstance(frame, narwhals.LazyFrame):  # of a database, for example
        frame = frame.collect()
    schema = frame.schema
    columns = []
    for name in frame.columns:
        column = frame.get_column(name)
        if schema[name] == narwhals.Boolean:  # else booleans with nulls become Python objects
            column = column.cast(narwhals.Int8)
        text = schema[name] in (narwhals.String, narwhals.Categorical, narwhals.Enum)
        columns.append(_text_column(column) if text else np.asarray(column.to_numpy()))
    return columns


def _text_column(column: Any) -> NDArray[Any] | Column:
    """Return strings as a Column if pyarrow is there, else as objects, which takes longer."""
    from pyopencl_gbdt.data.categories.columns import factorize

    try:
        return factorize(column.to_arrow())
    except ImportError:
        return np.asarray(column.to_numpy())


def _arrow_columns(values: Any) -> list[NDArray[Any] | Column]:
    from pyopencl_gbdt.data.categories.columns import factorize

    try:
        import pyarrow
    except ImportError:
        return list(np.asarray(values).T)
    table = values if isinstance(values, pyarrow.Table) else pyarrow.table(values)
    kinds = pyarrow.types
    tests = (kinds.is_string, kinds.is_large_string, kinds.is_dictionary)
    return [
        factorize(column) if any(test(column.type) for test in tests)
        else np.asarray(column.to_numpy())
        for column in table.columns
    ]  # fmt: skip


def split_table(values: Any, name: str) -> tuple[ColumnTable, NDArray[Any]]:
    """Return a table without one column, and that column."""
    from pyopencl_gbdt.data.categories.columns import Column

    table = open_table(values, Source("X"))
    assert table.names is not None
    names, columns = list(table.names), list(table.columns)
    place = names.index(name)
    del names[place]
    own = columns.pop(place)
    return ColumnTable(names, columns), own.rows() if isinstance(own, Column) else own
