"""``python -m bench contributions``: contributions of features (SHAP values), beside XGBoost.

Trees are grown by this library on random rows, level by level or symmetric. ``contributions`` and
``pairs`` are ``predict(pred_contribs=True)`` and ``predict(pred_interactions=True)`` of ``Model``,
``margins`` is ``predict(output_margin=True)``; XGBoost reads the same model, and takes as many
threads as there are cores. Speeds are millions of rows times trees a second, of the median time.

``--json`` writes ``format`` (1), ``host``, ``shape`` (rows, columns, trees, depth) and ``seconds``
by what was measured.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import describe_host
from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.device.timing import repeated

FORMAT = 1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench contributions", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e4)
    parser.add_argument("--pair-rows", type=float, default=500)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--symmetric", action="store_true")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peer-rows", type=float, default=500, help="0: without XGBoost")
    parser.add_argument("--peer-device", default="cpu", help="XGBoost's device, such as cuda")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if min(options.rows, options.pair_rows, options.columns, options.trees, options.repeats) < 1:
        parser.error("--rows, --pair-rows, --columns, --trees, --repeats: expected 1 or more")
    report = measure(options)
    for what, (n_rows, seconds) in report["seconds"].items():
        speed = n_rows * options.trees / seconds / 1e6
        print(f"{what:24} {n_rows:9} rows {seconds:9.3f} s {speed:9.2f} M/s")
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the report."""
    rng = np.random.default_rng(0)
    most = int(max(options.rows, options.pair_rows, options.peer_rows, 20_000))
    X = rng.normal(size=(most, options.columns)).astype(np.float32)
    y = X[:20_000].sum(axis=1) + X[:20_000, 0] * X[:20_000, -1] + rng.normal(size=20_000)
    params = {"num_round": options.trees, "max_depth": options.depth, "device": options.device}
    params |= {"grow_policy": "symmetric"} if options.symmetric else {}
    model = train(params, Dataset(X[:20_000], y))
    asked = {"margins": "output_margin", "contributions": "pred_contribs"}
    rows = {what: (int(options.rows), name) for what, name in asked.items()}
    rows["pairs"] = int(options.pair_rows), "pred_interactions"
    seconds: dict[str, tuple[int, float]] = {}
    for what, (n_rows, name) in rows.items():
        own: dict[str, Any] = {name: True, "device": options.device}
        seconds[what] = n_rows, _median(partial(model.predict, X[:n_rows], **own), options)
    if options.peer_rows:
        seconds |= _of_xgboost(model, X, options)
    shape = [int(options.rows), options.columns, options.trees, options.depth]
    return {"format": FORMAT, "host": describe_host(), "shape": shape, "seconds": seconds}


def _of_xgboost(model: Model, X: Any, options: argparse.Namespace) -> dict[str, tuple[int, float]]:
    """Return the seconds of XGBoost; nothing where it is not installed."""
    try:
        import xgboost
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(Path(folder) / "model.json")
        booster = xgboost.Booster(
            {"device": options.peer_device}, model_file=f"{folder}/model.json"
        )
    found = {}
    for what, name, n in (
        ("XGBoost, contributions", "pred_contribs", int(options.peer_rows)),
        ("XGBoost, pairs", "pred_interactions", max(1, int(options.peer_rows) // 10)),
    ):
        matrix = xgboost.DMatrix(X[:n])
        found[what] = n, _median(partial(booster.predict, matrix, **{name: True}), options)
    return found


def _median(work: Callable[[], Any], options: argparse.Namespace) -> float:
    return float(repeated(work, options.repeats).median)
