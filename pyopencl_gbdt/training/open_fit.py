"""A fit that stays open: its rounds run one at a time, driven from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.callbacks.base import CallbackList, TrainingModel
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.device.run_ahead import clear_frames, settled
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.parameters.parameters import given_instead
from pyopencl_gbdt.prediction.model import History, Model
from pyopencl_gbdt.training.continuing import Before
from pyopencl_gbdt.training.fit_facts import Task, check_exact
from pyopencl_gbdt.training.preparing import Evals, Given, check_rounds, prepare, prepared_on
from pyopencl_gbdt.training.running_task import RunningTask

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.checkpoint_files import CheckPoint
    from pyopencl_gbdt.training.eval_metrics import Metrics


class OpenFit:
    """A fit that trains a round whenever ``update`` is called; ``train`` drives one to its end.

    Get one from ``open_fit``.

    Parameters
    ----------
    fit : RunningTask
    callbacks : CallbackList
        What runs before and after every round.
    saved : CheckPoint or None
        Where the fit goes on from.
    """

    def __init__(
        self,
        fit: RunningTask,
        callbacks: CallbackList | None = None,
        saved: CheckPoint | None = None,
    ) -> None:
        self._task, self._callbacks = fit, callbacks or CallbackList(())
        self._model = TrainingModel([fit], fit.n_rounds)
        self._is_over = False
        self._number = 0 if saved is None else saved.n_rounds
        self._saved = saved

    def begin(self) -> None:
        """Let the callbacks begin; call it before the first ``update``."""
        saved = self._saved
        self._callbacks.before_training(self._model)
        if saved is not None:
            self._callbacks.restore(saved.callbacks)
            self._model.learning_rate = saved.learning_rate
            self._model.attributes.update(saved.attributes)

    @property
    def n_rounds(self) -> int:
        """Number of rounds so far, including those of a continued model."""
        return self._model.num_boosted_rounds()

    @property
    def history(self) -> History:
        """Metrics of every round so far, as ``Model.history`` holds them."""
        return self._task.history

    @property
    def learning_rate(self) -> float:
        """The learning rate of the rounds to come; can be assigned while the fit is open."""
        self._check_open()
        return self._model.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._check_open()
        self._model.learning_rate = value

    def update(self) -> bool:
        """Train one round; return whether there was one to train.

        There is none after as many rounds as the fit was opened for, and none after a callback has
        ended the training.

        Raises
        ------
        ParameterError
            If the fit is closed.
        """
        if self._is_over or self._number >= self._task.task.params.n_estimators:
            self._check_open()
            return False
        number, history = self._number, self._task.history
        if self._callbacks.before_iteration(self._model, number, history):
            self._is_over = True
            return False
        self._task.step()
        self._number += 1
        self._is_over = self._callbacks.after_iteration(self._model, number, history)
        return True

    def wait(self) -> None:
        """Wait until the device is idle; rounds are enqueued ahead of it."""
        self._check_open()
        self._task.wait()

    @property
    def n_dropped(self) -> Sequence[int]:
        """The number of trees that each round of this fit has dropped; empty but for DART."""
        return self._task.fit.kernels.boosting.n_dropped

    def model(self) -> Model:
        """Return the model of all rounds so far; waits for the device. The fit can go on.

        Raises
        ------
        ParameterError
            If the fit is closed.
        """
        self._check_open()
        return self._model.current()

    def finish(self) -> Model:
        """Return the model when training is over, with what was measured in the whole fit."""
        self._callbacks.after_training(self._model)
        return self._task.finish(self._model.current())

    def close(self) -> None:
        """Free the memory of the fit, which cannot go on."""
        self._is_over = True
        self._model.close()
        self._task.close()
        self._callbacks.close()

    def _check_open(self) -> None:
        if not self._model.is_open:
            raise ParameterError(
                "the fit is closed: expected use within the block of open_fit; open another one"
            )


@contextlib.contextmanager
def open_fit(
    params: Given,
    data: Dataset,
    n_rounds: int | None = None,
    *,
    evals: Evals = (),
    eval_metric: Metrics = None,
    custom_metric: Callable[..., Any] | None = None,
    model: Before | None = None,
    first_round: int | None = None,
) -> Iterator[OpenFit]:
    """Open a fit whose rounds run one at a time, for a ``with`` block.

    ::

        with open_fit({"max_depth": 4}, data, 100) as fit:
            while fit.update():
                print(fit.n_rounds, fit.history)
            trained = fit.model()

    As many calls of ``update`` as ``train`` has rounds give the bytes of its model.

    Parameters
    ----------
    params, data, evals, eval_metric, custom_metric, model
        As for ``train``.
    n_rounds : int or None
        Most rounds that ``update`` trains; None takes ``n_estimators`` from ``params`` (100).
    first_round : int or None
        The number from 0 by which the first round draws its random numbers; None is the number of
        rounds of ``model``. It has no effect with ``booster="dart"``.

    Yields
    ------
    OpenFit

    Raises
    ------
    ParameterError, DataError, DeviceError, MemoryPlanError
        As for ``train``; but a kernel that fails is not replaced by another variant.
    """
    n_rounds = check_rounds(n_rounds)
    params = given_instead(params, n_estimators=n_rounds)
    task = prepare(params, data, evals, eval_metric, model, custom_metric)
    if not task.params.weighs_trees:  # else the number of a round says which trees it drops
        task = replace(task, first_round=first_round)
    try:
        with opened_fit(task) as fit, contextlib.closing(OpenFit(fit)) as opened:
            opened.begin()
            yield opened
    except BaseException as error:
        data.forget()
        clear_frames(error)
        raise


@contextlib.contextmanager
def opened_fit(
    task: Task, *, profile: bool = False, opened: Callable[[Device], None] | None = None
) -> Iterator[RunningTask]:
    """Open what ``task.params.device`` names, and yield a fit that callbacks can drive.

    ``opened`` is called with a device that trains alone, before it is used. If the block ends
    early, for example by Ctrl-C, all devices are waited for and all threads end.
    """
    name = task.params.device
    if names_several(name):
        from pyopencl_gbdt.training.device_team import leading
        from pyopencl_gbdt.training.division import divided

        parts = divided(find_several(name), task)
        if parts.note and task.params.verbosity:
            tell(parts.note)
        if len(parts.devices) > 1:
            for one in parts.devices:
                limit_memory(one, task.params.device_memory)
            with leading(parts.devices, task, parts.bounds) as together:
                together.parts = parts.described()
                yield together
            return
        name = parts.devices[0].caps.device_id
    device = open_device(name, profile=profile)
    if opened is not None:
        opened(device)
    limit_memory(device, task.params.device_memory)
    device.warm_up()
    with settled(device):
        fit = RunningTask(device, prepared_on(device, task))
        try:
            if task.by_codes:
                check_exact(task.params, fit.fit.parts.features.layout.feature_bins)
            yield fit
        finally:
            fit.close()
