"""A team whose members are the processes of an MPI job, through mpi4py."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.member import Integers, Team
from pyopencl_gbdt.device.team.messages import NOTHING, NUMBERS, Message, Stamp, other_step
from pyopencl_gbdt.device.team.sliced_sums import HostTeam
from pyopencl_gbdt.errors import ParameterError, TeamError
from pyopencl_gbdt.messages import pip_install

#: Tests of a request that follow each other at once; later ones sleep in between, so that waiting
#: processes leave the processors to those that compute.
_EAGER_TESTS, _SHORTEST, _LONGEST = 200, 2e-5, 2e-4
#: Sums with at least so many bytes for each member are packed, where the link is slow. At 1 Gbit/s,
#: 2 ranks, 32 KiB for each took 0.2 ms packed and 0.08 by MPI's own sums, 256 KiB 1.2 and 1.9
#: (``mpirun -n 2 python -m bench scaling --mpi``, ``docs/pages-and-teams.md``).
PACKED_BYTES = 1 << 16
#: Tags of messages between ranks: a sign of life, and how many of these a rank has sent.
_LIFE, _COUNT = 0, 1
#: Environment variables in which launchers (MPICH's, Intel's; Open MPI's) give the number of ranks.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def mpi() -> Any:
    """Return the module ``mpi4py.MPI``.

    Raises
    ------
    ParameterError
        If mpi4py, or the MPI library that it needs, is not installed.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ParameterError(
            f"MPI was asked for, but mpi4py does not load ({error}): expected mpi4py and an MPI "
            f"library; {pip_install('mpi')}"
        ) from None
    return MPI


def job_communicator() -> Any:
    """Return the communicator of the processes that a launcher started, or None for one process.

    Raises
    ------
    ParameterError
        If there are several, and mpi4py is not installed.
    """
    sizes = [os.environ.get(name, "") for name in _SIZES]
    several = any(size.isdecimal() and int(size) > 1 for size in sizes)
    return mpi().COMM_WORLD if several else None


