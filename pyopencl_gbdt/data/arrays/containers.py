"""Convert users' containers (lists, arrays, masked arrays, DataFrames) to NumPy arrays of numbers.

Arrays on devices are copied to the host. pandas and scipy.sparse are looked up in
``sys.modules`` and never imported here: an object of theirs exists only if its module is loaded.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.tables import collected
from pyopencl_gbdt.errors import DataError, DataTypeError
from pyopencl_gbdt.messages import Source, show, variable

if TYPE_CHECKING:
    from pyopencl_gbdt.data.categories.columns import Column

NUMERIC_KINDS = "biuf"
CHUNK = 1 << 20
"""Elements checked at a time: temporaries take a few megabytes, however large the input is."""

_ENCODE = "encode it as numbers (codes or one-hot columns)"


def is_frame(values: object) -> bool:
    """Tell whether `values` is a pandas DataFrame."""
    return _is_instance(values, "pandas", "DataFrame")


def is_series(values: object) -> bool:
    """Tell whether `values` is a one-dimensional pandas object (Series, Index, Categorical ...)."""
    return any(
        _is_instance(values, module, name)
        for module, name in (
            ("pandas", "Series"),
            ("pandas", "Index"),
            ("pandas.api.extensions", "ExtensionArray"),
        )
    )


def is_sparse(values: object) -> bool:
    """Tell whether `values` is a matrix or an array of scipy.sparse."""
    return any(_is_instance(values, "scipy.sparse", name) for name in ("spmatrix", "sparray"))


def missing_types() -> tuple[type, ...]:
    """Return the types whose instances all mean "missing": those of None, pandas' NA and NaT."""
    pandas = sys.modules.get("pandas")
    return (type(None), *((type(pandas.NA), type(pandas.NaT)) if pandas is not None else ()))


def as_array(values: Any, source: Source) -> NDArray[Any]:
    """Turn an array-like into an array of any dtype, without a copy where possible.

    Lists that contain a string become object arrays, so that the other elements keep their types.

    Raises
    ------
    DataError
        The input is sparse, or it cannot be converted to an array.
    """
    if is_sparse(values):
        raise DataError(
            f"{source.name} is a sparse {values.format} matrix: expected a dense array; use "
            f"{source.name}.toarray() if it fits into memory (absent elements become 0)"
        )
    if is_masked(values):
        masked: NDArray[Any] = values
        return masked
    try:
        array = np.asarray(to_host(collected(values)))
        if array.dtype.kind in "USV" and not hasattr(values, "dtype"):
            array = np.asarray(values, dtype=object)
    except MemoryError:
        raise
    except Exception as error:  # whatever a foreign __array__ raises
        raise _no_array(source, _ragged(values) or str(error)) from error
    if array.dtype.kind == "O" and array.ndim == 1 and _ragged(values):  # NumPy before 1.24
        raise _no_array(source, str(_ragged(values)))
    if array.ndim == 0:
        raise DataError(
            f"{source.name} is {show(values)}: expected an array of numbers; give a NumPy array, "
            f"a DataFrame or a list"
        )
    return array


def as_numeric(array: NDArray[Any], source: Source) -> NDArray[Any]:
    """Return an array of kind bool, int, uint or float; masked elements, None and NA become NaN.

    Parameters
    ----------
    array : (n_rows, n_columns) array of any dtype

    Returns
    -------
    numeric : (n_rows, n_columns) array
        `array` itself if it is numeric and not masked, else a copy (float64 from objects).
    """
    kind = array.dtype.kind
    if is_masked(array):
        wide = np.result_type(array.dtype, np.float32) if kind in NUMERIC_KINDS else object
        array = fill_masked(array, wide)
        kind = array.dtype.kind
    if kind in NUMERIC_KINDS:
        return array
    if kind == "O":
        return objects_to_float64(array, source)
    if array.size and kind in "UST":
        raise _not_a_number(array[0, 0], source, 0, 0)
    unsupported = "Complex data not supported: " if kind == "c" else ""
    raise DataError(
        f"{unsupported}{source.name} has dtype {array.dtype}: expected real numbers; "
        f"convert it, for example {variable(source.name)}.astype(np.float32)"
    )


