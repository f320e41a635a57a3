"""Tables in files: CSV, TSV and their kin, libsvm, npz; each plain or gzipped."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.check import check_matrix, check_target, check_weight
from pyopencl_gbdt.data.delimited import parse_delimited
from pyopencl_gbdt.data.files import ZIP_MAGIC, lines_of, read_bytes, to_text
from pyopencl_gbdt.data.groups import check_ids
from pyopencl_gbdt.data.libsvm import parse_libsvm, query_ids
from pyopencl_gbdt.errors import DataError

FORMATS = ("auto", "delimited", "libsvm", "npz")
LIBSVM_SUFFIXES = (".libsvm", ".svm", ".svmlight")
_NPZ_ERRORS = (
    *(ValueError, TypeError, AttributeError, KeyError, OSError, EOFError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError),
)
"""What NumPy and zipfile raise for a damaged, encrypted or pickled archive."""

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

    Returns
    -------
    table : TableData

    Raises
    ------
    DataError
        The file cannot be read or does not hold what is expected; the message names file, line,
        column and what was found.

    Notes
    -----
    Missing values: in delimited text an empty field, NA, NaN (any case) or ``?``; in libsvm what is
    absent. In npz: arrays ``X``, ``y``, and ``weight``, ``qid`` and ``feature_names`` if present.
    """
    if file_format not in FORMATS:
        raise DataError(f"file_format={file_format!r}: expected one of {', '.join(FORMATS)}")
    if header not in (True, False, "auto"):
        raise DataError(f"header={header!r}: expected True, False or 'auto'")
    data = read_bytes(path)
    if file_format == "npz" or (file_format == "auto" and data.startswith(ZIP_MAGIC)):
        return _read_npz(data, path, n_features, with_label)
    text = to_text(data, path)
    del data
    if file_format == "libsvm" or (file_format == "auto" and _looks_like_libsvm(path, text)):
        X, y = parse_libsvm(
            text, path, n_features=n_features, with_label=with_label, one_based=one_based
        )
        return TableData(X, y, None, None, query_ids(text, path))
    label = label_column if with_label else None
    X, y, names, qid = parse_delimited(
        text, path, label_column=label, header=header, qid_column=qid_column
    )
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(
            f"{path} has {X.shape[1]} feature columns: expected {n_features}; "
            f"check label_column={label!r}, or give a file with the features of the training"
        )
    return TableData(X, y, None, names, qid)


def _looks_like_libsvm(path: str | PathLike[str], text: str) -> bool:
    """Decide by the name's end, else by the first lines: a token ``index:value`` and no comma."""
    suffixes = [suffix.lower() for suffix in Path(fspath(path)).suffixes]
    if any(suffix in LIBSVM_SUFFIXES for suffix in suffixes):
        return True
    head = "\n".join(islice(lines_of(text), N_SNIFFED))
    pair = re.search(r"^(?:[^\s:,;]+[ \t]+)?(?:qid|\d+):[^\s:,;]+(?:[ \t]|$)", head, re.M)
    return pair is not None


def _read_npz(
    data: bytes, path: str | PathLike[str], n_features: int | None, with_label: bool
) -> TableData:
    """Read arrays X, y, weight, qid, feature_names; nothing is unpickled."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {
                name: archive[name]
                for name in ("X", "y", "weight", "qid", "feature_names")
                if name in archive.files
            }
            found = ", ".join(archive.files)
    except _NPZ_ERRORS as error:
        raise DataError(
            f"{path}: cannot be read as npz ({error}); write it with "
            f"numpy.savez(path, X=X, y=y) from arrays of numbers"
        ) from error
    for name in ("X", "y") if with_label else ("X",):
        if name not in arrays:
            raise DataError(
                f"{path}: array {name!r} is absent (found: {found or 'nothing'}): expected X"
                f"{' and y' if with_label else ''}; write it with numpy.savez(path, X=X, y=y)"
            )
    try:
        X, _ = check_matrix(arrays["X"], n_features=n_features)
        y = check_target(arrays["y"], len(X)) if with_label else None
        weight = check_weight(arrays.get("weight"), len(X))
        qid = check_ids(arrays.get("qid"), len(X))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    names = arrays.get("feature_names")
    if names is not None and names.shape != (X.shape[1],):
        raise DataError(
            f"{path}: feature_names has shape {names.shape}: expected ({X.shape[1]},), "
            f"one name per column of X"
        )
    listed = None if names is None else [str(name) for name in names]
    return TableData(X, y, weight, listed, qid)