class MpiTeam(HostTeam):
    """A member that is a process of an MPI job.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
        It is duplicated: the job's own messages do not mix with these.
    limits : Limits or None
        None takes those of the environment.
    """

    def __init__(self, communicator: Any, limits: Limits | None = None) -> None:
        self._mpi, self._limits = mpi(), limits or Limits.of_environment()
        self._parts: list[Any] = []
        self._own = _duplicate(communicator, self._limits.patience)
        self._sums = self._own.Dup()  # a rank that adds up takes no message for numbers
        self._ranks = tuple(range(self.size))
        self._n_steps, self._stamp = 0, NOTHING
        self._beats = watch(communicator, self._limits)

    @property
    def rank(self) -> int:
        return int(self._own.Get_rank())

    @property
    def size(self) -> int:
        return int(self._own.Get_size())

    @property
    def ranks(self) -> Sequence[int]:
        return self._ranks

    def _at(self, stamp: Stamp) -> None:
        """Let signs of life tell the next rank what this one sends, as both may wait for ever."""
        self._n_steps, self._stamp = self._n_steps + 1, stamp
        if self._beats is not None:
            self._beats.at = self._ranks, self._n_steps, stamp

    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        """Return the stamps and values of all members, in the order of ranks."""
        self._at(stamp)
        packed = np.frombuffer(pickle.dumps((stamp, value), protocol=5), np.uint8)
        sizes = np.zeros(self.size, np.int64)
        self._wait(self._own.Iallgather(np.array([packed.size]), sizes))
        everything = np.empty(int(sizes.sum()), np.uint8)
        begins = np.append(0, np.cumsum(sizes))
        target = [everything, (sizes, begins[:-1]), self._mpi.BYTE]
        self._wait(self._own.Iallgatherv([packed, self._mpi.BYTE], target))
        found = [pickle.loads(everything[a:b].data) for a, b in pairwise(begins)]
        return [stamp for stamp, _ in found], [value for _, value in found]

    def add_up(self, message: Message[Any], part: Integers) -> Integers:
        """Return the sum of all members' arrays; where it is not packed, MPI chooses the way."""
        packs = self._packs_of(part)
        self._at((NUMBERS, self.buffers.n_sums))
        if packs:
            return self.add_up_slices(part)
        total = np.empty(part.shape, part.dtype)
        self._wait(self._sums.Iallreduce(np.ascontiguousarray(part), total, self._mpi.SUM))
        return total  # type: ignore[return-value]

    def add_up_own(self, parts: Sequence[Integers]) -> Integers:
        """Return the sum of all members' arrays, for this member."""
        packs = self._packs_of(*parts)
        self._at((NUMBERS, self.buffers.n_sums))
        if packs:
            return super().add_up_own(parts)
        every = np.concatenate([part.reshape(-1) for part in parts])
        total: Integers = parts[self.rank].copy()
        counts = [part.size for part in parts]
        self._wait(self._sums.Ireduce_scatter(every, total, counts, self._mpi.SUM))
        return total

    def _packs_of(self, *parts: npt.NDArray[Any]) -> bool:
        """Return whether a sum goes in packed slices: 64-bit integers, many for each member.

        MPI's own sums need fewer messages, log2(size) instead of size - 1, and pack nothing.
        """
        many = sum(part.nbytes for part in parts) >= self.size * PACKED_BYTES
        return self.size > 1 and many and parts[0].dtype == np.int64 and self._packs()

    def _with_every(self, message: Callable[[int], Any]) -> Iterator[tuple[int, Any]]:
        """Exchange messages with the others; yield rank and what came."""
        own = [b"" if rank == self.rank else message(rank) for rank in range(self.size)]
        data = np.concatenate([np.frombuffer(one, np.uint8) for one in own])
        sizes = np.array([memoryview(one).nbytes for one in own])
        coming = np.empty_like(sizes)
        self._wait(self._sums.Ialltoall(sizes, coming))
        begins, ends = np.cumsum(coming) - coming, np.cumsum(coming)
        found = np.empty(int(ends[-1]), np.uint8)
        given = [data, (sizes, np.cumsum(sizes) - sizes), self._mpi.BYTE]
        self._wait(self._sums.Ialltoallv(given, [found, (coming, begins), self._mpi.BYTE]))
        for rank in range(self.size):
            if rank != self.rank:
                yield rank, found[begins[rank] : ends[rank]].data

    def _wait(self, request: Any) -> None:
        """Wait for a request, and give up after the limit.

        Raises
        ------
        TeamError
        """
        until = time.monotonic() + self._limits.patience
        tests, pause = 0, _SHORTEST
        while not request.Test():
            tests += 1
            if tests > _EAGER_TESTS:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST)
                if time.monotonic() > until:
                    raise TeamError(
                        f"rank {self._ranks[self.rank]} waited {self._limits.patience:g} s for the "
                        f"other ranks, to exchange {self._stamp[0]}"
                    )

    def among(self, ranks: Sequence[int]) -> Team:
        """Return the team of some members, for one of them; all members call this."""
        other = object.__new__(MpiTeam)
        other._mpi, other._limits, other._beats = self._mpi, self._limits, self._beats
        other._ranks = tuple(self._ranks[rank] for rank in ranks)
        other._n_steps, other._stamp = 0, NOTHING
        colour = 0 if self.rank in ranks else self._mpi.UNDEFINED
        other._own = self._own.Split(colour, self.rank)
        if colour == 0:
            other._sums = other._own.Dup()
            self._parts += [other._own, other._sums]
        return other

    def leave(self, error: BaseException | None = None) -> None:
        """End the team; with an error, end the whole job, and say on stderr why."""
        if error is not None and self.size > 1:
            end_job(self._own, f"rank {self.rank}: {type(error).__name__}: {error}")
        if self._beats is not None:
            self._beats.end()
        for made in (*self._parts, self._sums, self._own):  # MPI has about 2000 communicators
            made.Free()


