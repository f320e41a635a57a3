"""``train`` and the model it returns; no scikit-learn needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.booster import Boosting
from pyopencl_gbdt.data import check_matrix, check_target
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.fallback import with_fallbacks
from pyopencl_gbdt.device.pace import settled
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.frames import clear_frames
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model import Ensemble, feature_importances, read_model, write_model
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.prediction import predict_margins
from pyopencl_gbdt.profiling import Profile, Recorder

F32 = npt.NDArray[np.float32]
History = dict[str, dict[str, list[float]]]


class Model:
    """A fitted model. Holds NumPy arrays only: it pickles, and predicts on any machine.

    Attributes
    ----------
    ensemble : Ensemble
        The trees.
    history : dict
        ``history[evaluation set][metric]`` is a list with a value per round.
    training_device : str
        Where it was trained; empty for a model that was read.
    variants : dict of str to str
        The variant of every kernel that trained it.
    profile : Profile or None
        Time, bytes and share of bandwidth of every kernel, if ``train`` was asked for them.
    """

    def __init__(self, ensemble: Ensemble, history: History | None = None) -> None:
        self.ensemble = ensemble
        self.history: History = history or {}
        self.training_device = ""
        self.variants: dict[str, str] = {}
        self.profile: Profile | None = None

    @property
    def objective(self) -> Objective:
        return get_objective(self.ensemble.objective)

    def predict(self, X: Any, *, output_margin: bool = False, device: str | Device = "auto") -> F32:
        """Predict.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
        output_margin : bool, default False
            Return the sums of leaf values instead of probabilities.
        device : str or Device, default "auto"
            As in ``train``; every device gives the same bits.

        Returns
        -------
        float32 array, shape (n_rows,)

        Raises
        ------
        DataError
            If the columns are not those of training.
        """
        values, _ = check_matrix(X, n_features=self.ensemble.n_features)
        margins = predict_margins(self.ensemble, values, device)
        return margins if output_margin else self.objective.to_prediction(margins)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write XGBoost's JSON format; the file appears whole or not at all."""
        write_model(self.ensemble, path)

    @classmethod
    def load_model(cls, path: str | os.PathLike[str]) -> Model:
        """Read XGBoost's JSON format.

        Raises
        ------
        ModelFormatError
            If the file is no valid model; says where.
        """
        return cls(read_model(path))

    def feature_importances(self, kind: str = "gain") -> npt.NDArray[np.float64]:
        """Return importances that sum to 1; see ``model.feature_importances``."""
        return feature_importances(self.ensemble, kind)


def train(
    params: Mapping[str, Any],
    data: Dataset,
    n_rounds: int | None = None,
    *,
    evals: Sequence[tuple[Dataset, str]] = (),
    eval_metric: str | Sequence[str] | None = None,
    verbose: bool | int = False,
    report: Callable[[str], None] | None = None,
    profile: bool = False,
) -> Model:
    """Train gradient-boosted trees.

    Parameters
    ----------
    params : mapping
        XGBoost's names and defaults; see ``pyopencl_gbdt.parameters``.
    data : Dataset
    n_rounds : int or None
        Number of trees; None takes ``n_estimators`` from ``params`` (100).
    evals : sequence of (Dataset, str)
        Sets to evaluate after every round, with their names.
    eval_metric : str, sequence of str or None
        ``"rmse"``, ``"logloss"``, ``"auc"``; None is the loss's own.
    verbose : bool or int, default False
        Print metrics every round (True) or every so many rounds.
    report : callable or None
        Receives each line instead of standard output.
    profile : bool, default False
        Take the time of every kernel, see ``Model.profile``; ``print(model.profile.table())``. The
        model is the same.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError, DataError
        Before anything runs.
    DeviceError
        If the device is not there, or fails and no other variant of its kernel can take over.
    MemoryPlanError
        If the fit cannot fit the device, before anything is allocated.

    Notes
    -----
    Whatever ends it early, Ctrl-C too, ends it within a round or two, and the device's memory is
    free again.
    """
    if n_rounds is not None:
        params = {**params, "n_estimators": n_rounds}
    p = Parameters.from_dict(params)
    objective = get_objective(p.objective)
    check_target(data.label, data.n_rows, objective=p.objective)
    for rows, name in evals:
        check_target(rows.label, rows.n_rows, objective=p.objective)
        if rows.n_features != data.n_features:
            raise DataError(
                f"evals: {name!r} has {rows.n_features} features, the training data "
                f"{data.n_features}; give both the same columns"
            )
    names = _metric_names(eval_metric, objective)
    start = _starting_score(p, objective, data)

    def fit() -> Model:
        device = open_device(p.device, profile=profile)
        with settled(device):
            tell = report or _print
            return _fit(device, p, objective, data, start, evals, names, verbose, tell)

    try:
        return with_fallbacks(fit)
    except BaseException as error:
        data.forget()
        clear_frames(error)
        raise


def _fit(
    device: Device,
    p: Parameters,
    objective: Objective,
    data: Dataset,
    start: tuple[float, float],
    evals: Sequence[tuple[Dataset, str]],
    names: list[str],
    verbose: bool | int,
    report: Callable[[str], None],
) -> Model:
    """Train on an opened device; what can be checked beforehand was."""
    recorder = None if device.profiler is None else Recorder(device)
    base_score, base_margin = start
    boosting = Boosting(device, p, objective, data, base_margin)
    for rows, _ in evals:
        boosting.watch(rows.values)
    history: History = {name: {metric: [] for metric in names} for _, name in evals}
    if recorder is not None:
        recorder.begin_rounds()

    def watcher(number: int, margins: list[F32]) -> None:
        parts = []
        for (rows, name), margin in zip(evals, margins, strict=True):
            prediction = objective.to_prediction(margin)
            for metric in names:
                value = get_metric(metric)(rows.label, prediction, rows.weight)
                history[name][metric].append(value)
                parts.append(f"{name}-{metric}:{value:.5f}")
        last = number + 1 == p.n_estimators
        if verbose and (last or number % int(verbose) == 0):
            report("\t".join([f"[{number}]", *parts]))

    trees = boosting.run(p.n_estimators, watcher if evals or verbose else None)
    ensemble = Ensemble(
        trees=trees,
        objective=p.objective,
        n_features=data.n_features,
        base_margin=base_margin,
        base_score=base_score,
        feature_names=data.feature_names,
    )
    model = Model(ensemble, history)
    model.training_device, model.variants = device.caps.label, boosting.ws.variants()
    if recorder is not None and boosting.tally is not None:
        weighted = data.weight is not None
        model.profile = recorder.profile(boosting.tally, p.n_estimators, weighted=weighted)
    return model


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _metric_names(eval_metric: str | Sequence[str] | None, objective: Objective) -> list[str]:
    if eval_metric is None:
        return [objective.metric]
    names = [eval_metric] if isinstance(eval_metric, str) else list(eval_metric)
    for name in names:
        get_metric(name)
    return names


def _starting_score(p: Parameters, objective: Objective, data: Dataset) -> tuple[float, float]:
    if p.base_score is None:
        score = objective.starting_score(data.label, data.weight)
    else:
        score = float(np.float32(p.base_score))
        if p.objective == "binary:logistic" and not 0.0 < score < 1.0:
            raise ParameterError(
                f"base_score={p.base_score}: expected a probability above 0 and below 1 for "
                f"{p.objective}; leave it out to take it from the data"
            )
    return score, objective.to_margin(score)


__all__ = ["Model", "train"]
