"""Callbacks, by XGBoost's names; they get the ``Booster`` in training."""

from __future__ import annotations

import os
import pickle
from abc import ABC
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.callbacks.early_stopping import more_is_better
from pyopencl_gbdt.callbacks.monitor import latest
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.collective import communicator_print, get_rank
from pyopencl_gbdt.errors import DataTypeError, ParameterError, RoundIndexError
from pyopencl_gbdt.messages import show

#: ``evals_log[evaluation set][metric]``: a number for each round; in ``cv`` (mean, deviation).
_Log = dict[str, dict[str, Any]]


class TrainingCallback(ABC):  # noqa: B024
    """Base class of callbacks; override the hooks that you need."""

    EvalsLog: TypeAlias = dict[str, dict[str, Any]]

    def __init__(self) -> None:
        super().__init__()

    def before_training(self, model: Any) -> Any:
        """Act before the first round; return the model."""
        return model

    def after_training(self, model: Any) -> Any:
        """Act after the last round; return the model, possibly another one."""
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Act before a round; return True to end the training."""
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Act after a round; return True to end the training."""
        return False


class CallbackContainer:
    """Several callbacks, and the metrics of the rounds so far.

    Parameters
    ----------
    callbacks : sequence of TrainingCallback
    metric : callable or None
        A user's metric.
    output_margin : bool
        Whether it gets margins.
    is_cv : bool
        Whether models are those of a cross-validation.

    Raises
    ------
    DataTypeError
        If an entry is no ``TrainingCallback``, or ``metric`` cannot be called.
    """

    def __init__(
        self,
        callbacks: Sequence[TrainingCallback],
        metric: Callable[..., Any] | None = None,
        output_margin: bool = True,
        is_cv: bool = False,
    ) -> None:
        for one in callbacks:
            if not isinstance(one, TrainingCallback):
                raise DataTypeError(
                    f"callback must be an instance of `TrainingCallback`., not {show(one)}; derive "
                    "its class from it"
                )
        if metric is not None and not callable(metric):
            raise DataTypeError(
                "metric must be callable object for monitoring. For builtin metrics, passing them "
                "in training parameter invokes monitor automatically.; give eval_metric in params"
            )
        self.callbacks = list(dict.fromkeys(callbacks))
        self.metric, self.is_cv = metric, is_cv
        self.history: _Log = {}
        self.columns: list[tuple[str, str]] = []  # sets and metrics, in the order of a round
        self._output_margin = output_margin

    def before_training(self, model: Any) -> Any:
        """Call the hooks; return the model."""
        return self._called("before_training", model)

    def after_training(self, model: Any) -> Any:
        """Call the hooks; return the model."""
        return self._called("after_training", model)

    def _called(self, hook: str, model: Any) -> Any:
        for one in self.callbacks:
            model = getattr(one, hook)(model=model)
            good = isinstance(getattr(model, "cvfolds", None), list)
            if not (good if self.is_cv else isinstance(model, Booster)):
                raise AssertionError(f"{hook} should return the model")
        return model

    def before_iteration(self, model: Any, epoch: int, dtrain: Any, evals: Any) -> bool:
        """Call the hooks; return whether one of them ends the training."""
        return any(one.before_iteration(model, epoch, self.history) for one in self.callbacks)

    def after_iteration(self, model: Any, epoch: int, dtrain: Any, evals: Any) -> bool:
        """Evaluate the sets, then call the hooks; return whether one of them ends the training."""
        self.evaluate(model, evals)
        return self.call_after(model, epoch)

    def evaluate(self, model: Any, evals: Any) -> None:
        """Add the metrics of a round to the history."""
        scores = model.scores(evals or (), self.metric, output_margin=self._output_margin)
        self.columns = [(data, metric) for data, metric, _ in scores]
        for data, metric, value in scores:
            self.history.setdefault(data, {}).setdefault(metric, []).append(value)

    def call_after(self, model: Any, epoch: int) -> bool:
        """Call the hooks after a round; return whether one of them ends the training."""
        return any(one.after_iteration(model, epoch, self.history) for one in self.callbacks)


