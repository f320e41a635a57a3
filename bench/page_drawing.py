"""Results of ``python -m bench pages`` as tables of the page of performance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.task_page import between
from bench.turns import Record
from pyopencl_gbdt.device.timing import Times, middle

#: The page, and its section that is drawn.
PAGE, SECTION = "performance.md", "turns"
TITLES = {
    "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost", "falcata": "Falcata",
    "falcata-stochastic": "Falcata, stochastic",
}  # fmt: skip
#: A round is bound by launches where its kernels take less than so much of it.
_BUSY = 0.6
#: Facts of a report that its lines keep, as the lines of a machine may come from several.
_FACTS = ("devices", "versions", "date")
#: Seconds above which it is said how long a system compiled its model.
_COMPILED = 0.5
#: A kernel that reaches so much of a copy's rate is bound by memory.
_OF_COPY = 0.5


def draw(reports: Sequence[Record], folder: Path) -> None:
    """Write the tables of all reports into the page of a folder.

    Parameters
    ----------
    reports : sequence of dict
        Of ``python -m bench pages --json``.
    folder : Path

    Raises
    ------
    ValueError
        If the page lacks the marks of the section.
    """
    path = folder / PAGE
    lines = [line for machine in merged(reports) for line in tables(machine)]
    path.write_text(between(path, SECTION, lines), encoding="utf-8")


def merged(reports: Sequence[Record]) -> list[Record]:
    """Return one report for each machine: of a line that has several, the last one."""
    machines: dict[tuple[str, ...], Record] = {}
    for report in reports:
        name = tuple(device["name"] for device in report["devices"])
        first = machines.setdefault((report["host"]["cpu"], *name), {**report, "lines": []})
        known = {line["name"]: line for line in first["lines"]}
        for line in report["lines"]:
            known[line["name"]] = {**line, **{fact: report[fact] for fact in _FACTS}}
        first["lines"] = list(known.values())
    return list(machines.values())


def tables(report: Record) -> list[str]:
    """Return a machine's heading and tables; nothing if it has no lines."""
    mine = [line for line in report["lines"] if not line["problem"]]
    if not mine:
        return []
    versions = {name: version for line in mine for name, version in line["versions"].items()}
    lines = heading(report, mine[0]["devices"], mine[0]["date"], versions)
    lines[-1] += f" Medians of {_turns(mine)} turns, their quartiles in brackets."
    lines.append("")
    trained = [line for line in mine if not line["trained"]]
    if trained:
        lines += [
            "| data | system | ms a round | set-up, ms | 1st round, ms | of the floor | quality "
            "| ours is times as fast: a round, set-up |",
            "|---|---|---:|---:|---:|---:|---|---|",
            *(row for line in trained for row in _rows(line, _trained_cells)),
            "",
            "What bounds a round of ours:",
            "",
            *(f"- {_data(line)}: {bound(line)}." for line in trained),
            "",
        ]
    predicted = [line for line in mine if line["trained"]]
    if predicted:
        lines += [
            "| data | system | all rows, ms | one row, ms | quality | ours is times as fast |",
            "|---|---|---:|---:|---|---|",
            *(row for line in predicted for row in _rows(line, _predicted_cells)),
            "",
        ]
    return lines


def heading(report: Record, devices: Sequence[Record], date: str, versions: Record) -> list[str]:
    """Return the heading of a machine's tables, and what it is."""
    host = report["host"]
    drivers = "; ".join(
        f"{d['label']}, driver {d['driver']}, copies {d['copy_bytes_per_second'] / 1e9:.0f} GB/s"
        for d in devices
    )
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    where = f"Host: {host['cpu']}, {host['n_cpus']} threads, Python {host['python']}"
    return [f"### {devices[0]['name']}, {date[:10]}", "", f"{drivers}. {where}; {packages}."]


def _turns(lines: Sequence[Record]) -> str:
    """Return how many turns the lines have."""
    counts = set()
    for line in lines:
        samples = [some for system in line["systems"] for some in system["seconds"].values()]
        counts.add(max(map(len, samples), default=0))
    return " or ".join(map(str, sorted(counts, reverse=True)))


def _data(line: Record) -> str:
    return f"{line['n_rows']:,} x {line['n_features']}, {line['title']}"


def _rows(line: Record, cells: Any) -> list[str]:
    rows = []
    ours = next((s for s in line["systems"] if s["ours"] and not s["problem"]), None)
    for system in line["systems"]:
        name = f"{TITLES.get(system['name'], system['name'])} {system.get('version', '')}"
        name = f"**{system['name']}**" if system["ours"] else name
        if system.get("compile_seconds", 0) > _COMPILED:
            name += f", compiled in {system['compile_seconds']:.0f} s"
        found = [system["problem"]] if system["problem"] else cells(line, system, ours)
        rows.append(f"| {_data(line)} | {name} | {' | '.join(found)} |")
    return rows


def _trained_cells(line: Record, system: Record, ours: Record | None) -> list[str]:
    floor = middle(system["seconds"]["round"]) / line["floor_seconds"]
    parts = [spread(system["seconds"].get(part)) for part in ("round", "setup", "first")]
    return [*parts, f"{floor:.1f}", _quality(system), _ratios(system, ours, ("round", "setup"))]


def _predicted_cells(line: Record, system: Record, ours: Record | None) -> list[str]:
    parts = [spread(system["seconds"].get(part)) for part in ("predict", "one")]
    return [*parts, _quality(system), _ratios(system, ours, ("predict", "one"))]


def spread(samples: Sequence[float] | None) -> str:
    """Return the median of seconds in ms, and the quartiles."""
    if not samples:
        return "-"
    times = Times(tuple(1e3 * seconds for seconds in samples))
    median, (low, high) = times.median, times.quartiles
    digits = 3 if median < 10 else 1 if median < 1000 else 0
    return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _quality(system: Record) -> str:
    return ", ".join(f"{name} {value:.5f}" for name, value in system["quality"].items())


def _ratios(system: Record, ours: Record | None, parts: Sequence[str]) -> str:
    """Return how many times as fast as a peer the first device of ours is."""
    if system["ours"] or ours is None:
        return ""
    found = []
    for part in parts:
        both = [one["seconds"].get(part) for one in (system, ours)]
        theirs, own = (middle(samples) if samples else None for samples in both)
        found.append(f"{theirs / own:.2f}" if theirs is not None and own else "-")
    return ", ".join(found)


def bound(line: Record) -> str:
    """Return what bounds a round of ours, from its profile."""
    ours = next((s for s in line["systems"] if s["ours"] and not s["problem"]), None)
    if ours is None or not ours.get("kernels"):
        return "not profiled"
    round_ms = 1e3 * middle(ours["seconds"]["round"])
    busy = sum(kernel["ms"] for kernel in ours["kernels"])
    launches = sum(kernel["launches"] for kernel in ours["kernels"])
    longest = ours["kernels"][0]
    share = longest["share_of_copy"]
    rate = "" if share is None else f" at {share:.0%} of a copy's rate"
    kernels = f"`{longest['kernel']}` takes {longest['ms']:.3g} ms{rate}"
    if busy < _BUSY * round_ms:
        why = f"launches: the kernels take {busy:.3g} of {round_ms:.3g} ms, {launches:.0f} of them"
    elif share is not None and share >= _OF_COPY:
        why = "memory"
    else:
        why = "work within the kernels"
    return f"{why}; {kernels}"
