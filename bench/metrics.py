"""``python -m bench metrics``: each metric of a round, on the device, in NumPy and in XGBoost.

A device's time is that of the host's clock from its launches to the few numbers read back. NumPy's
is a copy of the margins to the host, the loss's link, and the metric in float64. XGBoost's is
``Booster.eval`` of no trees on its CPU, whose predictions are ready after the first time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.host import parser_of
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.timing import repeated
from pyopencl_gbdt.evaluation.evaluation import on_host, prepare, rows_on_device
from pyopencl_gbdt.evaluation.metric_kind import N_WORDS
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.metrics import METRICS, get_metric, takes_queries
from pyopencl_gbdt.objectives import get_objective

F32 = npt.NDArray[np.float32]
NAMES = [f"{name}@1.5" if row.default is None else name for name, row in METRICS.items()]
_BINARY = ("logloss", "error", "auc", "aucpr")
_CLASSES = ("merror", "mlogloss")
N_CLASSES, ROWS_OF_QUERY = 5, 100
_COUNTS = ("poisson-nloglik", "gamma-nloglik", "gamma-deviance", "tweedie-nloglik@1.5")
HEAD = (
    f"{'metric':<29}{'weights':<9}{'n':>11}{'ms':>10}{'NumPy':>10}{'XGBoost':>10}{'x NumPy':>9}"
    f"{'rel. diff':>11}"
)


def main(arguments: list[str]) -> int:
    parser = parser_of("metrics", __doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[10**6], help="rows")
    parser.add_argument("--device", default="auto", help="as for open_device")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-xgboost", action="store_true", help="leave XGBoost out")
    options = parser.parse_args(arguments)
    device = open_device(options.device)
    print(f"{device.caps.label}, driver {device.caps.driver}\n{HEAD}")
    for n in options.size:
        for name in options.only:
            for weighted in (False, True):
                print(_line(device, name, n, weighted, options), flush=True)
    return 0


@dataclass(frozen=True)
class Sample:
    """Rows for a metric, and the loss whose prediction it takes."""

    data: Dataset
    margin: F32
    params: dict[str, Any]


def _line(device: Device, name: str, n: int, weighted: bool, options: argparse.Namespace) -> str:
    sample = _drawn(name, n, weighted)
    objective = get_objective(sample.params["objective"], sample.params)
    watched = EvaluationSet(device.empty(1, np.float32), 0.0, device.upload(sample.margin))
    arena = Arena(device)
    rows = rows_on_device(arena, objective, sample.data, watched)
    metric = get_metric(name)
    prepared, _ = next(prepare(sample.data, rows, {name: metric}))
    arena.allocate(joins=False)
    results = device.zeros((prepared.n_results, N_WORDS), np.int64)
    launches = prepared.launches(results, 0)

    def on_device() -> float:
        for launch in launches:
            launch()
        return prepared.values(results.get())[0]

    def by_numpy() -> float:
        prediction = objective.to_probability(rows.margins.get())
        return on_host(metric, name, sample.data, prediction)

    found, seconds = _timed(on_device, options.repeats)
    wanted, host_seconds = _timed(by_numpy, min(3, options.repeats))
    theirs = None if options.no_xgboost else _xgboost_seconds(name, sample, options)
    return (
        f"{name:<29}{'yes' if weighted else 'no':<9}{n:>11}{1e3 * seconds:>10.3f}"
        f"{1e3 * host_seconds:>10.3f}{'-' if theirs is None else f'{1e3 * theirs:.3f}':>10}"
        f"{host_seconds / seconds:>9.1f}{abs(found / wanted - 1):>11.1e}"
    )


def _drawn(name: str, n: int, weighted: bool) -> Sample:
    """Return labels and margins that tell something of them, and weights."""
    rng = np.random.default_rng(3)
    margin = rng.standard_normal(n)
    given: dict[str, Any] = {}
    objective = "reg:squarederror"
    if name in _BINARY:
        label, objective = rng.random(n) < 1 / (1 + np.exp(-margin)), "binary:logistic"
    elif name in _COUNTS:
        label, objective = rng.poisson(np.exp(margin)), "count:poisson"
        label = label + (0.5 if name.startswith("gamma") else 0.0)
    elif name in _CLASSES:
        label, objective = rng.integers(0, N_CLASSES, n), "multi:softprob"
        margin = rng.standard_normal((N_CLASSES, n)) + (label == np.arange(N_CLASSES)[:, None])
    elif takes_queries(name):
        label = rng.integers(0, 2, n) if name != "ndcg" else rng.integers(0, 5, n)
        margin += label / 2
        given["group"] = np.diff(np.r_[np.arange(0, n, ROWS_OF_QUERY), n])
    elif name == "cox-nloglik":
        label, objective = rng.exponential(np.exp(-margin)), "survival:cox"
        label = np.sort(label) * np.where(rng.random(n) < 0.3, -1, 1)  # as XGBoost wants them
    elif METRICS[name].of_dataset:
        label, objective = np.exp(margin), "survival:aft"
        margin = margin + rng.standard_normal(n)
        upper = label * np.exp(rng.exponential(1, n))
        given = {"label_lower_bound": label, "label_upper_bound": upper}
    else:
        label, margin = 3 + margin + 0.3 * rng.standard_normal(n), margin + 3
        label, margin = np.maximum(label, 0.01), np.maximum(margin, 0)
    size = len(given["group"]) if "group" in given else n
    weight = rng.uniform(0.5, 2, size).astype(np.float32) if weighted else None
    data = Dataset(np.zeros((n, 1), np.float32), label.astype(np.float32), weight, **given)
    params: dict[str, Any] = {"objective": objective}
    if objective.startswith("multi"):
        params["num_class"] = N_CLASSES
    return Sample(data, margin.astype(np.float32), params)


def _timed(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Return what it computes, and the median of its seconds after one run to warm up."""
    return work(), repeated(work, repeats).median


def _xgboost_seconds(name: str, sample: Sample, options: argparse.Namespace) -> float | None:
    try:
        import xgboost
    except ImportError:
        return None
    data = sample.data
    weight = data.weight
    if weight is not None and data.group_offsets is not None:
        weight = weight[data.group_offsets[:-1]]
    group = None if data.group_offsets is None else np.diff(data.group_offsets)
    matrix = xgboost.DMatrix(
        data.values, data.label, weight=weight, group=group, base_margin=sample.margin.T
    )
    if data.label_lower_bound is not None:
        for bound in ("label_lower_bound", "label_upper_bound"):
            matrix.set_float_info(bound, getattr(data, bound))
    settings = {**sample.params, "eval_metric": name}
    if name == "quantile":
        settings["quantile_alpha"] = 0.5
    booster = xgboost.Booster(settings, [matrix])
    return _timed(lambda: float(booster.eval(matrix).split(":")[1]), min(3, options.repeats))[1]