def is_masked(values: Any) -> bool:
    """Tell whether this is a masked array; NumPy loads their module for no other array."""
    derived = isinstance(values, np.ndarray) and type(values) is not np.ndarray
    return derived and isinstance(values, np.ma.MaskedArray)


def plain_column(array: NDArray[Any], number: int) -> NDArray[Any]:
    """Return a column, as objects if it is masked: None for masked elements."""
    column = array[:, number]
    return fill_masked(column, object) if is_masked(column) else column


def fill_masked(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Copy a masked array to `dtype` (float or object), with NaN or None for masked elements."""
    plain = np.array(np.ma.getdata(array), dtype=dtype)
    plain[np.ma.getmaskarray(array)] = None if plain.dtype.kind == "O" else np.nan
    return plain


def objects_to_float64(
    array: NDArray[Any], source: Source, first_column: int = 0
) -> NDArray[np.float64]:
    """Convert Python objects: numbers; and None, NaN or NA as missing values.

    Parameters
    ----------
    array : (n_rows, n_columns) object array
    first_column : int
        The number of ``array[:, 0]`` among the user's columns.

    Returns
    -------
    numbers : (n_rows, n_columns) float64 array, C order
    """
    n_rows, n_columns = array.shape
    out = np.empty((n_rows, n_columns), np.float64)
    absent = missing_types()
    step = max(1, CHUNK // max(1, n_columns))
    for start in range(0, n_rows, step):
        part = array[start : start + step].reshape(-1)
        kinds = set(map(type, part))
        missing = [kind for kind in kinds if issubclass(kind, absent)]
        strange = {kind for kind in kinds if not issubclass(kind, (*absent, *_NUMBERS))}
        if strange:
            index = next(i for i, value in enumerate(part) if type(value) in strange)
            row, column = divmod(index, n_columns)
            raise _not_a_number(part[index], source, start + row, first_column + column)
        if missing:
            part = np.array([None if type(v) in missing else v for v in part], dtype=object)
        try:
            converted = part.astype(np.float64)
        except (OverflowError, ValueError):
            index = next(i for i, value in enumerate(part) if not _converts(value))
            row, column = divmod(index, n_columns)
            raise _not_a_number(part[index], source, start + row, first_column + column) from None
        out[start : start + step] = converted.reshape(-1, n_columns)
    return out


def frame_names(frame: Any, source: Source) -> list[str] | None:
    """Return a DataFrame's column labels as strings; None if they are not names.

    They are not names if they are the numbers 0, 1, 2, ..., or if none is a string and two are
    equal. Labels of several levels are joined by spaces, as in XGBoost.
    """
    labels = list(frame.columns)
    names = [" ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]
    if labels == list(range(len(labels))):
        return None
    if len({*names}) < len(names) and not any(isinstance(label, str) for label in labels):
        return None
    first: dict[str, int] = {}
    for column, name in enumerate(names):
        if first.setdefault(name, column) != column:
            raise DataError(
                f"{source.name} has two columns named {name!r} ({first[name]} and {column}, "
                f"counted from 0): expected distinct names; rename or drop one"
            )
    return names


def series_to_numeric(series: Any, source: Source, column: int = 0) -> NDArray[Any]:
    """Convert one pandas column, nullable dtypes included; pd.NA becomes NaN.

    Returns
    -------
    numeric : (n_rows, 1) array of kind bool, int, uint or float
    """
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if getattr(dtype, "name", "") == "category":
        raise DataError(
            f"{source.name}: {source.column(column)} has dtype category: expected numbers; "
            f"{_ENCODE}, or name the column in categorical_features"
        )
    if isinstance(dtype, np.dtype) and kind in NUMERIC_KINDS:
        return np.asarray(series).reshape(-1, 1)
    if kind in NUMERIC_KINDS:
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan)).reshape(-1, 1)
    if kind in "Mmc":
        raise DataError(
            f"{source.name}: {source.column(column)} has dtype {dtype}: expected real numbers; "
            f"convert it (a date, for example, to days since a first date) or drop it"
        )
    return objects_to_float64(np.asarray(series, dtype=object).reshape(-1, 1), source, column)


def column_to_numeric(given: NDArray[Any] | Column, source: Source, number: int) -> NDArray[Any]:
    """Convert a column of a table, of any dtype, to bool, int, uint or float, (n_rows, 1)."""
    from pyopencl_gbdt.data.categories.columns import Column

    column = (given.sample() if isinstance(given, Column) else given).reshape(-1, 1)
    kind = column.dtype.kind
    if kind == "O":
        return objects_to_float64(column, source, number)
    if kind in NUMERIC_KINDS:
        return column
    if kind in "USV" and column.size:
        raise _not_a_number(column[0, 0], source, 0, number)
    raise DataError(
        f"{source.name}: {source.column(number)} has dtype {column.dtype}: expected real numbers; "
        f"convert it (a date, for example, to days since a first date) or drop it"
    )


_NUMBERS: tuple[type, ...] = (numbers.Real, Decimal, np.bool_)


def _is_instance(values: object, module: str, name: str) -> bool:
    """Check whether `values` is an instance of a class whose module may not be loaded."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(values, kind)


def _converts(value: Any) -> bool:
    try:
        return value is None or float(value) is not None
    except (OverflowError, ValueError):
        return False


def _no_array(source: Source, reason: str) -> DataError:
    return DataError(
        f"{source.name} is not an array of numbers: {reason}; give a NumPy array, a DataFrame "
        f"or a list of rows of equal length"
    )


def _not_a_number(value: object, source: Source, row: int, column: int) -> DataError:
    or_missing = "" if source.is_vector else ", or a missing value (NaN, None)"
    named = "" if source.is_vector else ", or name the column in categorical_features"
    move = _ENCODE + named if isinstance(value, (str, bytes)) else "correct it or drop the row"
    if isinstance(value, (list, tuple, np.ndarray)) and not source.is_vector:
        move = "give each of its numbers a column of its own, by np.column_stack"
    error = DataError if isinstance(value, (str, bytes)) else DataTypeError
    return error(
        f"{source.name} holds {show(value)} at {source.place(row, column)}: "
        f"expected a number that float32 can hold{or_missing}, as in float(): "
        f"argument must be a string that spells one or a number; {move}"
    )


def _ragged(values: object) -> str | None:
    """Return a description of the first row whose length differs from row 0; None if none does."""
    if not isinstance(values, Sequence) or not values:
        return None
    lengths = [
        len(row) if hasattr(row, "__len__") and not isinstance(row, (str, bytes)) else None
        for row in values
    ]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            found = "is not a sequence" if length is None else f"has {length} values"
            first = "is not one" if lengths[0] is None else f"has {lengths[0]}"
            return f"row {row} {found}, row 0 {first}"
    return None


def to_host(values: Any) -> Any:
    """Copy a device's array to a NumPy array; return what NumPy can read itself unchanged.

    Parameters
    ----------
    values : object
        CuPy's and PyOpenCL's arrays and ``DeviceArray`` are copied by their method ``get``. Other
        arrays that support DLPack, such as torch's and JAX's, are asked for host memory; an array
        that is there already is not copied.

    Raises
    ------
    TypeError, BufferError, RuntimeError
        Whatever the library or NumPy raises.
    """
    kind = type(values)
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return values
    if is_on_device(values):
        return values.get() if callable(getattr(kind, "get", None)) else _from_device(values)
    if hasattr(kind, "__dlpack__") and not hasattr(kind, "__array__"):
        return np.from_dlpack(values)
    return values


def _from_device(values: Any) -> Any:
    try:
        return np.from_dlpack(values, device="cpu")
    except (TypeError, BufferError, RuntimeError, ValueError):  # or NumPy before 2.1
        if callable(getattr(values, "cpu", None)):  # torch's
            return values.cpu().numpy()
        if hasattr(values, "__array__"):
            return values
        raise


def is_on_device(values: Any) -> bool:
    """Tell whether an array lies in a device's memory: CuPy's, PyOpenCL's, or any with DLPack."""
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return False
    kind = type(values)
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(values.__dlpack_device__()[0]) not in _HOST
        except BufferError:  # this library's OpenCL arrays do not support DLPack
            return True
        except Exception:  # an Arrow array of a type that DLPack lacks, for example
            return False
    if hasattr(kind, "__cuda_array_interface__"):
        return True
    return kind.__module__ == "pyopencl.array" and hasattr(kind, "get")


#: DLPack's memory types that the host can read: its own, and pinned for CUDA and ROCm.
_HOST = (1, 3, 11)
