"""``python -m bench tasks --write docs/equal-settings.md``: every task beside the peers.

Each system trains on the same random 70 % of a data set and predicts the rest, for several such
splits: at one fixed setting, or with --trials at the one of several settings that does best in
cross-validation inside the 70 %. A system is within noise of the first if the mean difference of
its scores and the best system's is within the 95 % interval of a t test, whose variance is
corrected for splits that share rows (Nadeau & Bengio 2003, "Inference for the generalization
error", Machine Learning 52).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import describe_host, package_versions, parser_of
from bench.task_categories import CATEGORY_NAMES, CATEGORY_OBJECTIVES, category_tables
from bench.task_data import FOLDER, NAMES, TRAINED, Table, split, tables
from bench.task_list import SCORES, TASKS, Task, refusal
from bench.task_page import between, lines_of
from bench.task_systems import SYMMETRIC, SYSTEMS, Budget, installed, takes
from bench.task_trials import FOLDS, SETTINGS, choose, effort
from pyopencl_gbdt.device.timing import Stopwatch


def main(arguments: list[str]) -> int:
    parser = parser_of("tasks", __doc__)
    parser.add_argument("--data", type=Path, default=FOLDER, metavar="FOLDER",
                        help="where the files are; by default bench/data")  # fmt: skip
    parser.add_argument("--categories", action="store_true",
                        help="the data sets with categorical columns, as categories")  # fmt: skip
    parser.add_argument("--tables", nargs="+", metavar="NAME",
                        help=f"data sets; of {', '.join(NAMES)}, or with --categories of "
                        f"{', '.join(CATEGORY_NAMES)}")  # fmt: skip
    parser.add_argument("--splits", type=int, default=10, help="at least 2")
    parser.add_argument("--rows", type=int, default=8000, help="of larger sets so many are drawn")
    parser.add_argument("--trials", type=int, default=0, metavar="N",
                        help=f"0: the fixed setting; up to {len(SETTINGS)}: the best of so many, "
                        "by the rows to train on alone")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="of the fixed setting (100)")
    parser.add_argument("--depth", type=int, help="of the fixed setting (6)")
    parser.add_argument("--device", default="auto", help="of ours")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="write the results there, task after task")  # fmt: skip
    parser.add_argument("--resume", action="store_true",
                        help="keep what the file of --json has, and measure the rest")  # fmt: skip
    parser.add_argument("--write", type=Path, metavar="PAGE.md",
                        help="write the tables between the marks of this page")  # fmt: skip
    options = parser.parse_args(arguments)
    names = CATEGORY_NAMES if options.categories else NAMES
    options.tables = options.tables or list(names)
    problem = _problem(options, names)
    if problem:
        parser.error(problem)
    name = "trials" if options.trials else "measured"
    name = "categories" if options.categories else name
    try:
        if options.write:  # a page without marks is told before hours of work
            between(options.write, name, [])
        before = _earlier(options) if options.resume else []
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    report = _measure(options, before)
    lines = lines_of(report)
    if options.write:
        options.write.write_text(between(options.write, name, lines), encoding="utf-8")
    print("\n".join(lines))
    return 0


def _problem(options: argparse.Namespace, names: tuple[str, ...]) -> str:
    """Return what is wrong with the options; empty if nothing is."""
    unknown = [name for name in options.tables if name not in names]
    if unknown:
        return f"--tables {' '.join(unknown)}: expected some of {', '.join(names)}"
    if options.splits < 2:
        return f"--splits {options.splits}: expected 2 or more, to see a spread"
    if not 0 <= options.trials <= len(SETTINGS):
        return f"--trials {options.trials}: expected 0..{len(SETTINGS)}, the settings there are"
    if options.trials and (options.rounds is not None or options.depth is not None):
        return "--trials: each setting has its own rounds and depth; leave --rounds, --depth out"
    if options.resume and not (options.json and options.json.is_file()):
        return f"--resume: expected a file of results, --json is {options.json}"
    return ""


def _settings(options: argparse.Namespace) -> list[Budget]:
    """Return what every system tries."""
    if options.trials:
        return [replace(one, device=options.device) for one in SETTINGS[: options.trials]]
    given = {"rounds": options.rounds, "depth": options.depth, "device": options.device}
    return [Budget(**{name: value for name, value in given.items() if value is not None})]


def _conditions(options: argparse.Namespace) -> dict[str, Any]:
    """Return what results have to share to stand in one table."""
    return {
        "versions": package_versions(),
        "trials": options.trials,
        "settings": [asdict(one) for one in _settings(options)],
        "splits": options.splits,
        "most_rows": options.rows,
        "categories": options.categories,
    }


def _earlier(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the results of the file of --json."""
    report = json.loads(options.json.read_text(encoding="utf-8"))
    for name, value in _conditions(options).items():
        if report.get(name) != value:
            raise ValueError(
                f"{options.json}: {name} is {report.get(name)}, here it is {value}; "
                "give the same, or leave --resume out"
            )
    found: list[dict[str, Any]] = report["results"]
    return found