class LearningRateScheduler(TrainingCallback):
    """Set the learning rate after each round, for the next one.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        A function of the round's number, or a rate for each round.

    Raises
    ------
    DataTypeError
        If it is neither.
    """

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        if not callable(learning_rates) and not isinstance(learning_rates, Sequence):
            raise DataTypeError(
                "Invalid learning rates, expecting callable or sequence, got: "
                f"{type(learning_rates)}; give one"
            )
        rates = learning_rates if callable(learning_rates) else learning_rates.__getitem__
        self.learning_rates: Callable[[int], float] = rates
        super().__init__()

    def after_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Set the rate."""
        model.set_param("learning_rate", self.learning_rates(epoch))
        return False


class EarlyStopping(TrainingCallback):
    """End the training when a metric has not improved for some rounds.

    Parameters
    ----------
    rounds : int
    metric_name, data_name : str or None
        The metric and the set to watch; None is the last one.
    maximize : bool or None
        Whether larger is better; None decides by the metric's name.
    save_best : bool
        Return a model of the rounds up to the best one.
    min_delta : float
        The least difference that is an improvement.

    Raises
    ------
    ParameterError
        If ``min_delta`` is below 0; in a training, if there is no such set or metric.
    """

    @named_arguments
    def __init__(
        self,
        *,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool | None = False,
        min_delta: float = 0.0,
    ) -> None:
        if min_delta < 0:
            raise ParameterError(
                f"min_delta={show(min_delta)}: min_delta must be greater or equal to 0.; 0 is any "
                "improvement"
            )
        self.data, self.metric_name, self.rounds = data_name, metric_name, rounds
        self.save_best, self.maximize = save_best, maximize
        self.stopping_history: _Log = {}
        self.best_scores: dict[str, Any] = {}
        self.current_rounds = self.starting_round = 0
        self._min_delta = min_delta
        super().__init__()

    def before_training(self, model: Any) -> Any:
        """Keep the number of earlier rounds."""
        if self.save_best and not isinstance(model, Booster):
            raise ParameterError(
                "`save_best` is not applicable to the `cv` function as it doesn't return a model.; "
                "leave it out"
            )
        self.starting_round = model.num_boosted_rounds()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Compare the last score with the best one."""
        if not evals_log:
            raise ParameterError(
                "Must have at least 1 validation dataset for early stopping.; give evals= to "
                "train, or eval_set= to fit"
            )
        data = self.data or list(evals_log)[-1]
        if data not in evals_log:
            raise ParameterError(f"No dataset named: {data}; the sets are {list(evals_log)}")
        metric = self.metric_name or list(evals_log[data])[-1]
        if metric not in evals_log[data]:
            known = list(evals_log[data])
            raise ParameterError(f"No metric named: {metric}; the metrics are {known}")
        score = evals_log[data][metric][-1]
        return self._waited_enough(model, data, metric, score, epoch + self.starting_round)

    def _waited_enough(self, model: Any, data: str, metric: str, score: Any, epoch: int) -> bool:
        if self.maximize is None:
            self.maximize = more_is_better(metric)
        best = self.best_scores.setdefault(data, {}).setdefault(metric, [])
        self.stopping_history.setdefault(data, {}).setdefault(metric, []).append(score)
        if not best or self._improves(_mean(score), _mean(best[-1])):
            best.append(score)
            self.current_rounds = 0
            model.set_attr(best_score=str(_mean(score)), best_iteration=str(epoch))
        else:
            self.current_rounds += 1
        return self.current_rounds >= self.rounds

    def _improves(self, new: float, best: float) -> bool:
        new, best = (new, best) if self.maximize else (best, new)
        return bool(new - self._min_delta > best)

    def after_training(self, model: Any) -> Any:
        """Return the rounds up to the best one, if that is asked for."""
        if not self.save_best:
            return model
        iteration, score = model.best_iteration, model.best_score
        try:
            model = model[: iteration + 1]
        except RoundIndexError as error:
            raise ParameterError(
                f"`save_best` is not applicable to the current booster: {error}"
            ) from error
        model.best_iteration, model.best_score = iteration, score
        return model


