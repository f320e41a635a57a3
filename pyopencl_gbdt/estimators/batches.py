"""Rows of ``fit`` that come in batches: files, an iterator's function, XGBoost's ``DataIter``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.data.batches.batched_dataset import read_batches
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.batches.sources import has_batches
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import Features, recoded
from pyopencl_gbdt.errors import DataError


@dataclass(frozen=True)
class EstimatorRows:
    """Checked columns, and what comes with the rows, as the batches or the user gave it.

    ``label_column`` is the column of a file that is the label, in words; empty if there is none.
    """

    features: Features
    y: Any
    weight: Any
    base_margin: Any
    more: dict[str, Any]
    label_column: str = ""


def rows_in_batches(
    given: tuple[Any, Any, Any, Any],
    more: dict[str, Any],
    *,
    missing: Any,
    categorical: Any = None,
    label_column: int | str | None = None,
    levels: Categories | None = None,
    name: str = "X",
) -> EstimatorRows | None:
    """Read batches once; return None if X is no source of batches.

    Parameters
    ----------
    given : (X, y, sample_weight, base_margin)
        None for what the batches have.
    more : dict of str to object
        Other arguments of ``Dataset``: queries.
    missing, categorical, label_column
        As for ``Dataset.from_batches``; None is its default.
    levels : mapping of int to Levels, or None
        The levels of training, by which an evaluation set is coded.
    name : str
        The name of X in error messages.

    Raises
    ------
    DataError
        If there are no labels, or a batch cannot be used.
    """
    X, y, weight, base_margin = given
    if not has_batches(X):
        return None
    parts = {"label": y, "weight": weight, "base_margin": base_margin, "qid": more.get("qid")}
    asked = categorical if levels is None else sorted(levels) or None
    files = {} if label_column is None else {"label_column": label_column}
    features, sides = read_batches(X, parts, files, missing=missing, categorical=asked, names=None)
    assert isinstance(features.values, BatchedRows)
    of_label = features.values.label_column
    if levels is not None:
        features = recoded(features, levels, name) or features
    if "label" not in sides:
        raise DataError(f"{name} has no labels: expected y, or labels in the batches; give them")
    queries = {part: sides.get(part, own) for part, own in more.items()}
    return EstimatorRows(
        features, sides["label"], sides.get("weight"), sides.get("base_margin"), queries, of_label
    )
