"""``python -m bench primitives``: every primitive against a copy and against NumPy."""

from __future__ import annotations

import argparse
import importlib

import numpy as np

from bench.common import measure, table, write_json
from pyopencl_gbdt.device import open_device

PRIMITIVES = (
    "scan",
    "segmented_scan",
    "segmented_reduce",
    "radix_sort",
    "compact",
    "stable_partition",
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench primitives", description=__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[1_000_000], help="elements")
    parser.add_argument("--device", default="auto", help="as for open_device")
    parser.add_argument("--variant", default="auto", help="row of the variant table")
    parser.add_argument("--only", nargs="+", choices=PRIMITIVES, default=list(PRIMITIVES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", metavar="FILE", help="write the results there as well")
    options = parser.parse_args(arguments)
    device = open_device(options.device)
    print(device.caps.label)
    results = []
    for name in options.only:
        cases = importlib.import_module(f"bench.bench_{name}").cases
        for n in options.size:
            for case in cases(device, n, np.random.default_rng(7), options.variant):
                results.append(measure(device, case, options.repeats, options.variant))
    print(table(results))
    if options.json:
        write_json(options.json, device, results)
    return 0
