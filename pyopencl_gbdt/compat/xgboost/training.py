"""``train`` and ``cv``, with XGBoost's signatures and defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import CallbackContainer, TrainingCallback, by_arguments
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.compat.xgboost.team_rounds import train_ranks
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.training.folds import given_folds, make_folds, query_folds

#: A function of margins and a matrix that returns gradients and Hessians.
PlainObj = Callable[[Any, DMatrix], Any]
#: Training rows and test rows.
Fold = tuple[DMatrix, DMatrix]


@named_arguments
def train(
    params: Any,
    dtrain: DMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DMatrix, str]] | None = None,
    obj: PlainObj | None = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    evals_result: dict[str, Any] | None = None,
    verbose_eval: bool | int | None = True,
    xgb_model: Any = None,
    callbacks: Sequence[TrainingCallback] | None = None,
    custom_metric: Metric | None = None,
) -> Booster:
    """Train a booster; between ``collective.init`` and ``finalize``, one by all ranks.

    Each rank then gives its own rows; all get the model and the metrics of all rows.

    Parameters
    ----------
    params : dict, or list of (str, object)
        XGBoost's parameters.
    dtrain : DMatrix
    num_boost_round : int
    evals : sequence of (DMatrix, str), or None
        Sets to evaluate after every round, with their names.
    obj : callable or None
        A loss: ``function(margins, dtrain)`` returns gradients and Hessians.
    maximize : bool or None
        Whether larger values of the watched metric are better.
    early_stopping_rounds : int or None
        End when the last metric of the last set has not improved for so many rounds.
    evals_result : dict or None
        Receives the metrics of every round.
    verbose_eval : bool, int or None
        Print the metrics of every round, or every so many.
    xgb_model : Booster, path, content of a file, or None
        The model to continue.
    callbacks : sequence of TrainingCallback, or None
    custom_metric : callable or None
        ``function(prediction, matrix)`` returns a name and a number; it gets margins if there is
        an ``obj``.

    Returns
    -------
    Booster
        The booster of all rounds, also after early stopping.

    Raises
    ------
    DataError, DataTypeError, ParameterError
        If something cannot be used; also a ``ValueError``.
    DeviceError
        If the device fails.
    """
    watched = list(evals or ())
    for matrix, name in watched:
        if not isinstance(matrix, DMatrix):
            raise DataTypeError("Invalid type for the `evals`.; give pairs of a DMatrix and a name")
        _check_reference(matrix, dtrain)
        if "-" in name:
            raise AssertionError("Dataset name should not contain `-`")
    booster = Booster(params, [dtrain, *(matrix for matrix, _ in watched)], model_file=xgb_model)
    listed = by_arguments(callbacks, verbose_eval, early_stopping_rounds, maximize=maximize)
    team = collective.joined_ranks()
    if team is not None:
        booster, history = train_ranks(
            team, params, dtrain, num_boost_round, evals=watched, obj=obj, xgb_model=xgb_model,
            callbacks=listed, custom_metric=custom_metric,
        )  # fmt: skip
        if evals_result is not None:
            evals_result.update(history)
        return booster
    container = CallbackContainer(listed, custom_metric, output_margin=callable(obj))
    booster.watch(watched, num_boost_round, collects=custom_metric is not None)
    try:
        booster = container.before_training(booster)
        for number in range(num_boost_round):
            if container.before_iteration(booster, number, dtrain, watched):
                break
            booster.update(dtrain, iteration=number, fobj=obj)
            if container.after_iteration(booster, number, dtrain, watched):
                break
        booster = container.after_training(booster)
    finally:
        booster.reset()
    if evals_result is not None:
        evals_result.update(container.history)
    assert isinstance(booster, Booster)  # which the container has checked
    return booster


def _check_reference(matrix: DMatrix, dtrain: DMatrix) -> None:
    if not hasattr(matrix, "ref") or matrix is dtrain:
        return
    if matrix.ref is None or matrix.ref() is not dtrain:
        raise DataError(
            "Training dataset should be used as a reference when constructing the "
            "`QuantileDMatrix` for evaluation.; give it ref=dtrain"
        )


class CVPack:
    """The booster, training rows and test rows of one fold."""

    def __init__(self, dtrain: DMatrix, dtest: DMatrix, param: Any) -> None:
        self.dtrain, self.dtest = dtrain, dtest
        self.watchlist = [(dtrain, "train"), (dtest, "test")]
        self.bst = Booster(param, [dtrain, dtest])

    def __getattr__(self, name: str) -> Any:
        if name == "bst":
            raise AttributeError(name)
        return getattr(self.bst, name)

    def update(self, iteration: int, fobj: PlainObj | None) -> None:
        """Train a round."""
        self.bst.update(self.dtrain, iteration, fobj)


class PackedBooster:
    """The boosters of all folds, as callbacks see them."""

    def __init__(self, cvfolds: list[CVPack]) -> None:
        self.cvfolds = cvfolds

    def update(self, iteration: int, obj: PlainObj | None) -> None:
        """Train a round of each fold."""
        for fold in self.cvfolds:
            fold.update(iteration, obj)

    def scores(self, evals: Any, feval: Metric | None, *, output_margin: bool) -> list[Any]:
        """Return each metric's mean over the folds, with the deviation."""
        found = [
            fold.bst.scores(fold.watchlist, feval, output_margin=output_margin)
            for fold in self.cvfolds
        ]
        means = []
        for scores in zip(*found, strict=True):
            values = np.array([value for _, _, value in scores])
            data, metric, _ = scores[0]
            means.append((data, metric, (float(values.mean()), float(values.std()))))
        return means

    def set_attr(self, **kwargs: Any) -> None:
        """Set attributes of all boosters."""
        for fold in self.cvfolds:
            fold.bst.set_attr(**kwargs)

    def set_param(self, params: Any, value: Any = None) -> None:
        """Set parameters of all boosters."""
        for fold in self.cvfolds:
            fold.bst.set_param(params, value)

    def __getattr__(self, name: str) -> Any:
        """Return what the first booster has: an attribute, its rounds, the best of them."""
        if name not in ("attr", "num_boosted_rounds", "best_iteration", "best_score"):
            raise AttributeError(name)
        return getattr(self.cvfolds[0].bst, name)


