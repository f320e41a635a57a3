"""``python -m bench metrics``: each metric of a round, on the device, in NumPy and in XGBoost.

A device's time is that of the host's clock from its launches to the few numbers read back. NumPy's
is a copy of the margins to the host, the loss's link, and the metric in float64. XGBoost's is
``Booster.eval`` of no trees on its CPU, whose predictions are ready after the first time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.metrics import METRICS, curve_of, get_metric, row_loss_of
from pyopencl_gbdt.metrics.rows import N_WORDS, EvaluatedRows
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.steps.curve import Curves
from pyopencl_gbdt.steps.mean_loss import MeanLoss

F32 = npt.NDArray[np.float32]
NAMES = [f"{name}@1.5" if row.default is None else name for name, row in METRICS.items()]
_BINARY = ("logloss", "error", "auc", "aucpr")
_COUNTS = ("poisson-nloglik", "gamma-nloglik", "gamma-deviance", "tweedie-nloglik@1.5")
HEAD = (
    f"{'metric':<21}{'weights':<9}{'n':>11}{'ms':>10}{'NumPy':>10}{'XGBoost':>10}{'x NumPy':>9}"
    f"{'rel. diff':>11}"
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench metrics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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


def _line(device: Device, name: str, n: int, weighted: bool, options: argparse.Namespace) -> str:
    label, margin, weight = _drawn(name, n, weighted)
    objective = get_objective(
        "binary:logistic" if name in _BINARY else
        "count:poisson" if name in _COUNTS else "reg:squarederror"
    )  # fmt: skip
    ones = np.ones(1, np.float32)
    margins = device.upload(margin)
    weights = device.upload(ones if weight is None else weight)
    labels = device.upload(label)
    rows = EvaluatedRows(device, margins, labels, weights, label, weight, objective.link)
    metric = get_metric(name)
    loss = row_loss_of(metric)
    prepared = Curves(rows, [curve_of(metric)]) if loss is None else MeanLoss(rows, loss)
    results = device.zeros((1, N_WORDS), np.int64)
    launches = prepared.launches(results, 0)

    def on_device() -> float:
        for launch in launches:
            launch()
        return prepared.values(results.get())[0]

    def by_numpy() -> float:
        return metric(label, objective.to_probability(margins.get()), weight)

    found, seconds = _timed(on_device, options.repeats)
    wanted, host_seconds = _timed(by_numpy, min(3, options.repeats))
    theirs = None
    if not options.no_xgboost:
        theirs = _xgboost_seconds(name, label, objective.to_probability(margin), weight, options)
    return (
        f"{name:<21}{'yes' if weighted else 'no':<9}{n:>11}{1e3 * seconds:>10.3f}"
        f"{1e3 * host_seconds:>10.3f}{'-' if theirs is None else f'{1e3 * theirs:.3f}':>10}"
        f"{host_seconds / seconds:>9.1f}{abs(found / wanted - 1):>11.1e}"
    )


def _drawn(name: str, n: int, weighted: bool) -> tuple[F32, F32, F32 | None]:
    """Return labels and margins that tell something of them, and weights."""
    rng = np.random.default_rng(3)
    margin = rng.standard_normal(n)
    if name in _BINARY:
        label = (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(np.float32)
    elif name in _COUNTS:
        label = rng.poisson(np.exp(margin)) + (0.5 if name.startswith("gamma") else 0.0)
    else:
        label = 3 + margin + 0.3 * rng.standard_normal(n)
        margin += 3
        label, margin = np.maximum(label, 0.01), np.maximum(margin, 0)
    weight = rng.uniform(0.5, 2, n).astype(np.float32) if weighted else None
    return label.astype(np.float32), margin.astype(np.float32), weight


def _timed(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Return what it computes, and the median of its seconds after one run to warm up."""
    value, seconds = work(), []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return value, statistics.median(seconds)


def _xgboost_seconds(
    name: str, label: F32, prediction: F32, weight: F32 | None, options: argparse.Namespace
) -> float | None:
    try:
        import xgboost
    except ImportError:
        return None
    data = xgboost.DMatrix(
        np.zeros((label.size, 1), np.float32), label, weight=weight, base_margin=prediction
    )
    settings = {"objective": "reg:squarederror", "eval_metric": name, "quantile_alpha": 0.5}
    booster = xgboost.Booster(settings, [data])
    return _timed(lambda: float(booster.eval(data).split(":")[1]), min(3, options.repeats))[1]
