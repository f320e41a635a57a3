"""Refuse labels that the margins of weighted trees cannot follow; ``docs/dart.md`` has the rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.numerics.tree_weights import MOST_MARGIN, most_margin


def check_labels(objective: str, data: Dataset, base_margin: Score | None) -> None:
    """Raise ``DataError`` if labels of squared error lie 2^30 from the base margin in the mean.

    Parameters
    ----------
    objective : str
        Others than reg:squarederror are not checked.
    data : Dataset
        Those with margins to start from are not checked.
    base_margin : float, tuple of float or None
        The starting margin of each output; None takes the mean of the labels.
    """
    if objective != "reg:squarederror" or data.base_margin is not None:
        return
    targets = data.targets()
    bases: Sequence[float | None] = (
        [None] * len(targets) if base_margin is None else each(base_margin)
    )
    for label, base in zip(targets, bases, strict=False):
        if _largest(label) < MOST_MARGIN / 2 and abs(base or 0.0) < MOST_MARGIN / 2:
            continue
        values = label.astype(np.float64)
        start = float(np.average(values, weights=data.weight)) if base is None else base
        far = float(np.average(np.abs(values - start), weights=data.weight))
        if far >= MOST_MARGIN:
            _refuse(data, f"labels are {far:g} from the base score {start:g} in the mean")


def check_sums(
    largest: npt.ArrayLike, weights: npt.ArrayLike, n_outputs: int, n_parallel: int, data: Dataset
) -> None:
    """Raise ``DataError`` if the trees so far add up to 2^30; parameters as of ``most_margin``."""
    most = most_margin(largest, weights, n_outputs, n_parallel)
    if not most < MOST_MARGIN:
        n_rounds = np.size(weights) // (n_outputs * n_parallel)
        _refuse(data, f"the trees of {n_rounds} rounds add up to {most:g}")


def _largest(label: npt.NDArray[np.float32]) -> float:
    return max(abs(float(label.min(initial=0))), abs(float(label.max(initial=0))))


def _refuse(data: Dataset, what: str) -> None:
    largest = max((_largest(label) for label in data.targets()), default=0.0)
    raise DataError(
        f"y: its largest absolute value is {largest:g}, and {what}: expected less than 2^30 for "
        "booster='dart', whose margins are in fixed point; divide the labels, y, by a constant and "
        "train again, or leave out booster"
    )
