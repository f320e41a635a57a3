"""``python -m tests.layouts``: random trainings in all ways of laying rows out; ends with 1 if a
model differs from that of one array.

The ways are sizes of work-groups, variants of the histogram, pages, streams, little memory,
batches, sparse rows, several queues, teams over sockets, the kernels of GPUs, and other devices. A
failure is told with the words that repeat it.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext

from tests.conftest import TEST_DEVICE
from tests.layouts.recipes import recipe
from tests.layouts.run import run
from tests.layouts.ways import WAYS, other_device
from tests.quick_builds import builds_quickly


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.layouts", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="trainings; default 200")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first training")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="default all")
    parser.add_argument(
        "--devices", nargs="+", default=[TEST_DEVICE], metavar="DEVICE",
        help="the first one trains in all ways, the others beside it",
    )  # fmt: skip
    parser.add_argument("--optimised", action="store_true", help="let PoCL optimise; takes longer")
    parser.add_argument("--show", action="store_true", help="print the trainings; run nothing")
    options = parser.parse_args(words)
    device, *others = options.devices
    ways = {name: WAYS[name] for name in options.way or WAYS}
    ways |= {name: other_device(name) for name in others}
    began = time.perf_counter()
    recipes = (
        recipe(options.seed, number)
        for number in range(options.first, options.first + options.count)
    )
    if options.show:
        for one in recipes:
            print(f"{one.name}: {one}")
        return 0
    with nullcontext() if options.optimised else builds_quickly():
        outcome = run(recipes, ways, device, lambda problem: print(f"FAILED {problem}", flush=True))
    for name in ways:
        print(f"{name:<18}{outcome.in_way[name]:>6} models, "
              f"{outcome.refused_in_way[name]:>5} not offered")  # fmt: skip
    print(f"{outcome.n_trained} trainings, {outcome.n_refused} refused, "
          f"{len(outcome.problems)} failures, {time.perf_counter() - began:.0f} s")  # fmt: skip
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
