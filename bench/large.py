"""``python -m bench large``: ranks, classes, forests and ways to sample, beside XGBoost.

Ours and XGBoost (``--peer-device cuda`` for a GPU) train the same seeded rows with the same
parameters in a process each, so that neither holds memory of the other; they take turns. A round's
time is the median without the first quarter of the rounds, the device idle at both ends. Quality is
that of held-out rows after all rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.page_lines import F32
from pyopencl_gbdt.device.timing import clock, middle

_PIECES = 32


@dataclass(frozen=True)
class Large:
    """Rows and parameters.

    Attributes
    ----------
    n_rows, n_features, rounds : int
    metric : str
    params : dict
    """

    n_rows: int
    n_features: int
    rounds: int
    metric: str
    params: dict[str, Any]


_MILLION = (1_000_000, 28, 40, "rmse")
SHAPES: dict[str, Large] = {
    "ranks": Large(473_134, 700, 30, "ndcg@10", {"objective": "rank:ndcg", "learning_rate": 0.1}),
    "classes": Large(
        50_000, 3072, 20, "mlogloss", {"objective": "multi:softprob", "num_class": 10}
    ),
    "forest": Large(
        1_000_000, 28, 3, "rmse",
        {"max_depth": 8, "learning_rate": 1.0, "num_parallel_tree": 100, "subsample": 0.8,
         "colsample_bynode": 0.8, "reg_lambda": 1e-5},
    ),
    "plain": Large(*_MILLION, {}),
    "gradient_based": Large(
        *_MILLION, {"subsample": 0.5, "sampling_method": "gradient_based"}
    ),
    "goss": Large(*_MILLION, {"sampling_method": "goss"}),
    "columns": Large(*_MILLION, {"colsample_bynode": 0.5}),
    "lossguide": Large(
        *_MILLION, {"grow_policy": "lossguide", "max_leaves": 63, "max_depth": 0}
    ),
    "monotone": Large(*_MILLION, {"monotone_constraints": "(1,1,1,-1)"}),
    "absolute": Large(1_000_000, 28, 40, "mae", {"objective": "reg:absoluteerror"}),
}  # fmt: skip
#: XGBoost has no such sampling.
_OURS_ALONE = ("goss",)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench large",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rows-scale", type=float, default=1.0, help="fewer rows")
    parser.add_argument("--device", default="auto", help="ours, as for open_device")
    parser.add_argument("--peer-device", default="cpu", help="XGBoost's: cpu or cuda")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", help="file for the figures")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(_measure(options, options.child, *options.only)))
        return 0
    found = []
    print(f"{'shape':<16}{'seed':>5}{'ours ms':>10}{'XGBoost':>10}{'x':>7}  metric: ours, XGBoost")
    for name in options.only:
        for seed in range(options.seeds):
            ours = _child(arguments, name, f"ours:{seed}")
            peer = {} if name in _OURS_ALONE else _child(arguments, name, f"xgboost:{seed}")
            found.append({"shape": name, "seed": seed, "ours": ours, "xgboost": peer})
            print(_line(found[-1], SHAPES[name].metric), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _line(found: dict[str, Any], metric: str) -> str:
    ours, peer = found["ours"], found["xgboost"]
    times = f"{ours['round_ms']:10.3f}"
    if peer:
        times += f"{peer['round_ms']:10.3f}{peer['round_ms'] / ours['round_ms']:7.2f}"
    quality = f"{metric}: {ours['quality']:.5f}" + (f", {peer['quality']:.5f}" if peer else "")
    return f"{found['shape']:<16}{found['seed']:>5}{times}  {quality}"


def _child(arguments: list[str], name: str, what: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench", "large", *arguments, "--only", name, "--child", what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}, {what}: {done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _measure(options: argparse.Namespace, what: str, name: str) -> dict[str, float]:
    system, seed = what.split(":")
    shape = SHAPES[name]
    n_rows = max(200, int(shape.n_rows * options.rows_scale))
    values, label, queries = make(shape, n_rows, int(seed))
    cut = int(0.8 * n_rows) if queries is None else int(np.searchsorted(queries, queries[-1] * 0.8))
    parts = [slice(0, cut), slice(cut, None)]
    sets = [(values[p], label[p], None if queries is None else queries[p]) for p in parts]
    params = {"max_depth": 6, **shape.params}
    train = {"ours": _ours, "xgboost": _xgboost}[system]
    return train(options, shape, params, sets)


def make(shape: Large, n_rows: int, seed: int) -> tuple[F32, F32, np.ndarray[Any, Any] | None]:
    """Return values, labels and, for ranks, the query of each row."""
    values = np.empty((n_rows, shape.n_features), np.float32)

    def fill(piece: int) -> None:
        rows = slice(n_rows * piece // _PIECES, n_rows * (piece + 1) // _PIECES)
        np.random.default_rng([seed, piece]).random(out=values[rows], dtype=np.float32)

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(_PIECES)))
    rng = np.random.default_rng([seed, _PIECES])
    score = 3 * values[:, 0] * values[:, 1] + values[:, 2] - values[:, 3] * values[:, 4]
    if shape.metric == "mlogloss":
        score = score + 0.3 * values[:, ::37].sum(axis=1)
    score = score + 0.5 * rng.standard_normal(n_rows, dtype=np.float32)
    if shape.metric == "mlogloss":
        return values, _grades(score, np.arange(0.1, 1, 0.1)), None
    if shape.metric.startswith("ndcg"):
        sizes = rng.integers(5, 44, n_rows // 20)
        ends = np.cumsum(sizes)
        queries = np.searchsorted(ends, np.arange(n_rows), side="right")
        return values, _grades(score, [0.4, 0.7, 0.88, 0.97]), queries
    return values, score.astype(np.float32), None


def _grades(score: F32, shares: Any) -> F32:
    return np.digitize(score, np.quantile(score, shares)).astype(np.float32)


def _round_ms(shape: Large, step: Callable[[], object]) -> float:
    """Return the median of a round without the first quarter of them."""
    seconds = [clock(step) for _ in range(shape.rounds)]
    return 1e3 * middle(seconds[shape.rounds // 4 :])


def _ours(
    options: argparse.Namespace, shape: Large, params: dict[str, Any], sets: list[Any]
) -> dict[str, float]:
    from pyopencl_gbdt import Dataset
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.training.preparing import prepare
    from pyopencl_gbdt.training.running_task import RunningTask

    data, held_out = (Dataset(x, y, qid=q) for x, y, q in sets)
    device = open_device(options.device)
    given = {**params, "n_estimators": shape.rounds, "device": options.device}
    figures: dict[str, float] = {}
    for evals in ([], [(held_out, "held out")]):  # rounds alone are timed
        fit = RunningTask(device, prepare(given, data, evals, shape.metric, None))

        def step(fit: RunningTask = fit) -> None:
            fit.step()
            device.finish()

        round_ms = _round_ms(shape, step)
        if evals:
            figures["quality"] = fit.history["held out"][shape.metric][-1]
        else:
            figures["round_ms"] = round_ms
    return figures


def _xgboost(
    options: argparse.Namespace, shape: Large, params: dict[str, Any], sets: list[Any]
) -> dict[str, float]:
    import xgboost

    (x, y, q), (held_x, held_y, held_q) = sets
    data = xgboost.QuantileDMatrix(x, y, qid=q, max_bin=256)
    held_out = xgboost.QuantileDMatrix(held_x, held_y, qid=held_q, ref=data)
    given = {**params, "device": options.peer_device, "eval_metric": shape.metric}
    booster, number = xgboost.Booster(given, [data]), iter(range(shape.rounds))
    round_ms = _round_ms(shape, lambda: booster.update(data, next(number)))
    quality = float(booster.eval(held_out).split(":")[-1])
    return {"round_ms": round_ms, "quality": quality}
