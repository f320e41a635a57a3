"""LightGBM's metrics, by metrics of this library or by NumPy, and what an evaluation tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.objectives import KINDS, OBJECTIVES
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import get_metric, takes_queries

F64 = npt.NDArray[np.float64]

_NAMES = """
l2 mean_squared_error mse regression_l2 regression
rmse root_mean_squared_error l2_root
l1 mean_absolute_error mae regression_l1
r2
quantile
huber
fair
poisson
mape mean_absolute_percentage_error
gamma
gamma_deviance
tweedie
binary_logloss binary
binary_error
auc
average_precision
multi_logloss multiclass softmax multiclassova multiclass_ova ova ovr
multi_error
auc_mu
cross_entropy xentropy
cross_entropy_lambda xentlambda
kullback_leibler kldiv
ndcg lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart
map mean_average_precision
"""
METRICS: dict[str, str] = {
    one: line.split()[0] for line in _NAMES.split("\n") if line for one in line.split()
}
"""The main name of every metric's name."""
_NONE = ("None", "none", "null", "custom", "na")
#: Where larger is better.
MAXIMIZED = ("auc", "average_precision", "auc_mu", "ndcg", "map", "r2")
#: The metric here, of the same value but for what ``_converted`` does.
_HERE = {
    "l2": "rmse",
    "rmse": "rmse",
    "l1": "mae",
    "quantile": "quantile",
    "poisson": "poisson-nloglik",
    "gamma": "gamma-nloglik",
    "binary_logloss": "logloss",
    "binary_error": "error",
    "cross_entropy": "logloss",
    "auc": "auc",
    "multi_logloss": "mlogloss",
    "ndcg": "ndcg",
}
#: Where labels above 0 are of class 1, whatever the loss.
_OF_TWO = ("auc", "binary_logloss", "binary_error")
Found = npt.NDArray[Any]


def chosen_metrics(params: Mapping[str, Any], objective: str) -> list[str]:
    """Return the main names of the metrics that a training computes.

    ``params``: by main names.
    ``objective``: its main name.

    Raises
    ------
    ParameterError
        If there is no such metric.
    """
    given = params.get("metric")
    if isinstance(given, str):
        given = [one.strip() for one in given.split(",")]
    asked = [] if given is None else [*given]
    asked = [one for one in asked if one is not None]
    named = [str(one) for one in asked if one != ""] or [KINDS[objective].metric]
    named = [one for one in named if one not in _NONE]
    found: dict[str, None] = {}
    for name in named:
        family, _, place = name.partition("@")
        main = METRICS.get(family, METRICS.get(OBJECTIVES.get(family, ""), ""))
        if not name:
            continue
        if not main:
            raise ParameterError(
                f"Unknown metric type name: {name}: expected one of "
                f"{', '.join(dict.fromkeys(METRICS.values()))}; give one, or a function as feval"
            )
        found[f"{main}@{place}" if place else main] = None
    return list(found)


@dataclass(frozen=True)
class Metric:
    """One metric of a training.

    Attributes
    ----------
    name : str
        As LightGBM shows it, such as ``"ndcg@3"``.
    here : str
        The metric of this library that tells its value; empty if none does.
    settings : mapping
        The parameters of the training, by main names.
    """

    name: str
    here: str
    settings: Mapping[str, Any]

    @property
    def family(self) -> str:
        return self.name.partition("@")[0]

    @property
    def maximize(self) -> bool:
        return self.family in MAXIMIZED

    @property
    def reads_margins(self) -> bool:
        """Whether the value is one of margins, not of predictions."""
        return self.family == "auc_mu"

    def fits(self, rows: Dataset) -> bool:
        """Tell whether the metric here takes the labels: those of two classes are 0 and 1."""
        return self.family not in _OF_TWO or bool(np.isin(rows.label, (0, 1)).all())

    def converted(self, value: float, rows: Dataset) -> float:
        """Return LightGBM's value, from that of the metric here."""
        if self.family == "l2":
            return value * value
        if self.family == "poisson":  # less the part that no prediction changes
            constant = [math.lgamma(float(one) + 1) for one in rows.label]
            return value - float(np.average(constant, weights=rows.weight))
        return value

    def evaluate(self, prediction: Found, rows: Dataset) -> float:
        """Return the value for predictions, shape (n_rows,) or (n_rows, n_classes).

        They have to be margins if the metric reads these.
        """
        label = rows.label
        if self.family == "map":
            return self._ranked(prediction, rows)
        if not self.here or (self.family in _OF_TWO and not self.fits(rows)):
            weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight.astype(np.float64)
            return _BY_NUMPY[self.family](
                label.astype(np.float64), prediction.astype(np.float64), weight, self.settings
            )
        given = np.ascontiguousarray(prediction.T, np.float32)
        if self.family == "quantile":
            alpha = float(self.settings.get("alpha", 0.9))
            value = float(get_metric("quantile")(label, given, rows.weight, number=alpha))
        else:
            offsets = (rows.group_offsets,) if takes_queries(self.here) else ()
            value = float(get_metric(self.here)(label, given, rows.weight, *offsets))
        return self.converted(value, rows)

    def _ranked(self, prediction: Found, rows: Dataset) -> float:
        """Return the mean average precision, where labels above 0 are relevant."""
        label, given = (rows.label > 0).astype(np.float32), prediction.astype(np.float32)
        return float(get_metric(self.name)(label, given, rows.weight, rows.group_offsets))


