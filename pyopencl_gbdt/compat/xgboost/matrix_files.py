"""Where the rows of a ``DMatrix`` come from: files, and batches that an object hands over.

Files are those that ``save_binary`` writes, and text that XGBoost reads by a path.
"""

from __future__ import annotations

import io
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.compat.xgboost.inputs import read_columns
from pyopencl_gbdt.compat.xgboost.row_facts import FLOATS, RowFacts
from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, check_features
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import DataError, DataTypeError, MissingFileError
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


_FIELDS = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


class DataIter(ABC):
    """Rows in batches; derive a class that has ``next`` and ``reset``.

    Parameters
    ----------
    cache_prefix, release_data, on_host, min_cache_page_bytes
        Have no effect; ``Dataset.from_batches`` reads batches without keeping all of them.
    """

    def __init__(
        self,
        cache_prefix: str | None = None,
        release_data: bool = True,
        *,
        on_host: bool = True,
        min_cache_page_bytes: int | None = None,
    ) -> None:
        self.cache_prefix, self.on_host = cache_prefix, on_host
        self.min_cache_page_bytes = min_cache_page_bytes
        self._release, self._error = release_data, None

    def get_callbacks(
        self, enable_categorical: bool
    ) -> tuple[Callable[[], None], Callable[[Callable[..., Any]], bool]]:
        """Return the functions that begin a pass, and that read a batch."""
        return self.reset, lambda take: bool(self.next(take))

    @property
    def proxy(self) -> Any:
        """None: batches are handed over as they are."""
        return None

    def reraise(self) -> None:
        """Raise no error: those of ``next`` pass through."""
        return

    @abstractmethod
    def reset(self) -> None:
        """Begin again with the first batch."""

    @abstractmethod
    def next(self, input_data: Callable[..., Any]) -> bool:
        """Call ``input_data(data=..., label=...)`` with the next batch; return False at the end."""


def is_iterator(data: Any) -> bool:
    """Tell whether this hands over batches by ``next`` and ``reset``."""
    known = callable(getattr(data, "next", None)) and callable(getattr(data, "reset", None))
    return isinstance(data, DataIter) or known


def read_all(
    data: Any, missing: float | None, *, enable_categorical: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the rows of all batches, and what comes with them."""
    batches: list[dict[str, Any]] = []

    def take(*unnamed: Any, **given: Any) -> None:
        if unnamed or "data" not in given:
            raise DataTypeError(
                "Keyword argument is required: expected input_data(data=..., label=...); name them"
            )
        batches.append(given)

    data.reset()
    while data.next(take):
        pass
    if not batches:
        raise DataError(
            "the iterator has no batch: Must have at least 1 batch.; check next and reset"
        )
    rows = [one["data"] for one in batches]
    found: dict[str, Any] = {}
    for field in _FIELDS:
        parts = [one.get(field) for one in batches]
        if any(part is not None for part in parts):
            found[field] = np.concatenate([np.asarray(part) for part in parts])
    sizes = [one.get("group") for one in batches]
    if any(one is not None for one in sizes):
        found["group"] = np.concatenate([np.asarray(one) for one in sizes])
    for field in ("feature_names", "feature_types", "feature_weights"):
        own = [one.get(field) for one in batches if one.get(field) is not None]
        if own:
            found[field] = own[0]
    return _joined(rows, missing, enable_categorical=enable_categorical), found


def _joined(rows: Sequence[Any], missing: float | None, *, enable_categorical: bool) -> Any:
    """Return the rows of several batches as one table, array or sparse matrix."""
    if len(rows) == 1:
        return rows[0]
    if all(is_frame(one) for one in rows):
        import pandas as pd

        levels = [[str(dtype) == "category" for dtype in one.dtypes] for one in rows]
        if any(own != levels[0] for own in levels):
            raise DataError(
                "Inconsistent feature types: Inconsistent number of categories between batches: "
                "expected the same columns of categories in each; convert them"
            )

        return pd.concat(rows, ignore_index=True)
    if any(is_sparse(one) for one in rows):
        return scipy.sparse.vstack([scipy.sparse.csr_matrix(one) for one in rows], format="csr")
    if all(isinstance(one, np.ndarray) for one in rows):
        return np.concatenate(rows)
    parts = [read_columns(one, missing, types=None, enable_categorical=enable_categorical)[0]
             for one in rows]  # fmt: skip
    if any(part.categories for part in parts):
        raise DataTypeError(
            "batches of Arrow with categories: expected pandas tables, arrays or sparse matrices; "
            "give Dataset.from_batches the batches"
        )
    return np.concatenate([np.asarray(part.values) for part in parts])
