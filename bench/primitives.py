"""``python -m bench primitives``: every primitive beside a copy and a peer, checked.

Times are the device's own, from the start of a run's first launch to the end of its last, medians
over fresh runs; ``spread`` is slowest minus fastest over the median. ``of copy`` compares the least
traffic (each input read once, each output written once) with a copy of as many bytes in the same
run. The peer is CUB on NVIDIA's cards (``cub.cu``, built once by nvcc), NumPy elsewhere.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench import cases_of_moves, cases_of_sums
from bench.common import HEAD, Result, line, measure
from bench.cub import Cub
from bench.host import describe_host, parser_of
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.bandwidth import device_bandwidth
from pyopencl_gbdt.errors import GBDTError

#: What yields the cases of a primitive, by its name.
PRIMITIVES = {
    function.__name__: function
    for function in (
        cases_of_moves.compact, cases_of_moves.histogram, cases_of_sums.multi_reduce,
        cases_of_sums.multi_scan, cases_of_moves.quantile_summary, cases_of_moves.radix_sort,
        cases_of_sums.reduce, cases_of_moves.run_length, cases_of_sums.scan,
        cases_of_moves.segmented_radix_sort, cases_of_sums.segmented_reduce,
        cases_of_sums.segmented_scan, cases_of_moves.stable_partition,
    )
}  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = parser_of("primitives", __doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[2**20], help="elements")
    parser.add_argument("--device", default="auto", help="as for open_device")
    parser.add_argument("--variant", default="auto", help="a name in the variant table")
    parser.add_argument("--only", nargs="+", choices=PRIMITIVES, default=list(PRIMITIVES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--cub", choices=("auto", "none"), default="auto", help="CUB as the peer where it can be"
    )
    parser.add_argument("--json", metavar="FILE", help="write the results there as well")
    options = parser.parse_args(arguments)
    device = open_device(options.device, profile=True)
    print(f"{device.caps.label}, driver {device.caps.driver}")
    cub = Cub() if options.cub == "auto" and device.caps.vendor.startswith("NVIDIA") else None
    print(HEAD)
    results: list[Result] = []
    for name in options.only:
        for n in options.size:
            results += _measured(device, name, n, options, cub)
    if cub:
        cub.close()
    if options.json:
        Path(options.json).write_text(json.dumps(report(device, results), indent=1) + "\n")
    return 0


def _measured(
    device: Device, name: str, n: int, options: argparse.Namespace, cub: Cub | None
) -> list[Result]:
    """Measure the cases of one primitive and size; say so where the device has no room for them."""
    results = []
    try:
        for case in PRIMITIVES[name](device, n, np.random.default_rng(7), options.variant):
            results.append(measure(device, case, options.repeats, options.variant, cub))
            print(line(results[-1]), flush=True)
    except GBDTError as error:
        print(f"{name}, {n}: {error}")
    return results


def report(device: Device, results: list[Result]) -> dict[str, Any]:
    """Return what is written as JSON: the results, and what they hold for."""
    return {
        "format": 1,
        "date": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
        "host": describe_host(),
        "device": device.caps.label,
        "driver": device.caps.driver,
        "copy_bytes_per_second": device_bandwidth(device),
        "results": [asdict(result) for result in results],
    }
