"""Users' input as checked columns: float32 values, and codes of categories by any levels.

Values that lie on a device, are sparse or come in batches stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.check_sparse import check_sparse
from pyopencl_gbdt.data.arrays.containers import (
    as_array,
    frame_names,
    is_frame,
    is_on_device,
    is_sparse,
    plain_column,
    to_host,
)
from pyopencl_gbdt.data.arrays.matrix import check_matrix, check_shape
from pyopencl_gbdt.data.arrays.narrow import check_missing
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.arrays.tables import ColumnTable, is_table, open_table
from pyopencl_gbdt.data.batches.rows import BatchedRows, not_whole
from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.categories.chosen import check_categorical
from pyopencl_gbdt.data.categories.levels import (
    Categories,
    Levels,
    as_cells,
    check_same_categories,
    codes_of,
    encode_column,
    recode,
)
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.data.remarks import Remarks, unknown_levels
from pyopencl_gbdt.device.foreign import DeviceMatrix, as_cupy, device_matrix
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source

if TYPE_CHECKING:
    from pyopencl_gbdt.data.categories.columns import Column

#: pandas' dtypes of categories and strings, by name.
_CATEGORY = re.compile(r"(category|str|string)$|(large_)?string\[|dictionary<")


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Data whose columns can be read one by one.

    Attributes
    ----------
    X : DataFrame, Table or array
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
    from pyopencl_gbdt.data.categories.columns import Column

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


F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: Checked values: float32, shape (n_rows, n_features), C order, NaN for missing; or sparse; or in
#: batches.
Values = F32 | DeviceMatrix | SparseMatrix | BatchedRows


@dataclass(frozen=True, eq=False)
class Features:
    """Checked columns.

    Attributes
    ----------
    values : float32 array (C order), DeviceMatrix, SparseMatrix or BatchedRows
        Shape (n_rows, n_features).
        A categorical column holds codes, as `as_cells` writes them.
    names : list of str or None
        The column names of a table.
    categories : mapping of int to Levels
        The levels of each categorical column.
    remarks : Remarks
        What to warn of: unknown levels where rows are predicted, blurred numbers in a training.
    """

    values: Values
    names: list[str] | None = None
    categories: Categories = field(default_factory=dict)
    remarks: Remarks = field(default_factory=Remarks)


def check_features(
    X: Any,
    *,
    name: str = "X",
    n_features: int | None = None,
    missing: float | None = None,
    categorical: Any = None,
    levels: Categories | None = None,
    names: Sequence[Any] | None = None,
) -> Features:
    """Check a feature matrix; one on a device stays there if kernels can read it.

    What a sparse matrix has no entry for is missing; it is not made dense.

    Parameters
    ----------
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix, or a result of this function
    n_features : int or None
        The required number of columns; None accepts any.
    missing : float or None
        A number that means "missing", besides NaN and None.
    categorical : object
        Which columns are categorical, as for `check_categorical`.
    levels : mapping of int to Levels, or None
        The levels of training: exactly these columns are categorical, and these are their levels.
    names : sequence or None
        Names of the columns, instead of those of a table, by which `categorical` may name them.

    Raises
    ------
    DataError, ParameterError
        As `check_matrix` and `check_sparse`, or if a column cannot be categorical.
    """
    if isinstance(X, Features):
        return X
    blurred = Blurred() if levels is None else None  # rows to predict are not searched
    if isinstance(X, SparseMatrix) or is_sparse(X):
        _refuse(_chosen(categorical, levels, int(X.shape[1]), names), f"{name} is sparse")
        rows = check_sparse(X, name=name, n_features=n_features, missing=missing, blurred=blurred)
        return Features(rows, remarks=Remarks(blurred=blurred or Blurred()))
    found = X if isinstance(X, DeviceMatrix) else None
    wanted = levels or not (categorical is None or isinstance(categorical, str))
    if wanted and (found is not None or is_on_device(X)):
        X, found = to_host(X) if found is None else found.host(), None
    elif found is None and is_on_device(X):
        X = as_cupy(X)
        found = device_matrix(X, check_missing(missing))
    if found is not None:
        check_shape(found.shape, name, n_features)
        return Features(found)
    raw = raw_columns(X, name)
    check_shape(raw.shape, name, n_features)
    given = raw.names if names is None else check_feature_names(names, raw.n_columns)
    columns = _chosen(categorical, levels, raw.n_columns, given, raw)
    if not columns:
        values, own = check_matrix(
            raw.X, name=name, n_features=n_features, missing=missing, blurred=blurred
        )
        return Features(values, own, remarks=Remarks(blurred=blurred or Blurred()))
    return _encoded(raw, Source(name, given), columns, levels, missing)


def _chosen(
    categorical: Any,
    levels: Categories | None,
    n_columns: int,
    names: Sequence[str] | None,
    raw: RawColumns | None = None,
) -> list[int]:
    if levels is not None:
        return sorted(levels)
    asks = isinstance(categorical, str) and raw is not None
    return check_categorical(categorical, n_columns, names, raw.by_dtype() if asks else ())  # type: ignore[union-attr]


def _refuse(columns: list[int], what: str) -> None:
    if columns:
        raise DataError(
            f"{what}: expected a dense array or a table where columns are categorical (column "
            f"{columns[0]}); convert it by toarray() or to a DataFrame"
        )


def _encoded(
    raw: RawColumns,
    source: Source,
    columns: list[int],
    levels: Categories | None,
    missing: float | None,
) -> Features:
    """Encode the categorical columns, and convert the others to float32."""
    from pyopencl_gbdt.data.categories.columns import factorize

    n_rows = raw.shape[0]
    check_free(
        n_rows * (4 * raw.n_columns + 4 * len(columns) + 24),
        f"the codes and numbers of {source.name}, {n_rows} x {raw.n_columns},",
        "give fewer rows or columns",
    )
    given = ((column, factorize(raw.column(column))) for column in columns)
    categories, coded, unknown = encoded(given, source, levels, check_missing(missing))
    blurred = Blurred() if levels is None else None
    values, names = check_matrix(
        raw.X, name=source.name, missing=missing, coded=coded, blurred=blurred
    )
    return Features(values, names, categories, Remarks(unknown, blurred or Blurred()))


def encoded(
    columns: Iterable[tuple[int, Column]],
    source: Source,
    levels: Categories | None,
    missing: float = float("nan"),
) -> tuple[dict[int, Levels], dict[int, F32], dict[int, str]]:
    """Encode categorical columns, given with their numbers.

    Returns
    -------
    categories : dict of int to Levels
    coded : dict of int to float32 array
        What each column is in ``Features.values``.
    unknown : dict of int to str
        As in ``Remarks``.
    """
    categories: dict[int, Levels] = {}
    coded: dict[int, F32] = {}
    unknown: dict[int, str] = {}
    for number, column in columns:
        where = f"{source.name}: {source.column(number)}"
        known = None if levels is None else levels[number]
        own, codes = encode_column(column, where, known, missing)
        categories[number] = own
        coded[number] = as_cells(codes, own.n_levels)
        pair = unknown_levels(codes, own.n_levels, column.distinct, column.places)
        unknown |= {number: pair} if pair else {}
    return categories, coded, unknown


def level_codes(features: Features, feature: int) -> I32:
    """Return the codes of a categorical column, shape (n_rows,), as `encode_column` does.

    Raises
    ------
    ParameterError
        If the column is not categorical.
    """
    if feature not in features.categories:
        raise ParameterError(
            f"feature={feature}: expected one of {sorted(features.categories)}, the categorical "
            "columns; name it in categorical_features"
        )
    values = features.values
    if isinstance(values, BatchedRows):
        raise not_whole(values)
    assert isinstance(values, np.ndarray | DeviceMatrix)
    cells = values.column(feature) if isinstance(values, DeviceMatrix) else values[:, feature]
    return codes_of(cells, features.categories[feature].n_levels)


def recoded(features: Features, categories: Categories, what: str) -> Features | None:
    """Return columns coded by other levels; None if they have these levels already.

    Raises
    ------
    DataError
        If other columns are categorical, or strings meet whole numbers.
    """
    own = features.categories
    check_same_categories(own, categories, features.names, what)
    changed = [column for column in own if own[column] != categories[column]]
    if not changed:
        return None
    if isinstance(features.values, BatchedRows):
        rows = features.values.coded_by(categories)
        return replace(features, values=rows, categories=dict(categories))
    assert isinstance(features.values, np.ndarray)
    values = features.values.copy()
    source, unknown = Source(what, features.names), dict(features.remarks.unknown)
    for column in changed:
        levels, where = categories[column], f"{what}: {source.column(column)}"
        given = level_codes(features, column)
        codes = recode(given, own[column], levels, where)
        values[:, column] = as_cells(codes, levels.n_levels)
        pair = unknown_levels(codes, levels.n_levels, own[column].values, given)
        unknown |= {column: pair} if pair else {}
    return replace(
        features,
        values=values,
        categories=dict(categories),
        remarks=replace(features.remarks, unknown=unknown),
    )
