"""LightGBM's ``cv``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.callback import EarlyStopException
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.engine import Plan, has_functions, model_to_continue
from pyopencl_gbdt.compat.lightgbm.metrics import EvalResult
from pyopencl_gbdt.compat.lightgbm.names import spellings
from pyopencl_gbdt.compat.lightgbm.objectives import OBJECTIVES, RANKING


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

    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Return all models as JSON that holds LightGBM's text of each."""
        texts = [
            one.model_to_string(num_iteration, start_iteration, importance_type)
            for one in self.boosters
        ]
        return json.dumps({"boosters": texts, "best_iteration": self.best_iteration})

    def save_model(
        self,
        filename: str | Path,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> CVBooster:
        """Write what ``model_to_string`` returns."""
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        Path(filename).write_text(text, encoding="utf-8")
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
        from sklearn.model_selection import GroupKFold

        return GroupKFold(n_splits=nfold).split(X=np.empty(n_rows), groups=queries)  # type: ignore[no-any-return]
    if stratified:
        from sklearn.model_selection import StratifiedKFold

        division = StratifiedKFold(nfold, shuffle=shuffle, random_state=seed if shuffle else None)
        return division.split(X=np.empty(n_rows), y=data.get_label())  # type: ignore[no-any-return]
    order = np.random.RandomState(seed).permutation(n_rows) if shuffle else np.arange(n_rows)
    held = np.array_split(order, nfold)
    rest = [np.concatenate([held[j] for j in range(nfold) if j != k]) for k in range(nfold)]
    return zip(rest, held, strict=True)


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
    for number in range(plan.n_rounds):
        for call in plan.before:
            call(plan.env(made, number, 0, None))
        made.update(fobj=plan.fobj)
        results = _joined(made.eval_valid(feval))
        for one in results:
            found[f"{one.dataset_name} {one.metric_name}-mean"].append(one.metric_value)
            found[f"{one.dataset_name} {one.metric_name}-stdv"].append(one.metric_std_dev)
        try:
            for call in plan.after:
                call(plan.env(made, number, 0, results))
        except EarlyStopException as stop:
            made.best_iteration = stop.best_iteration + 1
            for one_booster in made.boosters:
                one_booster.best_iteration = made.best_iteration
            found = defaultdict(list, {k: v[: made.best_iteration] for k, v in found.items()})
            break
    for one_booster in made.boosters:
        one_booster._close()
    if return_cvbooster:
        found["cvbooster"] = made
    return dict(found)


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
