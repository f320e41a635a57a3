"""What two members prove to each other, and what a stranger between them cannot."""

import socket
import struct
import threading
import time

import pytest

from pyopencl_gbdt.device.team.handshake import (
    ANSWER_BYTES,
    HELLO_BYTES,
    PROOF_BYTES,
    Keys,
    Listening,
    StrangerError,
    connect,
)

KEY = b"secret"


def proved(listening, *, rank=2, other=0, key=KEY, change=lambda number, message: message):
    """Let rank 2 connect to a listening side; a stranger may change what is sent.

    Returns what each side has in the end: keys, or an error.
    """
    ours, theirs = socket.socketpair()
    found = []

    def run():
        try:
            found.append(connect(theirs, key, rank, other, time.monotonic() + 60))
        except (StrangerError, EOFError) as error:
            found.append(error)
            theirs.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=run)
    thread.start()
    with ours, theirs:
        try:
            answer = listening.take(change(0, ours.recv(HELLO_BYTES)))
            ours.sendall(change(1, answer))
            taken = listening.take(change(2, ours.recv(PROOF_BYTES)))
        except (StrangerError, struct.error) as error:
            taken = error
            ours.shutdown(socket.SHUT_RDWR)
        thread.join(60)
    return found[0], taken


def test_both_sides_have_the_same_keys_and_others_each_time():
    seen = set()
    for _ in range(2):
        one, other = proved(Listening(KEY, 0, 3))
        assert (one.sends, one.receives) == (other.receives, other.sends)
        seen |= {one.sends, one.receives}
    assert len(seen) == 4
    assert repr(one) == "Keys()"


@pytest.mark.parametrize("number", range(3), ids=["hello", "answer", "proof"])
def test_no_byte_can_be_changed(number):
    for place in range((HELLO_BYTES, ANSWER_BYTES, PROOF_BYTES)[number]):

        def change(which, message, place=place):
            some = bytearray(message)
            if which == number:
                some[place] ^= 1
            return bytes(some)

        one, other = proved(Listening(KEY, 0, 4), change=change)
        assert not isinstance(other, Keys)
        assert number == 2 or not isinstance(one, Keys)


def test_what_is_refused():
    for listening, given in (
        (Listening(b"other", 0, 3), {}),
        (Listening(KEY, 1, 3), {}),  # another member than the one that was called
        (Listening(KEY, 0, 2), {}),  # a rank that the team does not have
        (Listening(KEY, 2, 3), {"other": 2}),  # a rank that does not connect to this one
    ):
        one, other = proved(listening, **given)
        assert not isinstance(one, Keys)
        assert not isinstance(other, Keys)


def test_a_proof_is_worth_nothing_elsewhere():
    """Neither in another connection nor sent back to the side that made it."""
    heard = []
    proved(Listening(KEY, 0, 3), change=lambda _, message: heard.append(message) or message)
    hello, answer, proof = heard
    for again in (proof, answer[-PROOF_BYTES:]):
        side = Listening(KEY, 0, 3)
        fresh = side.take(hello)
        for message in (again, fresh[-PROOF_BYTES:]):
            with pytest.raises(StrangerError):
                side.take(message)