@named_arguments
def cv(
    params: Any,
    dtrain: DMatrix,
    num_boost_round: int = 10,
    *,
    nfold: int = 3,
    stratified: bool = False,
    folds: Any = None,
    metrics: Sequence[str] = (),
    obj: PlainObj | None = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    fpreproc: Callable[..., Any] | None = None,
    as_pandas: bool = True,
    verbose_eval: bool | int | None = None,
    show_stdv: bool = True,
    seed: int = 0,
    callbacks: Sequence[TrainingCallback] | None = None,
    shuffle: bool = True,
    custom_metric: Metric | None = None,
) -> Any:
    """Cross-validate: train a booster for each fold, in step.

    Parameters
    ----------
    params, dtrain, num_boost_round, obj, maximize, callbacks, custom_metric, verbose_eval
        As for ``train``.
    nfold : int
    stratified : bool
        Whether classes keep their shares in each fold.
    folds : splitter of scikit-learn, sequence of (rows, rows), or None
        Training and test rows of each fold.
    metrics : str or sequence of str
        Instead of those in ``params``.
    early_stopping_rounds : int or None
        End when the last metric's mean has not improved; the result ends with the best round.
    fpreproc : callable or None
        ``function(dtrain, dtest, params)`` returns the three for a fold.
    as_pandas : bool
        Return a DataFrame if pandas is installed.
    show_stdv : bool
        Print deviations too.
    seed : int
        Seed of the folds.
    shuffle : bool
        Whether rows are shuffled before they are dealt to folds.

    Returns
    -------
    DataFrame, or dict of str to list of float
        ``train-<metric>-mean``, ``train-<metric>-std`` and so on, a value for each round.
    """
    if hasattr(dtrain, "ref"):
        raise ParameterError("`QuantileDMatrix` is not yet supported.; give cv a DMatrix")
    given = _with_metrics(params, metrics)
    how: dict[str, Any] = {"maximize": maximize, "show_stdv": show_stdv}
    listed = by_arguments(callbacks, verbose_eval, early_stopping_rounds, **how)
    pairs: list[Fold] = _folds_of(
        dtrain, nfold=nfold, stratified=stratified, folds=folds, seed=seed, shuffle=shuffle
    )
    packs = []
    for own, test in pairs:
        param = dict(given) if isinstance(given, dict) else list(given)
        if fpreproc is not None:
            own, test, param = fpreproc(own, test, dict(param))  # noqa: PLW2901
        packs.append(CVPack(own, test, param))
    for pack in packs:
        pack.bst.watch(pack.watchlist, num_boost_round, collects=custom_metric is not None)
    container = CallbackContainer(listed, custom_metric, callable(obj), is_cv=True)
    booster = container.before_training(PackedBooster(packs))
    results: dict[str, list[float]] = {}
    for number in range(num_boost_round):
        if container.before_iteration(booster, number, dtrain, None):
            break
        booster.update(number, obj)
        stops = container.after_iteration(booster, number, dtrain, None)
        results = _table(container)
        if stops:
            best = int(booster.attr("best_iteration") or number)
            results = {name: values[: best + 1] for name, values in results.items()}
            break
    container.after_training(booster)
    for pack in packs:
        pack.bst.reset()
    return _as_pandas(results) if as_pandas else results


