"""Rows in batches that the devices of one process read together: one of them reads for all.

    member 0   asks for rows | reads batch 0 | works on it | reads batch 1 | ..  | ends
    member 1   asks for rows | gets batch 0  | works on it | gets batch 1  | ..  | ends

A source may write its next batch to the same memory, so it is read when all are done with the last
one. Members may ask for the rows unequally often: who needs no more takes part in the others'
passes, in ``end_reading``, and so does one that has ended its own pass early, for want of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyopencl_gbdt.data.batched_rows import I64, BatchedRows
from pyopencl_gbdt.device.team import Team


class HandedRows(BatchedRows):
    """A member's view of rows that all members of a team in one process read.

    Parameters
    ----------
    rows : BatchedRows
        The same object in all members.
    team : Team
        Its members are threads of one process.
    """

    def __init__(self, rows: BatchedRows, team: Team) -> None:
        self.shape, self.most_rows, self.n_missing = rows.shape, rows.most_rows, rows.n_missing
        self._rows, self._team = rows, team
        self._reading: Iterator[tuple[int, Any]] = iter(())

    def parts(self) -> Iterator[tuple[int, Any]]:
        self._team.exchange(True)
        self._reading = self._pass()
        # not ``yield from``, which ends the pass with this generator: the others go on with it
        for part in self._reading:
            yield part
            del part

    def _pass(self) -> Iterator[tuple[int, Any]]:
        read = self._rows.parts() if self._team.rank == 0 else iter(())
        while True:
            # a list, so that member 0 can drop the batch before it reads the next one
            own = [next(read, None)]
            part = self._team.exchange(own)[0][0]
            if part is None:
                return
            yield part
            del part
            self._team.exchange(None)  # all are done with it
            own.clear()

    def end_reading(self) -> None:
        self._go_on()
        while any(self._team.exchange(False)):
            self._reading = self._pass()
            self._go_on()

    def _go_on(self) -> None:
        """Take part in the rest of a pass, without use for its rows."""
        for part in self._reading:
            del part

    def level_counts(self, feature: int) -> I64:
        """Return the rows of each level, which member 0 counts; all members call this in step."""
        own = self._rows.level_counts(feature) if self._team.rank == 0 else None
        counts: I64 = self._team.exchange(own)[0]
        return counts

    def coded_by(self, categories: Mapping[int, Any]) -> HandedRows:
        return HandedRows(self._rows.coded_by(categories), self._team)
