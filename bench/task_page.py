"""Results of ``python -m bench tasks`` as Markdown.

The page has sections, each between its marks: ``measured`` at the fixed setting, ``trials``, and
``categories``.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from bench.task_trials import FOLDS, LARGE, LARGE_SPLITS

TITLES = {
    "ours": "pyopencl_gbdt", "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost",
    "sklearn": "scikit-learn", "ours, symmetric": "pyopencl_gbdt, symmetric",
    "catboost, symmetric": "CatBoost, symmetric",
}  # fmt: skip
_PACKAGES = {"xgboost": ("xgboost", "xgboost-cpu"), "sklearn": ("scikit-learn",)}


def between(page: Path, name: str, lines: list[str]) -> str:
    """Return the text of a page with other lines between the marks of a section."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"{page}: expected one {begin!r} and one {end!r} after it; add them")
    before, after = text.index(begin), text.index(end) + len(end)
    return text[:before] + "\n".join([begin, "", *lines, "", end]) + text[after:]


def lines_of(report: dict[str, Any]) -> list[str]:
    """Return the summary, the table of all results, and what was left out."""
    results = report["results"]
    systems = [name for name in TITLES if any(name in r["systems"] for r in results)]
    versions = report["versions"]
    packages = ", ".join(
        f"{TITLES[name]} {versions[package]}"
        for name in systems
        for package in _PACKAGES.get(name, (name,))
        if package in versions
    )
    head = f"{report['date']}, {report['host']['cpu']}: {packages}. {_conditions(report)}"
    lines = [
        *textwrap.wrap(head, 120),
        "",
        "| | scores | best or not distinguishable from it |",
        "|---|---:|---:|",
        *(_summary(name, results) for name in systems),
        "",
        *(_trials(report, systems) if report["trials"] else []),
        f"| data | objective | score | {' | '.join(TITLES[name] for name in systems)} |",
        "|---|---|---|" + "---|" * len(systems),
        *(_row(result, systems) for result in results),
    ]
    waiting = {r["objective"]: r["refused"] for r in results if r["refused"]}
    if waiting:
        lines += ["", "Not taken yet by pyopencl_gbdt: " + ", ".join(map(_code, waiting)) + "."]
    if report["left_out"]:
        lines += ["", "Not there: " + "; ".join(report["left_out"]) + "."]
    return lines


def _conditions(report: dict[str, Any]) -> str:
    """Return what held for all systems, as a sentence."""
    first = report["settings"][0]
    data = f"{report['splits']} splits, {report['most_rows']} rows at most."
    if report["trials"]:
        return (
            f"{report['trials']} settings, {first['bins']} bins, {FOLDS} inner folds, {data} Sets "
            f"of more than {LARGE} rows: {LARGE_SPLITS} splits at most, one of the inner folds."
        )
    return (
        f"{first['rounds']} rounds, depth {first['depth']}, learning rate "
        f"{first['learning_rate']}, {first['bins']} bins, {data}"
    )


def _trials(report: dict[str, Any], systems: list[str]) -> list[str]:
    """Return the settings, and how many times each system chose them."""
    tasks = {(r["table"], r["objective"]): r["chosen"] for r in report["results"]}
    lines = [
        "The settings, and how many times each library chose them:",
        "",
        "| rounds | depth | learning rate | L2 | minimum Hessian | "
        + " | ".join(TITLES[name] for name in systems)
        + " |",
        "|---:|---:|---:|---:|---:|" + "---:|" * len(systems),
    ]
    for place, one in enumerate(report["settings"]):
        counts = [sum(c.get(name, []).count(place) for c in tasks.values()) for name in systems]
        values = ("rounds", "depth", "learning_rate", "l2", "least_hessian")
        cells = [*(f"{one[name]:g}" for name in values), *map(str, counts)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _code(text: str) -> str:
    return f"`{text}`"


def _summary(name: str, results: list[dict[str, Any]]) -> str:
    measured = [result for result in results if name in result["systems"]]
    level = sum(name in result["level"] for result in measured)
    return f"| {TITLES[name]} | {len(measured)} | {level} |"


def _row(result: dict[str, Any], systems: list[str]) -> str:
    arrow = "more" if result["more_is_better"] else "less"
    cells = [
        f"{result['table']}, {result['rows']} x {result['columns']}",
        _code(result["objective"]),
        f"{result['score']}, {arrow}",
        *(_cell(result, name) for name in systems),
    ]
    return "| " + " | ".join(cells) + " |"


def _cell(result: dict[str, Any], name: str) -> str:
    """Return mean and standard deviation over splits, bold if level with the first."""
    if name not in result["systems"]:
        return "not yet" if name == "ours" else "-"
    scores = result["systems"][name]
    mean, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
    digits = max(0, 3 - int(np.floor(np.log10(max(abs(mean), 1e-3)))))
    text = f"{mean:.{digits}f} ± {spread:.{digits}f}"
    return f"**{text}**" if name in result["level"] else text
