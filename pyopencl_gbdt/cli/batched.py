"""Data of the command line that are read batch by batch: folders, patterns, Parquet, Arrow, npy."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.data import TableData
from pyopencl_gbdt.data.batched_rows import BatchedRows
from pyopencl_gbdt.data.categories import Categories
from pyopencl_gbdt.data.coded import recoded
from pyopencl_gbdt.data.from_batches import read_batches
from pyopencl_gbdt.errors import DataError


def batched_table(
    file: str,
    layout: dict[str, Any],
    *,
    qid_column: int | str | None,
    categorical_features: Any,
    n_features: int | None = None,
    with_label: bool = True,
    drop_beyond: bool = False,
    levels: Categories | None = None,
) -> TableData:
    """Return a table whose rows are in batches.

    Parameters
    ----------
    file : str
        A file, a folder or a pattern.
    layout : dict of str to object
        ``label_column``, ``file_format``, ``one_based`` and ``header``, as for ``read_table``.
    qid_column, categorical_features, n_features, with_label, levels
        As for ``read_table``.
    drop_beyond : bool
        Has no effect: columns beyond the features are refused.

    Raises
    ------
    DataError, ParameterError
    """
    label = layout["label_column"] if with_label else None
    files = {**layout, "label_column": label, "qid_column": qid_column}
    asked = categorical_features if levels is None else sorted(levels) or None
    given = dict.fromkeys(("label", "weight", "base_margin", "qid"))
    features, sides = read_batches(file, given, files, missing=None, categorical=asked, names=None)
    width = features.values.shape[1]
    if n_features is not None and width != n_features:
        raise DataError(
            f"{file} has {width} feature columns: expected {n_features}; check label_column="
            f"{label!r}, or give files with the features of the training"
        )
    if levels is not None:
        features = recoded(features, levels, file) or features
    if with_label and "label" not in sides:
        raise DataError(f"{file}: no labels: expected one per row; give label_column, or array y")
    assert isinstance(features.values, BatchedRows)
    return TableData(
        features.values,
        sides.get("label"),
        sides.get("weight"),
        features.names,
        sides.get("qid"),
        features.categories,
        features.codes_apart,
        features.remarks,
    )
