"""Strangers at the doors of a team's members: they get in nowhere, and hold up nobody."""

import errno
import pickle
import socket
import struct
import threading
import time
from contextlib import ExitStack, suppress
from itertools import pairwise

import pytest

from pyopencl_gbdt.device.team import rendezvous
from pyopencl_gbdt.device.team.handshake import HELLO_BYTES, PROOF_BYTES, Limits, Listening
from pyopencl_gbdt.device.team.messages import RowCount
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.errors import ParameterError, TeamError
from tests.teams import at_once, members

ran = []


def run(what):
    ran.append(what)


class Code:
    """Runs a function where it is unpickled."""

    def __reduce__(self):
        return run, ("code of a stranger",)


def passed_on(source, target, n_bytes, change):
    """Pass on so many bytes from one socket to another, changed; end both if one ends."""
    try:
        for place in range(n_bytes):
            byte = source.recv(1)
            if not byte:
                raise ConnectionError
            target.sendall(change(place, byte))
    except OSError:
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("rank", "said"),
    [(None, "rank 1 ended before it joined"), (0, "the address of rank 1, does not know the key")],
    ids=["as it is", "with rank 0 for 1"],
)
def test_a_stranger_between_two_members_is_known_to_neither(rank, said, monkeypatch):
    """Rank 1 dies once its door is open; a stranger takes its port.

    What rank 2 says there he passes on to rank 0 and back. In the end he sends code.
    """
    monkeypatch.setattr("pyopencl_gbdt.device.team.rendezvous._LOOK", 0.1)
    doors = [Rendezvous("127.0.0.1", b"secret") for _ in range(3)]
    addresses = [door.address for door in doors]
    doors[1].close()
    found = {}

    def join(number):
        try:
            doors[number].join(number, addresses, Limits()).leave()
        except TeamError as error:
            found[number] = str(error)

    def change(place, byte):
        return bytes([rank]) if rank is not None and place == 15 else byte  # the rank called

    with socket.create_server(addresses[1]) as stranger, ExitStack() as ends:
        threads = [threading.Thread(target=join, args=(number,)) for number in (0, 2)]
        for thread in threads:
            thread.start()
        while True:
            caller = ends.enter_context(stranger.accept()[0])
            if caller.recv(1, socket.MSG_PEEK):  # rank 0 only looks whether this is open
                break
        to_rank_0 = ends.enter_context(socket.create_connection(addresses[0]))
        back = threading.Thread(
            target=passed_on, args=(to_rank_0, caller, 1 << 10, lambda _, byte: byte)
        )
        back.start()
        passed_on(caller, to_rank_0, HELLO_BYTES + PROOF_BYTES, change)
        code = pickle.dumps(Code())
        with suppress(OSError):  # rank 0 has gone
            to_rank_0.sendall(struct.pack(">i", len(code)) + code)
        stranger.close()
        for thread in (*threads, back):
            thread.join(20)
    assert ran == []
    assert found[0] == "rank 1 ended, so rank 0 ended too"
    assert said in found[2]


def strangers(stack, address, count):
    """Connect so many times, and say nothing."""
    return [stack.enter_context(socket.create_connection(address)) for _ in range(count)]


def joined(others, **limits):
    """Join two members, while strangers come to the first; return seconds and both teams."""
    with ExitStack() as stack:
        before = threading.active_count()

        def work(team, rank):
            return team.exchange(RowCount, rank), threading.active_count() - before

        real = Rendezvous.join

        def join(door, rank, addresses, given):
            if rank == 0:
                others(stack, addresses[0])
            else:
                time.sleep(0.1)  # strangers are first
            return real(door, rank, addresses, given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Rendezvous, "join", join)
            began = time.monotonic()
            found = members(2, work, Limits(**limits))
    return time.monotonic() - began, found


def test_a_slow_stranger_holds_up_nobody(monkeypatch):
    """He sends a byte now and then, of what may be a hello."""
    monkeypatch.setattr(rendezvous, "HANDSHAKE_SECONDS", 60)

    def slow(stack, address):
        (one,) = strangers(stack, address, 1)
        one.sendall(b"g")

    seconds, found = joined(slow)
    assert [value for value, _ in found] == [[0, 1]] * 2
    assert seconds < 30


