"""Pages that take turns, and bring the columns alone that the trees of a batch draw.

    host     |page 0: f0 f1 f2 f3 ..|page 1: f0 f1 f2 f3 ..|     column by column
    drawn     f1 f3
    slot     |f1|f3|  ->  |row 0: f1 f3|row 1: f1 f3| ..         as they come, and for histograms

Columns stay in a slot until other ones are drawn, or another page needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.transfers import Mark, Transfers
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.page_stream import Loads, PageStream, Slot
from pyopencl_gbdt.pages.stored import HostColumns

#: Codes of a byte.
BYTE_CODES = 256
#: By which a kernel's digit of a code is the code itself, see ``JointColumns.digit_table``.
_WHOLE_CODE = BYTE_CODES << 16 | (1 << 16) // BYTE_CODES


def runs_of(columns: npt.NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Return where runs of neighbouring columns, ascending, begin and end."""
    ends = np.flatnonzero(np.diff(columns) != 1) + 1
    runs = [own for own in np.split(columns, ends) if own.size]
    return [(int(own[0]), int(own[-1]) + 1) for own in runs]


def places_of(columns: npt.NDArray[np.uint32], n_features: int) -> npt.NDArray[np.uint32]:
    """Return where kernels find each feature's code, as ``JoinedCodes.digits`` has it.

    Features that are not among the columns are found nowhere.
    """
    digits = np.zeros((n_features, 2), np.uint32)
    digits[columns, 0] = np.arange(columns.size)
    digits[columns, 1] = _WHOLE_CODE
    return digits


class ColumnLoads:
    """Brings the drawn columns of pages: `PageLoads`."""

    def __init__(self, transfers: Transfers, stored: HostColumns) -> None:
        self._transfers, self._stored = transfers, stored
        self.runs: list[tuple[int, int]] = []

    def expect(self, pages: Sequence[int]) -> None:
        """Do nothing: pages lie in the host's memory."""

    def bring(self, index: int, array: DeviceArray, after: Mark) -> Mark:
        """Enqueue the copy of a page's drawn columns to the device."""
        parts = [self._stored.columns(index, *run) for run in self.runs]
        return self._transfers.bring_parts(array, parts, (after,))

    def close(self) -> None:
        """Do nothing: no thread loads pages."""


class ColumnStream(PageStream):
    """Runs the launches of pages that bring drawn columns; as `PageStream`."""

    def __init__(self, device: Device, stored: HostColumns) -> None:
        super().__init__(device, stored)
        self._gathers: Sequence[Sequence[Launch]] = ()

    def _loads_of(self, stored: Any) -> Loads:
        self._columns = ColumnLoads(self.transfers, stored)
        return self._columns

    def begin_columns(self) -> None:
        """Run what is on the list, if it asks for the columns drawn before."""
        if any(CODES in action.reads for action in self._list):
            self.run()

    def take_columns(
        self, columns: npt.NDArray[np.uint32], gathers: Sequence[Sequence[Launch]]
    ) -> None:
        """Let pages bring other columns from now on.

        Parameters
        ----------
        columns : uint32 array
            Ascending.
        gathers : sequence of sequence of Launch
            What runs behind the copy of each page's columns.
        """
        self._columns.runs, self._gathers = runs_of(columns), gathers
        for slot in self._slots:
            slot.there.discard(CODES)

    def _bring(self, slot: Slot, names: list[str], freed: Mark) -> None:
        super()._bring(slot, names, freed)
        if CODES in names:
            for launch in self._gathers[slot.page]:
                launch()
