"""Tables, arrays and lists as a user of XGBoost gives them, as checked columns; their levels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import is_frame, is_on_device, is_sparse
from pyopencl_gbdt.data.arrays.tables import ColumnTable, is_lazy, is_table
from pyopencl_gbdt.data.categories.columns import Column
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, check_features, raw_columns, recoded
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import pip_install, show


def other_kind(column: int) -> DataError:
    """Return the error for a column of another kind than in training, with XGBoost's words."""
    return DataError(
        f"column {column}: The data type doesn't match the one used in the training dataset. Both "
        "should be either numeric or categorical. For a categorical feature, the index type must "
        "match between the training and test set; convert the column"
    )


class Categories:
    """The levels of each column; ``DMatrix(feature_types=...)`` takes them for other rows.

    Parameters
    ----------
    levels : mapping of int to Levels
        By the number of the column.
    names : sequence of str or None
        The names of all columns.
    n_features : int
    in_arrow : bool
        Whether ``to_arrow`` may be called.
    """

    def __init__(
        self,
        levels: Mapping[int, Levels],
        names: Sequence[str] | None,
        n_features: int,
        *,
        in_arrow: bool = False,
    ) -> None:
        self.levels = dict(levels)
        self._names = list(map(str, range(n_features))) if names is None else list(names)
        self._in_arrow = in_arrow

    def empty(self) -> bool:
        """Tell whether no column has levels."""
        return not self.levels

    def to_arrow(self) -> list[tuple[str, Any]]:
        """Return each column's name and its levels, an Arrow array; None for numbers.

        Raises
        ------
        ParameterError
            Unless ``get_categories(export_to_arrow=True)`` made this, or without pyarrow.
        """
        if not self._in_arrow:
            raise ParameterError(
                "The `export_to_arrow` option of the `get_categories` method is required.; give "
                "export_to_arrow=True"
            )
        try:
            import pyarrow as pa
        except ImportError:
            raise ParameterError(f"to_arrow needs pyarrow; {pip_install('arrow')}") from None
        return [
            (name, pa.array(self.levels[number].values.tolist()) if number in self.levels else None)
            for number, name in enumerate(self._names)
        ]


F32 = npt.NDArray[np.float32]
#: The words of a feature's type: numbers, whole numbers, an indicator, a quantity, categories.
TYPES = ("int", "float", "i", "q", "c")
_UNSAFE = ("[", "]", "<")
#: Codes of categories are below this, as float32 has all whole numbers up to it.
MOST_CODES = 2**24
_NEEDS_SWITCH = (
    "DataFrame.dtypes for data must be int, float, bool or category. When categorical type is "
    "supplied, the DMatrix parameter `enable_categorical` must be set to `True`; convert columns "
    "of text to categories. Invalid columns: "
)


def check_names(names: Any, n_features: int) -> list[str] | None:
    """Return names of columns, or raise an error with XGBoost's words.

    Raises
    ------
    DataError
        If their number differs from that of the columns, two are equal, or one has a character
        that dumps use.
    """
    found = _listed("names", names, n_features, n_features == 1)
    if found is None:
        return None
    if not all(isinstance(n, str) and not any(c in n for c in _UNSAFE) for n in found):
        raise DataError(
            f"feature_names must be string, and may not contain [, ] or <: {show(found)}; rename "
            "the columns"
        )
    twice = sorted({name for name in found if found.count(name) > 1}) if _repeats(found) else []
    if twice:
        raise DataError(f"feature_names must be unique. Duplicates found: {twice}; rename one")
    return [str(name) for name in found]


def _repeats(names: Sequence[str]) -> bool:
    return len({*names}) < len(names)


def _listed(what: str, given: Any, n_features: int, takes_one: bool) -> list[Any] | None:
    """Return an entry for each column; None if none is given. One text may be that of all."""
    if given is None:
        return None
    found = [given] * n_features if isinstance(given, str) and takes_one else list(given)
    if not found and n_features:
        return None
    if len(found) != n_features:
        raise DataError(
            f"feature {what} must have the same length as the number of data columns, expected "
            f"{n_features}, got {len(found)}; give one for each column"
        )
    return found


