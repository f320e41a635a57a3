"""Compare what ``python -m bench quality run`` kept: ratios to the best, tables won, sign tests."""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.quality_list import NUMBERS, rows_of
from bench.quality_run import read_records
from bench.quality_tables import is_choosing, read


@dataclass(frozen=True)
class Line:
    """How one system did on the tables that all shown systems have."""

    system: str
    ratio: float
    """Mean over the tables of its score, divided by the best score of the shown systems."""
    first: int
    """Tables on which it is the best."""
    close: int
    """Tables on which it is the best or within 0.2 % of it."""
    processor: float
    """Seconds of all fits of these tables and splits, of all threads together."""
    gain: float
    """Mean of the logarithms of the base's score divided by its score."""
    won: int
    lost: int
    chance: float
    """Sign test: of as uneven a number of tables won and lost, if both were equally good."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add what the comparison takes."""
    parser.add_argument("results", type=Path, nargs="+", metavar="FILE.jsonl")
    parser.add_argument("--data", type=Path, metavar="TABLES.npz",
                        help="tells two classes from several, for --target")  # fmt: skip
    parser.add_argument("--kind", default="default")
    parser.add_argument("--half", choices=["choosing", "checking", "both"], default="choosing")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="all if left out")
    parser.add_argument("--splits", type=int, nargs="+", help="all if left out")
    parser.add_argument("--base", default="catboost", help="gains and tables won are against it")
    parser.add_argument("--target", choices=["all", "numbers", "two", "several"], default="all")
    parser.add_argument("--tables", action="store_true", help="show every table's ratios")


def show(chosen: argparse.Namespace) -> int:
    """Print a table in Markdown."""
    if chosen.target in ("two", "several") and chosen.data is None:
        raise SystemExit(f"--target {chosen.target}: expected --data, the file that build made")
    classes = _classes(chosen.data)
    records = [record for file in chosen.results for record in read_records(file)]
    records = [
        record for record in records
        if record["kind"] == chosen.kind and "error" not in record
        and (chosen.splits is None or record["split"] in chosen.splits)
        and _wanted(record["table"], classes, chosen)
    ]  # fmt: skip
    if not records:
        raise SystemExit(f"no fits of --kind {chosen.kind}, --half {chosen.half} and these splits")
    systems = chosen.systems or list(dict.fromkeys(record["system"] for record in records))
    found = scores(records, systems)
    lines = compare(found, systems, chosen.base)
    print(f"{chosen.kind}, {chosen.half}, {len({table for table, _ in found})} tables, "
          f"{len(found)} splits")  # fmt: skip
    print("| | ratio to the best | first | within 0.2 % | seconds | gain | won : lost | chance |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for line in sorted(lines, key=lambda line: line.ratio):
        print(f"| {line.system} | {line.ratio:.4f} | {line.first} | {line.close} | "
              f"{line.processor:.0f} | {100 * line.gain:+.2f} % | {line.won} : {line.lost} | "
              f"{line.chance:.2g} |")  # fmt: skip
    if chosen.tables:
        means = _means(found, systems)
        print("|", " | ".join(("", *systems)), "|")
        for table, own in sorted(means.items()):
            best = min(own.values())
            print("|", " | ".join((table, *(f"{own[s] / best:.3f}" for s in systems))), "|")
    return 0


def _classes(data: Path | None) -> dict[str, int]:
    """Return the number of classes of each table, 0 for numbers; without a file, of these alone."""
    if data is None:
        return {name: 0 for name, *_ in rows_of(NUMBERS)}
    return {name: table.n_classes for name, table in read(data).items()}


def _wanted(name: str, classes: Mapping[str, int], chosen: argparse.Namespace) -> bool:
    """Return whether a table belongs to the half and the kind of targets that are shown."""
    n_classes = classes.get(name)
    target = "numbers" if n_classes == 0 else "two" if n_classes == 2 else "several"
    half = chosen.half == "both" or is_choosing(name) == (chosen.half == "choosing")
    return half and chosen.target in ("all", target)


def scores(
    records: Sequence[Mapping[str, Any]], systems: Sequence[str]
) -> dict[tuple[str, int], dict[str, tuple[float, float]]]:
    """Return (score, seconds of the processor) by table and split, where all systems have one."""
    found: dict[tuple[str, int], dict[str, tuple[float, float]]] = defaultdict(dict)
    for record in records:
        own = record["score"], record["processor"]
        found[record["table"], record["split"]][record["system"]] = own
    return {place: own for place, own in found.items() if all(name in own for name in systems)}


def _means(
    found: Mapping[tuple[str, int], Mapping[str, tuple[float, float]]], systems: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return each system's mean score over the splits of a table."""
    grouped: dict[str, list[Mapping[str, tuple[float, float]]]] = defaultdict(list)
    for (table, _), own in found.items():
        grouped[table].append(own)
    return {
        table: {name: math.fsum(one[name][0] for one in own) / len(own) for name in systems}
        for table, own in grouped.items()
    }


def compare(
    found: Mapping[tuple[str, int], Mapping[str, tuple[float, float]]],
    systems: Sequence[str],
    base: str,
) -> list[Line]:
    """Return a line for each system.

    Parameters
    ----------
    found : mapping
        As of ``scores``.
    systems : sequence of str
    base : str
        The system to compare with; the first one, if it is not among them.
    """
    means = _means(found, systems)
    base = base if base in systems else systems[0]
    lines = []
    for name in systems:
        ratios = [own[name] / min(own.values()) for own in means.values()]
        gains = [math.log(own[base] / own[name]) for own in means.values()]
        won, lost = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        seconds = math.fsum(own[name][1] for own in found.values())
        close = sum(ratio <= 1.002 for ratio in ratios)
        n = max(1, len(means))
        lines.append(
            Line(name, math.fsum(ratios) / n, ratios.count(1.0), close, seconds,
                 math.fsum(gains) / n, won, lost, sign_test(won, lost))
        )  # fmt: skip
    return lines


def sign_test(won: int, lost: int) -> float:
    """Return the chance of as uneven a result of fair coins, on both sides."""
    n = won + lost
    tail = sum(math.comb(n, k) for k in range(min(won, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)
