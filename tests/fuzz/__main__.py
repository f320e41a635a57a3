"""``python -m tests.fuzz``: read mutations of every format; ends with 1 if a rule is broken.

The rules: no crash, no file that takes longer than the limit, memory below 64 MB plus 40 times the
file's size, and every refusal an error of this library that names the file.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.formats import all_formats
from tests.fuzz.harness import LIMIT, run


def main(words: list[str] | None = None) -> int:
    formats = all_formats()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--format", action="append", choices=list(formats), help="default all")
    parser.add_argument("--count", type=int, help="of each format; default its own number")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a file may take")
    parser.add_argument("--save", metavar="FOLDER", help="read nothing; write the files there")
    options = parser.parse_args(words)
    failures = 0
    for name in options.format or formats:
        one = formats[name]
        count = one.n_mutations if options.count is None else options.count
        if options.save:
            for number in range(options.first, options.first + count):
                path = Path(options.save) / f"{name}-{options.seed}-{number}{one.suffix}"
                path.write_bytes(one.mutation(number, options.seed))
            continue
        began = time.perf_counter()
        outcome = run({name: count}, options.seed, options.first, options.limit)[name]
        print(
            f"{name:<14}{outcome.n_read:>7} read, {outcome.n_refused:>7} refused, "
            f"at most {outcome.most_seconds:.2f} s and {outcome.most_bytes / 2**20:.0f} MB a file, "
            f"{len(outcome.problems)} failures, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
        for problem in outcome.problems[:20]:
            print(f"  FAILED {problem}")
        failures += len(outcome.problems)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
