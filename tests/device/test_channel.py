"""A connection between two members: what an interrupt, a full buffer or an error leaves."""

from __future__ import annotations

import multiprocessing

import pytest

from pyopencl_gbdt.device.channel import FAILURE, VALUE, Channel, LostError, SaidError
from pyopencl_gbdt.device.limits import Limits

LIMITS = Limits(silence=2.0, patience=2.0)
LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def ends():
    """Both ends of a connection."""
    made = [Channel(one) for one in multiprocessing.Pipe()]
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
        other.receive(LIMITS)


def test_signs_of_life_do_not_block(ends):
    """More than buffers take, and then a message that is still whole."""
    one, other = ends
    for _ in range(5000):
        one.beat()
    assert not one.is_gone
    other.send(VALUE, b"first", LIMITS)
    assert one.receive(LIMITS) == b"first"
    with pytest.raises(KeyboardInterrupt):
        other.receive(LIMITS, interrupted)  # takes the signs of life in
    one.send(VALUE, b"second", LIMITS)
    assert other.receive(LIMITS) == b"second"


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
        one.receive(limits, other.beat)
    with pytest.raises(LostError, match="took nothing for 0 s"):
        one.send(VALUE, LARGE, limits, other.beat)
