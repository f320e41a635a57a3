"""What a kind of metric has to say before kernels compute it; each kind is one class.

`KINDS` in `evaluation` lists them. To choose between device and host, and to prepare
launches, the other modules only ask these classes. They get the rows as ``EvaluatedRows``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, build_variant_program
from pyopencl_gbdt.device.arena import Arena, Contents
from pyopencl_gbdt.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.metrics import Metric
    from pyopencl_gbdt.objectives import Objective

F32 = npt.NDArray[np.float32]
#: Size in int64 words of a metric's result on the device, of which five are used.
N_WORDS = 8


@dataclass(frozen=True)
class EvaluatedRows:
    """Margins, labels and weights of an evaluation set on a device, and its data on the host.

    Attributes
    ----------
    arena : Arena
        Where metrics get their arrays.
    margins : DeviceArray of float32, n_rows elements, or shape (n_classes, n_rows)
    labels : DeviceArray of float32, n_rows elements
    weights : DeviceArray of float32, n_rows elements; a dummy if there are no weights
    label : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    link : str
        Statements that set the prediction ``p`` from ``margin``, see ``Objective.link``.
    wg_size : int
        Work-items per work-group; 0 is the variant's default.
    n_classes : int
        Number of classes, whose probabilities are the softmax of a row's margins; 0 for rows
        with a single margin.
    name : str
        Begins the names of the metrics' arrays.
    most_rows : int
        Rows by which kernels that take rows in any order count their work-groups; 0 is ``n_rows``.
        One number for several sets lets their launches be joined.
    """

    arena: Arena
    margins: DeviceArray
    labels: DeviceArray
    weights: DeviceArray
    label: F32
    weight: F32 | None
    link: str
    wg_size: int = 0
    n_classes: int = 0
    name: str = ""
    most_rows: int = 0

    @property
    def device(self) -> Device:
        return self.arena.device

    @property
    def n_rows(self) -> int:
        return int(self.label.size)

    @property
    def groups(self) -> int:
        """Number of work-groups; they share the rows evenly."""
        return self.device.caps.row_groups(self.n_rows)

    @property
    def common_groups(self) -> int:
        """The same by ``most_rows``."""
        return self.device.caps.row_groups(self.most_rows or self.n_rows)

    def array(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> DeviceArray:
        """Return an array of a metric; see ``Arena.array``."""
        return self.arena.array(f"{self.name}{name}", shape, dtype, contents)

    def program(self, kernel: str, **constants: Any) -> Program:
        """Return a metric's program; its template gets the link and these constants."""
        own = {"wg_size": self.wg_size, "link": self.link, **constants}
        return build_variant_program(self.device, kernel, "auto", **own)[1]

    def of(self, metric: str) -> EvaluatedRows:
        """Return the same rows for a metric; its arrays have the metric's name in theirs."""
        return replace(self, name=f"{self.name}{metric}.")


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
