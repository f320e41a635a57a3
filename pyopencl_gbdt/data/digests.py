"""Digests of data: equal data have equal digests, on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import Rows
from pyopencl_gbdt.data.categories.levels import Categories


def digest(values: npt.NDArray[Any], dtype: str = "<f4") -> str:
    """Return the digest of an array; ``dtype`` says in which byte order and type it is read."""
    return hashlib.sha256(_bytes_of(values, dtype)).hexdigest()


def _bytes_of(values: npt.NDArray[Any], dtype: str) -> memoryview:
    little = np.ascontiguousarray(values, dtype)
    return little.data.cast("B") if little.size else memoryview(b"")


def digest_of_entries(values: SparseMatrix) -> str:
    """Return the digests of a sparse matrix's three arrays; never that of a dense matrix."""
    parts = ((values.row_starts, "<i8"), (values.columns, "<i4"), (values.values, "<f4"))
    return " ".join(["sparse", *(digest(*part) for part in parts)])


def digest_of_rows(rows: Rows) -> str:
    """Return the digest of rows, in whatever batches they come: that of one array."""
    sha = hashlib.sha256()
    for _, values in rows.pieces():
        sha.update(_bytes_of(values, "<f4"))
    return sha.hexdigest()


def digest_of_levels(categories: Categories, codes: Mapping[int, npt.NDArray[np.int32]]) -> str:
    """Return the digest of the levels, and of the codes that the values do not hold."""
    sha = hashlib.sha256()
    for column in sorted(categories):
        sha.update(json.dumps([column, categories[column].values.tolist()]).encode())
        sha.update(digest(codes.get(column, np.zeros(0)), "<i4").encode())
    return sha.hexdigest()
