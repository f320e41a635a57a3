"""Read tables from files: CSV, TSV and similar, libsvm, npz; plain or gzipped."""

from __future__ import annotations

import re
from dataclasses import field, replace
from importlib.resources import as_file, files
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.budget import check_max_bytes
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import Features, check_features
from pyopencl_gbdt.data.files.contents import ZIP_MAGIC, Data, lines_of, read_bytes, to_text
from pyopencl_gbdt.data.files.delimited import parse_delimited
from pyopencl_gbdt.data.files.libsvm import parse_libsvm, query_ids
from pyopencl_gbdt.data.files.npz import read_npz
from pyopencl_gbdt.data.remarks import Remarks
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass

FORMATS = ("auto", "delimited", "libsvm", "npz")
LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight")
N_SNIFFED = 20
"""How many lines are examined to tell libsvm from delimited text."""


@dataclass(frozen=True, eq=False)
class TableData:
    """The content of a table file.

    Attributes
    ----------
    X : (n_rows, n_features) float32 array, C order, or SparseMatrix, or BatchedRows
        NaN means missing. A libsvm file of which less than half of the values are present is
        sparse: what has no entry is missing.
    y : (n_rows,) float32 array, or None
        The labels, if they were asked for.
    weight : (n_rows,) float32 array, or None
        Row weights; only npz files can have them.
    feature_names : list of str, or None
        The header's names without the label's, if the file has a header.
    qid : (n_rows,) int64 array, or None
        The query of each row: ``qid:`` in libsvm, a column of delimited text, or an npz array.
    categories : mapping of int to Levels
        The levels of each categorical column, whose codes `X` holds.
    """

    X: NDArray[np.float32] | SparseMatrix | BatchedRows
    y: NDArray[np.float32] | None
    weight: NDArray[np.float32] | None
    feature_names: list[str] | None
    qid: NDArray[np.int64] | None = None
    categories: Categories = field(default_factory=dict)
    remarks: Remarks = field(default_factory=Remarks)

    @property
    def features(self) -> Features:
        """The features, as ``Dataset`` takes them."""
        return Features(self.X, self.feature_names, self.categories, self.remarks)


