"""Matrices that share the bins of another one, and those made of batches."""

from __future__ import annotations

import weakref
from typing import Any

from pyopencl_gbdt.arguments import like, named_arguments
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.matrix_files import DataIter, is_iterator, read_all
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import show

#: What batches hand over with their rows.
_OF_BATCHES = (
    "label", "weight", "base_margin", "feature_names", "feature_types", "group", "qid",
    "label_lower_bound", "label_upper_bound", "feature_weights",
)  # fmt: skip


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
        If ``ref`` has other columns, rows have too few or too many weights, or an iterator comes
        with labels beside it.
    """

    @named_arguments
    @like(
        DMatrix.__init__,
        after={"nthread": ("max_bin", "ref"), "enable_categorical": ("max_quantile_batches",)},
    )
    def __init__(
        self,
        data: Any,
        *,
        max_bin: int | None = None,
        ref: DMatrix | None = None,
        max_quantile_batches: Any = None,
        **given: Any,
    ) -> None:
        qid, group = given.get("qid"), given.get("group")
        if qid is not None and group is not None:
            raise ParameterError(
                "Only one of the eval_qid or eval_group for each evaluation dataset should be "
                "provided.; give one of qid and group"
            )
        if is_iterator(data):
            if any(given.get(name) is not None for name in _OF_BATCHES):
                raise DataError(
                    "If data iterator is used as input, data like label should be specified as "
                    "batch argument.; hand them to input_data"
                )
            enabled = bool(given.get("enable_categorical"))
            data, own = read_all(data, given.get("missing"), enable_categorical=enabled)
            given |= own
        given["feature_types"] = _reference_types(given.get("feature_types"), ref)
        super().__init__(data, **given)
        _refer(self, ref, max_bin)


def _reference_types(types: Any, ref: DMatrix | None) -> Any:
    """Return the levels of the training rows where nothing else is asked for."""
    if types is None and isinstance(ref, DMatrix) and not ref.get_categories().empty():
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
            f"Invalid ref DMatrix, different number of features.: ref has {ref.num_col()} columns, "
            f"these rows {matrix.num_col()}; give rows of the same columns"
        )
    if ref is None:
        matrix._facts.check_weights("Invalid size of sample weight.")
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

    @named_arguments
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
        if not is_iterator(data):
            raise DataTypeError(
                f"data is of type {type(data).__name__}: expected a DataIter; give one"
            )
        rows, given = read_all(data, missing, enable_categorical=enable_categorical)
        given["feature_types"] = _reference_types(given.get("feature_types"), ref)
        super().__init__(
            rows, missing=missing, nthread=nthread, enable_categorical=enable_categorical, **given
        )
        _refer(self, ref, max_bin)
