"""``python -m bench tasks --write docs/quality.md``: every task on real data, beside the peers.

Each system trains on the same random 70 % of a data set and predicts the rest, for several such
splits. A system is within noise of the first if the mean difference of its scores and the best
system's is within the 95 % interval of a t test, whose variance is corrected for splits that share
rows (Nadeau & Bengio 2003, "Inference for the generalization error", Machine Learning 52).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import describe_host, package_versions
from bench.page import BEGIN, END
from bench.task_data import NAMES, TRAINED, Table, split, tables
from bench.task_list import SCORES, TASKS, Task, refusal
from bench.task_page import lines_of
from bench.task_systems import SYSTEMS, Budget, installed


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench tasks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), metavar="FOLDER")
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=NAMES, metavar="NAME",
                        help=f"data sets; of {', '.join(NAMES)}")  # fmt: skip
    parser.add_argument("--splits", type=int, default=10, help="at least 2")
    parser.add_argument("--rows", type=int, default=8000, help="of larger sets so many are drawn")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--device", default="auto", help="of ours")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--write", type=Path, metavar="PAGE.md",
                        help="write the tables between the marks of this page")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.splits < 2:
        parser.error(f"--splits {options.splits}: expected 2 or more, to see a spread")
    page = options.write.read_text(encoding="utf-8") if options.write else BEGIN + END
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        print(f"{options.write}: expected one {BEGIN!r} and one {END!r}; add them", file=sys.stderr)
        return 2
    report = _measure(options)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    lines = lines_of(report)
    if options.write:
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        text = before + "\n".join([BEGIN, "", *lines, "", END]) + after
        options.write.write_text(text, encoding="utf-8")
    print("\n".join(lines))
    return 0


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    budget = Budget(rounds=options.rounds, depth=options.depth, device=options.device)
    results: list[dict[str, Any]] = []
    left_out: list[str] = []
    for table in tables(options.data, tuple(options.tables)):
        if isinstance(table, str):
            left_out.append(table)
            continue
        for task in (task for task in TASKS if task.kind == table.kind):
            results += _compare(task, table, budget, options)
            print(f"{table.name} {task.objective}", file=sys.stderr, flush=True)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "host": describe_host(),
        "versions": package_versions(),
        "rounds": budget.rounds,
        "depth": budget.depth,
        "learning_rate": budget.learning_rate,
        "bins": budget.bins,
        "splits": options.splits,
        "most_rows": options.rows,
        "left_out": left_out,
        "results": results,
    }


def _compare(
    task: Task, table: Table, budget: Budget, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Train every system on every split; yield a record a score."""
    reason = refusal(task, table.n_classes if task.kind == "classes" else 0)
    names = [
        name for name in installed()
        if (not reason if name == "ours" else name == "xgboost" or getattr(task, name))
    ]  # fmt: skip
    found: dict[str, dict[str, list[float]]] = {s: {n: [] for n in names} for s in task.scores}
    for seed in range(options.splits):
        rows, unseen = split(table, seed, options.rows)
        for name in names:
            predicted = np.asarray(SYSTEMS[name](task, rows, unseen, budget))
            for score in task.scores:
                found[score][name].append(SCORES[score][0](unseen, predicted))
    for score in task.scores:
        yield {
            "table": table.name,
            "rows": min(int(table.y.size), options.rows if table.query is None else 2**62),
            "columns": int(table.X.shape[1]),
            "objective": task.objective,
            "refused": reason,
            "score": score,
            "more_is_better": SCORES[score][1],
            "systems": found[score],
            "level": level_with_first(found[score], SCORES[score][1]),
        }


def level_with_first(scores: dict[str, list[float]], more_is_better: bool) -> list[str]:
    """Return the systems that are first or within noise of it."""
    from scipy import stats

    sign = -1 if more_is_better else 1
    loss = {name: sign * np.array(values) for name, values in scores.items()}
    first = min(loss, key=lambda name: loss[name].mean())
    level = []
    for name, values in loss.items():
        behind = values - loss[first]
        n = behind.size
        error = np.sqrt(behind.var(ddof=1) * (1 / n + (1 - TRAINED) / TRAINED))
        if behind.mean() <= stats.t.isf(0.025, n - 1) * error:
            level.append(name)
    return level
