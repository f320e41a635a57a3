"""What a kind of metric has to say before kernels compute it; each kind is one class.

`KINDS` in `evaluation` lists them. To choose between device and host, and to prepare
launches, the other modules only ask these classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.metrics import Metric
from pyopencl_gbdt.metrics.rows import EvaluatedRows
from pyopencl_gbdt.objectives import Objective


class Prepared(Protocol):
    """Metrics of one evaluation set that are computed together, every round.

    The constructor asks for their arrays; ``launches`` is called when these have memory.

    Attributes
    ----------
    n_results : int
        Number of rows of results.
    """

    n_results: int

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write the results from row ``first`` on."""

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return the metrics from their rows of results."""


class MetricKind(ABC):
    """A kind of metric that kernels compute."""

    @abstractmethod
    def takes(self, metric: Metric) -> bool:
        """Tell whether a metric is of this kind."""

    @abstractmethod
    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        """Tell whether the kernels compute this metric of these rows.

        The rows have a single margin each, or the margins of classes.
        """

    def exact_on_host(self, metric: Metric) -> bool:
        """Tell whether the host computes the same bits of rows without weights."""
        return False

    @abstractmethod
    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[Prepared, list[str]]]:
        """Yield prepared metrics of this kind and their names; related ones share one object."""