def check_types(types: Any, n_features: int) -> list[str] | None:
    """Return types of columns, or raise an error with XGBoost's words.

    Raises
    ------
    DataError
        If their number differs from that of the columns, or one is unknown.
    """
    found = _listed("types", types, n_features, True)
    if found is None:
        return None
    wrong = [one for one in found if one not in TYPES]
    if wrong:
        raise DataError(
            f"All feature_types must be one of {{int, float, i, q, c}}, not {show(wrong[0])}; "
            "correct it"
        )
    return found


def _type_of(dtype: str) -> str:
    """Return the type of a column by the name of its dtype."""
    name = dtype.lower()
    if name.startswith("bool"):
        return "i"
    if re.match(r"u?int\d*", name):
        return "int"
    return "float"


def read_columns(
    data: Any,
    missing: float | None,
    *,
    types: Sequence[str] | None,
    enable_categorical: bool,
) -> tuple[Features, list[str] | None]:
    """Check rows as XGBoost takes them.

    Parameters
    ----------
    data : array-like, DataFrame, Arrow or polars table, or sparse matrix
    missing : float or None
        A number that means "missing", besides NaN.
    types : sequence of str or None
        The user's types of columns; ``"c"`` marks categories.
    enable_categorical : bool
        Whether a table's columns may be categories.

    Returns
    -------
    features : Features
    types : list of str, or None
        The types of a table's columns.

    Raises
    ------
    DataError
        With XGBoost's words for what has other dimensions, infinity or columns of text.
    """
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("Masked array is not supported: expected an array; fill it with NaN")
    if is_lazy(data):
        data = data.collect()
        warnings.warn(
            "Using the default parameters for the polars `LazyFrame.collect`. Consider passing a "
            "realized `DataFrame` or `Series` instead.",
            UserWarning,
            stacklevel=2,
        )
    if hasattr(data, "to_frame") and hasattr(data, "name"):  # a column of pandas or polars
        data = data.to_frame()
    _warn_of_unknown(data)
    known = is_frame(data) or is_table(data) or is_sparse(data) or is_on_device(data)
    if not known and not isinstance(data, np.ndarray):
        if isinstance(data, (str, bytes, dict, int, float, type(None))) or not hasattr(
            data, "__len__"
        ):
            raise DataTypeError(
                f"Not supported type for data: {type(data).__name__}; give an array or a table"
            )
        data = np.asarray(data)
    if len(getattr(data, "shape", (0, 0))) != 2:
        raise DataError("Please reshape the input data into 2-dimensional matrix.")
    of_table = _table_types(data, enable_categorical=enable_categorical)
    chosen = of_table if types is None else list(types)
    categorical = [number for number, one in enumerate(chosen or ()) if one == "c"]
    if is_frame(data):
        data = _named_by_text(data)
    if categorical and is_sparse(data):
        data = _dense(data)
    if 0 in data.shape:
        names = raw_columns(data, "X").names if is_frame(data) or is_table(data) else None
        return Features(np.empty(data.shape, np.float32), names), of_table
    by_code = [n for n in categorical if of_table is None or of_table[n] != "c"]
    by_level = [n for n in categorical if n not in by_code]
    try:
        found = check_features(data, missing=missing, categorical=by_level or None)
        if is_frame(data) and by_level:
            declared = {n: _declared(data.dtypes.iloc[n], found.categories[n]) for n in by_level}
            found = recoded(found, declared, "data") or found
        return _with_codes(found, by_code), of_table
    except DataError as error:
        if "inf" in str(error):
            raise DataError(
                f"{error}\nInput data contains `inf` or a value too large, while `missing` is not "
                "set to `inf`"
            ) from None
        raise


