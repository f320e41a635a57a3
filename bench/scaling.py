"""``python -m bench scaling``: sums over local processes, and a model of 2 to 4096 workers.

It measures what sums over the team cost with 2 and more processes of this machine, how fast the
host adds arrays, and how fast a device builds histograms. From the last two, and from the speeds
of networks, a model tells the time of a round. The first check the model: latency and speed are
fitted to 2 processes, and what it says of more processes stands beside what was measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bench import scaling_rounds
from bench.host import parser_of
from bench.scaling_model import (
    NETWORKS,
    WORKERS,
    Network,
    Way,
    Workers,
    by_features,
    in_halves,
    in_slices,
    own_slices,
    packed_features,
    to_all,
)
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.team import sockets
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.messages import BestSplits, DeviceIdle, SumPart
from pyopencl_gbdt.device.team.mpi import MpiTeam, mpi
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.device.timing import clock, repeated
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.pages.parted_cuts import parted_cuts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.division import histogram_speed, sum_bytes

#: Bytes of the arrays that are summed.
SIZES = [1 << bits for bits in (10, 13, 16, 19, 21)]
#: Bits of the integers without their sign: a bin of 2^9 rows.
BITS = 33
#: Best splits of a level of depth 6.
SPLITS = np.zeros(32, CANDIDATE)
#: Ways to add up over local processes, and the model of each.
WAYS: dict[str, Way] = {
    "whole": to_all, "slices": in_slices, "packed slices": in_slices, "own": own_slices,
    "own packed": own_slices,
}  # fmt: skip
#: A training of HIGGS's shape, and a large one: rows, features, depth.
SHAPES = {"11 M x 28": (11_000_000, 28, 6), "10^9 x 28": (10**9, 28, 8)}


def member(rank: int, size: int, pipe: Any, n_rows: int, n_features: int) -> None:
    """Measure sums and cut points as one of several processes; send seconds by name."""
    door = Rendezvous("127.0.0.1", b"bench")
    pipe.send(door.address)
    team = door.join(rank, pipe.recv(), Limits())
    found: dict[str, object] = {}
    rng = np.random.default_rng(rank)
    for way in ("warm-up", *WAYS):
        sockets.SLICED_BYTES = 1 << 62 if way == "whole" else 0
        team.narrows = "packed" in way
        for n_bytes in SIZES:
            array = rng.integers(-(1 << BITS), 1 << BITS, n_bytes // 8)
            ends = [array.size * k // size for k in range(size + 1)]
            parts = [array[a:b] for a, b in pairwise(ends)]

            def add_up(way: str = way, array: Any = array, parts: Any = parts) -> None:
                if way.startswith("own"):
                    team.add_up_own(parts)
                    team.exchange(BestSplits, SPLITS)
                else:
                    team.add_up(SumPart, array)

            repeats = 20 if n_bytes <= 1 << 19 else 5
            times = repeated(add_up, repeats, prepare=partial(team.exchange, DeviceIdle, None))
            found[f"{way} {n_bytes}"] = times.median
    values = rng.normal(size=(n_rows // size, n_features)).astype(np.float32)
    team.n_messages = team.sent_bytes = 0
    found["cuts"] = clock(parted_cuts, team, values, None, 256)
    found["exchanges"] = team.n_messages / (size - 1)
    found["bytes"] = team.sent_bytes
    pipe.send(found)
    team.exchange(DeviceIdle, None)
    team.leave()


def measured(size: int, n_rows: int, n_features: int) -> dict[str, float]:
    """Return what rank 0 of so many processes measures."""
    context = multiprocessing.get_context("spawn")
    pipes, running = [], []
    for rank in range(size):
        ours, theirs = context.Pipe()
        process = context.Process(target=member, args=(rank, size, theirs, n_rows, n_features))
        process.start()
        pipes.append(ours)
        running.append(process)
    addresses = [pipe.recv() for pipe in pipes]
    for pipe in pipes:
        pipe.send(addresses)
    found = [pipe.recv() for pipe in pipes]
    for process in running:
        process.join()
    return found[0]


def host_sum_speed() -> float:
    """Return the bytes a second that the host adds to an array."""
    total, part = (np.ones(1 << 21, np.int64) for _ in range(2))
    return total.nbytes / repeated(lambda: np.add(total, part, out=total), 7).median


def fitted(found: dict[str, float], way: str, sum_speed: float) -> Network:
    """Return the latency and speed that explain what two processes took.

    Sums of own features send half a megabyte each way for a megabyte to add up, the other ways a
    megabyte; whole arrays take one message, the other ways two.
    """
    messages, large = 1 if way == "whole" else 2, SIZES[-1]
    latency = found[f"{way} {SIZES[0]}"] / messages
    seconds = found[f"{way} {large}"] - messages * latency - large / messages / sum_speed
    sent = large / 2 if way.startswith("own") else large
    return Network(way, latency, sent / max(seconds, 1e-9))


def show_measured(sizes: list[int], args: argparse.Namespace, sum_speed: float) -> None:
    """Print measured and modelled seconds of sums, and the cost of cut points."""
    every = {size: measured(size, args.rows, args.features) for size in sizes}
    local = [fitted(every[sizes[0]], way, sum_speed) for way in WAYS]
    for net in local:
        print(f"{net.name}: {1e6 * net.latency:.0f} us, {net.speed / 1e9:.2f} GB/s fit 2 processes")
    print("ms of a sum (model)\nprocesses    bytes" + "".join(f"{way:>22}" for way in WAYS))
    for size, found in every.items():
        for n_bytes in SIZES:
            cells = (
                f"{1e3 * found[f'{name} {n_bytes}']:10.2f} "
                f"({1e3 * way(net, size, n_bytes, sum_speed):8.2f})"
                for net, (name, way) in zip(local, WAYS.items(), strict=True)
            )
            print(f"{size:9}  {n_bytes:7}  " + " ".join(cells))
    print(f"\ncut points of {args.rows} x {args.features} normal values, 256 bins")
    for size, found in every.items():
        print(
            f"{size:9} processes: {found['cuts']:.2f} s, {found['exchanges']:.0f} exchanges, "
            f"{found['bytes'] / 1e6:.1f} MB sent by each"
        )


#: Ways to add up over the ranks of an MPI job.
_MPI_WAYS = ("all features", "all features, packed", "own features", "own features, packed")


def show_mpi(sizes: list[int], bits: int) -> None:
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
        print(
            f"ms of a sum over {team.size} ranks\n   bytes" + "".join(f"{w:>23}" for w in _MPI_WAYS)
        )
    for n_bytes in sizes:
        array = rng.integers(-(1 << bits), 1 << bits, n_bytes // 8)
        parts = [
            array[a:b] for a, b in pairwise(array.size * np.arange(team.size + 1) // team.size)
        ]
        cells = []
        for way in _MPI_WAYS:
            team.narrows = "packed" in way
            own = way.startswith("own")
            work = partial(team.add_up_own, parts) if own else partial(team.add_up, SumPart, array)
            repeats = 20 if n_bytes <= 1 << 19 else 5
            times = repeated(work, repeats, prepare=partial(team.exchange, DeviceIdle, None))
            cells.append(1e3 * times.median)
        if team.rank == 0:
            print(f"{n_bytes:8}" + "".join(f"{cell:23.2f}" for cell in cells), flush=True)
    team.leave()


def show_model(values_speed: float, sum_speed: float) -> None:
    """Print the time of a round with 1 to 4096 workers: of all features, own ones, packed ones."""
    ways = in_halves, by_features, packed_features
    nets = [[Workers(net, values_speed, sum_speed, way) for way in ways] for net in NETWORKS]
    for name, (n_rows, n_features, depth) in SHAPES.items():
        params = Parameters.from_dict({"max_depth": depth})
        shape = params, n_rows, n_features
        total = sum_bytes(*shape)
        print(
            f"\n{name}, depth {depth}, {params.max_bin} bins: {total / 1e6:.1f} MB of sums a "
            f"tree; worker: {values_speed / 1e9:.2f} G values/s"
        )
        print("workers  " + "".join(f"{net.name:>46}" for net in NETWORKS))
        alone = nets[0][0].round(1, *shape).seconds
        for size in WORKERS:
            cells = []
            for every in nets:
                whole, own, narrow = (team.round(size, *shape).seconds for team in every)
                cells.append(
                    f"{1e3 * whole:10.2f} ms {alone / whole:6.1f}x "
                    f"({1e3 * own:.2f}, {1e3 * narrow:.2f})"
                )
            print(f"{size:7}  " + "".join(f"{cell:>46}" for cell in cells))
        print("gains up to" + "".join(f"{every[0].best(*shape):>43}" for every in nets))


def main(arguments: list[str]) -> int:
    parser = parser_of("scaling", __doc__)
    parser.add_argument("--processes", default="2,4", help="how many local processes to measure")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the cut points")
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--device", default="auto", help="builds the histograms that are timed")
    parser.add_argument(
        "--values-speed", type=float, help="values a second of a worker, instead of measuring"
    )
    parser.add_argument(
        "--train", metavar="ROWSxFEATURES", help="time rounds that the processes share, too"
    )
    parser.add_argument("--depths", default="6,8", help="depths of these rounds")
    parser.add_argument("--no-processes", action="store_true", help="only print the model")
    parser.add_argument(
        "--mpi", action="store_true", help="only time sums over the ranks that mpirun has started"
    )
    args = parser.parse_args(arguments)
    if args.mpi:
        show_mpi(SIZES[2:], BITS)
        return 0
    sum_speed = host_sum_speed()
    print(f"the host adds {sum_speed / 1e9:.2f} GB/s")
    if not args.no_processes:
        sizes = [int(size) for size in args.processes.split(",")]
        show_measured(sizes, args, sum_speed)
        if args.train:
            depths = [int(depth) for depth in args.depths.split(",")]
            scaling_rounds.show(sizes, args.train, depths, args.device)
    speed = args.values_speed or histogram_speed(open_device(args.device))
    show_model(speed, sum_speed)
    return 0
