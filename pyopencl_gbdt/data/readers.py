"""Tables in files: CSV, TSV and their kin, libsvm, npz; each plain or gzipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.budget import check_max_bytes
from pyopencl_gbdt.data.delimited import parse_delimited
from pyopencl_gbdt.data.files import ZIP_MAGIC, Data, lines_of, read_bytes, to_text
from pyopencl_gbdt.data.libsvm import parse_libsvm, query_ids
from pyopencl_gbdt.data.npz import read_npz
from pyopencl_gbdt.errors import DataError

FORMATS = ("auto", "delimited", "libsvm", "npz")
LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight")
N_SNIFFED = 20
"""Lines looked at to tell libsvm from delimited text."""


@dataclass(frozen=True, eq=False)
class TableData:
    """What a file held.

    Attributes
    ----------
    X : (n_rows, n_features) float32 array, C order
        NaN is missing.
    y : (n_rows,) float32 array, or None
        The label, where one was asked for.
    weight : (n_rows,) float32 array, or None
        Row weights; only npz files have them.
    feature_names : list of str, or None
        The header without the label's name, where there is one.
    qid : (n_rows,) int64 array, or None
        Query of each row, of libsvm's ``qid:``, a column of delimited text or an array of npz.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float32] | None
    weight: NDArray[np.float32] | None
    feature_names: list[str] | None
    qid: NDArray[np.int64] | None = None


def read_table(
    path: str | PathLike[str],
    *,
    label_column: int | str | None = 0,
    qid_column: int | str | None = None,
    header: bool | str = "auto",
    n_features: int | None = None,
    with_label: bool = True,
    one_based: bool = False,
    file_format: str = "auto",
    max_bytes: int | None = None,
) -> TableData:
    """Read a table of numbers.

    Parameters
    ----------
    path : str or path-like
        The file. gzip is recognised by its first bytes.
    label_column : int, str or None
        Delimited text: number (from 0; -1 is the last) or name of the label's column; None if there
        is none. libsvm has the label first, npz under the name ``y``.
    qid_column : int, str or None
        Delimited text: the column of the queries, for ranking. npz has them as ``qid``.
    header : bool or "auto"
        Delimited text: the first line holds names. "auto": it does if none of its fields is a
        number and one at least is text.
    n_features : int or None
        The number of features there have to be. For libsvm, where a file may end early, the width
        of `X`; None takes it from the largest index.
    with_label : bool
        False: delimited text has features only, and the labels of libsvm and npz may be absent and
        are not returned.
    one_based : bool
        libsvm: indices start at 1, so that index 1 is column 0. As in XGBoost they start at 0
        otherwise.
    file_format : {"auto", "delimited", "libsvm", "npz"}
        "auto" looks at the content, and at the name's end for libsvm.
    max_bytes : int or None
        Main memory that the table, and what it is made of, may take. None: 32 MiB and 32 times the
        file's bytes, and no more than the machine has left.

    Returns
    -------
    table : TableData

    Raises
    ------
    DataError
        The file cannot be read, does not hold what is expected, or takes more memory than it may;
        the message names file, line, column and what was found.

    Notes
    -----
    Missing values: in delimited text an empty field, NA, NaN (any case) or ``?``; in libsvm what is
    absent. In npz: arrays ``X``, ``y``, and ``weight``, ``qid`` and ``feature_names`` if present.

    A number is rounded to float64, and that to float32, whichever parser reads the text: pyarrow's
    or pandas' where they are installed, else NumPy's.
    """
    if file_format not in FORMATS:
        raise DataError(f"file_format={file_format!r}: expected one of {', '.join(FORMATS)}")
    if header not in (True, False, "auto"):
        raise DataError(f"header={header!r}: expected True, False or 'auto'")
    most = check_max_bytes(max_bytes)
    try:
        data, budget = read_bytes(path, most)
        if file_format == "npz" or (file_format == "auto" and data.startswith(ZIP_MAGIC)):
            arrays = read_npz(data, path, budget, n_features=n_features, with_label=with_label)
            return TableData(*arrays)
        data = to_text(data, path)
        if file_format == "libsvm" or (file_format == "auto" and _looks_like_libsvm(path, data)):
            X, y = parse_libsvm(
                data, path, n_features=n_features, with_label=with_label, one_based=one_based,
                budget=budget,
            )  # fmt: skip
            return TableData(X, y, None, None, query_ids(data, path))
        label = label_column if with_label else None
        X, y, names, qid = parse_delimited(
            data, path, label_column=label, header=header, qid_column=qid_column, budget=budget
        )
    except MemoryError as error:
        raise DataError(
            f"{path}: the machine's main memory is exhausted; give a smaller part of the file"
        ) from error
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(
            f"{path} has {X.shape[1]} feature columns: expected {n_features}; "
            f"check label_column={label!r}, or give a file with the features of the training"
        )
    return TableData(X, y, None, names, qid)


def _looks_like_libsvm(path: str | PathLike[str], data: Data) -> bool:
    """Decide by the name's end, else by the first lines: a token ``index:value`` and no comma."""
    suffixes = [suffix.lower() for suffix in Path(fspath(path)).suffixes]
    if any(suffix in LIBSVM_SUFFIXES for suffix in suffixes):
        return True
    head = "\n".join(islice(lines_of(data), N_SNIFFED))
    pair = re.search(r"^(?:[^\s:,;]+[ \t]+)?(?:qid|\d+):[^\s:,;]+(?:[ \t]|$)", head, re.M)
    return pair is not None
