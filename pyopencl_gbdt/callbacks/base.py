"""The hooks of a callback, and a list that calls several callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.errors import GBDTError, ModelFormatError, ParameterError
from pyopencl_gbdt.messages import show

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
    """Several callbacks as one; all are called, those that save last.

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
