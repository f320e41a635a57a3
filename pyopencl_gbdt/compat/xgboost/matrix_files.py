"""Files of a ``DMatrix``: what ``save_binary`` writes, and text that XGBoost reads by a path."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.compat.xgboost.row_facts import FLOATS, RowFacts
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, check_features
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import DataError, MissingFileError
from pyopencl_gbdt.messages import show

_ZIP = b"PK\x03\x04"
#: A matrix of fewer than one present value in so many stays sparse.
_DENSE = 4
Read = tuple[Features, RowFacts, list[str] | None, list[str] | None]


def write_matrix(
    path: str,
    features: Features,
    facts: RowFacts,
    names: Sequence[str] | None,
    types: Sequence[str] | None,
) -> None:
    """Write a matrix as arrays of NumPy's ``.npz``, whole or not at all."""
    values = features.values
    arrays: dict[str, npt.NDArray[Any]] = {}
    if not features.categories:
        values = sparse_values(features)
    if isinstance(values, SparseMatrix):
        arrays["sparse_values"], arrays["sparse_columns"] = values.values, values.columns
        arrays["sparse_starts"], arrays["shape"] = values.row_starts, np.array(values.shape)
    else:
        arrays["values"] = Dataset(features).values
    for number, levels in features.categories.items():
        kept = levels.values.astype(str) if levels.are_strings else levels.values
        arrays[f"levels_{number}"] = kept
    arrays |= {f"float_{field}": own for field, own in facts.floats.items()}
    if facts.offsets is not None:
        arrays["offsets"] = facts.offsets
    for name, texts in (("names", names), ("types", types)):
        if texts is not None:
            arrays[name] = np.array(texts, str)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def read_matrix(path: str | os.PathLike[str]) -> Read:
    """Read a file of ``write_matrix``, or text: ``rows.csv?format=csv&label_column=0``.

    ``rows.txt?format=libsvm&indexing_mode=1`` has indices from 1 on.

    Raises
    ------
    DataError
        If there is no such file, or it holds something else.
    """
    name, _, options = os.fspath(path).partition("?")
    try:
        name = str(Path(name).expanduser())
        with Path(name).open("rb") as file:
            head = file.read(len(_ZIP))
    except OSError as error:
        raise MissingFileError(
            f"Opening {name} failed: {error.strerror}: expected a file of rows; give its path"
        ) from None
    return _read_arrays(name) if head == _ZIP else _read_text(name, options)


def _read_arrays(name: str) -> Read:
    try:
        with np.load(name, allow_pickle=False) as kept:
            arrays = {key: kept[key] for key in kept.files}
        if "values" in arrays:
            values: Any = np.ascontiguousarray(arrays["values"], np.float32)
        else:
            entries = arrays["sparse_values"], arrays["sparse_columns"], arrays["sparse_starts"]
            matrix = scipy.sparse.csr_matrix(entries, shape=tuple(arrays["shape"].tolist()))
            values = _values(matrix)
        facts = RowFacts(int(values.shape[0]))
        for field in FLOATS:
            if f"float_{field}" in arrays:
                facts.set_float(field, arrays[f"float_{field}"])
        if "offsets" in arrays:
            facts.set_count("group", np.diff(arrays["offsets"]))
        categories = {
            number: _levels(arrays[f"levels_{number}"])
            for number in range(int(values.shape[1]))
            if f"levels_{number}" in arrays
        }
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{name}: not a file of DMatrix.save_binary ({error}): write it again"
        ) from error
    texts = [arrays[key].tolist() if key in arrays else None for key in ("names", "types")]
    return Features(values, texts[0], categories), facts, texts[0], texts[1]


def sparse_values(features: Features) -> SparseMatrix:
    """Return the values as a sparse matrix, so that equal rows give equal files."""
    values = features.values
    if isinstance(values, SparseMatrix):
        return values
    dense = Dataset(features).values if 0 not in values.shape else np.asarray(values)
    present = ~np.isnan(dense)
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(present)[1].astype(np.int32)
    return SparseMatrix(dense.shape, starts, columns, dense[present])


def _values(matrix: Any) -> Any:
    """Return a matrix as it is trained on: an array with NaN unless it is nearly empty."""
    n_rows, n_features = matrix.shape
    if matrix.nnz * _DENSE < n_rows * n_features:
        return check_features(matrix).values
    found = np.full(matrix.shape, np.nan, np.float32)
    found[np.repeat(np.arange(n_rows), np.diff(matrix.indptr)), matrix.indices] = matrix.data
    return found


def _levels(values: npt.NDArray[Any]) -> Levels:
    return Levels(values.astype(object) if values.dtype.kind == "U" else values.astype(np.int64))


def _how_to_read(name: str, options: str) -> dict[str, Any]:
    """Return the arguments of ``Dataset.from_batches`` for what follows a path's ``?``."""
    asked = {key: values[-1] for key, values in parse_qs(options).items()}
    how: dict[str, Any] = {}
    for key in ("label_column", "indexing_mode"):
        try:
            value = int(asked.get(key, "0"))
        except ValueError:
            raise DataError(
                f"{name}?{options}: {key}={show(asked[key])}: expected a whole number; correct it"
            ) from None
        if key == "label_column" and key in asked:
            how[key] = value
        if key == "indexing_mode":
            how["one_based"] = value > 0
    return how


def _read_text(name: str, options: str) -> Read:
    rows = Dataset.from_batches(name, **_how_to_read(name, options))
    assert rows.batches is not None
    parts = [part.values for _, part in rows.batches.parts()]
    if any(isinstance(part, SparseMatrix) for part in parts):
        matrix = scipy.sparse.vstack([part.scipy() for part in parts], format="csr")
        matrix.resize((matrix.shape[0], rows.n_features))
        values = check_features(matrix)
    else:
        values = Features(np.concatenate(parts), rows.feature_names)
    facts = RowFacts(rows.n_rows)
    if rows.has_label:
        facts.set_float("label", rows.label)
    if rows.weight is not None:
        facts.set_float("weight", rows.weight)
    facts.offsets = rows.group_offsets
    return values, facts, rows.feature_names, None
