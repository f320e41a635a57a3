"""One rank of an MPI job that trains on some rows and says what it got; tests start several.

    mpirun -n 4 python tests/host_member.py [FOLDER]

With a folder, the training leaves checkpoints there, and resumes from them. The variable
``OWN_BYTES`` replaces the constant of ``growth.level_sums``; ``PACKED`` packs sums of any size.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.device.team import mpi as mpi_team
from pyopencl_gbdt.device.team import sliced_sums
from pyopencl_gbdt.growth import level_sums
from pyopencl_gbdt.model import to_json

N, ROUNDS = 600, 12
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "subsample": 0.7, "verbosity": 0}


def rows(rank: int, size: int) -> Dataset:
    """Return the rows of a rank."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 5)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(np.float32)
    part = slice(N * rank // size, N * (rank + 1) // size)
    return Dataset(X[part], y[part])


def digest(model) -> str:
    """Return a digest of a model's file."""
    return hashlib.sha256(to_json(model.ensemble).encode()).hexdigest()


class Pauses(TrainingCallback):
    """Makes rounds long enough for a signal to come between two of them."""

    def after_iteration(self, model, epoch, evals_log) -> bool:
        time.sleep(0.05)
        return False


def main() -> None:
    """Train as a rank; print the digest of the model."""
    from mpi4py import MPI

    level_sums.OWN_BYTES = int(os.environ.get("OWN_BYTES", level_sums.OWN_BYTES))
    if "PACKED" in os.environ:
        sliced_sums.SLOW_LINK = np.inf
        sliced_sums.PACKED_BYTES = mpi_team.PACKED_BYTES = 0
    comm = MPI.COMM_WORLD
    print(f"rank {comm.rank} is process {os.getpid()};", flush=True)
    params = {**PARAMS, "device": os.environ.get("PYOPENCL_GBDT_DEVICE", "cpu")}
    savers = [TrainingCheckPoint(Path(folder), interval=1) for folder in sys.argv[1:]]
    savers += [Pauses() for _ in savers]
    model = train(params, rows(comm.rank, comm.size), ROUNDS, callbacks=savers, communicator=comm)
    print(f"rank {comm.rank} of {comm.size}: {digest(model)}", flush=True)


if __name__ == "__main__":
    main()