def joined_team(communicator: Any) -> Any:
    """Return the team of an MPI communicator, or a team as it is.

    Raises
    ------
    ParameterError
        If it is not a communicator, or mpi4py is not installed.
    """
    if isinstance(communicator, Team):
        return communicator
    if not isinstance(communicator, mpi().Intracomm):
        raise ParameterError(
            f"communicator is of type {type(communicator).__name__}: expected one of mpi4py; give "
            "mpi4py.MPI.COMM_WORLD"
        )
    return MpiTeam(communicator)


def watch(communicator: Any, limits: Limits | None = None) -> Watch | None:
    """Begin to give signs of life, and to look for those of another rank; all ranks call this.

    Returns None, and does nothing, for a single rank, or if the MPI library allows no threads.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
    limits : Limits or None
        None takes those of the environment.
    """
    limits = limits or Limits.of_environment()
    if communicator.size == 1 or mpi().Query_thread() != mpi().THREAD_MULTIPLE:
        return None
    return Watch(_duplicate(communicator, limits.silence), limits)


def _duplicate(communicator: Any, seconds: float) -> Any:
    """Return a copy of a communicator; end the job if other ranks do not come for so long."""
    text = f"rank {communicator.rank}: the other ranks did not come within {seconds:g} s"
    late = threading.Timer(seconds, end_job, (communicator, text))
    late.daemon = True
    late.start()
    made = communicator.Dup()
    late.cancel()
    return made


def end_job(communicator: Any, why: str) -> None:
    """End all processes of an MPI job."""
    sys.stderr.write(f"pyopencl_gbdt: {why}; training ends on all ranks\n")
    sys.stderr.flush()
    communicator.Abort(1)


class Watch(threading.Thread):
    """Sends signs of life to the next rank, and ends the job if the rank before gives none.

    A rank that dies ends the job by itself, as MPI's launcher sees it. One that is stopped, or
    whose host is gone, does not.
    """

    def __init__(self, communicator: Any, limits: Limits) -> None:
        super().__init__(daemon=True, name="signs of life")
        self._own, self._limits = communicator, limits
        rank, size = communicator.Get_rank(), communicator.Get_size()
        self._following, self._before = (rank + 1) % size, (rank - 1) % size
        self._n_sent = self._n_received = 0
        self._over = threading.Event()
        self.at: tuple[tuple[int, ...], int, Stamp] | None = None
        """The members of a team, the number of a message, and its stamp: what this rank sends."""
        self.start()

    def run(self) -> None:
        rank, before = self._own.Get_rank(), self._before
        heard = looked = time.monotonic()
        sent: list[Any] = []
        while not self._over.wait(self._limits.beat):
            sent = [one for one in sent if not one.Test()]
            sent.append(self._own.isend(self.at, self._following, _LIFE))
            self._n_sent += 1
            while self._own.iprobe(before, _LIFE):
                self._compare(self._receive(), rank, before)
                heard = time.monotonic()
            now = time.monotonic()
            if now - looked > self._limits.silence / 2:
                heard = now  # this process itself was stopped
            looked = now
            if now - heard > self._limits.silence:
                end_job(
                    self._own, f"rank {rank}: rank {before} gave no sign of life for "
                    f"{now - heard:.0f} s",
                )  # fmt: skip

    def _receive(self) -> Any:
        """Return the next sign of life of the rank before."""
        self._n_received += 1
        return self._own.recv(source=self._before, tag=_LIFE)

    def _compare(self, theirs: Any, rank: int, before: int) -> None:
        """End the job if another rank sends another message at the same place."""
        own = self.at
        if own and theirs and own[:2] == theirs[:2] and own[2] != theirs[2]:
            end_job(self._own, str(other_step(rank, own[2], before, theirs[2])))

    def end(self) -> None:
        """End the thread, once all ranks are here.

        All signs of life are received: MPICH hands one that is left to the next communicator.
        """
        self._own.Barrier()
        self._over.set()
        self.join()
        sent: int = self._own.sendrecv(
            self._n_sent, self._following, _COUNT, None, self._before, _COUNT
        )
        while self._n_received < sent:
            self._receive()
        self._own.Free()
