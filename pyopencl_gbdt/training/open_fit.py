"""A fit that stays open: its rounds run one at a time, driven from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.callbacks.base import TrainingModel
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.run_ahead import clear_frames
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import given_instead
from pyopencl_gbdt.prediction.model import History, Model
from pyopencl_gbdt.training.continuing import Before
from pyopencl_gbdt.training.preparing import Evals, Given, check_rounds, prepare
from pyopencl_gbdt.training.running_task import RunningTask
from pyopencl_gbdt.training.train import opened_fit

if TYPE_CHECKING:
    from pyopencl_gbdt.training.eval_metrics import Metrics


class OpenFit:
    """A fit that trains a round whenever ``update`` is called.

    Get one from ``open_fit``.

    Parameters
    ----------
    task : RunningTask
    """

    def __init__(self, task: RunningTask) -> None:
        self._task, self._number = task, 0
        self._model = TrainingModel([task], task.n_rounds)

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

        There is none after as many rounds as the fit was opened for.

        Raises
        ------
        ParameterError
            If the fit is closed.
        """
        self._check_open()
        if self._number >= self._task.task.params.n_estimators:
            return False
        self._task.step()
        self._number += 1
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

    def close(self) -> None:
        """Free the memory of the fit, which cannot go on."""
        self._model.close()
        self._task.close()

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
            yield opened
    except BaseException as error:
        data.forget()
        clear_frames(error)
        raise