def test_many_strangers(monkeypatch):
    """Few wait at a time, all in one thread; members come in behind them."""
    monkeypatch.setattr(rendezvous, "MOST_WAITING", 8)
    monkeypatch.setattr(rendezvous, "HANDSHAKE_SECONDS", 0.4)  # a member needs some, too
    most, register = [0], rendezvous.Arrivals._register

    def watched(self):
        most[0] = max(most[0], len(self._waiting))
        register(self)

    monkeypatch.setattr(rendezvous.Arrivals, "_register", watched)
    seconds, found = joined(lambda stack, address: strangers(stack, address, 24))
    assert [value for value, _ in found] == [[0, 1]] * 2
    assert most == [8]
    assert max(n_threads for _, n_threads in found) < 10
    assert seconds < 30


def test_a_member_that_closed_its_door_before_its_proof_was_read(monkeypatch):
    """On a busy host, or where a packet was lost, its proof takes longer than the next look."""
    monkeypatch.setattr("pyopencl_gbdt.device.team.rendezvous._LOOK", 0.05)
    take = Listening.take

    def late(side, message):
        if len(message) == PROOF_BYTES:
            time.sleep(1)
        return take(side, message)

    monkeypatch.setattr(Listening, "take", late)
    found = members(2, lambda team, rank: team.exchange(RowCount, rank), Limits())
    assert found == [[0, 1]] * 2


@pytest.mark.parametrize("key", [b"", "secret", None])
def test_a_key_is_bytes(key):
    with pytest.raises(ParameterError, match=r"^key of type .*secrets\.token_bytes\(32\)"):
        Rendezvous("127.0.0.1", key)


def test_members_with_other_keys(monkeypatch):
    """Both end soon, and the one that connects says why."""
    monkeypatch.setattr("pyopencl_gbdt.device.team.rendezvous._LOOK", 0.1)
    doors = [Rendezvous("127.0.0.1", key) for key in (b"secret", b"other")]
    addresses = [door.address for door in doors]
    found = at_once(lambda rank: doors[rank].join(rank, addresses, Limits()), range(2))
    assert all(isinstance(error, TeamError) for error in found)
    errors = [str(error) for error in found]
    assert errors[0] == "rank 1 ended, so rank 0 ended too"
    assert "the address of rank 0, does not know the key: give all members the same" in errors[1]


def has_ended(link):
    link.settimeout(0.02)
    try:
        return not link.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_time_is_over_for_one_that_goes_on_slowly(monkeypatch):
    """Each byte that he sends gives him no more time."""
    monkeypatch.setattr(rendezvous, "HANDSHAKE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        is_open = [True]
        waits = rendezvous.Arrivals(listener, lambda: is_open[0], lambda: Listening(b"key", 0, 2))
        thread = threading.Thread(target=waits.run)
        thread.start()
        began = time.monotonic()
        with socket.create_connection(listener.getsockname()) as stranger:
            while not has_ended(stranger):
                assert time.monotonic() - began < 30
                stranger.sendall(b"g")
            assert time.monotonic() - began >= 0.2
        is_open[0] = False
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        assert not thread.is_alive()


class NoDescriptors:
    """A listening socket that the system refuses a descriptor to, a few times."""

    def __init__(self, real, times):
        self._real, self.times, self.calls = real, times, []

    def accept(self):
        self.calls.append(time.monotonic())
        if len(self.calls) <= self.times:
            raise OSError(errno.EMFILE, "Too many open files")
        return self._real.accept()

    def __getattr__(self, name):
        return getattr(self._real, name)


def test_no_descriptor_is_left(monkeypatch):
    """It is tried again after a pause, not all the time, and the member comes in then."""
    monkeypatch.setattr(rendezvous, "PAUSE", 0.1)
    made, real = [], rendezvous.Arrivals.__init__

    def init(self, listener, *rest):
        made.append(NoDescriptors(listener, 3))
        real(self, made[-1], *rest)

    monkeypatch.setattr(rendezvous.Arrivals, "__init__", init)
    _, found = joined(lambda stack, address: None)
    assert [value for value, _ in found] == [[0, 1]] * 2
    calls = max((one.calls for one in made), key=len)[:4]
    assert len(calls) == 4
    assert all(later - one >= 0.1 for one, later in pairwise(calls))
