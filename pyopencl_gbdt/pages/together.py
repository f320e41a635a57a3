"""Cut points of the matrices of several jobs, such as folds, found by one sort and one launch.

    values    | rows of a |   | rows of b |          a copy of each to columns
    sorted    | columns of a | columns of b |        one sort
    cuts      | columns of a | columns of b |        one launch, one read

A column is sorted and cut by itself, so its cut points are those that its job alone finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Program
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.room import shared
from pyopencl_gbdt.dtypes import SUM, VALUE
from pyopencl_gbdt.pages.budget import BATCH_BYTES, SetUp, found_words
from pyopencl_gbdt.pages.cuts import CutRule, Cuts
from pyopencl_gbdt.pages.sources import DeviceValues, Values, ValueSource
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_sort import RadixSort

_KEY = "matrices of all jobs"
#: Values, sorted columns and the sort's scratch take at most this share of the free memory.
_MOST_OF_FREE = 0.25


class Cutter(Protocol):
    """A job's ``Quantizer``."""

    device: Device
    values: Values
    weights: DeviceArray
    cut: npt.NDArray[np.uint32]
    plan: SetUp
    rule: CutRule
    weighted: bool
    exact: bool
    n_rows: int
    n_features: int
    max_bin: int

    def program(self, code: str = "u8") -> tuple[Program, int]:
        """Return the program of its kernels."""

    def read(self, found: npt.NDArray[np.uint32], counted: int) -> Cuts:
        """Return cut points that a kernel wrote."""


class MatricesOfJobs:
    """Matrices of one shape on the host, whose columns are cut when the first job asks.

    Parameters
    ----------
    matrices : sequence of float32 array, shape (n_rows, n_features)
        One for each job; they stay unchanged.
    """

    def __init__(self, matrices: Sequence[npt.NDArray[np.float32]]) -> None:
        self._matrices = list(matrices)
        self._numbers = {id(one): number for number, one in enumerate(matrices)}
        self._how: tuple[Hashable, ...] = ()
        self._cuts: list[Cuts] = []
        self._values: dict[int, DeviceArray] = {}

    def cuts(self, own: Cutter) -> tuple[Cuts, ValueSource] | None:
        """Return the cut points of a job's matrix, and its values on the device, to be encoded.

        None: the job cuts its columns alone.
        """
        number = self._numbers.get(id(own.values))
        if number is None or own.weighted or own.cut.size < own.n_features:
            return None
        how = own.device.process_key, own.max_bin, own.rule
        if number == 0 and self._fit(own):
            self._how, self._cuts = how, self._cut(own)
        if how != self._how or number not in self._values:
            return None
        return self._cuts[number], DeviceValues(self._values.pop(number))

    def _fit(self, own: Cutter) -> bool:
        """Tell whether the columns of all jobs are sorted at a time."""
        n_columns = len(self._matrices) * own.n_features
        n_bytes, plan = n_columns * own.n_rows * VALUE.itemsize, own.plan
        whole = plan.piece_rows >= own.n_rows and plan.block == own.n_features
        caps = own.device.caps
        free = min(caps.global_bytes - own.device.allocated_bytes, caps.max_alloc_bytes)
        fits = n_bytes <= BATCH_BYTES and 3 * n_bytes <= _MOST_OF_FREE * free
        return whole and n_columns <= MOST_Y and fits

    def _cut(self, own: Cutter) -> list[Cuts]:
        device, n, n_features = own.device, own.n_rows, own.n_features
        n_columns = len(self._matrices) * n_features
        keys = device.empty((n_columns, n), VALUE, "sorted values of all jobs")
        running = device.empty(1, SUM)
        found = device.empty((n_columns, found_words(own.max_bin)), np.uint32, "cut points")
        sort = RadixSort(device, n, VALUE, columns=n_columns)
        program, _ = own.program()
        features = device.upload(own.cut)
        for number, matrix in enumerate(self._matrices):
            self._values[number] = values = _uploaded(device, matrix)
            program.launch(
                "columns", device.caps.row_groups(n), n_rows=n, n_features=n_features,
                begin_feature=0, first_feature=0, n_columns=n_features,
                start=number * n_features * n, all_rows=n, features=features, values=values,
                weights=own.weights, keys=keys,
            )  # fmt: skip
        run(sort.bind(keys, once=True))
        program.launch(
            "cuts", -(-n_columns // program.wg_size), n_rows=n, n_counted=n, n_columns=n_columns,
            max_bin=own.max_bin, first_column=0, ranked=int(own.rule.ranked), sorted=keys,
            running=running, found=found,
        )  # fmt: skip
        every = found.get()
        jobs = range(0, n_columns, n_features)
        return [own.read(every[first : first + n_features], n) for first in jobs]


def _uploaded(device: Device, matrix: npt.NDArray[np.float32]) -> DeviceArray:
    """Return a matrix on the device; waits for no copy."""
    if device.borrows:
        return device.borrow(matrix)
    array = device.empty(matrix.shape, matrix.dtype)
    device.hand_over(array, matrix, 0)
    return array


def tell_matrices(known: dict[Hashable, Any], matrices: Sequence[object]) -> None:
    """Let jobs that share ``known`` cut their matrices together, if these have one shape."""
    arrays = [one for one in matrices if isinstance(one, np.ndarray)]
    if len(arrays) == len(matrices) and len({one.shape for one in arrays}) == 1:
        known[_KEY] = MatricesOfJobs(arrays)


def cut_together(own: Cutter) -> tuple[Cuts, ValueSource] | None:
    """Return as ``MatricesOfJobs.cuts``; None for a job alone, too."""
    matrices: MatricesOfJobs | None = shared(own.device).get(_KEY)
    return None if matrices is None else matrices.cuts(own)
