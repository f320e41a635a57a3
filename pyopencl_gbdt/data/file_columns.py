"""The names of a file's columns, found without reading its rows."""

from __future__ import annotations

from pyopencl_gbdt.data import batch_arrow, batch_text
from pyopencl_gbdt.data.batch_files import ARRAYS, ARROW, paths_of, suffix_of
from pyopencl_gbdt.data.reading import Reading
from pyopencl_gbdt.errors import DataError


def columns_in_file(path: str, header: bool | str, file_format: str = "auto") -> list[str] | None:
    """Return the names of all columns of a table, those of label and queries included.

    Parameters
    ----------
    path : str
        A file, or a folder or pattern, of which the first file counts.
    header : bool or "auto"
        Whether the first line of text holds names.
    file_format : str
        As for ``read_table``.

    Returns
    -------
    list of str or None
        None if the columns have no names, or the file cannot be read: reading the rows says why.
    """
    try:
        first = paths_of(path)[0]
        suffix = suffix_of(first)
        if suffix in ARROW:
            batches = batch_arrow.read(first, suffix, None, None, lambda n_columns: 1)
            return list(next(batches).X.column_names)
        if suffix in ARRAYS or file_format == "npz":
            return None
        reading = Reading(label_column=None, header=header, file_format=file_format)
        return batch_text.column_names(first, reading)
    except (DataError, StopIteration):
        return None
