"""What several devices cannot train together: refused before anything is allocated.

Rows in batches are refused a part of it, and are searched exactly as teams do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import DeviceObjective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.with_statistics import statistic_columns

_MOVE = "train on one device"
#: Most bins of a feature: codes have 16 bits, and one is that of missing values.
_MOST_BINS = 65535


def as_histograms(params: Parameters) -> Parameters:
    """Return parameters with a bin for every distinct value in place of exact search.

    Both grow the same trees. ``check_exact`` tells whether there are bins enough.
    """
    if params.search != "exact":
        return params
    return replace(params, tree_method="hist", max_bin=_MOST_BINS)


def check_exact(asked: Parameters, n_bins: npt.NDArray[np.uint32]) -> None:
    """Raise an error if exact search was asked for, and a bin has several values.

    Parameters
    ----------
    asked : Parameters
        As the user gave them.
    n_bins : uint32 array, shape (n_features,)
        Bins of every feature.

    Raises
    ------
    ParameterError
    """
    if asked.search == "exact" and n_bins.max(initial=0) >= _MOST_BINS:
        raise ParameterError(
            f"tree_method='exact': column {int(n_bins.argmax())}, counted from 0, has {_MOST_BINS} "
            "distinct values or more: expected fewer where several devices train together, and "
            "with rows in batches; use tree_method='hist', or train on an array on one device"
        )


def check_team(params: Parameters, objective: Objective, data: Dataset) -> None:
    """Raise an error if a task needs all rows on one device.

    Raises
    ------
    ParameterError
        If data are sparse, bins are made anew for each node, exact search meets categories,
        categories become statistics, boosting is ordered, or the user's own code fills arrays of
        one device.
    """
    if data.sparse is not None or params.search == "approx":
        given = "sparse data" if data.sparse is not None else f"tree_method={params.tree_method!r}"
        raise ParameterError(
            f"{given}: expected dense data and tree_method='hist' or 'exact' where several devices "
            f"train together; {_MOVE}"
        )
    if params.search == "exact" and data.categories:
        raise ParameterError(
            "tree_method='exact' with categorical columns: expected 'hist' where several devices "
            f"train together; change it, or {_MOVE}"
        )
    if statistic_columns(params, data):
        raise ParameterError(
            f"cat_method={params.cat_method!r}: expected no statistics of categories where several "
            f"devices train together; use cat_method='sets', or {_MOVE}"
        )
    if params.boosting_type == "ordered":
        raise ParameterError(
            "boosting_type='ordered': expected 'plain' where several devices train together; "
            f"{_MOVE}"
        )
    if isinstance(objective, DeviceObjective):
        raise ParameterError(
            f"objective={objective.custom_name}: expected no function of device arrays where "
            f"several devices train together; write a KernelObjective, or {_MOVE}"
        )
