"""``mpirun -n 4 python -m bench scaling --mpi``: what sums over the ranks of an MPI job cost."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from pyopencl_gbdt.device.team.messages import DeviceIdle, SumPart
from pyopencl_gbdt.device.team.mpi import MpiTeam, mpi
from pyopencl_gbdt.device.timing import repeated

WAYS = ("all features", "all features, packed", "own features", "own features, packed")


def show(sizes: list[int], bits: int) -> None:
    """Print, on rank 0, the milliseconds of sums of arrays; all ranks call this.

    Parameters
    ----------
    sizes : list of int
        Bytes of the arrays.
    bits : int
        Of their integers, without the sign.
    """
    team = MpiTeam(mpi().COMM_WORLD)
    rng = np.random.default_rng(team.rank)
    if team.rank == 0:
        print(f"ms of a sum over {team.size} ranks\n   bytes" + "".join(f"{w:>23}" for w in WAYS))
    for n_bytes in sizes:
        array = rng.integers(-(1 << bits), 1 << bits, n_bytes // 8)
        parts = [
            array[a:b] for a, b in pairwise(array.size * np.arange(team.size + 1) // team.size)
        ]
        cells = []
        for way in WAYS:
            team.narrows = "packed" in way
            own = way.startswith("own")
            work = partial(team.add_up_own, parts) if own else partial(team.add_up, SumPart, array)
            repeats = 20 if n_bytes <= 1 << 19 else 5
            times = repeated(work, repeats, prepare=partial(team.exchange, DeviceIdle, None))
            cells.append(1e3 * times.median)
        if team.rank == 0:
            print(f"{n_bytes:8}" + "".join(f"{cell:23.2f}" for cell in cells), flush=True)
    team.leave()