def _measure(options: argparse.Namespace, before: list[dict[str, Any]]) -> dict[str, Any]:
    results, left_out = list(before), []
    done = {(result["table"], result["objective"]) for result in before}
    report = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "host": describe_host(),
        **_conditions(options),
        "left_out": left_out,
        "results": results,
    }
    made = category_tables if options.categories else tables
    for table in made(options.data, tuple(options.tables)):
        if isinstance(table, str):
            left_out.append(table)
            continue
        for task in (task for task in TASKS if task.kind == table.kind):
            if options.categories and task.objective not in CATEGORY_OBJECTIVES:
                continue
            if (table.name, task.objective) not in done:
                results += _compare(task, table, options)
                _write(options.json, report)
    _write(options.json, report)
    return report


def _write(file: Path | None, report: dict[str, Any]) -> None:
    """Write the results so far; a reader finds the old file or the new one."""
    if file:
        part = file.with_name(file.name + ".part")
        part.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        part.replace(file)


def _compare(task: Task, table: Table, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train every system on every split; yield a record a score."""
    reason = refusal(task, table.n_classes if task.kind == "classes" else 0)
    systems = {
        name: SYSTEMS[name] for name in installed()
        if (not reason if name == "ours" else takes(name, task, table))
    }  # fmt: skip
    if table.categorical:
        own = {name: SYMMETRIC[name] for name in SYMMETRIC if name.split(",")[0] in systems}
        systems |= own
    names = list(systems)
    settings = _settings(options)
    splits, n_folds = effort(table, options.splits) if options.trials else (options.splits, FOLDS)
    found: dict[str, dict[str, list[float]]] = {s: {n: [] for n in names} for s in task.scores}
    chosen: dict[str, list[int]] = {name: [] for name in names}
    seconds = dict.fromkeys(names, 0.0)
    for seed in range(splits):
        rows, unseen = split(table, seed, options.rows)
        for name in names:
            watch = Stopwatch()
            best = choose(systems[name], task, rows, settings, seed, n_folds)
            predicted = np.asarray(systems[name](task, rows, unseen, settings[best]))
            seconds[name] += watch.lap()
            chosen[name].append(best)
            for score in task.scores:
                found[score][name].append(SCORES[score][0](unseen, predicted))
    times = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    print(f"{table.name} {task.objective}: {times}", file=sys.stderr, flush=True)
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
            "level": level_with_first(found[score], SCORES[score][1], shared=table.of_seed is None),
            "chosen": chosen,
            "seconds": seconds,
        }


def level_with_first(
    scores: dict[str, list[float]], more_is_better: bool, *, shared: bool = True
) -> list[str]:
    """Return the systems that are first or within noise of it.

    ``shared`` says that splits share rows; the splits of a seeded table do not.
    """
    from scipy import stats

    sign = -1 if more_is_better else 1
    loss = {name: sign * np.array(values) for name, values in scores.items()}
    first = min(loss, key=lambda name: loss[name].mean())
    level = []
    for name, values in loss.items():
        behind = values - loss[first]
        n = behind.size
        correction = (1 - TRAINED) / TRAINED if shared else 0.0
        error = np.sqrt(behind.var(ddof=1) * (1 / n + correction))
        if behind.mean() <= stats.t.isf(0.025, n - 1) * error:
            level.append(name)
    return level
