"""LightGBM's callbacks."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.errors import log_info, log_warning
from pyopencl_gbdt.compat.lightgbm.metrics import EvalResult
from pyopencl_gbdt.compat.lightgbm.names import spellings
from pyopencl_gbdt.lazy_dataclasses import dataclass


class EarlyStopException(Exception):  # noqa: N818 - LightGBM's name
    """Raised by a callback to end the training.

    Parameters
    ----------
    best_iteration : int
        The best round, from 0.
    best_score : list
        The metrics of that round.
    """

    def __init__(self, best_iteration: int, best_score: Sequence[Any]) -> None:
        super().__init__()
        self.best_iteration = best_iteration
        self.best_score = [EvalResult(*one) for one in best_score]


@dataclass
class CallbackEnv:
    """What callbacks get before and after a round."""

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult] | None


_Callback = Callable[[CallbackEnv], None]


def _shown(value: EvalResult, show_stdv: bool) -> str:
    text = f"{value.dataset_name}'s {value.metric_name}: {value.metric_value:g}"
    spread = value.metric_std_dev
    return text if spread is None or not show_stdv else f"{text} + {spread:g}"


def _line(results: Sequence[EvalResult], *, show_stdv: bool = True) -> str:
    return "\t".join(_shown(one, show_stdv) for one in results)


def _placed(call: _Callback, order: int, *, before: bool = False) -> _Callback:
    """Set when a callback is called; a ``partial`` keeps that when it is pickled."""
    vars(call).update(order=order, before_iteration=before)
    return call


def log_evaluation(period: int = 1, show_stdv: bool = True) -> _Callback:
    """Return a callback that prints metrics every so many rounds."""
    return _placed(partial(_log, period, show_stdv), 10)


def _log(period: int, show_stdv: bool, env: CallbackEnv) -> None:
    due = period > 0 and (env.iteration + 1) % period == 0
    if due and env.evaluation_result_list:
        line = _line(env.evaluation_result_list, show_stdv=show_stdv)
        log_info(f"[{env.iteration + 1}]\t{line}")


def record_evaluation(eval_result: dict[str, dict[str, list[Any]]]) -> _Callback:
    """Return a callback that keeps the metrics of all rounds in a dictionary.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(eval_result, dict):
        raise TypeError("eval_result should be a dictionary")
    return _placed(partial(_record, eval_result), 20)


def _record(found: dict[str, dict[str, list[Any]]], env: CallbackEnv) -> None:
    if env.iteration == env.begin_iteration:
        found.clear()
    for one in env.evaluation_result_list or ():
        own = found.setdefault(one.dataset_name, OrderedDict())
        if one.is_cv_result():
            own.setdefault(f"{one.metric_name}-mean", []).append(one.metric_value)
            own.setdefault(f"{one.metric_name}-stdv", []).append(one.metric_std_dev)
        else:
            own.setdefault(one.metric_name, []).append(one.metric_value)


def reset_parameter(**kwargs: Any) -> _Callback:
    """Return a callback that changes parameters before each round: lists, or functions of it."""
    return _placed(partial(_reset, kwargs), 10, before=True)


def _reset(values: dict[str, Any], env: CallbackEnv) -> None:
    found = {name: _value(name, given, env) for name, given in values.items()}
    changed = {name: value for name, value in found.items() if value != env.params.get(name)}
    if changed:
        for one in [env.model] if isinstance(env.model, Booster) else env.model.boosters:
            one.reset_parameter(changed)
        env.params.update(changed)


def _value(name: str, given: Any, env: CallbackEnv) -> Any:
    number = env.iteration - env.begin_iteration
    if isinstance(given, list):
        if len(given) != env.end_iteration - env.begin_iteration:
            raise ValueError(f"Length of list {name!r} has to be equal to 'num_boost_round'.")
        return given[number]
    if callable(given):
        return given(number)
    raise ValueError(
        "Only list and callable values are supported as a mapping from boosting round index to "
        "new parameter value."
    )


class _Watched:
    """One metric of one set: its best round so far."""

    def __init__(self, maximize: bool, delta: float) -> None:
        self.maximize, self.delta = maximize, delta
        self.score = -math.inf if maximize else math.inf
        self.iteration = 0
        self.results: list[EvalResult] = []

    def see(self, value: float, env: CallbackEnv) -> None:
        if self.maximize:
            better = value > self.score + self.delta
        else:
            better = value < self.score - self.delta
        if better or not self.results:
            self.score, self.iteration = value, env.iteration
            self.results = list(env.evaluation_result_list or ())


