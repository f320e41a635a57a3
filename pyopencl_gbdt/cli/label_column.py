"""Find the label's column of a file to predict: the model knows the names of its features."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.data.files import text_batches
from pyopencl_gbdt.data.files.batches import ARRAYS, ARROW, paths_of, read_columns, suffix_of
from pyopencl_gbdt.data.files.reading import Reading
from pyopencl_gbdt.data.names import check_columns
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
            batches = read_columns(first, suffix, None, None, lambda n_columns: 1)
            return list(next(batches).X.column_names)
        if suffix in ARRAYS or file_format == "npz":
            return None
        reading = Reading(label_column=None, header=header, file_format=file_format)
        return text_batches.column_names(first, reading)
    except (DataError, StopIteration):
        return None


def ways_to_read(
    path: str, args: argparse.Namespace, header: bool | str, features: Sequence[str] | None
) -> list[argparse.Namespace]:
    """Return the options to read a file with, in the order to try.

    One column that is no feature is the label. Of two, one is the label and one holds query ids;
    which is which makes no difference to predictions, but ids are whole numbers.

    Parameters
    ----------
    path : str
    args : argparse.Namespace
        The options that were given; they alone count if they name the label's column, if the file
        or the model has no names, or if the file has more other columns.
    header : bool or "auto"
    features : sequence of str or None
        The model's features.

    Raises
    ------
    DataError
        If the file has the features in another order.
    """
    where = DataPath.parse(path)
    told = args.label_column is not None or "label_column" in where.options
    if features is None:
        return [args]
    layout = where.options.get("file_format", args.format or "auto")
    names = columns_in_file(where.file, header, layout) or []
    known = [name for name in names if name in features]
    if len(known) == len(features):  # in another order, text would be read as numbers
        check_columns(known, features, where.file)
    if told:
        return [args]
    qid = args.qid_column
    if isinstance(qid, int) and -len(names) <= qid < len(names):
        qid = names[qid]
    others = [name for name in names if name not in features and name != qid]
    if len(others) == 1:
        return [_with(args, label_column=others[0])]
    if len(others) == 2 and qid is None:
        orders = (others, others[::-1])
        return [_with(args, label_column=label, qid_column=ids) for label, ids in orders]
    return [args]


def _with(args: argparse.Namespace, **given: str) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(args), **given})
