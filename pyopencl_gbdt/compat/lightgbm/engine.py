"""LightGBM's ``train``."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from operator import attrgetter
from pathlib import Path
from typing import Any

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.callback import (
    CallbackEnv,
    EarlyStopException,
    early_stopping,
    stops,
)
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.errors import log_warning
from pyopencl_gbdt.compat.lightgbm.metrics import EvalResult
from pyopencl_gbdt.compat.lightgbm.names import choose, spellings


class Plan:
    """What ``train`` and ``cv`` read of their arguments.

    Attributes
    ----------
    params : dict
    fobj : callable or None
    n_rounds : int
    before, after : list of callable
        Callbacks, in order.
    """

    def __init__(
        self, params: dict[str, Any], num_boost_round: int, callbacks: Sequence[Any] | None
    ) -> None:
        found = choose("objective", deepcopy(params), None)
        self.fobj = found["objective"] if callable(found["objective"]) else None
        if self.fobj is not None:
            found["objective"] = "none"
        if found["objective"] is None:
            found.pop("objective")
        given = {one: found[one] for one in spellings("num_iterations") if one in found}
        found = choose("num_iterations", found, num_boost_round)
        if len(set(given.values())) > 1:
            listed = ", ".join(f"{name}={value}" for name, value in given.items())
            log_warning(
                f"Found conflicting values for num_iterations provided via 'params': {listed}. "
                f"LightGBM will perform up to {found['num_iterations']} boosting rounds. "
                "To be confident in the maximum number of boosting rounds LightGBM will perform "
                "and to suppress this warning, modify 'params' so that only one of those is "
                "present."
            )
        self.n_rounds = found["num_iterations"]
        if self.n_rounds <= 0:
            raise ValueError(
                f"Number of boosting rounds must be greater than 0. Got {self.n_rounds}."
            )
        found = choose("early_stopping_round", found, None)
        if found["early_stopping_round"] is None:
            found.pop("early_stopping_round")
        self.params = found
        listed_calls = list(callbacks or ())
        for place, one in enumerate(listed_calls):
            one.__dict__.setdefault("order", place - len(listed_calls))
        if stops(found.get("early_stopping_round", 0)):
            listed_calls.append(early_stopping(
                found["early_stopping_round"], found.get("first_metric_only", False),
                choose("verbosity", found, 1)["verbosity"] > 0,
                found.get("early_stopping_min_delta", 0.0),
            ))  # fmt: skip
        unique = sorted(dict.fromkeys(listed_calls), key=attrgetter("order"))
        self.before = [one for one in unique if getattr(one, "before_iteration", False)]
        self.after = [one for one in unique if not getattr(one, "before_iteration", False)]

    def env(self, model: Any, number: int, first: int, results: Any) -> CallbackEnv:
        return CallbackEnv(model, self.params, number, first, first + self.n_rounds, results)


def has_functions(feval: Any) -> bool:
    """Tell whether there are metrics of the user's."""
    listed = [feval] if callable(feval) else feval or ()
    return any(one is not None for one in listed)


def model_to_continue(init_model: Any) -> Booster | None:
    """Return the model that training adds to, or None."""
    if init_model is None or isinstance(init_model, Booster):
        return init_model
    return Booster(model_file=init_model)


def _check_sets(valid_sets: Any) -> None:
    for place, one in enumerate(valid_sets if isinstance(valid_sets, list) else ()):
        if not isinstance(one, Dataset):
            raise TypeError(
                "Every item in valid_sets must be a Dataset object. "
                f"Item {place} has type '{type(one).__name__}'."
            )


def train(
    params: dict[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    valid_sets: list[Dataset] | None = None,
    valid_names: list[str] | None = None,
    feval: Any = None,
    init_model: str | Path | Booster | None = None,
    keep_training_booster: bool = False,
    callbacks: list[Callable[..., Any]] | None = None,
) -> Booster:
    """Train a model, as LightGBM's ``train``.

    Parameters
    ----------
    params : dict
        LightGBM's parameters, by any of their names; ``objective`` may be a function of margins and
        the training set that returns gradients and Hessians.
    train_set : Dataset
    num_boost_round : int
    valid_sets : list of Dataset, or None
    valid_names : list of str, or None
    feval : callable, list of callable, or None
        ``feval(predictions, data)`` returns a name, a value, and whether larger is better.
    init_model : path, Booster or None
        A model to continue.
    keep_training_booster : bool
        Whether the rows stay with the model, so that it can be updated and evaluated.
    callbacks : list of callable, or None

    Returns
    -------
    Booster

    Raises
    ------
    TypeError, ValueError, LightGBMError
        In LightGBM's words. What a parameter has no counterpart for is refused by name.
    """
    if not isinstance(train_set, Dataset):
        raise TypeError(
            f"train() only accepts Dataset object, train_set has type '{type(train_set).__name__}'."
        )
    _check_sets(valid_sets)
    plan = Plan(params, num_boost_round, callbacks)
    before = model_to_continue(init_model)
    sets = [valid_sets] if isinstance(valid_sets, Dataset) else valid_sets
    names = [valid_names] if isinstance(valid_names, str) else valid_names
    booster = Booster(plan.params, train_set)
    if before is not None:
        booster.begin_with(before)
    first = booster.current_iteration()
    with_training = False
    for place, one in enumerate(sets or ()):
        named = names is not None and len(names) > place
        if one is train_set:
            with_training = True
            booster.set_train_data_name(names[place] if named and names else "training")
            continue
        one.update_params(plan.params)
        booster.add_valid(one, names[place] if named and names else f"valid_{place}")
    booster.plan(plan.n_rounds, evaluates_training=with_training,
                 keeps_predictions=has_functions(feval))  # fmt: skip
    booster.best_iteration = 0
    results: list[EvalResult] = []
    for number in range(first, first + plan.n_rounds):
        for call in plan.before:
            call(plan.env(booster, number, first, None))
        booster.update(fobj=plan.fobj)
        results = []
        if sets is not None:
            results += booster.eval_train(feval) if with_training else []
            results += booster.eval_valid(feval)
        try:
            for call in plan.after:
                call(plan.env(booster, number, first, results))
        except EarlyStopException as stop:
            booster.best_iteration = stop.best_iteration + 1
            results = stop.best_score
            break
    booster.best_score = _by_set(results)
    booster.drop_stumps(first)
    if not keep_training_booster:
        booster.free_dataset()
    return booster


def _by_set(results: Iterable[EvalResult]) -> dict[str, Any]:
    found: dict[str, Any] = defaultdict(OrderedDict)
    for one in results:
        found[one.dataset_name][one.metric_name] = one.metric_value
    return found
