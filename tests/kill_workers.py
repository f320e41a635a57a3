"""Kill or stop a Dask worker at random moments, and resume with another number of workers.

    python -m tests.kill_workers 20 [--seed 3] [--workers 3]

Each time the training has to end with an error that names a rank within the limit, or with the
model, without half a file; the resumed training has to give the model of one process. Dask itself
gives up a worker that stops before its work begins, here after 5 seconds.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt import train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.errors import TeamError
from tests import host_member
from tests.kill_hosts import LIMIT, PATIENCE, SILENCE

#: Trainings that may end before their signal, until one is met by it.
TRIES = 20


@contextmanager
def cluster(n_workers: int, given_up: str = "5 minutes") -> Iterator[tuple[Any, list[int]]]:
    """Start workers; yield a client, and their processes, which are killed at the end.

    ``given_up`` is Dask's limit for a silent worker. On a busy machine, one that imports the
    library may be silent for 5 s and is taken for gone, so only trials with a signal have that.
    """
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.worker-ttl": given_up}),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as it,
        distributed.Client(it) as client,
    ):
        processes = list(client.run(os.getpid).values())
        try:
            yield client, processes
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)  # a stopped one does not end by itself


def trained(client: Any, n_workers: int, folder: Path) -> str:
    """Train on the workers with checkpoints in a folder; return the model's digest."""
    from dask import array

    from pyopencl_gbdt import dask

    data = host_member.rows(0, 1)
    chunk = -(-host_member.N // n_workers)
    rows = array.from_array(data.values, chunks=(chunk, -1))
    label = array.from_array(np.asarray(data.label), chunks=chunk)
    callbacks = [TrainingCheckPoint(folder, interval=1), host_member.Pauses()]
    params = {**host_member.PARAMS, "device": os.environ.get("PYOPENCL_GBDT_DEVICE", "cpu")}
    model = dask.train(
        client, params, rows, label, host_member.ROUNDS, callbacks=callbacks, timeout=SILENCE
    )
    return host_member.digest(model)


def strike(n_workers: int, folder: Path, dice: random.Random, usual: float) -> str | None:
    """Train, and kill or stop a worker; return what happened.

    None if the training was over before, or Dask had given up the worker and started another.
    """
    with cluster(n_workers, "5 seconds") as (client, processes):
        ended: list[str | BaseException] = []

        def run() -> None:
            try:
                ended.append(trained(client, n_workers, folder))
            except BaseException as error:  # the main thread tells it
                ended.append(error)

        moment, place = dice.uniform(0, usual), dice.randrange(n_workers)
        how = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        time.sleep(moment)
        if ended:
            return None
        struck = time.monotonic()
        try:
            os.kill(processes[place], how)
        except ProcessLookupError:
            return None
        thread.join(LIMIT + usual)  # a busy machine is slower at everything
        said = f"{how.name} to a worker of {n_workers} after {moment:.2f} s"
        if not ended:
            faulthandler.dump_traceback()
            print(client.processing(), client.call_stack(), processes, sep="\n", flush=True)
            raise SystemExit(f"{said}: the training still runs after {LIMIT + usual:g} s")
        if isinstance(ended[0], str):
            return None
        if not isinstance(ended[0], TeamError):
            raise SystemExit(f"{said}: {ended[0]!r}") from ended[0]
        took = time.monotonic() - struck
        return f"{said}: ended after {took:.1f} s: {str(ended[0]).partition(';')[0]}"


def main(argv: list[str] | None = None) -> None:
    """Run the trials."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=3)
    args = parser.parse_args(argv)
    os.environ["PYOPENCL_GBDT_TEAM_PATIENCE"] = str(PATIENCE)
    params = {**host_member.PARAMS, "device": os.environ.get("PYOPENCL_GBDT_DEVICE", "cpu")}
    alone = train(params, host_member.rows(0, 1), host_member.ROUNDS)
    wanted, dice = host_member.digest(alone), random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name, cluster(args.workers) as (client, _):
        began = time.monotonic()
        assert trained(client, args.workers, Path(name)) == wanted
        usual = time.monotonic() - began
    for number in range(args.count):
        for _ in range(TRIES):
            folder = tempfile.TemporaryDirectory()
            said = strike(dice.randint(2, args.workers), Path(folder.name), dice, usual)
            if said is not None:
                break
        else:
            raise SystemExit(f"no training of {TRIES} was met by a signal: is the machine busy?")
        rounds = max((p.stem for p in Path(folder.name).glob("*.json")), key=len, default="none")
        n_workers = dice.randint(1, args.workers)
        with cluster(n_workers) as (client, _):
            if trained(client, n_workers, Path(folder.name)) != wanted:
                raise SystemExit(f"{said}: resumed with {n_workers} workers to another model")
        half = [p.name for p in Path(folder.name).iterdir() if not p.name.endswith(".json")]
        if half:
            raise SystemExit(f"half-written files are left: {half}")
        print(f"{number + 1:3}: {said}; {rounds}; resumed to the same bytes", flush=True)
    print(f"{args.count} trials: no hang, all resumed to the same bytes")


if __name__ == "__main__":
    main()
