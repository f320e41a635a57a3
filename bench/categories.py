"""``python -m bench categories``: trainings on categorical columns, beside the installed peers.

The shapes are `clicks` and `access` of ``bench.category_shapes``; the last quarter of the rows is
held out. Systems take turns: each trains a model of one round, then one of ``--rounds``. `set-up`
is the shorter model's time, a round is the difference. ``--processor`` gives the time of all cores
together, which other programs disturb less. ``--peer-device cuda`` trains XGBoost and CatBoost on
an NVIDIA card; CatBoost's time then holds its start there, in both models alike.

``--json`` writes ``format`` (1), ``host``, ``options`` and ``results``: by shape and system,
``set_up`` and ``round`` in seconds (medians over ``--repeats``) and ``auc`` of the held-out rows.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.category_shapes import Table, access, clicks
from bench.host import describe_host, parser_of
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.timing import Stopwatch

FORMAT = 1
DEPTH, RATE = 6, 0.1
F32 = npt.NDArray[np.float32]
PEERS = ("lightgbm", "xgboost", "catboost")
#: Trains so many rounds; returns scores of the held-out rows.
System = Callable[[int], F32]
OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours, no pairs": {"max_ctr_complexity": 1},
    "ours, symmetric": {"grow_policy": "symmetric"},
    "ours, sets": {"cat_method": "sets", "cat_smooth": 10.0},
    "ours, symmetric sets": {
        "grow_policy": "symmetric",
        "cat_method": "sets",
        "cat_smooth": 10.0,
    },
}


def main(arguments: list[str]) -> int:
    parser = parser_of("categories", __doc__)
    parser.add_argument("--shapes", nargs="*", choices=["access", "clicks"], default=["access"])
    parser.add_argument("--rows", type=float, default=26_000, help="rows of clicks, held out too")
    parser.add_argument("--levels", type=int, default=200_000, help="most levels of clicks")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--peer-device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.rounds < 2 or options.repeats < 1 or options.rows < 100:
        parser.error("expected --rounds >= 2, --repeats >= 1, --rows >= 100")
    results = {}
    for shape in options.shapes:
        table = access() if shape == "access" else clicks(int(options.rows), options.levels)
        chosen = systems(table, options.device, options.peers, options.peer_device)
        results[shape] = measure(
            table, chosen, options.rounds, options.repeats, processor=options.processor
        )
        print(f"{shape}, {table.label.size} rows, a quarter of them held out")
        for name, found in results[shape].items():
            times = f"set-up {found['set_up']:7.3f} s  round {1e3 * found['round']:8.2f} ms"
            print(f"  {name:18} {times}  AUC {found['auc']:.4f}", flush=True)
    if options.json is not None:
        asked = {name: str(value) for name, value in vars(options).items()}
        report = {"format": FORMAT, "host": describe_host(), "options": asked, "results": results}
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def measure(
    table: Table,
    chosen: Mapping[str, System],
    rounds: int,
    repeats: int,
    *,
    processor: bool = False,
) -> dict[str, dict[str, float]]:
    """Return set-up, round and AUC of every system."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    auc = {}
    for system in chosen.values():
        system(1)  # builds kernels
    for _ in range(repeats):
        for name, system in chosen.items():
            watch = Stopwatch(processor=processor)
            system(1)
            short = watch.lap()
            scores = system(rounds)
            times[name].append((short, watch.lap() - short))
            auc[name] = area(table.label[_seen(table) :], scores)
    found = {}
    for name, own in times.items():
        set_up, more = np.median(own, axis=0)
        found[name] = {"set_up": float(set_up), "round": float(more) / (rounds - 1)}
        found[name]["auc"] = auc[name]
    return found


def _seen(table: Table) -> int:
    """Return the number of rows to train on."""
    return table.label.size * 3 // 4


def systems(
    table: Table, device: str, peers: Sequence[str] = PEERS, peer_device: str = "cpu"
) -> dict[str, System]:
    """Return ours, and those of the peers that are installed."""
    seen, unseen = slice(0, _seen(table)), slice(_seen(table), None)
    X, y, columns = table.values, table.label, table.categorical
    given = Dataset(X[seen], y[seen], categorical_features=columns)
    common = {"objective": "binary:logistic", "max_depth": DEPTH, "learning_rate": RATE}

    def ours(n: int, more: dict[str, Any]) -> F32:
        given.forget()
        model = train({**common, "device": device, "verbosity": 0, **more}, given, n)
        return model.predict(X[unseen], device=device)

    found: dict[str, System] = {
        name: lambda n, more=more: ours(n, more) for name, more in OURS.items()
    }
    there = {peer for peer in peers if importlib.util.find_spec(peer)}
    if "lightgbm" in there:
        import lightgbm

        params = {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH,
                  "learning_rate": RATE, "verbose": -1}  # fmt: skip

        def light(n: int) -> F32:
            data = lightgbm.Dataset(X[seen], y[seen], categorical_feature=columns)
            return np.asarray(lightgbm.train(params, data, n).predict(X[unseen]))

        found["LightGBM"] = light
    if "xgboost" in there:
        import xgboost

        types = ["c" if column in columns else "q" for column in range(X.shape[1])]

        def extreme(n: int) -> F32:
            data = xgboost.DMatrix(X[seen], y[seen], feature_types=types, enable_categorical=True)
            rows = xgboost.DMatrix(X[unseen], feature_types=types, enable_categorical=True)
            booster = xgboost.train({**common, "device": peer_device}, data, n)
            return np.asarray(booster.predict(rows))

        found["XGBoost"] = extreme
    if "catboost" in there:
        found |= _catboost(table, seen, unseen, "GPU" if peer_device == "cuda" else "CPU")
    return found


def _catboost(table: Table, seen: slice, unseen: slice, task: str) -> dict[str, System]:
    import catboost
    import pandas as pd

    frame = pd.DataFrame(table.values)
    for column in table.categorical:
        frame[column] = frame[column].astype(int).astype(str)
    other = catboost.Pool(frame[unseen], cat_features=table.categorical)

    def train_it(n: int, more: dict[str, Any]) -> F32:
        data = catboost.Pool(frame[seen], table.label[seen], cat_features=table.categorical)
        model = catboost.CatBoostClassifier(
            iterations=n, depth=DEPTH, learning_rate=RATE, verbose=0, boosting_type="Plain",
            allow_writing_files=False, task_type=task, **more,
        )  # fmt: skip
        return np.asarray(model.fit(data).predict_proba(other)[:, 1], np.float32)

    return {
        "CatBoost": lambda n: train_it(n, {}),
        "CatBoost, pairs": lambda n: train_it(n, {"max_ctr_complexity": 2}),
    }


def area(label: F32, scores: F32) -> float:
    """Return the area under the curve; equal scores count half."""
    values, place = np.unique(scores, return_inverse=True)
    hits = np.bincount(place, label > 0, values.size)
    misses = np.bincount(place, label <= 0, values.size)
    below = np.cumsum(misses) - misses
    return float((hits * (below + misses / 2)).sum() / (hits.sum() * misses.sum()))
