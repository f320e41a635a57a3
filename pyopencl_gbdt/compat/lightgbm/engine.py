"""LightGBM's ``train`` and ``cv``."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from pyopencl_gbdt.arguments import like
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
from pyopencl_gbdt.compat.lightgbm.objectives import OBJECTIVES, RANKING


class Plan:
    """What ``train`` and ``cv`` read of their arguments.

    Attributes
    ----------
    fobj : callable or None
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
        self.n_rounds, self.results = found["num_iterations"], list[EvalResult]()
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

    def stopped(self, model: Any, first: int, evaluated: Callable[[], list[EvalResult]]) -> bool:
        """Train the rounds of a model; tell whether a callback ended them.

        The model then knows its best round. ``results`` are those of that round, or of the last.
        """
        last = first + self.n_rounds
        for number in range(first, last):
            for call in self.before:
                call(CallbackEnv(model, self.params, number, first, last, None))
            model.update(fobj=self.fobj)
            self.results = evaluated()
            try:
                for call in self.after:
                    call(CallbackEnv(model, self.params, number, first, last, self.results))
            except EarlyStopException as stop:
                model.best_iteration, self.results = stop.best_iteration + 1, stop.best_score
                return True
        return False


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
        In LightGBM's words. A parameter without a counterpart here is refused by name.
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

    def evaluated() -> list[EvalResult]:
        own = booster.eval_train(feval) if with_training else []
        return [] if sets is None else own + booster.eval_valid(feval)

    plan.stopped(booster, first, evaluated)
    booster.best_score = _by_set(plan.results)
    booster.drop_stumps(first)
    if not keep_training_booster:
        booster.free_dataset()
    return booster


def _by_set(results: Iterable[EvalResult]) -> dict[str, Any]:
    found: dict[str, Any] = defaultdict(OrderedDict)
    for one in results:
        found[one.dataset_name][one.metric_name] = one.metric_value
    return found


