"""Metrics that need more of a data set than labels and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class DatasetMetric:
    """A metric of predictions and a data set.

    Attributes
    ----------
    function : callable
    of_prediction : bool
        Whether it takes what ``predict`` returns, rather than what other metrics take.
    """

    function: Callable[[F32, Dataset], float]
    of_prediction: bool = False

    def __call__(self, prediction: F32, rows: Dataset) -> float:
        return self.function(prediction, rows)
