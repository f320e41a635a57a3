"""``python -m bench devices-jobs``: processes that train together, each with a device of its own.

The rows are those of ``python -m bench devices``; each process makes its own part of them.

mpi       the ranks of a job: ``mpirun -n 4 python -m bench devices-jobs --way mpi``
dask      workers of a local cluster of Dask
xgboost   XGBoost on the workers of such a cluster, each with a card of its own

ms a round is the median over groups of rounds, at the end of which rank 0 waits for its device, as
in ``bench devices``. Seconds in all are those of the training, from rows in the processes'
memory. The digest is that of the trees.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from bench.devices_fits import digest_of
from bench.devices_rows import BLOCK, made_rows
from bench.host import n_cpus, parser_of
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.device.timing import Stopwatch, middle


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    {"mpi": _mpi, "dask": _dask, "xgboost": _xgboost}[options.way](options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("devices-jobs", __doc__)
    add = parser.add_argument
    add("--way", choices=["mpi", "dask", "xgboost"], default="mpi")
    add("--device", default="cuda", help="with cuda or gpu, each process gets another one")
    add("--workers", type=int, default=2, help="of Dask")
    add("--rows", type=float, default=11e6)
    add("--features", type=int, default=28)
    add("--depths", type=int, nargs="+", default=[6, 8])
    add("--rounds", type=int, default=10, help="of a group")
    add("--groups", type=int, default=3)
    add("--seed", type=int, default=0)
    return parser


class Laps(TrainingCallback):
    """Writes the seconds of the set-up and of groups of rounds to a file.

    Parameters
    ----------
    file : path
    n_rounds : int
        Of a group.
    """

    def __init__(self, file: Path, n_rounds: int) -> None:
        self.file, self.n_rounds = file, n_rounds
        self.seconds: list[float] = []
        self._watch: Any = None

    def before_training(self, model: Any) -> Any:
        self._watch = Stopwatch()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if epoch % self.n_rounds == 0:
            model.wait()
            self.seconds.append(self._watch.lap())
        return False

    def after_training(self, model: Any) -> Any:
        first, _, *groups = self.seconds  # the first group warms up
        each = [seconds / self.n_rounds for seconds in groups]
        self.file.write_text(json.dumps([first, *each]))
        return model


def _ends(options: argparse.Namespace, size: int) -> list[int]:
    """Return where each process's rows begin, and the number of rows; parts are whole blocks."""
    n_rows = int(options.rows)
    return [n_rows * k // size // BLOCK * BLOCK for k in range(size)] + [n_rows]


def _part(options: argparse.Namespace, rank: int, size: int) -> tuple[Any, Any]:
    """Return a process's rows."""
    first, end = _ends(options, size)[rank : rank + 2]
    return made_rows(end - first, options.features, options.seed, first)


def _params(options: argparse.Namespace, depth: int) -> dict[str, Any]:
    return {
        "objective": "binary:logistic", "max_depth": depth, "device": options.device,
        "n_estimators": 1 + options.rounds * (options.groups + 1), "verbosity": 0,
    }  # fmt: skip


def _show(way: str, size: int, depth: int, times: tuple[float, Path], digest: str) -> None:
    total, file = times
    first, *each = json.loads(file.read_text())
    print(
        f"{way:<8}{size:>3} processes, depth {depth}: {1e3 * middle(each):8.3f} ms a round "
        f"({1e3 * min(each):.3f} to {1e3 * max(each):.3f}), the first {first:.2f} s, "
        f"{total:.2f} s in all, {digest[:16]}",
        flush=True,
    )


def _mpi(options: argparse.Namespace) -> None:
    from mpi4py import MPI

    comm, watch = MPI.COMM_WORLD, Stopwatch()
    data = Dataset(*_part(options, comm.rank, comm.size))
    if comm.rank == 0:
        print(f"rows are there after {watch.lap():.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for depth in options.depths:
            file, watch = Path(folder) / "laps", Stopwatch()
            laps = [Laps(file, options.rounds)]
            model = train(_params(options, depth), data, callbacks=laps, communicator=comm)
            if comm.rank == 0:
                times = watch.lap(), file
                _show("mpi", comm.size, depth, times, digest_of(model.ensemble.trees))


@contextmanager
def _cluster(options: argparse.Namespace) -> Iterator[tuple[Any, Any, Any]]:
    """Yield a client, and the rows as collections that lie on the workers."""
    import distributed
    from dask import array

    size, watch = options.workers, Stopwatch()
    with (
        distributed.LocalCluster(
            n_workers=size,
            threads_per_worker=max(1, n_cpus() // size),
            memory_limit=0,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = sorted(client.run(os.getpid))
        if options.way == "xgboost":
            client.run(_take_card, dict(zip(workers, range(size), strict=True)))
        made = [
            client.submit(_part, options, rank, size, workers=[worker], pure=False)
            for rank, worker in enumerate(workers)
        ]
        sizes = [b - a for a, b in pairwise(_ends(options, size))]
        found = []
        for i, width in ((0, (options.features,)), (1, ())):
            parts = [
                client.submit(itemgetter(i), one, workers=[worker])
                for one, worker in zip(made, workers, strict=True)
            ]
            distributed.wait(parts)
            arrays = [
                array.from_delayed(part, (n, *width), np.float32)
                for part, n in zip(parts, sizes, strict=True)
            ]
            found.append(array.concatenate(arrays))
        X, y = client.persist(found)
        distributed.wait([X, y])
        print(f"workers and rows are there after {watch.lap():.1f} s", flush=True)
        yield client, X, y


def _take_card(places: dict[str, int], dask_worker: Any = None) -> None:
    """Let a worker see one card: XGBoost takes the first that it sees."""
    os.environ["CUDA_VISIBLE_DEVICES"] = str(places[dask_worker.address])


def _dask(options: argparse.Namespace) -> None:
    from pyopencl_gbdt.dask import train as train_on_workers

    with _cluster(options) as (client, X, y), tempfile.TemporaryDirectory() as folder:
        for depth in options.depths:
            file, watch = Path(folder) / "laps", Stopwatch()
            laps = [Laps(file, options.rounds)]
            model = train_on_workers(client, _params(options, depth), X, y, callbacks=laps)
            times = watch.lap(), file
            _show("dask", options.workers, depth, times, digest_of(model.ensemble.trees))


def _xgboost(options: argparse.Namespace) -> None:
    from xgboost import dask as on_dask
    from xgboost.callback import TrainingCallback as TheirCallback

    class Groups(TheirCallback):  # type: ignore[misc]
        """Writes seconds as ``Laps`` does; every worker has one, rank 0 writes."""

        def __init__(self, file: Path, n_rounds: int) -> None:
            super().__init__()
            self.file, self.n_rounds, self.laps = file, n_rounds, []

        def before_training(self, model: Any) -> Any:
            self.watch = Stopwatch()
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.laps.append(self.watch.lap())
            return False

        def after_training(self, model: Any) -> Any:
            from xgboost import collective

            if collective.get_rank() == 0:
                n = self.n_rounds  # the first group warms up
                each = [sum(self.laps[k : k + n]) / n for k in range(n, len(self.laps), n)]
                self.file.write_text(json.dumps([self.laps[0], *each]))
            return model

    with _cluster(options) as (client, X, y), tempfile.TemporaryDirectory() as folder:
        for depth in options.depths:
            file, watch = Path(folder) / "laps", Stopwatch()
            params = {
                "objective": "binary:logistic", "max_depth": depth, "tree_method": "hist",
                "device": options.device,
            }  # fmt: skip
            data = on_dask.DaskQuantileDMatrix(client, X, y)
            n_rounds = options.rounds * (options.groups + 1)
            calls = [Groups(file, options.rounds)]
            on_dask.train(client, params, data, n_rounds, callbacks=calls)
            _show("xgboost", options.workers, depth, (watch.lap(), file), "")
