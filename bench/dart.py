"""``python -m bench dart``: a round with dropped trees beside a plain one, and held-out AUC.

Both fits stay open, and a turn trains some rounds of each, one fit after the other. ``rate_drop``
is such that a round drops ``--dropped`` trees in the mean; the line tells how many it were.
With ``--quality``, this library and XGBoost train by DART on rows of the same distribution, for
several seeds, and the line has means and standard deviations of the AUC of held-out rows::

    python -m bench dart --device cuda,opencl
    python -m bench dart --device opencl --quality --rows 7000
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from bench.host import parser_of
from pyopencl_gbdt import Dataset, open_fit, train
from pyopencl_gbdt.device.timing import clock, in_turns
from pyopencl_gbdt.training.open_fit import OpenFit

F32 = npt.NDArray[np.float32]
#: Trees before the first turn, so that there are some to drop.
_BEFORE = 50
_HELD_OUT = 5000
#: Settings of DART whose quality is compared.
SETTINGS: dict[str, dict[str, Any]] = {
    "uniform": {"rate_drop": 0.1},
    "skipped": {"rate_drop": 0.1, "skip_drop": 0.5},
    "by weight, as a forest": {
        "rate_drop": 0.1, "sample_type": "weighted", "normalize_type": "forest",
    },
    "one": {"one_drop": True},
}  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = parser_of("dart", __doc__)
    add = parser.add_argument
    add("--device", default="auto", help="with commas between: cuda,opencl")
    add("--rows", type=int, default=1_000_000)
    add("--features", type=int, default=28)
    add("--depth", type=int, default=6)
    add("--dropped", type=int, default=10, help="trees that a round drops in the mean")
    add("--rounds", type=int, default=20, help="of a turn")
    add("--turns", type=int, default=5)
    add("--quality", action="store_true", help="compare AUC with XGBoost's instead")
    add("--seeds", type=int, default=10)
    options = parser.parse_args(arguments)
    for device in options.device.split(","):
        if options.quality:
            _print_quality(options, device)
        else:
            _print_rounds(options, device)
    return 0


def made(n_rows: int, n_features: int, seed: int) -> tuple[F32, F32]:
    """Return rows, float32 (n_rows, n_features), and noisy classes of them, 0 or 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] - np.abs(X[:, 3]) + rng.logistic(size=n_rows)
    return X, (score > 0).astype(np.float32)


def _print_rounds(options: argparse.Namespace, device: str) -> None:
    X, y = made(options.rows, options.features, 0)
    n_rounds = _BEFORE + options.rounds * (options.turns + 1)
    own = {"objective": "binary:logistic", "max_depth": options.depth, "device": device}
    rate = min(1.0, 2 * options.dropped / (_BEFORE + n_rounds))
    with ExitStack() as stack:
        data = Dataset(X, y)
        fits = [
            stack.enter_context(open_fit({**own, **more, "verbosity": 0}, data, n_rounds))
            for more in ({}, {"booster": "dart", "rate_drop": rate})
        ]
        for fit in fits:
            _rounds(fit, _BEFORE)()
        work = [partial(clock, _rounds(fit, options.rounds)) for fit in fits]
        plain, dart = in_turns(work, options.turns)
        label = fits[0].model().training_device
        n_dropped = fits[1].n_dropped[_BEFORE:]
    each = [1000 * times.median / options.rounds for times in (plain, dart)]
    spread = [[f"{1000 * q / options.rounds:.3f}" for q in one.quartiles] for one in (plain, dart)]
    print(
        f"{label}, {options.rows} x {options.features}, depth {options.depth}: a plain round "
        f"{each[0]:.3f} ms ({' to '.join(spread[0])}), with {statistics.mean(n_dropped):.1f} "
        f"dropped trees {each[1]:.3f} ms ({' to '.join(spread[1])}): {each[1] / each[0]:.2f} times"
    )


def _rounds(fit: OpenFit, number: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(number):
            fit.update()
        fit.wait()

    return work


def _print_quality(options: argparse.Namespace, device: str) -> None:
    import xgboost

    X, y = made(options.rows + _HELD_OUT, options.features, 1)
    X, y, rest, truth = X[_HELD_OUT:], y[_HELD_OUT:], X[:_HELD_OUT], y[:_HELD_OUT]
    data, theirs, held_out = Dataset(X, y), xgboost.DMatrix(X, y), xgboost.DMatrix(rest)
    shared = {"objective": "binary:logistic", "max_depth": options.depth, "eta": 0.1}
    for name, own in SETTINGS.items():
        found: dict[str, list[float]] = {"ours": [], "XGBoost": []}
        for seed in range(options.seeds):
            given = {**shared, **own, "booster": "dart", "tree_method": "hist", "seed": seed}
            model = train({**given, "device": device, "verbosity": 0}, data, 100)
            found["ours"].append(roc_auc_score(truth, model.predict(rest)))
            booster = xgboost.train({**given, "verbosity": 0}, theirs, 100)
            found["XGBoost"].append(roc_auc_score(truth, booster.predict(held_out)))
        shown = [
            f"{who} {statistics.mean(scores):.4f} +- {statistics.pstdev(scores):.4f}"
            for who, scores in found.items()
        ]
        print(f"{name}: held-out AUC over {options.seeds} seeds, {', '.join(shown)}")
