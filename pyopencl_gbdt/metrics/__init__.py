"""Metrics by XGBoost's names: functions of (label, prediction, weight), summed in float64.

Predictions have the same bits on every device, so metrics have too.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import label_kinds as kind
from pyopencl_gbdt.metrics.bounds_losses import ACCURACY, nloglik
from pyopencl_gbdt.metrics.curves import ams, auc, aucpr
from pyopencl_gbdt.metrics.custom import DatasetMetric
from pyopencl_gbdt.metrics.distributions import crps, nll, of_distribution, row_loss_by_name
from pyopencl_gbdt.metrics.formulas import (
    aft_nloglik,
    cox_nloglik,
    error,
    expectile,
    gamma_deviance,
    gamma_nloglik,
    interval_regression_accuracy,
    logloss,
    mae,
    mape,
    mean_over_numbers,
    merror,
    mlogloss,
    mphe,
    poisson_nloglik,
    quantile,
    rmse,
    rmsle,
    tweedie_nloglik,
)
from pyopencl_gbdt.metrics.ranking import (
    RANKING,
    average_precision,
    family_of,
    ndcg,
    precision,
    ranked_of,
    ranking_metric,
)
from pyopencl_gbdt.metrics.row_losses import ROW_LOSSES, RowLoss
from pyopencl_gbdt.parameters.row import answer_to, meant

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: A function of label, prediction and weight; also of query offsets if ``takes_queries``.
Metric = Callable[..., float]


@dataclass(frozen=True)
class Entry:
    """One metric of the table.

    Attributes
    ----------
    function : callable
        A function of label, prediction, weight, and possibly a number.
    fits : tuple of str
        The kinds of label that it fits, of ``label_kinds.KINDS``; of numbers the widest kind.
    parameter : str
        The attribute of ``Parameters`` that gives this number if the name has no ``@``; for
        ``objective``, the distribution.
    default : float or None
        The number if there is neither ``@`` nor ``Parameters``; None requires ``@``.
    after_at : tuple of float, or None
        Bounds of the number after ``@``, excluding the upper bound; None allows no ``@``.
    of_dataset : bool
        Whether the function takes a prediction and a data set instead.
    has_kernels : bool
        Whether kernels compute it; else margins come to the host after every round.
    """

    function: Callable[..., float]
    fits: tuple[str, ...]
    parameter: str = ""
    default: float | None = 0.0
    after_at: tuple[float, float] | None = None
    of_dataset: bool = False
    has_kernels: bool = True

    @property
    def example(self) -> float:
        """A number that is allowed after ``@``."""
        return 1.5 if self.after_at == _TWEEDIE else 0.5


_TWEEDIE = (1.0, 2.0)

#: Every metric, by XGBoost's name.
METRICS: dict[str, Entry] = {
    "rmse": Entry(rmse, (kind.NUMBERS,)),
    "rmsle": Entry(rmsle, (kind.ABOVE,)),
    "mae": Entry(mae, (kind.NUMBERS,)),
    "mape": Entry(mape, (kind.NUMBERS,)),
    "mphe": Entry(mphe, (kind.NUMBERS,), "huber_slope", 1.0),
    "quantile": Entry(quantile, (kind.NUMBERS, kind.QUANTILES), "quantile_alpha", 0.5),
    "expectile": Entry(expectile, (kind.NUMBERS, kind.QUANTILES), "expectile_alpha", 0.5),
    "logloss": Entry(logloss, (kind.SHARES,)),
    "error": Entry(error, (kind.SHARES,), default=0.5, after_at=(-np.inf, np.inf)),
    "merror": Entry(merror, (kind.CLASSES,)),
    "mlogloss": Entry(mlogloss, (kind.CLASSES,)),
    "auc": Entry(auc, (kind.SHARES, kind.RELEVANT, kind.CLASSES)),
    "aucpr": Entry(aucpr, (kind.SHARES, kind.RELEVANT, kind.CLASSES)),
    "ams": Entry(ams, (kind.SHARES,), default=None, after_at=(0.0, np.inf), has_kernels=False),
    "poisson-nloglik": Entry(poisson_nloglik, (kind.AMOUNTS,)),
    "gamma-nloglik": Entry(gamma_nloglik, (kind.AMOUNTS,)),
    "gamma-deviance": Entry(gamma_deviance, (kind.AMOUNTS,)),
    "tweedie-nloglik": Entry(tweedie_nloglik, (kind.AMOUNTS,), default=None, after_at=_TWEEDIE),
    "ndcg": Entry(ndcg, (kind.GRADES,)),
    "map": Entry(average_precision, (kind.RELEVANT,)),
    "pre": Entry(precision, (kind.RELEVANT,)),
    "cox-nloglik": Entry(cox_nloglik, (kind.EVENTS,)),
    "aft-nloglik": Entry(aft_nloglik, (kind.BOUNDS,), of_dataset=True),
    "interval-regression-accuracy": Entry(
        interval_regression_accuracy, (kind.BOUNDS,), of_dataset=True
    ),
    "nll": Entry(nll, (kind.DISTRIBUTED,), "objective"),
    "crps": Entry(crps, (kind.NORMAL,), "objective"),
}
#: The losses per row of metrics that are means over rows.
_LOSSES: dict[str, RowLoss | Callable[..., RowLoss]] = {
    **ROW_LOSSES,
    "aft-nloglik": nloglik,
    "interval-regression-accuracy": ACCURACY,
    "nll": partial(row_loss_by_name, nll),
    "crps": partial(row_loss_by_name, crps),
}


def metric_name(name: Any) -> Any:
    """Return this library's name of a metric; any other value unchanged.

    Raises
    ------
    ParameterError
        If it is a name of another library that has none here; it says what to do instead.
    """
    if answer := answer_to("eval_metric", name):
        raise ParameterError(f"eval_metric={name!r}: {answer}")
    return meant("eval_metric", name)


def unknown_metric(name: Any, known: Iterable[str]) -> ParameterError:
    """Return the error for a metric that does not exist."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name).partition("@")[0], names, n=1)
    move = f"did you mean {near[0]!r}?" if near else "choose one of these"
    return ParameterError(f"eval_metric={name!r}: expected one of {names}; {move}")