def _mean(score: Any) -> float:
    """Return a score; of a cross-validation, the mean."""
    return float(score[0] if isinstance(score, tuple) else score)


class EvaluationMonitor(TrainingCallback):
    """Print the metrics of rounds.

    Parameters
    ----------
    rank : int
        Which process prints.
    period : int
        Print every so many rounds, and the last one.
    show_stdv : bool
        Whether ``cv`` prints standard deviations, too.
    logger : callable
        Receives each line.
    """

    def __init__(
        self,
        rank: int = 0,
        period: int = 1,
        show_stdv: bool = False,
        logger: Callable[[str], None] = communicator_print,
    ) -> None:
        if period <= 0:
            raise AssertionError(f"period={show(period)}: expected 1 or more rounds; give 1")
        self.printer_rank, self.period, self.show_stdv = rank, period, show_stdv
        self._logger = logger
        self._latest: str | None = None
        super().__init__()

    def after_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Print the round's metrics, or keep them for the end."""
        if not evals_log or get_rank() != self.printer_rank:
            return False
        line = "\t".join([f"[{epoch}]", *latest(evals_log, deviation=self.show_stdv)]) + "\n"
        if epoch % self.period == 0:
            self._logger(line)
        self._latest = None if epoch % self.period == 0 else line
        return False

    def after_training(self, model: Any) -> Any:
        """Print the last round's metrics if that has not happened."""
        if self._latest is not None and get_rank() == self.printer_rank:
            self._logger(self._latest)
        return model


class TrainingCheckPoint(TrainingCallback):
    """Save the model every so many rounds.

    Parameters
    ----------
    directory : path
    name : str
        Files are called ``name_0.ubj``, ``name_100.ubj`` and so on.
    as_pickle : bool
        Pickle the booster, with its parameters.
    interval : int
        Rounds between two files.
    """

    default_format = "ubj"

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str = "model",
        as_pickle: bool = False,
        interval: int = 100,
    ) -> None:
        self._path = os.fspath(directory)
        self._name, self._as_pickle, self._iterations = name, as_pickle, interval
        self._epoch = self._start = 0
        super().__init__()

    def before_training(self, model: Any) -> Any:
        """Keep the number of earlier rounds."""
        self._start = model.num_boosted_rounds()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: _Log) -> bool:
        """Save the model if it is time."""
        if self._epoch == self._iterations:
            ending = "pkl" if self._as_pickle else self.default_format
            number = epoch + self._start
            path = Path(self._path) / f"{self._name}_{number}.{ending}"
            self._epoch = 0
            if get_rank() == 0:
                if self._as_pickle:
                    with path.open("wb") as file:
                        pickle.dump(model, file)
                else:
                    model.save_model(path)
        self._epoch += 1
        return False


def by_arguments(
    callbacks: Sequence[TrainingCallback] | None,
    verbose_eval: bool | int | None,
    early_stopping_rounds: int | None,
    *,
    maximize: bool | None = None,
    show_stdv: bool = False,
) -> list[TrainingCallback]:
    """Return callbacks, and those that other arguments of a training stand for."""
    listed = list(callbacks or ())
    if verbose_eval:
        period = 1 if verbose_eval is True else verbose_eval
        listed.append(EvaluationMonitor(period=period, show_stdv=show_stdv))
    if early_stopping_rounds:
        listed.append(EarlyStopping(rounds=early_stopping_rounds, maximize=maximize))
    return listed


__all__ = [
    "CallbackContainer", "EarlyStopping", "EvaluationMonitor", "LearningRateScheduler",
    "TrainingCallback", "TrainingCheckPoint",
]  # fmt: skip
