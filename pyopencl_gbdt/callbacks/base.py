"""The hooks of a callback, a list that calls several callbacks, and the model that they get.

Numbers that a training keeps beside its model are text in checkpoints.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import GBDTError, ModelFormatError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.table import TABLE
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
#: Arrays by name.
TrainingState = dict[str, F32]


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
        """Return the state that later rounds need beside the model; waits for the device."""

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
        """Return the state that later rounds need beside the model; waits for the device."""
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


#: ``evals_log[evaluation set][metric]``: a number per round; (mean, deviation) in ``cv``.
EvalsLog = Mapping[str, Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Plan:
    """What a training is about to do.

    Attributes
    ----------
    n_rounds : int
        Number of rounds.
    watched : mapping of str to sequence of str
        The metrics of every evaluation set.
    fingerprint : callable or None
        Returns, as text by name, everything that the model depends on; None in cross-validation.
    begins_with : callable or None
        Returns the fields of ``Ensemble`` that every model of this training shares; ``trees``
        are those of the model to continue. None in cross-validation.
    state_sizes : mapping of str to int
        How many numbers each array has that the training keeps beside its model.
    """

    n_rounds: int
    watched: Mapping[str, Sequence[str]]
    fingerprint: Callable[[], dict[str, str]] | None
    begins_with: Callable[[], dict[str, Any]] | None = None
    state_sizes: Mapping[str, int] = field(default_factory=dict)


class TrainingCallback:
    """Base class of callbacks; override the hooks that you need.

    Notes
    -----
    Hooks run between rounds, while the device computes what is enqueued. ``model.current()`` waits
    for the device. An exception in a hook ends the training, as Ctrl-C does, and frees the device's
    memory.
    """

    saves = False
    """Whether ``after_iteration`` saves the training: it then runs last, unless a hook ended it."""

    def check(self, plan: Plan) -> None:
        """Raise ``ParameterError`` if the plan does not suit; called before anything runs."""

    def before_training(self, model: TrainingModel) -> Any:
        """Prepare; called before the first round. The result is ignored."""
        return model

    def before_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Act before a round; return True to end the training before it.

        Parameters
        ----------
        model : TrainingModel
            ``model.learning_rate`` can be assigned for this and later rounds.
        epoch : int
            The round's number in this training, from 0.
        evals_log : mapping
            ``evals_log[evaluation set][metric]`` is a list with one value per round.
        """
        return False

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Act after a round; return True to end the training."""
        return False

    def after_training(self, model: TrainingModel) -> Any:
        """Act after the last round. The result is ignored."""
        return model

    def close(self) -> None:
        """Release resources; called last, however the training ended."""

    def state(self) -> Any:
        """Return state for checkpoints, representable as JSON; None if there is none."""
        return None

    def restore(self, state: Any) -> None:
        """Restore a state; called after ``before_training`` if the training is resumed.

        Raises
        ------
        ParameterError
            If the state was saved with other settings.
        """


class CallbackList:
    """Several callbacks as one; all are called. Callbacks that save files are called last.

    Parameters
    ----------
    callbacks : sequence of TrainingCallback

    Raises
    ------
    ParameterError
        If an entry is not a ``TrainingCallback``.
    """

    def __init__(self, callbacks: Sequence[TrainingCallback]) -> None:
        if not isinstance(callbacks, (list, tuple)):
            raise ParameterError(
                f"callbacks={callbacks!r}: expected a list of TrainingCallback; put it in a list"
            )
        for index, callback in enumerate(callbacks):
            if not isinstance(callback, TrainingCallback):
                is_class = isinstance(callback, type) and issubclass(callback, TrainingCallback)
                move = f"write {callback.__name__}(...)" if is_class else "derive its class from it"
                raise ParameterError(
                    f"callbacks[{index}]={callback!r}: expected a TrainingCallback; {move}"
                )
        self.callbacks = list(callbacks)

    def check(self, plan: Plan) -> None:
        for callback in self.callbacks:
            callback.check(plan)

    def before_training(self, model: TrainingModel) -> None:
        for callback in self.callbacks:
            callback.before_training(model)

    def before_iteration(self, model: TrainingModel, epoch: int, log: EvalsLog) -> bool:
        answers = [c.before_iteration(model, epoch, log) for c in self.callbacks]
        return any(answers)

    def after_iteration(self, model: TrainingModel, epoch: int, log: EvalsLog) -> bool:
        others = [c for c in self.callbacks if not c.saves]
        stops = [c.after_iteration(model, epoch, log) for c in others]
        if any(stops):
            return True
        answers = [c.after_iteration(model, epoch, log) for c in self.callbacks if c.saves]
        return any(answers)

    def after_training(self, model: TrainingModel) -> None:
        for callback in self.callbacks:
            callback.after_training(model)

    def close(self) -> None:
        for callback in self.callbacks:
            callback.close()

    def states(self) -> list[list[Any]]:
        """Return kind and state of the callbacks that have a state."""
        states = [[type(c).__name__, c.state()] for c in self.callbacks]
        return [pair for pair in states if pair[1] is not None]

    def restore(self, states: Sequence[Sequence[Any]]) -> None:
        """Restore each callback's state.

        Raises
        ------
        ParameterError
            If the states belong to other callbacks.
        ModelFormatError
            If one of this library's callbacks cannot have had such a state.
        """
        stateful = [c for c in self.callbacks if c.state() is not None]
        kinds, saved = [type(c).__name__ for c in stateful], [kind for kind, _ in states]
        if kinds != saved:
            raise ParameterError(
                f"the checkpoint's callbacks are {show(saved)}, these are {kinds}: expected the "
                "same; give the callbacks of the training that is resumed"
            )
        for callback, (_, state) in zip(stateful, states, strict=True):
            try:
                callback.restore(state)
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                if isinstance(error, GBDTError) or not _is_own(callback):
                    raise
                raise ModelFormatError(
                    f"the state of {type(callback).__name__} is damaged: {state!r:.80}"
                ) from error


def _is_own(callback: TrainingCallback) -> bool:
    return type(callback).__module__.startswith("pyopencl_gbdt.")


def as_text(state: TrainingState) -> dict[str, str]:
    """Return the arrays' bytes, the low one of a number first, in base64."""
    return {
        name: base64.b64encode(np.asarray(own, "<f4").tobytes()).decode("ascii")
        for name, own in state.items()
    }


def from_text(texts: Mapping[str, str], sizes: Mapping[str, int], what: str) -> TrainingState:
    """Return the arrays of a text, which is not trusted.

    ``sizes``: how many numbers each array has; all have to be there, and no other.
    ``what``: begins messages.

    Raises
    ------
    ModelFormatError
    """
    if texts.keys() != sizes.keys():
        raise ModelFormatError(f"{what}: {sorted(texts)!r:.80}: expected {sorted(sizes)}")
    found: TrainingState = {}
    for name, text in texts.items():
        try:
            own = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error) as error:
            raise ModelFormatError(f"{what}: {name} is not base64 ({error})") from error
        if len(own) != 4 * sizes[name]:
            raise ModelFormatError(
                f"{what}: {name} has {len(own)} bytes: expected {4 * sizes[name]}"
            )
        found[name] = np.frombuffer(own, "<f4").astype(np.float32)
        if not np.isfinite(found[name]).all():
            raise ModelFormatError(f"{what}: {name}: expected finite numbers")
    return found