def metrics_of(names: Sequence[str], params: Mapping[str, Any]) -> list[Metric]:
    """Return the metrics of a training; a ranking metric is one for each place of ``eval_at``."""
    found = []
    for asked in names:
        family, _, place = asked.partition("@")
        name = asked
        if family in ("ndcg", "map"):
            places = [place] if place else _places(params.get("eval_at"))
            for at in places:
                one = f"{family}@{at}"
                found.append(Metric(one, one if family == "ndcg" else "", params))
            continue
        here = _HERE.get(family, "")
        top = int(params.get("multi_error_top_k", 1) or 1)
        if family == "multi_error":
            here = "merror" if top == 1 else ""
            name = name if top == 1 else f"multi_error@{top}"
        if family == "tweedie":
            power = float(params.get("tweedie_variance_power", 1.5))
            here = f"tweedie-nloglik@{power}"
        found.append(Metric(name, here, params))
    return found


def _places(given: Any) -> list[int]:
    if given is None:
        return [1, 2, 3, 4, 5]
    if isinstance(given, str):
        given = given.split(",")
    listed = [given] if isinstance(given, int) else [*given]
    return [int(one) for one in listed]


def _mean(loss: F64, weight: F64) -> float:
    return float(np.average(loss, weights=weight))


def _huber(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    alpha = float(settings.get("alpha", 0.9))
    off = np.abs(p - y)
    return _mean(np.where(off <= alpha, off * off / 2, alpha * (off - alpha / 2)), w)


def _fair(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    c = float(settings.get("fair_c", 1.0))
    off = np.abs(p - y)
    return _mean(c * off - c * c * np.log1p(off / c), w)


def _r2(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    spread = float(np.sum(w * (y - np.average(y, weights=w)) ** 2))
    left = float(np.sum(w * (y - p) ** 2))
    return float(1 - left / spread) if spread else float(left == 0)


def _top_error(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    own = p[np.arange(len(y)), y.astype(np.intp)]
    larger = np.count_nonzero(p >= own[:, None], axis=1)
    return _mean((larger > int(settings["multi_error_top_k"])).astype(np.float64), w)


def _average_precision(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    order = np.argsort(-p, kind="stable")
    y, p, w = y[order], p[order], w[order]
    ends = np.flatnonzero(np.append(np.diff(p) != 0, True))
    positive, everything = np.cumsum(w * (y > 0))[ends], np.cumsum(w)[ends]
    if positive[-1] == 0 or positive[-1] == everything[-1]:
        return 1.0
    gained = np.diff(positive, prepend=0)
    return float(np.sum(gained * positive / everything) / positive[-1])


def _cross_entropy(y: F64, p: F64) -> F64:
    low = np.log(np.maximum(p, 1e-12)), np.log(np.maximum(1 - p, 1e-12))
    found: F64 = -y * low[0] - (1 - y) * low[1]
    return found


def _auc_mu(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    """Return the mean over pairs of classes of the area under the curve (Kleiman, Page, 2019).

    ``p`` are margins.
    """
    n_classes = p.shape[1]
    given = settings.get("auc_mu_weights") or 1.0 - np.eye(n_classes)
    loss = np.reshape(np.asarray(given, np.float64), (n_classes, n_classes))
    total = 0.0
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            chosen = (y == one) | (y == other)
            side = loss[one] - loss[other]
            distance = side[one] - side[other]
            score = p[chosen] @ side * distance
            total += _area((y[chosen] == one).astype(np.float64), score, w[chosen])
    return float(2 * total / (n_classes * (n_classes - 1)))


def _area(y: F64, score: F64, w: F64) -> float:
    """Return the area under the curve of the scores of class 1, which should be larger."""
    values, place = np.unique(score, return_inverse=True)
    positive = np.bincount(place, w * y, values.size)
    negative = np.bincount(place, w * (1 - y), values.size)
    below = np.cumsum(negative) - negative / 2
    both = positive.sum() * negative.sum()
    return float((positive * below).sum() / both) if both else 1.0


def _binary_logloss(y: F64, p: F64, w: F64, settings: Mapping[str, Any]) -> float:
    share = np.where(y > 0, p, 1 - p)
    return _mean(-np.log(np.where(share > 1e-15, share, 1e-15)), w)


_BY_NUMPY: dict[str, Callable[[F64, F64, F64, Mapping[str, Any]], float]] = {
    "huber": _huber,
    "fair": _fair,
    "mape": lambda y, p, w, _: _mean(np.abs(y - p) / np.maximum(1, np.abs(y)), w),
    "r2": _r2,
    "gamma_deviance": lambda y, p, w, _: (
        2 * float(np.sum(w * (y / (p + 1e-9) - np.log(y / (p + 1e-9)) - 1)))
    ),
    "multi_error": _top_error,
    "auc": lambda y, p, w, _: _area((y > 0).astype(np.float64), p, w),
    "binary_logloss": _binary_logloss,
    "binary_error": lambda y, p, w, _: _mean(((p > 0.5) != (y > 0)).astype(np.float64), w),
    "average_precision": _average_precision,
    "auc_mu": _auc_mu,
    "cross_entropy_lambda": lambda y, p, w, _: float(np.mean(_cross_entropy(y, -np.expm1(-w * p)))),
    "kullback_leibler": lambda y, p, w, _: _mean(_cross_entropy(y, p) - _cross_entropy(y, y), w),
}


class EvalResult(NamedTuple):
    """One metric of one evaluation set; in ``cv`` with its deviation over the folds."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev: float | None = None

    def __len__(self) -> int:
        return 5 if self.is_cv_result() else 4

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in self._fields[: len(self)])

    def is_cv_result(self) -> bool:
        """Tell whether the value is a mean over folds."""
        return self.metric_std_dev is not None
