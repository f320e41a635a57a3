"""Equal trials: every system chooses among the same settings by its own rows alone.

A setting is chosen by the mean score over folds of the rows to train on; held-out rows have no part
in it. Settings come in pairs. Within a pair learning rate, L2 penalty and least Hessian differ by a
factor of two, by which the libraries' Hessians differ too (of the softmax loss, 2 p (1 - p) against
p (1 - p)): doubling all three makes up for a doubled Hessian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.task_data import Table
from bench.task_list import SCORES, Task
from bench.task_systems import LEAST_HESSIAN, Budget

#: Tables of more rows than this get ``LARGE_SPLITS`` at most, and one inner fold is measured.
LARGE = 1000
LARGE_SPLITS = 5
FOLDS = 3


def _twice(setting: Budget) -> Budget:
    """Return the setting that does to doubled Hessians what the given one does to plain ones."""
    return replace(
        setting,
        learning_rate=2 * setting.learning_rate,
        l2=2 * setting.l2,
        least_hessian=2 * setting.least_hessian,
    )


_SINGLE = (
    Budget(),  # the fixed setting
    Budget(rounds=200, depth=3, learning_rate=0.05, l2=1, least_hessian=LEAST_HESSIAN),
    Budget(rounds=100, depth=4, learning_rate=0.1, l2=10, least_hessian=1),
    Budget(rounds=50, depth=2, learning_rate=0.1, l2=5, least_hessian=LEAST_HESSIAN),
)
#: What is tried: the fixed setting first, each followed by its twin.
SETTINGS: tuple[Budget, ...] = tuple(s for one in _SINGLE for s in (one, _twice(one)))


def folds(rows: Table, seed: int, number: int = FOLDS) -> npt.NDArray[np.int64]:
    """Return the fold of each row: whole queries, and of every class an equal part.

    Returns
    -------
    int64 array, shape (n_rows,)
        Values in 0..number-1. Of ``survival``, seen and unseen events are spread equally.
    """
    rng = np.random.default_rng(seed)
    if rows.query is not None:
        queries, place = np.unique(rows.query, return_inverse=True)
        fold: npt.NDArray[np.int64] = (rng.permutation(queries.size) % number)[place]
        return fold
    stratum = np.zeros(rows.y.size)
    if rows.kind in ("binary", "classes"):
        stratum = rows.y.astype(float)
    elif rows.upper is not None:
        stratum = np.isfinite(rows.upper).astype(float)
    order = np.lexsort((rng.random(rows.y.size), stratum))
    fold = np.empty(rows.y.size, np.int64)
    fold[order] = np.arange(rows.y.size) % number
    return fold


def choose(
    system: Callable[[Task, Table, Table, Budget], Any],
    task: Task,
    rows: Table,
    settings: Sequence[Budget],
    seed: int,
    measured: int = FOLDS,
) -> int:
    """Return the place of the setting with the best mean of the task's first score.

    Parameters
    ----------
    rows : Table
        The rows to train on.
    measured : int
        So many of the folds are predicted, each by a model of all the other rows.

    Returns
    -------
    int
        The first of equal ones.
    """
    if len(settings) == 1:
        return 0
    score, more_is_better = SCORES[task.scores[0]]
    fold = folds(rows, seed)
    losses = []
    for setting in settings:
        found = []
        for number in range(measured):
            inner, unseen = rows.take(fold != number), rows.take(fold == number)
            found.append(score(unseen, np.asarray(system(task, inner, unseen, setting))))
        losses.append(-np.mean(found) if more_is_better else np.mean(found))
    return int(np.argmin(losses))


def effort(table: Table, splits: int) -> tuple[int, int]:
    """Return how many splits and how many folds of each are measured."""
    if table.y.size <= LARGE:
        return splits, FOLDS
    return min(splits, LARGE_SPLITS), 1