def _warn_of_unknown(data: Any) -> None:
    """Warn, with XGBoost's words, of data that XGBoost knows no type of."""
    if is_sparse(data):
        known = data.format in ("csr", "csc", "coo")
    else:
        known = hasattr(data, "__array__") or isinstance(data, (list, tuple)) or is_table(data)
    if not known and not is_frame(data) and not is_on_device(data):
        warnings.warn(
            f"Unknown data type: {type(data)}, trying to convert it to csr_matrix",
            UserWarning,
            stacklevel=2,
        )


def _declared(dtype: Any, used: Levels) -> Levels:
    """Return the levels that a column of pandas declares, also those that no row has."""
    listed = np.asarray(getattr(dtype, "categories", ()), object).tolist()
    kind = str if all(isinstance(one, str) for one in listed) else int
    if len(listed) <= used.n_levels or not all(type(one) is kind for one in listed):
        return used
    return Levels(np.array(sorted(listed), object if kind is str else np.int64))


def _with_codes(found: Features, columns: Sequence[int]) -> Features:
    """Return columns of numbers as categories whose levels are these numbers, from 0 on.

    Raises
    ------
    DataError
        If a number is below 0 or too large to be a code.
    """
    if not columns:
        return found
    values, levels = np.array(Dataset(found).values), dict(found.categories)
    for column in columns:
        numbers = values[:, column]
        present = numbers[~np.isnan(numbers)]
        if present.size and not (present.min() >= 0 and present.max() < MOST_CODES):
            raise DataError(
                f"Invalid categorical value in column {column}: the smallest is "
                f"{show(present.min())}, the largest {show(present.max())}: expected codes from 0 "
                f"to {MOST_CODES - 1}; encode the column"
            )
        values[:, column] = np.floor(numbers)
        most = int(present.max()) if present.size else 0
        levels[column] = Levels(np.arange(most + 1, dtype=np.int64))
    return replace(found, values=values, categories=levels)


def _dense(matrix: Any) -> F32:
    """Return a sparse matrix as an array, with NaN for what it has no entry for."""
    entries = matrix.tocoo()
    found = np.full(matrix.shape, np.nan, np.float32)
    found[entries.row, entries.col] = entries.data
    return found


def _named_by_text(frame: Any) -> Any:
    """Return a DataFrame whose columns have names of text: levels of names are joined."""
    columns = frame.columns
    if all(isinstance(name, str) for name in columns):
        return frame
    named = frame.copy(deep=False)
    named.columns = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in columns
    ]
    return named


def _table_types(data: Any, *, enable_categorical: bool) -> list[str] | None:
    """Return the types of a table's columns; None for what is not a table."""
    if not (is_frame(data) or is_table(data)):
        return None
    raw = raw_columns(data, "X")
    by_level = {*raw.by_dtype()}
    if is_frame(data):
        dtypes = [str(getattr(dtype, "name", dtype)) for dtype in data.dtypes]
        text = [number for number in by_level if "category" not in dtypes[number]
                and "dictionary" not in dtypes[number]]  # fmt: skip
        refused = sorted(by_level) if not enable_categorical else sorted(text)
        if refused:
            listed = ", ".join(f"{data.columns[n]}: {dtypes[n]}" for n in refused)
            raise DataError(_NEEDS_SWITCH + listed)
    else:
        assert isinstance(raw.X, ColumnTable)
        if by_level and not enable_categorical:
            names = raw.names or []
            raise DataError(_NEEDS_SWITCH + ", ".join(names[n] for n in sorted(by_level)))
        dtypes = _declared_dtypes(data) or [
            "float" if isinstance(one, Column) else str(one.dtype) for one in raw.X.columns
        ]
    return ["c" if n in by_level else _type_of(dtype) for n, dtype in enumerate(dtypes)]


def _declared_dtypes(table: Any) -> list[str] | None:
    """Return what a table of Arrow or polars calls its columns' dtypes; nulls change none."""
    schema = getattr(table, "schema", None)
    if isinstance(schema, Mapping):
        return [str(dtype) for dtype in schema.values()]
    dtypes = getattr(schema, "types", None)
    return None if dtypes is None else [str(dtype) for dtype in dtypes]
