"""Members of a team that take different branches: an error in all, which names both messages."""

import numpy as np
import pytest

from pyopencl_gbdt.device.team.messages import HostName, Margins, RowCount, SumPart, is_by_all
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.errors import TeamError
from tests.teams import at_once, members


def in_threads(size, work):
    """Run ``work(team, rank)`` in threads of one process; return results or errors."""

    def run(team):
        with team.leaving():
            return work(team, team.rank)

    return at_once(run, threads(size))


def over_sockets(size, work):
    """Run ``work(team, rank)`` in threads that talk over sockets; a member that fails leaves."""

    def run(team, rank):
        try:
            return work(team, rank)
        except BaseException as error:
            team.leave(None if is_by_all(error) else error)
            raise

    return members(size, run)


WAYS = {"threads": in_threads, "sockets": over_sockets}


@pytest.mark.parametrize("way", WAYS)
def test_another_message(way):
    """All members see it, in the exchange itself."""

    def work(team, rank):
        team.exchange(RowCount, rank)
        if rank == 1:
            return team.exchange(Margins, np.zeros(3, np.float32))
        return team.exchange(HostName, "a")

    for error in WAYS[way](3, work):
        assert isinstance(error, TeamError)
        assert "rank 0 sends HostName after 0 sums, rank 1 sends Margins after 0" in str(error)
        assert is_by_all(error)


@pytest.mark.parametrize("size", [8, 1 << 16])
@pytest.mark.parametrize("way", WAYS)
def test_a_sum_in_place_of_a_message(way, size):
    """Small sums carry a name; numbers of large ones over sockets carry none."""

    def work(team, rank):
        team.narrows = False  # the link is not timed
        if rank == 2:
            part = np.arange(size)
            team.add_in_place(part)
            return part
        return team.exchange(RowCount, rank)

    for error in WAYS[way](3, work):
        assert isinstance(error, TeamError)
        assert "RowCount after 0 sums" in str(error)
        assert "SumPart" in str(error) or "the numbers of a sum after 0 sums" in str(error)
        assert "rank 2 sends" in str(error)


@pytest.mark.parametrize("way", WAYS)
def test_one_sum_more(way):
    """A message tells how many sums its member has run before."""

    def work(team, rank):
        team.buffers.n_sums += 5 + rank
        return team.least(RowCount, rank)

    for error in WAYS[way](2, work):
        assert "rank 0 sends RowCount after 5 sums, rank 1 sends RowCount after 6" in str(error)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_messages(way):
    def work(team, rank):
        rows, names = team.exchange(RowCount, rank), team.exchange(HostName, "x" * rank)
        return rows, names, team.most(RowCount, rank), team.add_up(SumPart, np.arange(2)).tolist()

    expected = [0, 1, 2], ["", "x", "xx"], 2, [0, 3]
    assert WAYS[way](3, work) == [expected] * 3