def read_table(
    path: str | PathLike[str],
    *,
    label_column: int | str | None = 0,
    qid_column: int | str | None = None,
    header: bool | str = "auto",
    n_features: int | None = None,
    with_label: bool = True,
    one_based: bool = False,
    drop_beyond: bool = False,
    dense: bool = False,
    file_format: str = "auto",
    max_bytes: int | None = None,
    categorical_features: Any = None,
    levels: Categories | None = None,
) -> TableData:
    """Read a table of numbers, and of text where columns are categorical.

    Parameters
    ----------
    path : str or path-like
        The file. gzip is recognised by the first bytes.
    label_column : int, str or None
        Delimited text: number (from 0; -1 is the last) or name of the label's column; None if
        there is none. In libsvm the label comes first; in npz it is the array ``y``.
    qid_column : int, str or None
        Delimited text: the column of query ids, for ranking. In npz it is the array ``qid``.
    header : bool or "auto"
        Delimited text: whether the first line holds names. "auto": it does if at least one of its
        fields is text and none is a number.
    n_features : int or None
        The required number of features. For libsvm, whose lines list only some indices, the width
        of `X`; None takes it from the largest index.
    with_label : bool
        False: all columns of delimited text are features; libsvm and npz may have labels, which
        are not returned.
    one_based : bool
        libsvm: indices start at 1, so that index 1 is column 0. By default they start at 0, as in
        XGBoost.
    drop_beyond : bool
        libsvm: leave out indices from ``n_features`` on, with a warning; by default they are an
        error. For rows to predict with a model that has not seen these features.
    dense : bool
        libsvm: return a dense matrix, however few of the values are present.
    file_format : {"auto", "delimited", "libsvm", "npz"}
        "auto" decides by the content, and by the file's ending for libsvm.
    max_bytes : int or None
        Main memory that reading may take, the table included. None: 32 MiB plus 32 times the
        file's bytes, and no more than is free.
    categorical_features : object
        Which columns are categorical, as for ``Dataset``, by names of the header or by numbers of
        features. ``"from_dtype"``: columns of delimited text that have text in one of the first
        1000 lines. None: none.
    levels : mapping of int to Levels, or None
        The levels of training: exactly these columns are categorical.

    Raises
    ------
    DataError
        The file cannot be read, has unexpected content, or needs too much memory; the message
        names file, line, column and what was found.

    Notes
    -----
    Missing values are: in delimited text an empty field, NA, NaN (any case) or ``?``; in libsvm an
    absent index. npz archives hold arrays ``X``, ``y``, and optionally ``weight``, ``qid`` and
    ``feature_names``.

    Numbers are rounded to float64, then to float32, whichever parser reads the text: pyarrow or
    pandas if installed, else NumPy.
    """
    if file_format not in FORMATS:
        raise DataError(f"file_format={file_format!r}: expected one of {', '.join(FORMATS)}")
    if header not in (True, False, "auto"):
        raise DataError(f"header={header!r}: expected True, False or 'auto'")
    most = check_max_bytes(max_bytes)
    try:
        data, budget = read_bytes(path, most)
        if file_format == "npz" or (file_format == "auto" and data.startswith(ZIP_MAGIC)):
            return _of_features(*read_npz(
                data, path, budget, n_features=n_features, with_label=with_label,
                categorical=categorical_features, levels=levels,
            ))  # fmt: skip
        data = to_text(data, path)
        if file_format == "libsvm" or (file_format == "auto" and looks_like_libsvm(path, data)):
            blurred = Blurred()
            matrix, y = parse_libsvm(
                data, path, n_features=n_features, with_label=with_label, one_based=one_based,
                drop_beyond=drop_beyond, dense=dense, budget=budget, blurred=blurred,
            )  # fmt: skip
            found = check_features(
                matrix, name=fspath(path), categorical=categorical_features, levels=levels
            )
            remarks = replace(found.remarks, blurred=blurred)
            return _of_features(replace(found, remarks=remarks), y, None, query_ids(data, path))
        label = label_column if with_label else None
        features, y, qid = parse_delimited(
            data, path, label_column=label, header=header, qid_column=qid_column, budget=budget,
            categorical=categorical_features, levels=levels,
        )  # fmt: skip
        n_columns = features.values.shape[1]
    except MemoryError as error:
        raise DataError(
            f"{path}: the machine's main memory is exhausted; give a smaller part of the file"
        ) from error
    if n_features is not None and n_columns != n_features:
        raise DataError(
            f"{path} has {n_columns} feature columns: expected {n_features}; "
            f"check label_column={label!r}, or give a file with the features of the training"
        )
    return _of_features(features, y, None, qid)


def _of_features(
    features: Features,
    y: NDArray[np.float32] | None,
    weight: NDArray[np.float32] | None,
    qid: NDArray[np.int64] | None,
) -> TableData:
    assert isinstance(features.values, (np.ndarray, SparseMatrix))
    return TableData(
        features.values,
        y,
        weight,
        features.names,
        qid,
        features.categories,
        features.remarks,
    )


def looks_like_libsvm(path: str | PathLike[str], data: Data) -> bool:
    """Decide by the file's ending, else by the first lines: ``index:value`` and no comma."""
    suffixes = [suffix.lower() for suffix in Path(fspath(path)).suffixes]
    if any(suffix in LIBSVM_SUFFIXES for suffix in suffixes):
        return True
    head = "\n".join(islice(lines_of(data), N_SNIFFED))
    pair = re.search(r"^(?:[^\s:,;]+[ \t]+)?(?:qid|\d+):[^\s:,;]+(?:[ \t]|$)", head, re.M)
    return pair is not None


FloatArray = NDArray[np.float32]


def load_higgs7k() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Load 7500 rows of HIGGS: two classes, signal and background, of nearly equal size.

    Returns
    -------
    X_train, y_train : (7000, 28) and (7000,) float32 arrays
    X_test, y_test : (500, 28) and (500,) float32 arrays
        Labels are 1 (signal) and 0 (background). No value is missing.
    """
    return (*_load("higgs7k.train.tsv.gz"), *_load("higgs7k.test.tsv.gz"))


def _load(name: str) -> tuple[FloatArray, FloatArray]:
    with as_file(files("pyopencl_gbdt.data").joinpath(name)) as path:
        table = read_table(path, header=False)
    assert isinstance(table.X, np.ndarray)
    assert table.y is not None  # label_column is 0, so there is a label
    return table.X, table.y
