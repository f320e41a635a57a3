"""Set the learning rate of every round."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback
from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


class LearningRateScheduler(TrainingCallback):
    """Set the learning rate of every round.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        A function of the round's number, from 0, or one rate per round. Rates are at least 0.

    Raises
    ------
    ParameterError
        When training begins, if a sequence is too short or has an invalid rate; before the
        round, if a function returns an invalid rate.

    Notes
    -----
    A function is called once a round, immediately before it. When a training is resumed from a
    checkpoint, the function is also called for the finished rounds, in order, and must return the
    same rates. It never waits for the device.
    """

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        self.learning_rates = learning_rates
        self._rates: list[float] = []
        self._done = 0

    def check(self, plan: Plan) -> None:
        """Raise an error for a sequence that is too short or has an invalid rate."""
        given = self.learning_rates
        self._rates, self._done = [], 0
        if callable(given):
            return
        listed = isinstance(given, (Sequence, np.ndarray)) and getattr(given, "shape", None) != ()
        rates: list[Any] = list(given) if listed else []
        if len(rates) < plan.n_rounds or isinstance(given, str):
            raise ParameterError(
                f"LearningRateScheduler: learning_rates={given!r}: expected a function of the "
                f"round, or {plan.n_rounds} numbers; give one a round"
            )
        self._rates = [_rate(value, number) for number, value in enumerate(rates)]

    def before_training(self, model: TrainingModel) -> None:
        """Forget the rates of an earlier training."""
        self._done = 0

    def before_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Set the round's rate."""
        model.learning_rate = self._rate_of(epoch)
        self._done = epoch + 1
        return False

    def _rate_of(self, number: int) -> float:
        """Return a round's rate; call a function for all rounds up to it, each once."""
        given = self.learning_rates
        if callable(given):
            while len(self._rates) <= number:
                asked = len(self._rates)
                self._rates.append(_rate(given(asked), asked))
        return self._rates[number]

    def state(self) -> list[float]:
        """Return the rates so far."""
        return self._rates[: self._done]

    def restore(self, state: Any) -> None:
        """Continue if the schedule's rates so far equal the saved ones; else raise."""
        self._done = len(state)
        for number, then in enumerate(state):
            now = self._rate_of(number)
            if now != then:
                raise ParameterError(
                    f"LearningRateScheduler: learning rate of round {number} is {now}: expected "
                    f"{show(then)}, as in the checkpoint; give the schedule of that training"
                )


def _rate(value: Any, number: int) -> float:
    real = isinstance(value, (numbers.Real, np.floating)) and not isinstance(value, bool)
    rate = float(value) if real else math.nan
    most = float(np.finfo(np.float32).max)
    if not 0 <= rate <= most:
        raise ParameterError(
            f"LearningRateScheduler: learning rate of round {number} is {value!r}: expected a "
            "finite number of at least 0; look at learning_rates"
        )
    return rate
