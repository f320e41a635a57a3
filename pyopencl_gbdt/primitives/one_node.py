"""The trainer's histogram kernels for a level of one node, which ``histogram`` launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.dtypes import LEVEL, NODE, QUANTA, SCALE, SUM
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.histogram_kernel import HistogramKernel
from pyopencl_gbdt.primitives.histogram_plan import ANY_CODES, can_hold, choose_histogram
from pyopencl_gbdt.primitives.packed_codes import empty_codes


@dataclass(frozen=True)
class _EqualBins:
    """Layout of features that all have the same number of codes."""

    feature_offset: npt.NDArray[np.uint32]
    fullest: npt.NDArray[np.uint32]


class OneNode:
    """A page of codes, and the launches that compute one node's histogram from it.

    Parameters
    ----------
    device : Device
    n_rows, n_features : int
    n_bins : int
        Bins of every feature; none is for missing values.
    variant : str or Variant

    Attributes
    ----------
    page : PackedCodes
        Without ``by_feature``; the caller sets the codes.
    variant : Variant
        The variant that was built.
    clears : bool
        Whether the caller must clear the sums before a level.

    Raises
    ------
    ParameterError
        If ``variant`` is unknown, or the device lacks what it needs.
    """

    def __init__(
        self, device: Device, n_rows: int, n_features: int, n_bins: int, variant: str | Variant
    ) -> None:
        self.device, self.n_rows = device, n_rows
        self.n_features, self.n_bins = max(1, n_features), n_bins
        choose("histogram", device.caps, variant.name if isinstance(variant, Variant) else variant)
        self._kernel = self._build(self._chooser(variant))
        self.page, self.variant = self._kernel.page, self._kernel.variant
        self.clears = self.variant.int64_atomics
        self._allocate()

    def _chooser(self, variant: str | Variant) -> Callable[[], Variant]:
        """Return the function by which ``build_variant`` chooses the variant before each try."""
        caps = self.device.caps
        if isinstance(variant, Variant):
            given = variant if can_hold(variant, caps, self.n_bins) else None
            return lambda: given or choose("histogram", caps, ANY_CODES)
        return lambda: choose_histogram(caps, self.n_bins, variant)

    def _build(self, chosen: Callable[[], Variant]) -> HistogramKernel:
        """Build with the narrowest codes that the variant can use."""
        n_features = self.n_features
        offset = np.arange(n_features + 1, dtype=np.uint32) * np.uint32(self.n_bins)
        while True:
            dtype = self._packed_dtype(chosen())
            # the kernel leaves out each feature's fullest code; this one occurs in no row
            fullest = np.full(n_features, np.iinfo(dtype).max, np.uint32)
            page = empty_codes(self.device, self.n_rows, n_features, dtype, columns=False)
            kernel = HistogramKernel(self.device, page, _EqualBins(offset, fullest), chosen)
            if self._packed_dtype(kernel.variant) == dtype:
                return kernel

    def _packed_dtype(self, variant: Variant) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """Return the smallest dtype that has a code for every bin, and a spare one.

        The CPU's variant needs no spare code, because it leaves out no code.
        """
        spare = variant.name != "cpu"
        return np.dtype(np.uint8) if self.n_bins + spare <= 256 else np.dtype(np.uint16)

    def _allocate(self) -> None:
        """Allocate the kernel's arrays other than the caller's, and its partial sums."""
        device, kernel = self.device, self._kernel
        # no more work-groups than tasks: each may have partial sums
        tasks = ceil_div(self.n_rows, self.variant.params["chunk"])
        self._groups = max(1, min(kernel.groups, tasks))
        groups = self._groups if kernel.partials else 0
        self._scale = device.zeros(1, SCALE)  # says that there are no high words
        self._unused = device.zeros((1, 2), QUANTA)
        cells = kernel.n_codes if groups else 1
        self._partial = device.empty((max(1, groups), 2, cells, 2), SUM)

    def level(
        self, pairs: DeviceArray, out: DeviceArray, rows: DeviceArray | None, count: int
    ) -> list[Launch]:
        """Return the launches of a level with one node.

        Without ``rows`` the level has depth 0, and its node has all rows in order. Otherwise it has
        depth 1, and its node has the ``count`` rows in the list.
        """
        depth = 0 if rows is None else 1
        tasks = ceil_div(count, self.variant.params["chunk"])
        levels, nodes = np.zeros(2, LEVEL), np.zeros(1, NODE)
        levels[depth] = (0, 1, 0, tasks)
        nodes["count"], nodes["depth"], nodes["in_order"] = count, depth, rows is None
        upload = self.device.upload
        return self._kernel.level(
            self.page,
            groups=self._groups,
            depth=depth,
            n_rows=self.n_rows,
            first_row=0,
            levels=upload(levels),
            nodes=upload(nodes),
            task_begin=upload([0, tasks], np.uint32),
            even_rows=self._unused.words(),
            odd_rows=self._unused.words() if rows is None else rows,
            quanta=pairs,
            high_words=self._unused,
            scale=self._scale,
            pool=out,
            partial=self._partial,
        )
