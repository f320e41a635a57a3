"""``python -m bench page A.json [B.json ...] --into docs/performance.md``: results as tables.

Files come from ``python -m bench train --json``. What stands between the two marks in the page is
written anew; the rest is for people to write.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HEAD = (
    "| system | set-up s | ms a round | of the floor | predict ms | quality | memory MB |\n"
    "|---|---:|---:|---:|---:|---|---:|"
)


def _number(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{value * scale:.{digits}f}"


def _row(system: dict[str, Any]) -> str:
    version = system.get("version") or ""
    name = f"**{system['name']}**" if system["ours"] else f"{system['name']} {version}"
    if system["problem"]:
        return f"| {name} | {system['problem']} | | | | | |"
    quality = ", ".join(f"{k} {v:.5f}" for k, v in system["quality"].items())
    memory = system["sampled_bytes"] or system["peak_bytes"]
    cells = [
        name,
        _number(system["setup_seconds"], 1, 3),
        _number(system["round_seconds"], 1e3, 3),
        _number(system["times_floor"], 1, 1),
        _number(system["predict_seconds"], 1e3, 1),
        quality,
        _number(memory, 1e-6, 0),
    ]
    return "| " + " | ".join(cells) + " |"


def _ratio(ratio: dict[str, Any]) -> str:
    times = ", ".join(
        f"{what} {ratio[key]:.2f}x"
        for key, what in (("setup", "set-up"), ("round", "a round"), ("predict", "prediction"))
        if ratio.get(key)
    )
    return f"{ratio['ours']} against {ratio['peer']}: {times}."


def tables(result: dict[str, Any]) -> list[str]:
    """Return the lines of one file's results."""
    host, versions = result["host"], result["versions"]
    devices = "; ".join(
        f"{d['label']}, driver {d['driver']}, copies {d['copy_bytes_per_second'] / 1e9:.0f} GB/s"
        for d in result["devices"]
    )
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [
        f"### {result['devices'][0]['name']}, {result['date'][:10]}",
        "",
        f"{devices}. Host: {host['cpu']}, {host['n_cpus']} threads, Python {host['python']}; "
        f"{packages}.",
    ]
    for shape in result["shapes"]:
        size = f"{shape['n_rows']:,} x {shape['n_features']}, {shape['max_bin']} bins, depth "
        models = f", {shape['n_models']} models" if shape["n_models"] > 1 else ""
        lines += [
            "",
            f"**{shape['title']}** ({size}{shape['max_depth']}, "
            f"{shape['n_rounds']} rounds{models})",
            "",
        ]
        if shape["problem"]:
            lines.append(shape["problem"])
            continue
        lines += [_HEAD, *map(_row, shape["systems"]), ""]
        lines += map(_ratio, shape["ratios"])
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench page", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE.json")
    parser.add_argument("--into", required=True, type=Path, metavar="PAGE.md")
    args = parser.parse_args(arguments)
    page = args.into.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        print(f"{args.into}: expected one {BEGIN!r} and one {END!r}; add them", file=sys.stderr)
        return 2
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    parts = []
    for path in args.results:
        parts += ["", *tables(json.loads(path.read_text(encoding="utf-8")))]
    args.into.write_text(
        before + BEGIN + "\n".join(["", *parts, "", END]) + after, encoding="utf-8"
    )
    return 0
