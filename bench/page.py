"""``python -m bench page A.json ... --into docs/performance.md``: results as tables.

Files come from ``python -m bench train --json``. What stands between the two marks in the page is
written anew; the rest is for people to write.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.page_drawing import heading
from bench.task_page import between

_HEAD = (
    "| data | system | set-up s | ms a round | of the floor | predict ms | quality | memory MB "
    "| ours is times as fast: set-up, a round, predict |\n"
    "|---|---|---:|---:|---:|---:|---|---:|---|"
)


def _number(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{value * scale:.{digits}f}"


def _row(shape: dict[str, Any], system: dict[str, Any]) -> str:
    version = system.get("version") or ""
    data = f"{shape['name']}, {shape['n_rows']:,} x {shape['n_features']}"
    name = f"**{system['name']}**" if system["ours"] else f"{system['name']} {version}"
    if system["problem"]:
        return f"| {data} | {name} | {system['problem']} | | | | | | |"
    quality = ", ".join(f"{k} {v:.5f}" for k, v in system["quality"].items())
    memory = system["sampled_bytes"] or system["peak_bytes"]
    cells = [
        data,
        name,
        _number(system["setup_seconds"], 1, 3),
        _number(system["round_seconds"], 1e3, 3),
        _number(system["times_floor"], 1, 1),
        _number(system["predict_seconds"], 1e3, 1),
        quality,
        _number(memory, 1e-6, 0),
        _ratio(shape["ratios"], system["name"]),
    ]
    return "| " + " | ".join(cells) + " |"


def _ratio(ratios: list[dict[str, Any]], peer: str) -> str:
    """Return how many times as fast as a peer the first device of ours is."""
    found = next((r for r in ratios if r["peer"] == peer), None)
    if found is None:
        return ""
    values = (found.get(key) for key in ("setup", "round", "predict"))
    return ", ".join("-" if v is None else f"{v:.2f}" for v in values)


def tables(result: dict[str, Any]) -> list[str]:
    """Return the lines of one file's results."""
    lines = [*heading(result, result["devices"], result["date"], result["versions"]), "", _HEAD]
    for shape in result["shapes"]:
        lines += [_row(shape, system) for system in shape["systems"]]
    left_out = [f"{s['name']}: {s['problem']}" for s in result["shapes"] if s["problem"]]
    lines += ["", "Left out: " + "; ".join(left_out)] if left_out else []
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench page", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE.json")
    parser.add_argument("--into", required=True, type=Path, metavar="PAGE.md")
    args = parser.parse_args(arguments)
    lines: list[str] = []
    for path in args.results:
        lines += ["", *tables(json.loads(path.read_text(encoding="utf-8")))]
    try:
        text = between(args.into, "measured", lines[1:])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    args.into.write_text(text, encoding="utf-8")
    return 0
