"""Matrices that share the bins of another one, and those made of batches."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from pyopencl_gbdt.compat.xgboost.inputs import read_columns
from pyopencl_gbdt.compat.xgboost.matrices import DataSplitMode, DMatrix
from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import show

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


def _is_iterator(data: Any) -> bool:
    known = callable(getattr(data, "next", None)) and callable(getattr(data, "reset", None))
    return isinstance(data, DataIter) or known


def _read_all(
    data: Any, missing: float | None, *, enable_categorical: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the rows of all batches, and what comes with them."""
    batches: list[dict[str, Any]] = []

    def take(data: Any, *, label: Any = None, **others: Any) -> None:
        batches.append({"data": data, "label": label, **others})

    data.reset()
    while data.next(take):
        pass
    if not batches:
        raise DataError("the iterator has no batch: expected one or more; check next and reset")
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


class QuantileDMatrix(DMatrix):
    """A matrix whose columns are cut into bins when it is made.

    Parameters
    ----------
    data : as for DMatrix, or DataIter
    max_bin : int or None
        Most bins of a column; None is 256, or that of ``ref``. A training must have the same.
    ref : DMatrix or None
        The training rows, where these rows evaluate.
    max_quantile_batches
        Has no effect.
    others
        As for ``DMatrix``.

    Raises
    ------
    DataError
        If ``ref`` has other columns, or an iterator comes with labels beside it.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Sequence[str] | None = None,
        feature_types: Any = None,
        nthread: int | None = None,
        max_bin: int | None = None,
        ref: DMatrix | None = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,
        max_quantile_batches: int | None = None,
        data_split_mode: DataSplitMode = DataSplitMode.ROW,
    ) -> None:
        if qid is not None and group is not None:
            raise ParameterError(
                "Only one of the eval_qid or eval_group for each evaluation dataset should be "
                "provided.; give one of qid and group"
            )
        given = {
            "label": label, "weight": weight, "base_margin": base_margin,
            "feature_names": feature_names, "feature_types": feature_types, "group": group,
            "qid": qid, "label_lower_bound": label_lower_bound,
            "label_upper_bound": label_upper_bound, "feature_weights": feature_weights,
        }  # fmt: skip
        if _is_iterator(data):
            if any(value is not None for value in given.values()):
                raise DataError(
                    "If data iterator is used as input, data like label should be specified as "
                    "batch argument.; hand them to input_data"
                )
            data, own = _read_all(data, missing, enable_categorical=enable_categorical)
            given |= own
        given["feature_types"] = _reference_types(given["feature_types"], ref)
        super().__init__(
            data, missing=missing, nthread=nthread, enable_categorical=enable_categorical,
            data_split_mode=data_split_mode, **given,
        )  # fmt: skip
        _refer(self, ref, max_bin)


def _reference_types(types: Any, ref: DMatrix | None) -> Any:
    """Return the levels of the training rows where nothing else is asked for."""
    if types is None and ref is not None and not ref.get_categories().empty():
        return ref.get_categories()
    return types


def _refer(matrix: Any, ref: Any, max_bin: int | None) -> None:
    """Check the training rows that a matrix refers to, and keep how many bins they have."""
    if ref is not None and not isinstance(ref, DMatrix):
        raise DataTypeError(f"ref is of type {type(ref).__name__}: expected a DMatrix; give one")
    own = None if ref is None else getattr(ref, "max_bin", None) or ref._max_bin
    if None not in (own, max_bin) and own != max_bin:
        raise DataError(
            "Inconsistent `max_bin`. `max_bin` should be the same across different "
            f"QuantileDMatrix, and consistent with the Booster being trained: expected {own}, as "
            f"ref has, not max_bin={show(max_bin)}; leave it out"
        )
    if ref is not None and matrix.num_row() and ref.num_col() != matrix.num_col():
        raise DataError(
            f"ref has {ref.num_col()} columns, these rows {matrix.num_col()}: Inconsistent number "
            "of features; give rows of the same columns"
        )
    matrix.max_bin = max_bin or own or 256
    matrix.ref = None if ref is None else weakref.ref(ref)
    matrix.marked_as_trained(matrix.max_bin)


class ExtMemQuantileDMatrix(DMatrix):
    """A ``QuantileDMatrix`` of batches.

    Parameters
    ----------
    data : DataIter
    missing, nthread, max_bin, ref, enable_categorical, max_quantile_batches
        As for ``QuantileDMatrix``.
    cache_host_ratio
        Has no effect: the rows stay in memory. ``Dataset.from_batches`` and
        ``pyopencl_gbdt.train`` take rows that do not fit.
    """

    def __init__(
        self,
        data: DataIter,
        *,
        missing: float | None = None,
        nthread: int | None = None,
        max_bin: int | None = None,
        ref: DMatrix | None = None,
        enable_categorical: bool = False,
        max_quantile_batches: int | None = None,
        cache_host_ratio: float | None = None,
    ) -> None:
        if not _is_iterator(data):
            raise DataTypeError(
                f"data is of type {type(data).__name__}: expected a DataIter; give one"
            )
        rows, given = _read_all(data, missing, enable_categorical=enable_categorical)
        given["feature_types"] = _reference_types(given.get("feature_types"), ref)
        super().__init__(
            rows, missing=missing, nthread=nthread, enable_categorical=enable_categorical, **given
        )
        _refer(self, ref, max_bin)
