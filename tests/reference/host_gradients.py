"""Compute the gradients of every round on the host, for every loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.ranking import LambdaRank
from tests.reference.lambda_gradients import LambdaGradients

F32 = npt.NDArray[np.float32]
#: Maps a round's number and margins (n_outputs, n_rows) to g and h of the same shape.
HostGradients = Callable[[int, F32], tuple[F32, F32]]


def host_gradients(objective: Objective, data: Dataset, seed: int = 0) -> HostGradients:
    """Return a function that computes each round's gradients; ``seed`` is random_state."""
    if isinstance(objective, LambdaRank):
        return LambdaGradients(objective, data, seed)
    return lambda number, margins: objective.gradients(margins, data)
