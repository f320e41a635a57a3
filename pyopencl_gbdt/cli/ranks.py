"""``mpirun -n 4 pyopencl-gbdt train DATA``: which rows a process of an MPI job reads."""

from __future__ import annotations

import argparse
import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli import side_files, tables
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.data.files.batches import paths_of
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.data import TableData
    from pyopencl_gbdt.data.dataset import Dataset

#: What stands for the rank in file names.
RANK = "{rank}"


class RankJob:
    """The process's place in an MPI job.

    Attributes
    ----------
    communicator : mpi4py.MPI.Intracomm or None
        None outside a job.
    """

    def __init__(self, communicator: Any = None) -> None:
        self.communicator = communicator
        self.rank: int = 0 if communicator is None else communicator.rank
        self.size: int = 1 if communicator is None else communicator.size

    @property
    def leads(self) -> bool:
        """Whether this process prints, and writes the model."""
        return self.rank == 0

    def place(self) -> int:
        """Return how many ranks before this one are processes of the same host."""
        if self.communicator is None:
            return 0
        hosts: list[str] = self.communicator.allgather(socket.gethostname())
        return hosts[: self.rank].count(hosts[self.rank])

    @contextlib.contextmanager
    def ended_by_errors(self) -> Iterator[None]:
        """End all ranks if the block fails in this one, or one gives no sign of life; say why."""
        from pyopencl_gbdt.device.team.mpi import end_job, watch

        watching = None if self.size == 1 else watch(self.communicator)
        try:
            yield
            if watching is not None:
                watching.end()
        except BaseException as error:
            if self.size > 1:
                end_job(self.communicator, f"rank {self.rank}: {error}")
            raise


def job() -> RankJob:
    """Return the MPI job of this process, if a launcher started several.

    Raises
    ------
    ParameterError
        If mpi4py is not installed there.
    """
    from pyopencl_gbdt.device.team.mpi import job_communicator

    return RankJob(job_communicator())


def read_training(
    mine: RankJob, args: argparse.Namespace, objective: str, **options: Any
) -> tuple[Dataset, list[tuple[Dataset | None, str]]]:
    """Read this rank's rows; the first rank reads the evaluation sets too.

    Names of files with ``{rank}`` are those of this rank's own files. Of a folder or a pattern with
    a file or more for each rank, each rank reads its share of the files, unless a file has weights,
    query sizes or base margins of all rows. Otherwise all ranks read the same files, and each keeps
    an equal part of the rows; queries stay whole.
    """
    if mine.size == 1:
        data, sets = tables.read_training(args, objective, **options)
        return data, list(sets)
    own = argparse.Namespace(**vars(args))
    for name in ("data", "weight"):
        text = getattr(args, name)
        setattr(own, name, text if text is None else text.replace(RANK, str(mine.rank)))
    if (own.data == args.data) != (own.weight == args.weight) and own.weight is not None:
        raise ParameterError(
            f"--weight {args.weight}: expected {RANK} in both names or in none, as in "
            f"{args.data}; give weights of the same rows"
        )
    names = options.get("names") or tables.file_names(args.eval)
    if not mine.leads:
        own.eval, options = [], {**options, "names": []}
    share = None
    if own.data == args.data and _is_dealt(args, mine.size, beside=options.get("beside", False)):
        share = mine.rank, mine.size
    if own.data == args.data and share is None:
        data, sets = tables.read_training(own, objective, **options)
        data = data.part(*_bounds(data, mine))
    else:
        options["like_all"] = partial(_like_all, mine)
        data, sets = tables.read_training(own, objective, share=share, **options)
    return data, list(sets) if mine.leads else [(None, name) for name in names]


def _like_all(mine: RankJob, table: TableData) -> TableData:
    """Return a rank's rows with the columns and levels that the rows of all ranks have."""
    from pyopencl_gbdt.categories.common_columns import common_data
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device.foreign import DeviceMatrix
    from pyopencl_gbdt.device.team.mpi import joined_team

    team = joined_team(mine.communicator)
    rows = common_data(team, Dataset(table.features))
    team.leave()
    if rows is None:
        return table
    own = rows.checked
    assert not isinstance(own.values, DeviceMatrix)  # it comes from files
    return replace(table, X=own.values, categories=own.categories)


def _is_dealt(args: argparse.Namespace, size: int, *, beside: bool) -> bool:
    """Tell whether there is a file or more for each of so many ranks, and none for all rows."""
    where = DataPath.parse(args.data)
    if not where.in_batches or len(paths_of(where.file)) < size or args.weight is not None:
        return False
    return not (beside and any(side_files.find(where.file, what) for what in side_files.ENDINGS))


def _bounds(data: Dataset, mine: RankJob) -> Sequence[int]:
    """Return the first row of a rank, and the row behind its last one."""
    from pyopencl_gbdt.training.division import row_bounds

    return row_bounds(data, [1.0] * mine.size)[mine.rank]