class _EarlyStopping:
    def __init__(
        self,
        stopping_rounds: int,
        first_metric_only: bool = False,
        verbose: bool = True,
        min_delta: float | list[float] = 0.0,
    ) -> None:
        self.enabled = stops(stopping_rounds)
        self.order, self.before_iteration = 30, False
        self.stopping_rounds, self.first_metric_only = stopping_rounds, first_metric_only
        self.verbose, self.min_delta = verbose, min_delta
        self._watched: list[_Watched] = []

    def __call__(self, env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            self._begin(env)
        if not self.enabled:
            return
        results = env.evaluation_result_list or []
        first = results[0].metric_name
        for one, best in zip(results, self._watched, strict=True):
            best.see(one.metric_value, env)
            if self.first_metric_only and one.metric_name != first:
                continue
            if not _is_training(one.dataset_name, env):
                if env.iteration - best.iteration >= self.stopping_rounds:
                    self._end("Early stopping, best iteration is:", one.metric_name, best)
            elif env.iteration != env.end_iteration - 1:
                continue
            if env.iteration == env.end_iteration - 1 and not _is_training(one.dataset_name, env):
                self._end("Did not meet early stopping. Best iteration is:", one.metric_name, best)

    def _end(self, text: str, metric: str, best: _Watched) -> None:
        if self.verbose:
            log_info(f"{text}\n[{best.iteration + 1}]\t{_line(best.results)}")
            if self.first_metric_only:
                log_info(f"Evaluated only: {metric}")
        raise EarlyStopException(best.iteration, best.results)

    def _begin(self, env: CallbackEnv) -> None:
        results = env.evaluation_result_list
        self.enabled = stops(self.stopping_rounds)
        if not results:
            raise ValueError(
                "For early stopping, at least one dataset and eval metric is required for "
                "evaluation"
            )
        if any(env.params.get(name, "") == "dart" for name in spellings("boosting")):
            self.enabled = False
            log_warning("Early stopping is not available in dart mode")
            return
        alone = len(results) == 1 and isinstance(env.model, Booster)
        if alone and _is_training(results[0].dataset_name, env):
            self.enabled = False
            log_warning("Only training set found, disabling early stopping.")
            return
        if self.verbose:
            log_info(
                f"Training until validation scores don't improve for {self.stopping_rounds} rounds"
            )
        deltas = self._deltas(results)
        self._watched = [
            _Watched(one.maximize, delta) for one, delta in zip(results, deltas, strict=True)
        ]

    def _deltas(self, results: Sequence[EvalResult]) -> list[float]:
        """Return the least improvement of each metric of each set."""
        n_metrics = len({one.metric_name for one in results})
        n_sets = len(results) // n_metrics
        given = self.min_delta
        if not isinstance(given, list):
            if given < 0:
                raise ValueError("Early stopping min_delta must be non-negative.")
            if given > 0 and n_metrics > 1 and not self.first_metric_only and self.verbose:
                log_info(f"Using {given} as min_delta for all metrics.")
            return [given] * len(results)
        if not all(one >= 0 for one in given):
            raise ValueError("Values for early stopping min_delta must be non-negative.")
        if not given:
            if self.verbose:
                log_info("Disabling min_delta for early stopping.")
            return [0.0] * len(results)
        if len(given) == 1:
            if self.verbose:
                log_info(f"Using {given[0]} as min_delta for all metrics.")
            return given * len(results)
        if len(given) != n_metrics:
            raise ValueError("Must provide a single value for min_delta or as many as metrics.")
        if self.first_metric_only and self.verbose:
            log_info(f"Using only {given[0]} as early stopping min_delta.")
        return given * n_sets


def _is_training(name: str, env: CallbackEnv) -> bool:
    if isinstance(env.model, Booster):
        return name == env.model._train_data_name
    return name == "train"


def stops(stopping_rounds: Any) -> bool:
    """Tell whether early stopping is asked for.

    Raises
    ------
    TypeError
        If the number of rounds is not a whole number.
    """
    if not isinstance(stopping_rounds, int):
        raise TypeError(
            f"early_stopping_round should be an integer. Got '{type(stopping_rounds).__name__}'"
        )
    return stopping_rounds > 0


def early_stopping(
    stopping_rounds: int,
    first_metric_only: bool = False,
    verbose: bool = True,
    min_delta: float | list[float] = 0.0,
) -> _EarlyStopping:
    """Return a callback that ends training when a metric of any set does not improve any more.

    Parameters
    ----------
    stopping_rounds : int
        Rounds without improvement.
    first_metric_only : bool
        Whether the first metric alone counts.
    verbose : bool
        Whether to tell of it.
    min_delta : float or list of float
        Least improvement, for all metrics or for each.
    """
    return _EarlyStopping(stopping_rounds, first_metric_only, verbose, min_delta)
