"""One member of a team that trains one model: it trains its own rows, as member 0 asks.

Member 0 has the callbacks, the evaluation sets and the model. Before it does what needs all
members, it tells the others; they do the same, in the same order. Members exchange values through
their ``Team`` alone, so they may be threads, processes or hosts.

    member 0      step 0.3 | collect | step 0.3 | ..  | end      its callbacks decide
    member 1      step 0.3 | collect | step 0.3 | ..  | end      follow(fit)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyopencl_gbdt.callbacks.base import TrainingState
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team.messages import DeviceIdle, HookCalled, Request, TreesDigest
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.running_task import RunningTask
from pyopencl_gbdt.training.task import Task

#: What member 0 asks for: one round with a learning rate, finished trees, the state, that devices
#: are idle, a hook of the user's callbacks, or the end.
_STEP, _COLLECT, _STATE, _WAIT, _HOOK, _END = "step", "collect", "state", "wait", "hook", "end"


class LeadingTask(RunningTask):
    """The fit of member 0, which callbacks drive; see ``RunningTask``."""

    def __init__(self, device: Device, task: Task, share: Share) -> None:
        super().__init__(device, task, share)
        self._in_hook = False
        self.parts = ""
        """The members' devices and parts of the rows, for ``Model.variants``."""

    def _ask(self, what: str, value: float = 0.0) -> None:
        self.team.exchange(Request, (what, value))

    def enqueue(self) -> None:
        """Let all members enqueue a round; see ``RunningTask``."""
        self._ask(_STEP, self.learning_rate)
        super().enqueue()

    def model(self, n_rounds: int | None = None, attributes: dict[str, str] | None = None) -> Model:
        """Return the model so far; see ``RunningTask``."""
        if not self._in_hook:  # else all members have their trees
            self._ask(_COLLECT)
        model = super().model(n_rounds, attributes)
        model.training_device = " + ".join(self.labels)
        if self.parts:
            model.variants["devices"] = self.parts
        return model

    def state(self) -> TrainingState:
        """Return the state that later rounds need beside the model."""
        self._ask(_STATE)
        return super().state()

    def wait(self) -> None:
        """Wait until all devices are idle."""
        self._ask(_WAIT)
        super().wait()
        self.team.exchange(DeviceIdle, None)

    @contextmanager
    def hook(self, call: Any) -> Iterator[None]:
        """Let the other members call a hook, as this one does within the block.

        Parameters
        ----------
        call : object
            What they have to know of it.
        """
        self._ask(_COLLECT)
        self.fit.finished_digest()
        self._ask(_HOOK)
        self.team.exchange(HookCalled, call)
        self._in_hook = True
        try:
            yield
        finally:
            self._in_hook = False

    def end(self) -> None:
        """Let the other members end; call it after the last round.

        Raises
        ------
        DeviceError
            If members disagree on the trees, which means that a driver is at fault.
        """
        self._ask(_END)
        check_agreement(self)


def follow(fit: RunningTask, hook: Callable[[Any], None] | None = None) -> None:
    """Do what member 0 asks for, until it ends the training.

    Parameters
    ----------
    hook : callable or None
        Calls a hook of the user's callbacks; it gets what ``LeadingTask.hook`` got.

    Raises
    ------
    TeamError
        If another member has failed.
    DeviceError
        If members disagree on the trees.
    """
    while True:
        asked = fit.team.exchange(Request, None)[0]
        assert asked is not None  # member 0 asks
        what, value = asked
        if what == _STEP:
            fit.learning_rate = value
            fit.step()
        elif what == _COLLECT:
            fit.fit.finished_digest()
        elif what == _STATE:
            fit.state()
        elif what == _WAIT:
            fit.wait()
            fit.team.exchange(DeviceIdle, None)
        elif what == _HOOK:
            assert hook is not None  # member 0 asks where all members have callbacks
            hook(fit.team.exchange(HookCalled, None)[0])
        else:
            check_agreement(fit)
            return


def check_agreement(fit: RunningTask) -> None:
    """Compare the trees of all members; all of them call it, after the last round.

    Raises
    ------
    DeviceError
        In every member, if one has other trees.
    """
    digests = fit.team.exchange(TreesDigest, fit.fit.finished_digest())
    for rank, digest in enumerate(digests):
        if digest != digests[0]:
            raise DeviceError(
                f"{fit.labels[0]} and {fit.labels[rank]} grew different trees from the same sums; "
                "a driver is at fault: update it, or train on one device"
            )
