"""Rows in batches, which an object of the user's hands over one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from pyopencl_gbdt.compat.xgboost.inputs import read_columns
from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.errors import DataError, DataTypeError

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
