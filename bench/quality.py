"""``python -m bench quality``: ours beside XGBoost at equal parameters, over seeds.

Every shape of ``python -m bench train``, with fewer rows, is made anew from each seed; both train
on the same rows and predict the same held-out ones. The mean difference stands beside its standard
error: within two of them it is noise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import describe_host, package_versions
from bench.system import LEARNING_RATE
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.comparison.shapes import SHAPES, Shape
from pyopencl_gbdt.device import find
from pyopencl_gbdt.metrics import get_metric

#: Shapes, and rows of each that train in seconds; half as many are held out.
ROWS = {
    "higgs": 400_000, "higgs-d8": 400_000, "higgs-d12": 400_000, "higgs-skewed": 400_000,
    "bosch": 60_000, "yahoo": 80_000, "cifar": 12_000, "small": 10_000, "bins-16": 400_000,
    "bins-1024": 400_000,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--shapes", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--rows-scale", type=float, default=1.0, help="a factor on the rows")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=6, help="at least 2")
    parser.add_argument("--device", default="auto", help="of ours")
    parser.add_argument("--peer-device", default="cpu", help="of XGBoost: cpu or cuda")
    parser.add_argument("--json", metavar="FILE", help="write the results there as well")
    options = parser.parse_args(arguments)
    print(f"{'shape':<14}{'rows':>8}  {'metric':<7}{'ours':>9}{'- XGBoost':>11}{'error':>9}")
    results = []
    for name in options.shapes:
        results.append(_compare(SHAPES[name], options))
        r = results[-1]
        print(
            f"{name:<14}{r['rows']:>8}  {r['metric']:<7}{r['ours']:>9.5f}{r['difference']:>+11.5f}"
            f"{r['standard_error']:>9.5f}",
            flush=True,
        )
    if options.json:
        caps = find(options.device).caps
        report = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
            "host": describe_host(),
            "versions": package_versions(),
            "device": caps.label if caps else options.device,
            "rounds": options.rounds,
            "results": results,
        }
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def _compare(shape: Shape, options: argparse.Namespace) -> dict[str, Any]:
    """Train both on every seed's rows."""
    n = max(100, int(ROWS[shape.name] * options.rows_scale))
    metric = get_metric("auc" if shape.objective.startswith("binary") else "rmse")
    scores = np.array([_scores(shape, n, seed, metric, options) for seed in range(options.seeds)])
    difference = scores[:, 0] - scores[:, 1]
    return {
        "shape": shape.name,
        "rows": n,
        "metric": metric.__name__,
        "ours": float(scores[:, 0].mean()),
        "xgboost": float(scores[:, 1].mean()),
        "difference": float(difference.mean()),
        "standard_error": float(difference.std(ddof=1) / np.sqrt(len(difference))),
        "seeds": options.seeds,
    }


def _scores(
    shape: Shape, n: int, seed: int, metric: Any, options: argparse.Namespace
) -> tuple[float, float]:
    """Return our score and XGBoost's on held-out rows of one seed."""
    xgboost = importlib.import_module("xgboost")
    values, labels = shape.make(seed, n)
    unseen, truth = shape.make(seed, n // 2, held_out=True)
    label = np.ascontiguousarray(labels.reshape(n, -1)[:, 0])
    truth = np.ascontiguousarray(truth.reshape(n // 2, -1)[:, 0])
    shared = {
        "objective": shape.objective,
        "max_depth": shape.max_depth,
        "max_bin": shape.max_bin,
        "learning_rate": LEARNING_RATE,
    }
    ours = train({**shared, "device": options.device}, Dataset(values, label), options.rounds)
    theirs = xgboost.train(
        {**shared, "device": options.peer_device, "tree_method": "hist"},
        xgboost.QuantileDMatrix(values, label, max_bin=shape.max_bin),
        options.rounds,
    )
    predicted = ours.predict(unseen, device=options.device)
    return metric(truth, predicted), metric(truth, theirs.predict(xgboost.DMatrix(unseen)))
