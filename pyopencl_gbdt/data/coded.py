"""Codes of categorical columns by other levels, and of some of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batched_rows import BatchedRows, not_whole
from pyopencl_gbdt.data.categories import (
    NO_LEVEL,
    Categories,
    as_float,
    check_same_categories,
    has_to_stay,
    recode,
)
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.remarks import unknown_levels
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import Source

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


def level_codes(features: Features, feature: int) -> I32:
    """Return the codes of a categorical column, shape (n_rows,), as `encode_column` does.

    Raises
    ------
    ParameterError
        If the column is not categorical.
    """
    if feature not in features.categories:
        raise ParameterError(
            f"feature={feature}: expected one of {sorted(features.categories)}, the categorical "
            "columns; name it in categorical_features"
        )
    if feature in features.codes_apart:
        return features.codes_apart[feature]
    if isinstance(features.values, BatchedRows):
        raise not_whole(features.values)
    assert isinstance(features.values, np.ndarray)
    own = features.values[:, feature]
    return np.where(np.isnan(own), np.float32(NO_LEVEL), own).astype(np.int32)


def recoded(features: Features, categories: Categories, what: str) -> Features | None:
    """Return columns coded by other levels; None if they have these levels already.

    Raises
    ------
    DataError
        If other columns are categorical, or strings meet whole numbers.
    """
    own = features.categories
    check_same_categories(own, categories, features.names, what)
    changed = [column for column in own if own[column] != categories[column]]
    if not changed:
        return None
    if isinstance(features.values, BatchedRows):
        rows = features.values.coded_by(categories)
        return replace(features, values=rows, categories=dict(categories))
    assert isinstance(features.values, np.ndarray)
    values, apart = features.values.copy(), dict(features.codes_apart)
    source, unknown = Source(what, features.names), dict(features.remarks.unknown)
    for column in changed:
        levels, where = categories[column], f"{what}: {source.column(column)}"
        given = level_codes(features, column)
        codes = recode(given, own[column], levels, where)
        values[:, column] = as_float(codes, levels.n_levels)
        apart.pop(column, None)
        if has_to_stay(codes, levels.n_levels):
            apart[column] = codes
            pair = unknown_levels(codes, levels.n_levels, own[column].values, given)
            unknown |= {column: pair} if pair else {}
    return replace(
        features,
        values=values,
        categories=dict(categories),
        codes_apart=apart,
        remarks=replace(features.remarks, unknown=unknown),
    )


def taken(codes: Mapping[int, I32], rows: npt.NDArray[np.int64]) -> dict[int, I32]:
    """Return the codes of some rows."""
    return {column: own[rows] for column, own in codes.items()}
