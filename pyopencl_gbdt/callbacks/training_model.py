"""The model in training, as callbacks see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyopencl_gbdt.callbacks.training_state import TrainingState
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.table import TABLE
from pyopencl_gbdt.prediction.model import Model


class RunningFit(Protocol):
    """What callbacks need of a fit; ``training`` implements it."""

    learning_rate: float
    """Of the following rounds."""

    @property
    def n_rounds(self) -> int:
        """Number of rounds so far, including those of a continued model."""

    def model(self, n_rounds: int | None, attributes: dict[str, str] | None) -> Model:
        """Return the model so far, or only its first rounds; waits for the device."""

    def state(self) -> TrainingState:
        """Return what the rounds to come need beside the model; waits for the device."""

    def wait(self) -> None:
        """Wait until the device is idle."""


class TrainingModel:
    """The model in training; callbacks get it as an argument.

    Parameters
    ----------
    fits : sequence of RunningFit
    n_rounds : int
        Rounds before the first one.

    Attributes
    ----------
    attributes : dict of str to str
        Facts to store in the model and its file.
    """

    def __init__(self, fits: Sequence[RunningFit], n_rounds: int = 0) -> None:
        self._fits, self._n_rounds = list(fits), n_rounds
        self._keep: int | None = None
        self.attributes: dict[str, str] = {}

    @property
    def learning_rate(self) -> float:
        """The learning rate of the following rounds; can be assigned."""
        return self._alive()[0].learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        row = next(row for row in TABLE if row.name == "learning_rate")
        checked = row.convert(value)
        assert isinstance(checked, float | int)
        for fit in self._alive():
            fit.learning_rate = float(checked)

    def set_param(self, name: str, value: float) -> None:
        """Change a parameter of the following rounds; only the learning rate can change."""
        if name not in ("learning_rate", "eta"):
            raise ParameterError(
                f"set_param({name!r}): expected 'learning_rate' while a model is trained; give "
                f"{name} to train"
            )
        self.learning_rate = value

    @property
    def is_open(self) -> bool:
        """Whether training goes on, so that there is a fit to ask."""
        return bool(self._fits)

    @property
    def is_cv(self) -> bool:
        """Whether this is a cross-validation, with several models."""
        return len(self._alive()) > 1

    def num_boosted_rounds(self) -> int:
        """Return the number of rounds so far, including those of a continued model."""
        return self._fits[0].n_rounds if self._fits else self._n_rounds

    def keep_rounds(self, n_rounds: int) -> None:
        """Keep only the first ``n_rounds`` rounds when training is over."""
        self._keep = n_rounds

    def current(self) -> Model:
        """Return the model of all rounds so far; waits for the device."""
        fits = self._alive()
        if len(fits) > 1:
            raise ParameterError("cross-validation has no single model; train one with train")
        return fits[0].model(self._keep, self.attributes)

    def state(self) -> TrainingState:
        """Return what the rounds to come need beside the model; waits for the device."""
        return self._alive()[0].state()

    def wait(self) -> None:
        """Wait until the device has trained all rounds so far; rounds are enqueued ahead of it."""
        for fit in self._alive():
            fit.wait()

    def close(self) -> None:
        """Release the fits, and thus the device's memory."""
        self._n_rounds = self.num_boosted_rounds()
        self._fits = []

    def _alive(self) -> list[RunningFit]:
        if not self._fits:
            raise ParameterError("training is over: expected use within a callback's hooks")
        return self._fits
