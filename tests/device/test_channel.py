"""A connection between two members: what an interrupt, a full buffer or an error leaves."""

import socket

import pytest

from pyopencl_gbdt.device.team.channel import (
    FAILURE,
    HEAD_BYTES,
    NUMBERS,
    VALUE,
    Channel,
    LostError,
    OtherKindError,
    SaidError,
)
from pyopencl_gbdt.device.team.handshake import Keys, Limits

LIMITS = Limits(silence=2.0, patience=2.0)
KEYS = Keys(b"there", b"back"), Keys(b"back", b"there")
LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def ends():
    """Both ends of a connection."""
    made = [Channel(one, keys) for one, keys in zip(socket.socketpair(), KEYS, strict=True)]
    yield made
    for one in made:
        one.close(None, LIMITS)


def interrupted():
    raise KeyboardInterrupt


def test_nothing_follows_a_message_that_was_cut(ends):
    """The other member neither takes the rest for a message nor waits for it."""
    one, other = ends
    with pytest.raises(KeyboardInterrupt):
        one.send(VALUE, LARGE, LIMITS, interrupted)
    one.beat()
    with pytest.raises(LostError, match="as one was cut"):
        one.send(VALUE, b"next", LIMITS)
    one.close("why", LIMITS)
    with pytest.raises(LostError, match="ended"):
        other.receive(VALUE, LIMITS)


def test_signs_of_life_do_not_block(ends):
    """More than buffers take, and then a message that is still whole."""
    one, other = ends
    for _ in range(5000):
        one.beat()
    assert not one.is_gone
    other.send(VALUE, b"first", LIMITS)
    assert one.receive(VALUE, LIMITS) == b"first"
    with pytest.raises(KeyboardInterrupt):
        other.receive(VALUE, LIMITS, interrupted)  # takes the signs of life in
    one.send(VALUE, b"second", LIMITS)
    assert other.receive(VALUE, LIMITS) == b"second"


def test_both_send_at_once_and_one_says_why_it_failed(ends):
    """A member that sends megabytes takes in what comes meanwhile."""
    one, other = ends
    other.send(FAILURE, b"rank 1: no memory", LIMITS)
    with pytest.raises(SaidError, match="rank 1: no memory"):
        one.send(VALUE, LARGE, LIMITS)


def test_a_member_that_computes_too_long(ends):
    """It gives signs of life, but sends nothing and takes nothing."""
    one, other = ends
    limits = Limits(silence=2.0, patience=0.05)
    with pytest.raises(LostError, match="sent nothing for 0 s"):
        one.receive(VALUE, limits, other.beat)
    with pytest.raises(LostError, match="took nothing for 0 s"):
        one.send(VALUE, LARGE, limits, other.beat)


def sent(*messages):
    """Return the bytes of these messages, as one end sends them in this order."""
    one, other = (Channel(end, KEYS[0]) for end in socket.socketpair())
    raw = []
    for kind, data in messages:
        one.send(kind, data, LIMITS)
        raw.append(other._socket.recv(1 << 16))
    for end in (one, other):
        end.close(None, LIMITS)
    return raw


FIRST, SECOND, SUMS = sent((VALUE, b"first"), (VALUE, b"second"), (NUMBERS, b"1234"))
#: What somebody on the network may send instead of the first message.
FORGED = {
    "another byte": FIRST[:-1] + b"s",
    "another kind": b"N" + FIRST[1:],
    "another size": FIRST[:1] + bytes([6]) + FIRST[2:] + b"!",
    "another signature": FIRST[: HEAD_BYTES - 1] + b"!" + FIRST[HEAD_BYTES:],
    "the second": SECOND,
    "a failure": b"F" + FIRST[1:],
    "a sign of life": b"B" + bytes(HEAD_BYTES - 1),
    "twice": FIRST + FIRST,
    "numbers made a value": FIRST + SECOND + b"V" + SUMS[1:],
}


@pytest.mark.parametrize("what", FORGED)
def test_what_somebody_on_the_network_sends_is_not_handed_on(ends, what):
    one, other = ends
    one._socket.sendall(FORGED[what])
    came = []
    with pytest.raises(LostError, match="sent a message with a wrong signature"):
        came.extend(iter(lambda: other.receive(VALUE, LIMITS), None))
    assert came == [b"first", b"second"][: len(came)]


def test_a_message_that_comes_back_is_not_taken(ends):
    """Each direction has a key of its own."""
    one, other = ends
    one.send(VALUE, b"first", LIMITS)
    other._socket.sendall(other._socket.recv(1 << 10))
    with pytest.raises(LostError, match="wrong signature"):
        one.receive(VALUE, LIMITS)


def test_numbers_are_not_taken_for_a_value(ends):
    """Their bytes are not signed, and what is unpickled has to be."""
    one, other = ends
    one.send(NUMBERS, b"1234", LIMITS)
    one.send(NUMBERS, b"5678", LIMITS)
    assert other.receive(NUMBERS, LIMITS) == b"1234"
    with pytest.raises(OtherKindError) as caught:
        other.receive(VALUE, LIMITS)
    assert (caught.value.kind, bytes(caught.value.data)) == (NUMBERS, b"5678")
