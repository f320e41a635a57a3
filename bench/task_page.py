"""Results of ``python -m bench tasks`` as Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLES = {
    "ours": "pyopencl_gbdt", "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost",
    "sklearn": "scikit-learn",
}  # fmt: skip
_PACKAGES = {"xgboost": ("xgboost", "xgboost-cpu"), "sklearn": ("scikit-learn",)}


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
    lines = [
        f"{report['date']}, {report['host']['cpu']}: {packages}. {report['rounds']} rounds, depth "
        f"{report['depth']}, learning rate {report['learning_rate']}, {report['bins']} bins, "
        f"{report['splits']} splits, {report['most_rows']} rows at most.",
        "",
        "| | scores | first or within noise of first |",
        "|---|---:|---:|",
        *(_summary(name, results) for name in systems),
        "",
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
