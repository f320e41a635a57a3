"""``python -m bench devices``: each device alone, and all together, on the same rows.

All fits are in one process and take turns: a group of rounds each. Devices are idle at both ends of
a group. Together, every device has an equal part of the rows, or what ``--weights`` say. XGBoost
trains on the same devices, a process each, if ``--xgboost`` gives its names for them.

ms/round     median over groups
x            how many times as fast as the fastest device alone
sums         MB that each device sends, and receives, in a round
wait         part of a round's time in which the first device's thread waits for its device
add          part in which it adds up sums, or waits for the other devices
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.host import n_cpus, report_head
from bench.xgboost_devices import xgboost_seconds
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import open_device, selection
from pyopencl_gbdt.device.timing import Stopwatch, middle
from pyopencl_gbdt.training.fitting import Fit
from pyopencl_gbdt.training.member import LeadingFit, digest_of
from pyopencl_gbdt.training.opened import opened_fit
from pyopencl_gbdt.training.preparing import prepare

F32 = npt.NDArray[np.float32]
#: Rows that are drawn from one seed: the numbers do not depend on the number of threads.
_BLOCK = 1 << 20
MB = 1e6


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    selection.ALLOWS_TWICE = True  # two queues of a device show what sums cost
    names = options.devices
    weights = options.weights or [1.0] * len(names)
    watch = Stopwatch()
    values, label = made_rows(options.rows, options.features, options.seed)
    print(f"{options.rows} x {options.features}, made in {watch.lap():.1f} s")
    runs = _measure(names, weights, values, label, options)
    if options.xgboost:
        for devices in [*([name] for name in options.xgboost), options.xgboost]:
            runs.append(_of_xgboost(devices, options))
    fastest = min(run["round_seconds"] for run in runs if run["alone"])
    print(f"{'':<34}{'set-up s':>9}{'ms/round':>10}{'x':>7}{'sums MB':>9}{'wait':>7}{'add':>7}")
    for run in runs:
        print(_line(run, fastest))
    if options.json:
        report = {"format": 1, **report_head("devices", arguments), "runs": runs}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(len({run["digest"] for run in runs if run["digest"]}) > 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench devices",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--devices", nargs="+", default=["gpu:0", "gpu:1"], help="as for open_device")
    add("--weights", nargs="+", type=float, help="parts of the rows; default: equal ones")
    add("--rows", type=int, default=11_000_000)
    add("--features", type=int, default=28)
    add("--depth", type=int, default=8)
    add("--rounds", type=int, default=5, help="of a group")
    add("--groups", type=int, default=7)
    add("--seed", type=int, default=0)
    add("--xgboost", nargs="+", metavar="DEVICE", help="such as cuda:0 cuda:1")
    add("--json", metavar="FILE", help="write the results there as well")
    return parser


def made_rows(n_rows: int, n_features: int, seed: int, first: int = 0) -> tuple[F32, F32]:
    """Return uniform values, and labels 0 and 1 that depend on four columns; in many threads.

    Parameters
    ----------
    n_rows, n_features, seed : int
    first : int
        The first row, a multiple of a block's; rows are the same in any part.
    """
    values, label = np.empty((n_rows, n_features), np.float32), np.empty(n_rows, np.float32)

    def fill(begin: int) -> None:
        rows = slice(begin, begin + _BLOCK)
        own = values[rows]
        rng = np.random.Generator(np.random.SFC64([seed, (first + begin) // _BLOCK]))
        rng.random(dtype=np.float32, out=own)
        signal = own[:, 0] + own[:, 1 % n_features] * own[:, 2 % n_features]
        noise = rng.random(len(own), dtype=np.float32)
        label[rows] = signal - own[:, 3 % n_features] + noise > 0.75

    with ThreadPoolExecutor(n_cpus()) as pool:
        for _ in pool.map(fill, range(0, n_rows, _BLOCK)):
            pass
    return values, label


def _measure(
    names: Sequence[str],
    weights: Sequence[float],
    values: F32,
    label: F32,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    pairs = zip(names, weights, strict=True)
    together = ",".join(f"{name}={weight!r}" for name, weight in pairs)
    runs: list[dict[str, Any]] = []
    with ExitStack() as stack:
        fits: list[Fit] = []
        for device in [*dict.fromkeys(names), together]:
            params = {
                "objective": "binary:logistic", "max_depth": options.depth, "device": device,
                "n_estimators": (1 + options.groups) * options.rounds,
            }  # fmt: skip
            watch = Stopwatch()
            task = prepare(params, Dataset(values, label), (), None, None)
            fits.append(stack.enter_context(opened_fit(task)))
            fits[-1].step()
            fits[-1].wait()
            found = watch.lap()
            label_of = device if device != together else "together"
            facts = open_device(names[0]).caps.label if device == together else device
            runs.append({"name": label_of, "device": facts, "alone": device != together})
            runs[-1] |= {"setup_seconds": found, "groups": [], "sums": None}
        for group in range(1 + options.groups):
            for fit, run in zip(fits, runs, strict=True):
                seconds = _group(fit, options.rounds - (group == 0), run)
                if group:  # the first one warms up
                    run["groups"].append(seconds)
        for fit, run in zip(fits, runs, strict=True):
            run["round_seconds"] = middle(run["groups"]) / options.rounds
            run["digest"] = digest_of(fit.model().ensemble.trees)
    return runs


def _group(fit: Fit, n_rounds: int, run: dict[str, Any]) -> float:
    buffers = fit.team.buffers if isinstance(fit, LeadingFit) else None  # type: ignore[attr-defined]
    before = None if buffers is None else (buffers.n_bytes, buffers.waited, buffers.added)
    watch = Stopwatch()
    for _ in range(n_rounds):
        fit.step()
    fit.wait()
    seconds = watch.lap()
    if buffers is not None and before is not None and n_rounds:
        n_bytes, waited, added = buffers.n_bytes, buffers.waited, buffers.added
        run["sums"] = {
            "bytes": (n_bytes - before[0]) / n_rounds,
            "waited": (waited - before[1]) / seconds,
            "added": (added - before[2]) / seconds,
        }
    return seconds


def _of_xgboost(devices: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    setup, seconds = xgboost_seconds(devices, options)
    return {
        "name": "XGBoost " + " ".join(devices), "device": "", "alone": False, "sums": None,
        "setup_seconds": setup, "round_seconds": seconds, "digest": "",
    }  # fmt: skip


def _line(run: dict[str, Any], fastest: float) -> str:
    text = (
        f"{run['name']:<34}{run['setup_seconds']:>9.2f}{1e3 * run['round_seconds']:>10.3f}"
        f"{fastest / run['round_seconds']:>7.2f}"
    )
    if run["sums"] is None:
        return text
    sums = run["sums"]
    return f"{text}{sums['bytes'] / MB:>9.2f}{sums['waited']:>7.0%}{sums['added']:>7.0%}"
