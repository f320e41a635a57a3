"""Schedules of the learning rate: set after a round, as in XGBoost, or before, as in LightGBM."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback, TrainingModel
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

#: A function of the round's number, from 0, or one rate per round.
Rates = Callable[[int], float] | Sequence[float]


class _Schedule(TrainingCallback):
    """A rate for each round; subclasses say when it is set."""

    _caller, _argument = "", ""
    """What users write, for error messages."""

    def __init__(self, learning_rates: Rates) -> None:
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
                f"{self._caller}: {self._argument}={given!r}: expected a function of the "
                f"round, or {plan.n_rounds} numbers; give one a round"
            )
        self._rates = [self._checked(value, number) for number, value in enumerate(rates)]

    def before_training(self, model: TrainingModel) -> None:
        """Forget the rates of an earlier training."""
        self._done = 0

    def _set(self, model: TrainingModel, number: int) -> bool:
        """Set the rate that belongs to a round; go on."""
        model.learning_rate = self._rate_of(number)
        self._done = number + 1
        return False

    def _rate_of(self, number: int) -> float:
        """Return a round's rate; call a function for all rounds up to it, each once."""
        given = self.learning_rates
        if callable(given):
            while len(self._rates) <= number:
                asked = len(self._rates)
                self._rates.append(self._checked(given(asked), asked))
        return self._rates[number]

    def state(self) -> dict[str, list[float]]:
        """Return the rates so far."""
        return {"rates": self._rates[: self._done]}

    def restore(self, state: Any) -> None:
        """Continue if the schedule's rates so far equal the saved ones; else raise."""
        rates = state["rates"]
        self._done = len(rates)
        for number, then in enumerate(rates):
            now = self._rate_of(number)
            if now != then:
                raise ParameterError(
                    f"{self._caller}: learning rate of round {number} is {now}: expected "
                    f"{show(then)}, as in the checkpoint; give the schedule of that training"
                )

    def _checked(self, value: Any, number: int) -> float:
        real = isinstance(value, (numbers.Real, np.floating)) and not isinstance(value, bool)
        rate = float(value) if real else math.nan
        most = float(np.finfo(np.float32).max)
        if not 0 <= rate <= most:
            raise ParameterError(
                f"{self._caller}: learning rate of round {number} is {value!r}: expected a "
                f"finite number of at least 0; look at {self._argument}"
            )
        return rate


class LearningRateScheduler(_Schedule):
    """Set the learning rate after every round, for the next one, as XGBoost does.

    The first round uses the parameter ``learning_rate``, and the last rate is never used: with 0.3
    and the rates ``[0.5, 0.1, 0]``, three rounds use 0.3, 0.5 and 0.1. ``reset_parameter`` sets
    the rate of a round before it.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        A function of the number, from 0, of the round that ended, or one rate per round. Rates are
        at least 0.

    Raises
    ------
    ParameterError
        When training begins, if a sequence is too short or has an invalid rate; after the
        round, if a function returns an invalid rate.

    Notes
    -----
    A function is called once a round, immediately after it. When a training is resumed from a
    checkpoint, the function is also called for the finished rounds, in order, and must return the
    same rates. It never waits for the device.
    """

    _caller, _argument = "LearningRateScheduler", "learning_rates"

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Set the next round's rate."""
        return self._set(model, epoch)

    def restore(self, state: Any) -> None:
        """Continue as ``_Schedule`` does; refuse a schedule that set rates before the round."""
        if isinstance(state, list):
            raise ParameterError(
                "LearningRateScheduler: the checkpoint is of a version that set a round's rate "
                "before the round: expected one of a version that sets it afterwards; train anew "
                "(resume=False), with reset_parameter(learning_rate=...) for the rates as they were"
            )
        super().restore(state)


class ResetParameter(_Schedule):
    """Set the learning rate before every round; ``reset_parameter`` makes it."""

    _caller, _argument = "reset_parameter", "learning_rate"

    def before_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Set the round's rate."""
        return self._set(model, epoch)


def reset_parameter(**parameters: Rates) -> TrainingCallback:
    """Return a callback that sets the learning rate before every round, as LightGBM's does.

    With ``learning_rate=[0.5, 0.1, 0.2]``, three rounds use 0.5, 0.1 and 0.2.
    ``LearningRateScheduler`` sets the rate after a round, for the next one.

    Parameters
    ----------
    learning_rate : callable or sequence of float
        A function of the round's number, from 0, or one rate per round. Rates are at least 0. It
        is the one parameter that can change while a model is trained.

    Raises
    ------
    ParameterError
        If another parameter is given; otherwise, and as to checkpoints, like
        ``LearningRateScheduler``, but a function is called immediately before each round.
    """
    if len(parameters) != 1 or not parameters.keys() <= {"learning_rate", "eta"}:
        given = ", ".join(f"{name}=..." for name in parameters)
        raise ParameterError(
            f"reset_parameter({given}): expected learning_rate=... alone, which can change while a "
            "model is trained; give other parameters to train"
        )
    return ResetParameter(*parameters.values())
