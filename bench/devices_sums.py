"""``python -m bench devices-sums``: what a sum over the devices of a team costs.

Each device has an array of 64-bit integers; a list of sums of it is enqueued as that of a tree is,
on CUDA cards as one graph. Printed are microseconds of a sum, by the number of devices and its
bytes, and the bytes a second that a device moves in the larger ones.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.host import parser_of
from pyopencl_gbdt.device import open_device, selection
from pyopencl_gbdt.device.team.messages import DeviceIdle
from pyopencl_gbdt.device.team.nccl import communicators
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.device.timing import clock, middle

#: Bytes: an exponent's counts, and the histograms of 1, 4, 16, 64 nodes of 28 features, 256 bins.
SIZES = [1 << 10, *(28 * 256 * 16 * nodes for nodes in (1, 4, 16, 64))]


def main(arguments: list[str]) -> int:
    parser = parser_of("devices-sums", __doc__)
    parser.add_argument("--devices", nargs="+", default=["gpu:0", "gpu:1"])
    parser.add_argument("--counts", nargs="+", type=int, default=[2])
    parser.add_argument("--sums", type=int, default=20, help="of a list")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(arguments)
    selection.ALLOWS_TWICE = True
    print("us of a sum\ndevices way " + "".join(f"{size:>10}" for size in SIZES), flush=True)
    for count in options.counts:
        way, found = measured(options.devices[:count], options.sums, options.repeats)
        cells = "".join(f"{1e6 * seconds:>10.1f}" for seconds in found)
        moved = 2 * (count - 1) / count * (SIZES[-1] - SIZES[1])
        speed = moved / max(found[-1] - found[1], 1e-9) / 1e9
        print(f"{count:>7} {way:<4}{cells}  {speed:.0f} GB/s between the last", flush=True)
    return 0


def measured(names: list[str], n_sums: int, repeats: int) -> tuple[str, list[float]]:
    """Return how a team adds up, and the seconds of a sum by its bytes.

    Parameters
    ----------
    names : list of str
        Of the devices.
    n_sums : int
        Sums that follow one another.
    repeats : int
        Lists that are timed; the median counts.
    """
    devices = [open_device(name) for name in names]
    team = threads(len(devices))
    team[0].meeting.communicators = communicators(devices)
    way = "NCCL" if team[0].enqueues else "host"

    def work(rank: int) -> list[float]:
        device, member = devices[rank], team[rank]
        found = []
        with member.leaving():
            for n_bytes in SIZES:
                array = device.upload(np.zeros((n_bytes // 8, 1), np.int64))
                sums: list[Any] = [one for _ in range(n_sums) for one in member.sum(array)]
                for action in sums:
                    action()  # a first time: links are made
                actions = device.together(sums)

                def lists(own: list[Any] = actions) -> None:
                    for action in own:
                        action()
                    devices[rank].finish()

                times = []
                for _ in range(repeats + 1):
                    device.finish()
                    member.exchange(DeviceIdle, None)
                    times.append(clock(lists) / n_sums)
                found.append(middle(times[1:]))
        return found

    try:
        with ThreadPoolExecutor(len(devices)) as pool:
            every = list(pool.map(work, range(len(devices))))
    finally:
        team[0].meeting.close()
    return way, [max(own) for own in zip(*every, strict=True)]