class CVBooster:
    """The models of all folds; a method of ``Booster`` is called of each, and returns a list.

    Parameters
    ----------
    model_file : path or None
        What ``save_model`` wrote.

    Attributes
    ----------
    boosters : list of Booster
    best_iteration : int
    """

    def __init__(self, model_file: str | Path | None = None) -> None:
        self.boosters: list[Booster] = []
        self.best_iteration = -1
        if model_file is not None:
            self.model_from_string(Path(model_file).read_text(encoding="utf-8"))

    def __getattr__(self, name: str) -> Callable[..., list[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)

        def of_each(*args: Any, **kwargs: Any) -> list[Any]:
            return [getattr(one, name)(*args, **kwargs) for one in self.boosters]

        return of_each

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def model_from_string(self, model_str: str) -> CVBooster:
        """Take the models that ``model_to_string`` returned."""
        stored = json.loads(model_str)
        self.best_iteration = stored["best_iteration"]
        self.boosters = [Booster(model_str=one) for one in stored["boosters"]]
        return self

    @like(Booster.model_to_string, after={})
    def model_to_string(self, **given: Any) -> str:
        """Return all models as JSON that holds LightGBM's text of each."""
        texts = [one.model_to_string(**given) for one in self.boosters]
        return json.dumps({"boosters": texts, "best_iteration": self.best_iteration})

    @like(Booster.save_model, after={})
    def save_model(self, filename: str | Path, **given: Any) -> CVBooster:
        """Write what ``model_to_string`` returns."""
        Path(filename).write_text(self.model_to_string(**given), encoding="utf-8")
        return self


def _folds(
    data: Dataset, folds: Any, nfold: int, params: dict[str, Any], seed: int,
    *, stratified: bool, shuffle: bool,
) -> Iterable[Any]:  # fmt: skip
    """Return the rows to train on and the rows held out, of each fold."""
    n_rows, group = data.num_data(), data.get_group()
    queries = np.zeros(n_rows, np.int32)
    if group is not None:
        queries = np.repeat(np.arange(len(group)), group)
    if folds is not None:
        if not hasattr(folds, "__iter__") and not hasattr(folds, "split"):
            raise AttributeError(
                "folds should be a generator or iterator of (train_idx, test_idx) tuples or "
                "scikit-learn splitter object with split method"
            )
        if hasattr(folds, "split"):
            folds = folds.split(X=np.empty(n_rows), y=data.get_label(), groups=queries)
        return folds  # type: ignore[no-any-return]
    given = [params.get(name) for name in spellings("objective")]
    if any(OBJECTIVES.get(str(one), "") in RANKING for one in given):
        return GroupKFold(n_splits=nfold).split(X=np.empty(n_rows), groups=queries)  # type: ignore[no-any-return]
    kind = StratifiedKFold if stratified else KFold
    division = kind(nfold, shuffle=shuffle, random_state=seed if shuffle else None)
    return division.split(X=np.empty(n_rows), y=data.get_label())  # type: ignore[no-any-return]


def cv(
    params: dict[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,
    shuffle: bool = True,
    metrics: str | list[str] | None = None,
    feval: Any = None,
    init_model: str | Path | Booster | None = None,
    fpreproc: Callable[..., Any] | None = None,
    seed: int = 0,
    callbacks: list[Callable[..., Any]] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Train a model for each fold, and return the mean and deviation of each metric by round.

    The parameters are those of LightGBM's ``cv`` and of ``train``.

    Returns
    -------
    dict
        ``"valid l2-mean"`` and ``"valid l2-stdv"``, say: lists with a number for each round; and
        ``"cvbooster"``, the models, if asked for.
    """
    if not isinstance(train_set, Dataset):
        raise TypeError(
            f"cv() only accepts Dataset object, train_set has type '{type(train_set).__name__}'."
        )
    plan = Plan(params, num_boost_round, callbacks)
    if metrics is not None:
        for name in spellings("metric"):
            plan.params.pop(name, None)
        plan.params["metric"] = metrics
    before = model_to_continue(init_model)
    train_set.update_params(plan.params).construct()
    division = {"stratified": stratified, "shuffle": shuffle}
    parts = _folds(train_set, folds, nfold, plan.params, seed, **division)
    how: dict[str, Any] = {
        "evaluates_training": eval_train_metric,
        "keeps_predictions": has_functions(feval),
    }
    made = CVBooster()
    for rest, held in parts:
        sets = train_set.subset(sorted(rest)), train_set.subset(sorted(held))
        made.boosters.append(_of_fold(plan, *sets, fpreproc, before, **how))
    found: dict[str, Any] = defaultdict(list)

    def evaluated() -> list[EvalResult]:
        results = _joined(made.eval_valid(feval))
        for one in results:
            found[f"{one.dataset_name} {one.metric_name}-mean"].append(one.metric_value)
            found[f"{one.dataset_name} {one.metric_name}-stdv"].append(one.metric_std_dev)
        return results

    if plan.stopped(made, 0, evaluated):
        for one_booster in made.boosters:
            one_booster.best_iteration = made.best_iteration
        found = {name: values[: made.best_iteration] for name, values in found.items()}
    for one_booster in made.boosters:
        one_booster._close()
    return dict(found) | ({"cvbooster": made} if return_cvbooster else {})


def _of_fold(
    plan: Plan, mine: Dataset, other: Dataset, fpreproc: Callable[..., Any] | None,
    before: Booster | None, *, evaluates_training: bool, keeps_predictions: bool,
) -> Booster:  # fmt: skip
    """Return the model of a fold, before its first round."""
    own = plan.params
    if fpreproc is not None:
        mine, other, own = fpreproc(mine, other, plan.params.copy())
    found = Booster(own, mine)
    if before is not None:
        found.begin_with(before)
    if evaluates_training:
        found.add_valid(mine, "train")
    found.add_valid(other, "valid")
    found.plan(
        plan.n_rounds, evaluates_training=evaluates_training, keeps_predictions=keeps_predictions
    )
    return found


def _joined(of_folds: Sequence[Sequence[EvalResult]]) -> list[EvalResult]:
    """Return the mean and deviation over folds of each metric of each set."""
    values: dict[tuple[str, str, bool], list[float]] = {}
    for results in of_folds:
        for one in results:
            key = one.dataset_name, one.metric_name, one.maximize
            values.setdefault(key, []).append(one.metric_value)
    return [
        EvalResult(name, metric, float(np.mean(own)), maximize, float(np.std(own)))
        for (name, metric, maximize), own in values.items()
    ]
