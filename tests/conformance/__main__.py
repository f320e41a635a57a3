"""``python -m tests.conformance``: every case beside XGBoost; ends with 1 if one is no match.

Trees are compared on small integers, where both cut alike. Quality is compared on other data: the
mean of the paired differences of the loss on held-out rows, in standard errors of that loss, has to
be within what its spread over seeds allows.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time

import xgboost

from tests.conformance.choice import MOST_CASES, choose
from tests.conformance.judge import Verdict, judge_cases, judge_values
from tests.conformance.run import run_all
from tests.conformance.table import refused_values
from tests.conftest import TEST_DEVICE


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--cases", type=int, default=MOST_CASES, help="at most so many")
    parser.add_argument("--match", default="", help="only cases whose name has this in it")
    parser.add_argument("--seeds", type=int, default=8, help="pairs of models a case, at least 2")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cases")
    parser.add_argument("--device", default=TEST_DEVICE, help="of ours")
    options = parser.parse_args(words)
    if options.seeds < 2:
        parser.error(f"--seeds {options.seeds}: expected 2 or more, to see a spread")
    cases = [case for case in choose(options.cases, options.seed) if options.match in case.name]
    if not cases:
        parser.error(f"--match {options.match!r}: no case has this in its name")
    began = time.perf_counter()
    results, refused = run_all(cases, options.device, options.seeds)
    print(f"ours beside XGBoost {xgboost.__version__}, {options.seeds} seeds a case\n")
    verdicts = judge_cases(results)
    width = max(len(result.case.name) for result in results)
    print(f"{'case':<{width}}  {'learnt':>7}{'worse by':>9}{'allowed':>9}  trees")
    failures = 0
    for result, verdict in zip(results, verdicts, strict=True):
        ok = verdict.ok and result.same_trees
        failures += not ok
        print(f"{verdict.name:<{width}}  {result.learnt:>7.2f}{_figures(verdict)}  {result.trees}"
              f"{'' if ok else '   FAILED'}")  # fmt: skip
    print(f"\n{'all cases with':<{width}}  {'':>7}{'worse by':>9}{'at most':>9}")
    for verdict in judge_values(results):
        failures += not verdict.ok
        print(f"{verdict.name:<{width}}  {'':>7}{_figures(verdict)}"
              f"{'' if verdict.ok else '  FAILED'}")  # fmt: skip
    for (axis, name), reason in refused_values().items():
        print(f"left out, not taken yet: {axis} {name}: {textwrap.shorten(reason, 90)}")
    for name, reason in refused.items():
        print(f"left out, refused by XGBoost: {name}: {textwrap.shorten(reason, 90)}")
    print(f"\n{len(results)} cases, {failures} failures, {time.perf_counter() - began:.0f} s")
    return 1 if failures else 0


def _figures(verdict: Verdict) -> str:
    return f"{verdict.difference:>+9.3f}{verdict.tolerance:>9.3f}"


if __name__ == "__main__":
    sys.exit(main())
