"""Launches that follow one another become one graph; what the host does stays between graphs."""

import contextlib
from types import SimpleNamespace

import numpy as np

from pyopencl_gbdt.device.cuda.graphs import recorded
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.team.nccl import NcclSum


class Stream:
    """Keeps what is enqueued while it records, as CuPy's streams do."""

    def __init__(self):
        self.recording, self.done = None, []

    def begin_capture(self):
        self.recording = []

    def end_capture(self):
        names, self.recording = self.recording, None
        return SimpleNamespace(
            upload=lambda stream: None, launch=lambda stream: self.done.extend(names)
        )

    def enqueue(self, name):
        (self.done if self.recording is None else self.recording).append(name)


def device():
    return SimpleNamespace(
        stream=Stream(), n_launches=0, cuda=contextlib.nullcontext(),
        guarded=lambda doing: contextlib.nullcontext(), unsent=None, send=lambda: None,
    )  # fmt: skip


class OnHost:
    """An action that is no launch."""

    name = "on the host"

    def __init__(self, stream):
        self.stream = stream

    def __call__(self):
        self.stream.enqueue("host")


def launch(card, name):
    def enqueue():
        card.n_launches += 1
        card.stream.enqueue(name)

    return Launch(name, enqueue)


def test_launches_that_follow_one_another_are_one_graph():
    card = device()
    a, b, c, d = (launch(card, name) for name in "abcd")
    host = OnHost(card.stream)
    actions = recorded(card, [a, b, host, c, host, host, d])
    assert card.stream.done == []  # recording runs nothing
    assert card.n_launches == 0
    assert [action.name for action in actions] == [
        "2 kernels", "on the host", "c", "on the host", "on the host", "d"
    ]  # fmt: skip
    for _ in range(2):
        for action in actions:
            action()
    assert card.stream.done == ["a", "b", "host", "c", "host", "host", "d"] * 2
    assert card.n_launches == 2 * 3


def test_first_contents_are_sent_before_a_graph_runs_and_not_recorded():
    card = device()
    card.unsent = "contents"

    def send():
        if card.unsent is not None:
            card.unsent = None
            card.stream.enqueue("contents")

    def enqueue():
        send()
        card.stream.enqueue("kernel")

    card.send = send
    (graph,) = recorded(card, [Launch("a", enqueue), Launch("b", enqueue)])
    assert card.unsent == "contents"
    graph()
    graph()
    assert card.stream.done == ["contents", *["kernel"] * 4]


def test_sums_of_the_same_rows_are_recorded():
    card = device()
    rows = {"all": None, "fixed": slice(2, 4), "as the device says": lambda: slice(0, 1)}
    sums = {name: NcclSum(None, None, window, np.dtype(np.int64)) for name, window in rows.items()}
    assert [name for name, one in sums.items() if one.fixed] == ["all", "fixed"]
    (alone,) = recorded(card, [sums["as the device says"]])
    assert alone is sums["as the device says"]
