"""The folds of cross-validation: for a seed the same on every machine, and as in XGBoost."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.groups import rows_of_groups
from pyopencl_gbdt.errors import ParameterError

RowIds = npt.NDArray[np.int64]
#: Training rows and test rows.
Fold = tuple[RowIds, RowIds]


def make_folds(
    label: npt.NDArray[np.float32], nfold: int, *, stratified: bool, shuffle: bool, seed: int
) -> list[Fold]:
    """Split rows into folds.

    Parameters
    ----------
    label : float32 array, shape (n_rows,)
    stratified : bool
        Keep the share of each label about equal in all folds.
    seed : int
        For ``numpy.random.RandomState``, whose numbers are the same in all NumPy versions.

    Raises
    ------
    ParameterError
        If there are too few rows, or too few rows of each label.
    """
    nfold = _integer("nfold", nfold)
    seed = _integer("seed", seed)
    n_rows = len(label)
    if not 2 <= nfold <= n_rows:
        move = "lower nfold" if nfold > 2 else "give 2 at least"
        raise ParameterError(f"nfold={nfold}: expected 2..{n_rows}, the rows; {move}")
    if stratified and label.ndim > 1:
        raise ParameterError(
            f"stratified=True: expected False with {label.shape[1]} targets, which are no classes; "
            "leave it out"
        )
    if not 0 <= seed < 2**32:
        raise ParameterError(f"seed={seed}: expected 0..4294967295; choose another")
    random = np.random.RandomState(seed)
    if stratified:
        return _stratified(label, nfold, random if shuffle else None)
    order = random.permutation(n_rows) if shuffle else np.arange(n_rows)
    tests = np.array_split(order.astype(np.int64), nfold)
    rest = [[part for i, part in enumerate(tests) if i != k] for k in range(nfold)]
    return [(np.concatenate(rest[k]), tests[k]) for k in range(nfold)]


def query_folds(
    offsets: RowIds, nfold: int, *, stratified: bool, shuffle: bool, seed: int
) -> list[Fold]:
    """Split queries into folds, as XGBoost does; a query's rows stay together.

    Parameters
    ----------
    offsets : int64 array, shape (n_queries + 1,)
    nfold, stratified, shuffle, seed
        As for ``make_folds``; queries cannot be stratified.

    Raises
    ------
    ParameterError
        If there are too few queries, or ``stratified`` is set.
    """
    if stratified:
        raise ParameterError(
            "stratified=True: expected False where rows belong to queries, which have no label; "
            "leave it out"
        )
    if isinstance(nfold, int) and nfold > offsets.size - 1:
        raise ParameterError(
            f"nfold={nfold}: expected 2..{offsets.size - 1}, the queries; lower nfold"
        )
    queries = np.zeros(offsets.size - 1, np.float32)
    folds = make_folds(queries, nfold, stratified=False, shuffle=shuffle, seed=seed)
    return [
        (rows_of_groups(offsets, train), rows_of_groups(offsets, test)) for train, test in folds
    ]


def _stratified(
    label: npt.NDArray[np.float32], nfold: int, random: np.random.RandomState | None
) -> list[Fold]:
    """Return the folds of scikit-learn's ``StratifiedKFold``, by the same algorithm."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    n_labels = first.size
    rank = np.argsort(np.argsort(first))  # labels are numbered in order of first occurrence
    codes = rank[inverse.reshape(-1)]
    counts = np.bincount(codes, minlength=n_labels)
    if counts.max() < nfold or n_labels == label.size:
        raise ParameterError(
            f"stratified=True: no label has {nfold} rows: expected classes; lower nfold, or leave "
            "stratified out"
        )
    in_order = np.sort(codes)
    share = [np.bincount(in_order[k::nfold], minlength=n_labels) for k in range(nfold)]
    fold_of = np.empty(label.size, np.int64)
    for code in range(n_labels):
        own = np.arange(nfold).repeat([share[k][code] for k in range(nfold)])
        if random is not None:
            random.shuffle(own)
        fold_of[codes == code] = own
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(nfold)]


def given_folds(folds: Any, values: Any, label: npt.NDArray[np.float32]) -> list[Fold]:
    """Check a user's folds: pairs of row numbers, or the result of a scikit-learn splitter.

    Raises
    ------
    ParameterError
        If they are not folds, or name rows that do not exist.
    """
    splits = hasattr(folds, "split") and not isinstance(folds, (str, bytes))
    pairs = list(folds.split(values, label) if splits else _listed(folds))
    if not pairs:
        raise ParameterError("folds=[]: expected a fold or more; leave it out for nfold of them")
    return [_checked(index, pair, label.size) for index, pair in enumerate(pairs)]


def _listed(folds: Any) -> Iterable[Any]:
    scalar = isinstance(folds, (str, bytes)) or getattr(folds, "shape", None) == ()
    if isinstance(folds, Iterable) and not scalar:
        return folds
    raise ParameterError(
        f"folds={folds!r}: expected a list of (rows to train on, rows to test on), or a "
        "splitter of scikit-learn; give one of them"
    )


def _checked(index: int, pair: Any, n_rows: int) -> Fold:
    try:
        train, test = (np.asarray(part) for part in pair)
    except (TypeError, ValueError):
        train = test = np.empty(0)
    for part in (train, test):
        whole = part.ndim == 1 and part.size > 0 and part.dtype.kind in "iu"
        if not whole or part.min() < 0 or part.max() >= n_rows:
            raise ParameterError(
                f"folds[{index}]: expected two lists of row numbers, 0..{n_rows - 1}, neither of "
                "them empty; look at this fold"
            )
    return train.astype(np.int64), test.astype(np.int64)


def _integer(name: str, value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"{name}={value!r}: expected an integer; give a whole number"
        ) from None
