"""``python -m bench contributions``: contributions of features (SHAP values), beside XGBoost.

Trees are grown by this library on random rows, level by level or symmetric. ``contributions`` and
``pairs`` are ``predict(pred_contribs=True)`` and ``predict(pred_interactions=True)`` of ``Model``,
``margins`` is ``predict(output_margin=True)``; XGBoost reads the same model, and takes as many
threads as there are cores. Speeds are millions of rows times trees a second, of the median time.

``--parts`` splits the time of one piece of rows instead: what the host prepares and uploads of the
trees, the upload of the rows, the kernels of trees, of sums and of float64, the download, and what
the host adds to the largest contributions. The device is idle between two parts.

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

from bench.host import describe_host, parser_of
from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.timing import Stopwatch, middle, repeated
from pyopencl_gbdt.prediction.contributions.device_walk import plan_sums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.contributions.quantum import Starts
from pyopencl_gbdt.prediction.contributions.sums import told_places

FORMAT = 1


def main(arguments: list[str]) -> int:
    parser = parser_of("contributions", __doc__)
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
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if min(options.rows, options.pair_rows, options.columns, options.trees, options.repeats) < 1:
        parser.error("--rows, --pair-rows, --columns, --trees, --repeats: expected 1 or more")
    report = measure(options)
    for what, (n_rows, seconds) in report["seconds"].items():
        speed = n_rows * options.trees / seconds / 1e6
        print(f"{what:26} {n_rows:9} rows {seconds:9.4f} s {speed:9.2f} M/s")
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
    shape = [int(options.rows), options.columns, options.trees, options.depth]
    report = {"format": FORMAT, "host": describe_host(), "shape": shape}
    if options.parts:
        return report | {"seconds": _parts(model, X, options)}
    asked = {"margins": "output_margin", "contributions": "pred_contribs"}
    rows = {what: (int(options.rows), name) for what, name in asked.items()}
    rows["pairs"] = int(options.pair_rows), "pred_interactions"
    seconds: dict[str, tuple[int, float]] = {}
    for what, (n_rows, name) in rows.items():
        own: dict[str, Any] = {name: True, "device": options.device}
        seconds[what] = n_rows, _median(partial(model.predict, X[:n_rows], **own), options)
    if options.peer_rows:
        seconds |= _of_xgboost(model, X, options)
    return report | {"seconds": seconds}


def _parts(model: Model, X: Any, options: argparse.Namespace) -> dict[str, tuple[int, float]]:
    """Return the seconds of the parts of one piece of rows, of each kind of contributions."""
    device, found = open_device(options.device), {}
    for what, kind, n_rows in (
        ("contributions", Kind.FEATURES, int(options.rows)),
        ("pairs", Kind.PAIRS, int(options.pair_rows)),
    ):
        every: list[dict[str, float]] = []
        work = partial(_parts_of, model, X[:n_rows], kind, device, every)
        repeated(work, options.repeats)
        for part in every[0]:
            median = middle([seconds[part] for seconds in every[1:]])
            found[f"{what}: {part}"] = n_rows, median
    return found


def _parts_of(
    model: Model, values: Any, kind: Kind, device: Device, every: list[dict[str, float]]
) -> None:
    """Explain a piece of rows once; append the seconds of each part."""
    ensemble, n_rows = model.ensemble, values.shape[0]
    factors, watch = path_factors(ensemble), Stopwatch()
    found: dict[str, float] = {}

    def lap(part: str) -> None:
        device.finish()
        found[part] = watch.lap()

    margins = model.predict(values, output_margin=True, device=device)[None]
    lap("margins")
    way = plan_sums(device, factors, kind, n_rows)
    lap("trees")
    laid = way.lay(values, slice(0, n_rows))
    lap("rows")
    quanta = way.added(laid, (0, factors.trees.n_trees))
    lap("kernels")
    told = told_places(ensemble, factors.used, kind is Kind.PAIRS)
    assert told is not None
    sums = device.empty((n_rows, 1, told.size), np.int64)
    way.tell(quanta, device.upload(told.reshape(-1).astype(np.uint32)), 0, sums)
    lap("sums by row")
    starts = Starts.of(factors.bits, np.zeros(1, np.int64), np.zeros((1, 1), np.float32))
    totals = way.finish(sums, starts)
    lap("float64")
    floats = np.empty((n_rows, 1, *told.shape))
    device.read_into(sums, floats.reshape(-1).view(np.uint8))
    lap("download")
    starts.add_rest(floats, totals.get(), margins)
    lap("rest")
    every.append(found)


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
