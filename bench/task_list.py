"""What there is to learn: losses with their names in every library, and scores of predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.task_data import Table
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters


@dataclass(frozen=True)
class Task:
    """One loss, for one kind of data.

    Attributes
    ----------
    objective : str
        XGBoost's name, which is ours.
    scores : tuple of str
        Out of ``SCORES``; the first decides.
    params : mapping
        The loss's own parameters, called as in XGBoost.
    lightgbm, catboost, sklearn : str
        The peer's name of the loss; empty if it has none.
    needs : tuple of str
        What ours has to be given beside labels, by the names of XGBoost's ``DMatrix``.
    """

    objective: str
    kind: str
    scores: tuple[str, ...]
    lightgbm: str = ""
    catboost: str = ""
    sklearn: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


ALPHA = 0.8
TASKS = (
    Task("binary:logistic", "binary", ("logloss", "auc"), "binary", "Logloss", "log_loss"),
    Task("multi:softprob", "classes", ("mlogloss", "merror"), "multiclass", "MultiClass",
         "log_loss"),
    Task("reg:squarederror", "numbers", ("rmse",), "regression", "RMSE", "squared_error"),
    Task("reg:absoluteerror", "numbers", ("mae",), "regression_l1", "MAE", "absolute_error"),
    Task("reg:quantileerror", "numbers", ("quantile",), "quantile", f"Quantile:alpha={ALPHA}",
         "quantile", {"quantile_alpha": ALPHA}),
    Task("count:poisson", "numbers", ("poisson",), "poisson", "Poisson", "poisson"),
    Task("reg:gamma", "numbers", ("gamma",), "gamma", "", "gamma"),
    Task("reg:tweedie", "numbers", ("tweedie",), "tweedie", "Tweedie:variance_power=1.5"),
    Task("rank:ndcg", "ranking", ("ndcg@10",), "lambdarank", "YetiRank", needs=("qid",)),
    Task("survival:aft", "survival", ("concordance",), "", "SurvivalAft:dist=Normal;scale=1",
         params={"aft_loss_distribution": "normal", "aft_loss_distribution_scale": 1.0},
         needs=("label_lower_bound", "label_upper_bound")),
    Task("survival:cox", "survival", ("concordance",), "", "Cox"),
)  # fmt: skip


def refusal(task: Task, n_classes: int) -> str:
    """Return why ours does not take a task yet; empty if it does."""
    params: dict[str, Any] = {"objective": task.objective, **task.params}
    if task.kind == "classes":
        params["num_class"] = n_classes
    try:
        Parameters.from_dict(params)
    except ParameterError as error:
        return str(error)
    absent = [name for name in task.needs if name not in inspect.signature(Dataset).parameters]
    return f"Dataset has no {', '.join(absent)}" if absent else ""


def _with(name: str, **more: Any) -> Callable[[Table, Any], float]:
    """Return scikit-learn's metric of that name."""

    def score(held_out: Table, predicted: Any) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(held_out.y, predicted, **more))

    return score


def _mlogloss(held_out: Table, predicted: Any) -> float:
    own = predicted[np.arange(held_out.y.size), held_out.y.astype(int)]
    return float(-np.log(np.clip(own, 1e-15, 1)).mean())


def _merror(held_out: Table, predicted: Any) -> float:
    return float((predicted.argmax(axis=1) != held_out.y).mean())


def _ndcg(held_out: Table, predicted: Any) -> float:
    """Mean over the queries that have a grade above 0, with gains 2^grade - 1."""
    found = []
    assert held_out.query is not None
    for query in np.unique(held_out.query):
        rows = np.flatnonzero(held_out.query == query)
        gain, discount = 2 ** held_out.y[rows] - 1, 1 / np.log2(np.arange(2, 12))[: rows.size]
        best = np.sort(gain)[::-1][:10] @ discount
        if best > 0:
            order = np.argsort(-predicted[rows], kind="stable")[:10]
            found.append(gain[order] @ discount / best)
    return float(np.mean(found))


def concordance(held_out: Table, survives: Any) -> float:
    """Return Harrell's C: of pairs whose order is known, the part that is predicted so.

    ``survives`` is larger for those expected to live longer; equal ones count half.
    """
    assert held_out.upper is not None
    time, seen = held_out.y, np.isfinite(held_out.upper)
    known = (time[:, None] < time[None, :]) & seen[:, None]
    right = (survives[:, None] < survives[None, :]) + 0.5 * (survives[:, None] == survives[None, :])
    return float(right[known].mean())


#: Every score, and whether more is better.
SCORES: dict[str, tuple[Callable[[Table, Any], float], bool]] = {
    "logloss": (_with("log_loss"), False),
    "auc": (_with("roc_auc_score"), True),
    "mlogloss": (_mlogloss, False),
    "merror": (_merror, False),
    "rmse": (_with("root_mean_squared_error"), False),
    "mae": (_with("mean_absolute_error"), False),
    "quantile": (_with("mean_pinball_loss", alpha=ALPHA), False),
    "poisson": (_with("mean_poisson_deviance"), False),
    "gamma": (_with("mean_gamma_deviance"), False),
    "tweedie": (_with("mean_tweedie_deviance", power=1.5), False),
    "ndcg@10": (_ndcg, True),
    "concordance": (concordance, True),
}
