"""Rows of ``fit`` that come in batches, and evaluation sets of either kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.matrix import column_names
from pyopencl_gbdt.data.batches.batched_dataset import read_batches
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.batches.sources import has_batches, names_files
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, check_features, recoded
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass


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
    """Read batches once; return None if X is not a source of batches.

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


F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class GivenRows:
    """Rows as the user passed them."""

    X: Any
    y: Any
    weight: Any
    base_margin: Any
    queries: tuple[Any, ...] = ()

    def same_as(self, other: GivenRows) -> bool:
        """Tell whether these are the same objects, the comparison that XGBoost makes."""
        mine = (self.X, self.y, self.weight, self.base_margin, *self.queries)
        theirs = (other.X, other.y, other.weight, other.base_margin, *other.queries)
        return all(a is b for a, b in zip(mine, theirs, strict=True))


def evaluation_sets(
    eval_set: Sequence[tuple[Any, Any]] | tuple[Any, Any] | None,
    weights: Sequence[Any] | None,
    base_margins: Sequence[Any] | None,
    given: GivenRows,
    data: Dataset,
    to_labels: Callable[[Any, int, int], F32],
    extra: Callable[[int], dict[str, Any]],
    label_column: int | str | None = None,
) -> list[tuple[Dataset, str]]:
    """Return the checked evaluation sets, with names ``validation_0``, ``validation_1``, ...

    Parameters
    ----------
    weights, base_margins : sequence of array-like, or None
        One entry per set.
    given : GivenRows
        The training rows; a set that is the same object shares their memory.
    data : Dataset
        The training rows, checked.
    to_labels : callable
        Checks labels; its arguments are labels, number of rows and index of the set.
    extra : callable
        Returns further arguments of ``Dataset`` for the set with this index.
    label_column : int, str or None
        That of ``fit``: sets that are files without labels of their own have it too.

    Raises
    ------
    ParameterError, DataError
    """
    pairs = pairs_of(eval_set)
    own_weights = one_each("sample_weight_eval_set", weights, len(pairs))
    own_margins = one_each("base_margin_eval_set", base_margins, len(pairs))
    evals = []
    for i, (X, y) in enumerate(pairs):
        rows = data
        more = extra(i)
        if not given.same_as(GivenRows(X, y, own_weights[i], own_margins[i], tuple(more.values()))):
            n_features = data.n_features
            name, missing = f"eval_set[{i}]", data.missing
            given_rows = (X, y, own_weights[i], own_margins[i])
            in_files = label_column if y is None and names_files(X) else None
            found = rows_in_batches(
                given_rows, more, missing=missing, levels=data.categories, name=name,
                label_column=in_files,
            )  # fmt: skip
            if found is None:
                check_columns(column_names(X, name), data.feature_names, name)
                features = check_features(
                    X, name=name, n_features=n_features, missing=missing, levels=data.categories
                )
                found = EstimatorRows(features, *given_rows[1:], more)
            check_columns(found.features.names, data.feature_names, name)
            labels = to_labels(found.y, found.features.values.shape[0], i)
            own = (found.weight, None, found.base_margin)
            rows = Dataset(found.features, labels, *own, missing=missing, **found.more)
        evals.append((rows, f"validation_{i}"))
    return evals


def pairs_of(
    eval_set: Sequence[tuple[Any, Any]] | tuple[Any, Any] | None,
) -> list[tuple[Any, Any]]:
    """Return the pairs of ``eval_set``, or the one pair that it is.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    if eval_set is not None and not isinstance(eval_set, (list, tuple)):
        raise ParameterError(
            f"eval_set is of type {type(eval_set).__name__}: expected a list of (X, y); give one"
        )
    if isinstance(eval_set, tuple) and len(eval_set) == 2 and not all(map(_is_pair, eval_set)):
        return [eval_set]
    pairs = list(eval_set or ())
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ParameterError(
                f"eval_set[{i}]={type(pair).__name__}: expected (X, y); give a list of such pairs"
            )
    return pairs


def _is_pair(given: Any) -> bool:
    """Tell a pair (X, y) from rows and from labels in a list, whose elements are numbers."""
    return isinstance(given, (list, tuple)) and len(given) == 2 and not np.isscalar(given[1])


def _is_one_array(values: Any) -> bool:
    """Tell an array, or a list of numbers, from a list of arrays."""
    if not isinstance(values, (list, tuple)):
        return hasattr(values, "__len__") and not isinstance(values, (str, bytes, dict))
    return len(values) > 0 and np.isscalar(values[0])


def one_each(name: str, values: Any, n_sets: int) -> list[Any]:
    """Return a list with one entry per set; None becomes a list of None.

    With one set, an array, or a list of numbers, is the set's entry itself.
    """
    if values is None:
        return [None] * n_sets
    if n_sets == 1 and _is_one_array(values):
        return [values]
    if not isinstance(values, (list, tuple)) or len(values) != n_sets:
        found = f"{len(values)} entries" if isinstance(values, (list, tuple)) else type(values)
        raise ParameterError(
            f"{name}: {found}: expected a list with an entry for each of the {n_sets} sets in "
            "eval_set; use None for sets without it"
        )
    return list(values)
