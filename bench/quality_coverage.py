"""Measure how many labels lie in intervals, for ``python -m bench quality coverage``.

Every split gives a quarter of the rows to calibrate by and a quarter to test; both have at
least ``LEAST`` rows. Four ways to get intervals are compared: rows given to ``calibrate``, rows
that early stopping held out, ``calibrate`` for a pair of quantiles, and the quantiles of a normal
distribution, which early stopping ended. In each way the model is trained anew for every split.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality_tables import QualityTable, read

#: The fewest rows to calibrate by, and the fewest to test.
LEAST = 1000
SHARE = 0.25

Part = tuple[Any, Any]


def options(parser: argparse.ArgumentParser) -> None:
    """Add what a measurement takes."""
    parser.add_argument("--data", type=Path, required=True, metavar="TABLES.npz")
    parser.add_argument("--tables", nargs="+", metavar="NAME",
                        help="of the choosing half; the first --most if left out")  # fmt: skip
    parser.add_argument("--most", type=int, default=10, help="the largest number of tables")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--least", type=int, default=LEAST, help="rows of the two parts")
    parser.add_argument("--settings", type=json.loads, default={"preset": "fast"}, metavar="JSON",
                        help="parameters of the estimator")  # fmt: skip
    parser.add_argument("--device", default="auto")


def coverage(chosen: argparse.Namespace) -> int:
    """Print a line of coverages and of one coverage's deviation for each table."""
    tables = chosen_tables(chosen)
    head = " ".join(f"{name:>18}" for name in WAYS)
    print(f"{'table':20} {'rows':>6} {head}   (mean of splits, deviation of one)")
    for table in tables:
        found: dict[str, list[float]] = {name: [] for name in WAYS}
        for seed in range(chosen.splits):
            parts = three_parts(table, seed, chosen.least)
            for name, way in WAYS.items():
                model = way(estimator(table, chosen), parts, chosen.coverage)
                found[name].append(share_within(model, parts[2], chosen.coverage))
        cells = " ".join(f"{np.mean(v):11.4f} {np.std(v):.4f}" for v in found.values())
        print(f"{table.name:20} {table.y.size:6} {cells}", flush=True)
    return 0


def three_parts(table: QualityTable, seed: int, least: int = LEAST) -> tuple[Part, Part, Part]:
    """Return rows to train on, to calibrate by and to test, in a seeded order."""
    digest = hashlib.sha256(f"{table.name} coverage {seed}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(table.y.size)
    held = max(least, round(SHARE * order.size))
    first, second, third = order[2 * held :], order[:held], order[held : 2 * held]
    X, y = table.X, table.y
    return (X[first], y[first]), (X[second], y[second]), (X[third], y[third])


def share_within(model: Any, rows: Part, coverage: float) -> float:
    """Return the share of labels that lie within their intervals."""
    X, y = rows
    ends = model.predict_interval(X, coverage=coverage)
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))


def estimator(table: QualityTable, chosen: argparse.Namespace) -> Callable[..., Any]:
    """Return a function that makes a regressor with further parameters."""
    from pyopencl_gbdt import GBDTRegressor

    def make(**more: Any) -> Any:
        shared = {"device": chosen.device, "verbosity": 0,
                  "categorical_features": list(table.categorical) or None}  # fmt: skip
        return GBDTRegressor(**{**shared, **chosen.settings, **more})

    return make


def _calibrated(make: Callable[..., Any], parts: tuple[Part, Part, Part], coverage: float) -> Any:
    return make().fit(*parts[0]).calibrate(*parts[1])


def _held_out(make: Callable[..., Any], parts: tuple[Part, Part, Part], coverage: float) -> Any:
    (X, y), (own, labels), _ = parts
    return make(early_stopping=True).fit(X, y, eval_set=[(own, labels)])


def _of_quantiles(make: Callable[..., Any], parts: tuple[Part, Part, Part], coverage: float) -> Any:
    ends = [(1 - coverage) / 2, (1 + coverage) / 2]
    model = make(objective="reg:quantileerror", quantile_alpha=ends)
    return model.fit(*parts[0]).calibrate(*parts[1])


def _of_normal(make: Callable[..., Any], parts: tuple[Part, Part, Part], coverage: float) -> Any:
    return make(objective="dist:normal", early_stopping=True).fit(*parts[0], eval_set=[parts[1]])


#: Ways to get intervals: functions of a maker of regressors, three parts and the coverage.
WAYS: dict[str, Callable[[Callable[..., Any], tuple[Part, Part, Part], float], Any]] = {
    "calibrate": _calibrated,
    "held out": _held_out,
    "pair of quantiles": _of_quantiles,
    "dist:normal": _of_normal,
}


def chosen_tables(chosen: argparse.Namespace, *, classes: bool = False) -> list[QualityTable]:
    """Return the tables of numbers, or of classes, with enough rows, the smallest first."""
    every = read(chosen.data).values()
    tables = [table for table in every if table.choosing and (table.n_classes > 0) == classes]
    tables = [table for table in tables if table.y.size >= 4 * chosen.least]
    tables.sort(key=lambda table: (table.y.size, table.name))
    names = [table.name for table in tables]
    if unknown := set(chosen.tables or ()) - set(names):
        sys.exit(f"--tables {' '.join(sorted(unknown))}: expected some of {', '.join(names)}")
    return [t for t in tables if t.name in (chosen.tables or names)][: chosen.most]
