"""A learning rate for every round."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback
from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.errors import ParameterError


class LearningRateScheduler(TrainingCallback):
    """Set the learning rate of every round.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        A function of the round's number, from 0; or a rate for every round. Each above 0.

    Notes
    -----
    A function is asked for all rounds before the first one, so that a rate that cannot be used is
    refused before anything runs. Nothing waits for the device.
    """

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        self.learning_rates = learning_rates
        self._rates: list[float] = []
        self._done = 0

    def check(self, plan: Plan) -> None:
        """Ask for all rates, and refuse those that cannot be used."""
        given = self.learning_rates
        if callable(given):
            asked: list[Any] = [given(number) for number in range(plan.n_rounds)]
        else:
            asked = list(given) if isinstance(given, (Sequence, np.ndarray)) else []
            if len(asked) < plan.n_rounds or isinstance(given, str):
                raise ParameterError(
                    f"LearningRateScheduler: learning_rates={given!r}: expected a function of the "
                    f"round, or {plan.n_rounds} numbers; give one a round"
                )
        self._rates = [_rate(value, number) for number, value in enumerate(asked)]

    def before_training(self, model: TrainingModel) -> None:
        """Begin with the first rate."""
        self._done = 0

    def before_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Set this round's rate."""
        model.learning_rate = self._rates[epoch]
        self._done = epoch + 1
        return False

    def state(self) -> list[float]:
        """Return the rates so far."""
        return self._rates[: self._done]

    def restore(self, state: Any) -> None:
        """Go on, if the rates so far were the same."""
        self._done = len(state)
        for number, (now, then) in enumerate(zip(self._rates, state, strict=False)):
            if now != then:
                raise ParameterError(
                    f"LearningRateScheduler: learning rate of round {number} is {now}: expected "
                    f"{then}, as in the checkpoint; give the schedule of that training"
                )


def _rate(value: Any, number: int) -> float:
    real = isinstance(value, (numbers.Real, np.floating)) and not isinstance(value, bool)
    rate = float(value) if real else math.nan
    most = float(np.finfo(np.float32).max)
    if not 0 < rate <= most or np.float32(rate) == 0:
        raise ParameterError(
            f"LearningRateScheduler: learning rate of round {number} is {value!r}: expected a "
            "finite number above 0; look at learning_rates"
        )
    return rate
