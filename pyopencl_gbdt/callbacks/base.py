"""The hooks of a callback, and how those of several are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.errors import GBDTError, ModelFormatError, ParameterError

#: ``evals_log[evaluation set][metric]``: a number per round; in cross-validation (mean, deviation).
EvalsLog = Mapping[str, Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Plan:
    """What a training is going to do.

    Attributes
    ----------
    n_rounds : int
        Rounds of this training.
    watched : mapping of str to sequence of str
        The metrics of every evaluation set.
    fingerprint : callable or None
        Returns what decides over the model, by name, as text; None in cross-validation.
    begins_with : callable or None
        Returns what every model of the training has, by the names of ``Ensemble``'s fields;
        ``trees`` are those of the model to continue. None in cross-validation.
    """

    n_rounds: int
    watched: Mapping[str, Sequence[str]]
    fingerprint: Callable[[], dict[str, str]] | None
    begins_with: Callable[[], dict[str, Any]] | None = None


class TrainingCallback:
    """Base of callbacks; override the hooks that are of use.

    Notes
    -----
    Hooks run between rounds, while the device works on those that are enqueued. Reading the model,
    by ``model.current()``, waits for them. An exception ends the training, as Ctrl-C does: the
    device's memory is free again.
    """

    saves = False
    """Whether ``after_iteration`` saves the training: after all others, and if it goes on."""

    def check(self, plan: Plan) -> None:
        """Refuse what cannot work, by ``ParameterError``; called before anything runs."""

    def before_training(self, model: TrainingModel) -> Any:
        """Prepare, before the first round. What it returns is not looked at."""
        return model

    def before_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Act before a round; True ends the training without it.

        Parameters
        ----------
        model : TrainingModel
            ``model.learning_rate`` can be set for this round and those after it.
        epoch : int
            Number of the round in this training, from 0.
        evals_log : mapping
            ``evals_log[evaluation set][metric]`` is a list with a value per round.
        """
        return False

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Act after a round; True ends the training."""
        return False

    def after_training(self, model: TrainingModel) -> Any:
        """Conclude, when all rounds are done. What it returns is not looked at."""
        return model

    def close(self) -> None:
        """Let go of what is held; called last, however the training ended."""

    def state(self) -> Any:
        """Return what a checkpoint shall keep, as JSON holds it; None is nothing."""
        return None

    def restore(self, state: Any) -> None:
        """Take up a state; called after ``before_training`` where training is resumed.

        Raises
        ------
        ParameterError
            If the state is of other settings.
        """


class CallbackList:
    """Several callbacks as one; all of them are asked, those that save come last.

    Parameters
    ----------
    callbacks : sequence of TrainingCallback

    Raises
    ------
    ParameterError
        If one of them is something else.
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
        """Return the kind and the state of those that have one."""
        states = [[type(c).__name__, c.state()] for c in self.callbacks]
        return [pair for pair in states if pair[1] is not None]

    def restore(self, states: Sequence[Sequence[Any]]) -> None:
        """Give everyone its own state back.

        Raises
        ------
        ParameterError
            If the states are of other callbacks.
        ModelFormatError
            If a state is none that this library's callback can have had.
        """
        stateful = [c for c in self.callbacks if c.state() is not None]
        kinds, saved = [type(c).__name__ for c in stateful], [kind for kind, _ in states]
        if kinds != saved:
            raise ParameterError(
                f"the checkpoint's callbacks are {saved}, these are {kinds}: expected the same; "
                "give the callbacks of the training that is resumed"
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