def get_metric(name: str, parameters: Parameters | None = None) -> Metric:
    """Return a metric by name.

    ``name``: a name of ``METRICS``, some followed by a number, such as ``"error@0.7"`` or
    ``"tweedie-nloglik@1.5"``; ``"ndcg@5"`` counts the first 5 rows of a query.
    ``parameters``: where ``mphe``, ``quantile`` and ``expectile`` find their number; None uses
    defaults.

    Returns
    -------
    callable
        A function of label, prediction and weight: float32 arrays of shape (n_rows,); the weight
        may be None. If ``takes_queries``, also of offsets, int64 (n_queries + 1,), or None. Some
        metrics are a ``DatasetMetric``.

    Raises
    ------
    ParameterError
        If there is no such metric, or its number is missing, not allowed or out of range.
    """
    name = metric_name(name)
    family, at, text = name.partition("@") if isinstance(name, str) else (str(name), "", "")
    entry = METRICS.get(family)
    if family.removesuffix("-") in RANKING:
        return ranking_metric(name, parameters)
    if entry is None:
        raise unknown_metric(name, METRICS)
    if at:
        return partial(entry.function, number=_number(name, text, entry))
    if entry.default is None:
        raise ParameterError(
            f"eval_metric={name!r}: expected a number after @; write {name}@{entry.example}, say"
        )
    if entry.of_dataset:
        if family == "aft-nloglik" and parameters is not None:
            scale = float(np.float32(parameters.aft_loss_distribution_scale))
            given = {"distribution": parameters.aft_loss_distribution, "scale": scale}
            return DatasetMetric(partial(entry.function, **given))
        return DatasetMetric(entry.function)
    if entry.parameter:
        return _by_parameter(entry, parameters)
    return partial(entry.function, number=entry.default) if entry.after_at else entry.function


def _by_parameter(entry: Entry, parameters: Parameters | None) -> Metric:
    """Return a metric whose number, numbers or distribution come from a parameter."""
    if entry.parameter == "objective":
        return of_distribution(entry.function, parameters)
    number = entry.default if parameters is None else getattr(parameters, entry.parameter)
    if isinstance(number, tuple):
        own = tuple(float(np.float32(one)) for one in number)
        return partial(mean_over_numbers, function=entry.function, numbers=own)
    return partial(entry.function, number=float(np.float32(number)))


def takes_queries(name: str) -> bool:
    """Tell whether a metric's function takes query offsets after the weight."""
    return family_of(name) in RANKING


def row_loss_of(metric: Metric) -> RowLoss | None:
    """Return a metric's loss per row; None if the metric is not a mean over rows."""
    function: Any = metric.function if isinstance(metric, DatasetMetric) else metric
    given: Iterable[Any] = ()
    if isinstance(function, partial):
        function, given = function.func, function.keywords.values()
    name = next((one for one, entry in METRICS.items() if entry.function is function), "")
    loss = _LOSSES.get(name)
    return loss if loss is None or isinstance(loss, RowLoss) else loss(*given)


def curve_of(metric: Metric) -> str:
    """Return ``"auc"`` or ``"aucpr"`` for these metrics, an empty string for others."""
    return "auc" if metric is auc else "aucpr" if metric is aucpr else ""


def _number(name: str, text: str, entry: Entry) -> float:
    family = name.partition("@")[0]
    if entry.after_at is None:
        raise ParameterError(f"eval_metric={name!r}: expected no number; write {family!r}")
    low, high = entry.after_at
    try:
        number = float(np.float32(float(text)))  # XGBoost stores thresholds as float32
    except (ValueError, OverflowError):
        number = float("nan")
    if low <= number < high:
        return number
    allowed = f"a number, {low:g} <= number < {high:g}," if low > -np.inf else "a finite number"
    raise ParameterError(
        f"eval_metric={name!r}: expected {allowed} after @; write {family}@{entry.example}"
    )


__all__ = [
    "METRICS", "DatasetMetric", "Metric", "aft_nloglik", "ams", "auc", "aucpr", "average_precision",
    "cox_nloglik", "error", "expectile", "gamma_deviance", "gamma_nloglik", "get_metric",
    "interval_regression_accuracy", "logloss", "mae", "mape", "merror", "mlogloss", "mphe", "ndcg",
    "poisson_nloglik", "precision", "quantile", "ranked_of", "rmse", "rmsle", "takes_queries",
    "tweedie_nloglik",
]  # fmt: skip