def _with_metrics(params: Any, metrics: Any) -> Any:
    """Return parameters whose metrics are those of the argument, if it has any."""
    if not metrics:
        return params
    pairs = list(params.items()) if isinstance(params, dict) else list(params)
    Settings(pairs)  # raises for what are not pairs
    listed = [metrics] if isinstance(metrics, str) else list(metrics)
    return [pair for pair in pairs if pair[0] != "eval_metric"] + [("eval_metric", listed)]


def _table(container: CallbackContainer) -> dict[str, list[float]]:
    found = {}
    for data, metric in container.columns:
        values = container.history[data][metric]
        found[f"{data}-{metric}-mean"] = [mean for mean, _ in values]
        found[f"{data}-{metric}-std"] = [deviation for _, deviation in values]
    return found


def _as_pandas(results: dict[str, list[float]]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return results
    return pd.DataFrame.from_dict(results)


def _folds_of(
    dtrain: DMatrix, *, nfold: int, stratified: bool, folds: Any, seed: int, shuffle: bool
) -> list[Fold]:
    """Return the matrices of each fold; queries stay whole.

    Raises
    ------
    ParameterError
        If ``folds`` is neither a splitter nor a list of pairs of rows.
    """
    how: dict[str, Any] = {"stratified": stratified, "shuffle": shuffle, "seed": seed}
    offsets = dtrain.dataset().group_offsets
    if folds is not None:
        label = dtrain.get_label()
        pairs = given_folds(folds, np.empty((dtrain.num_row(), 1), np.float32), label)
    elif offsets is not None:
        pairs = query_folds(offsets, nfold, **how)
    else:
        pairs = make_folds(dtrain.get_label(), nfold, **how)
    return [(_part(dtrain, own), _part(dtrain, test)) for own, test in pairs]


def _part(matrix: DMatrix, rows: npt.NDArray[np.int64]) -> DMatrix:
    """Return some rows, with their queries."""
    own = matrix.dataset()
    if own.group_offsets is None:
        return matrix.slice(rows)
    chosen = own.slice(rows)
    found = matrix.slice(rows, allow_groups=True)
    assert chosen.group_offsets is not None
    found.set_group(np.diff(chosen.group_offsets))
    if chosen.weight is not None:
        found.set_weight(chosen.weight)
    return found
