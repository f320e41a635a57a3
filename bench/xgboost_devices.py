"""XGBoost on several devices of this machine: a process for each, joined by its own tracker."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.device.timing import Stopwatch, repeated

#: Parts begin at a multiple of so many rows, as rows are made in blocks.
_BLOCK = 1 << 20


def xgboost_seconds(devices: Sequence[str], options: argparse.Namespace) -> tuple[float, float]:
    """Return the seconds of the set-up with the first round, and of a round.

    Parameters
    ----------
    devices : sequence of str
        XGBoost's names, such as ``"cuda:0"``.
    options : argparse.Namespace
        ``rows``, ``features``, ``depth``, ``rounds``, ``groups`` and ``seed`` of `bench.devices`.
    """
    from xgboost.tracker import RabitTracker

    size = len(devices)
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=size)
    tracker.start()
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    ends = [options.rows * rank // size // _BLOCK * _BLOCK for rank in range(size)]
    ends.append(options.rows)
    workers = [
        context.Process(
            target=_worker,
            args=(tracker.worker_args(), device, ends[rank], ends[rank + 1], options, results),
        )
        for rank, device in enumerate(devices)
    ]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return max(setup for setup, _ in found), max(seconds for _, seconds in found)


def _worker(
    tracker: dict[str, Any],
    device: str,
    first: int,
    end: int,
    options: argparse.Namespace,
    results: Any,
) -> None:
    import xgboost

    from bench.devices import made_rows

    values, label = made_rows(end - first, options.features, options.seed, first)
    params = {
        "objective": "binary:logistic", "max_depth": options.depth, "tree_method": "hist",
        "device": device,
    }  # fmt: skip
    with xgboost.collective.CommunicatorContext(**tracker):
        watch = Stopwatch()
        data = xgboost.QuantileDMatrix(values, label)
        booster = xgboost.train(params, data, 1)
        setup = watch.lap()

        def rounds() -> None:
            first = booster.num_boosted_rounds()
            for number in range(first, first + options.rounds):
                booster.update(data, number)

        times = repeated(rounds, options.groups, per=options.rounds)
    results.put((setup, times.median))
