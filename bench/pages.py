"""``python -m bench pages --out docs``: measure what the page of performance shows, and draw it.

Ours and every installed peer train each line (`bench.page_lines`) with the same rows and equal
parameters. They take turns (`bench.turns`): each system has a process of its own, every turn begins
a new model, and a turn of one system stands beside the turns of the others. The page shows medians
and quartiles, how many times as fast ours is than the fastest peer, and what bounds ours. Without
``--only``, the lines of the page are measured; it names others, too: shapes of
`comparison.shapes`, sparse matrices (``classes``, ``wide``), exact search (``exact-d6``), and other
tasks beside XGBoost alone (``ranks``, ``forest``, ``columns``).

On the machine that measures, ``--json`` keeps the results; a run that is cut short keeps the lines
it has. On the machine that draws, the files of several
machines and runs come together; of a line that was measured twice on a device the last one counts::

    python -m bench pages --device cuda,opencl --only 'gpu-*' --json h200.json
    python -m bench pages --json cpu.json
    python -m bench pages --from h200.json cpu.json --out docs

The JSON file holds ``format`` (1), ``command``, ``date`` (UTC), ``seed``, ``turns``, ``host``,
``versions``, ``devices`` (capabilities, ``label``, ``copy_bytes_per_second``) and ``lines``: fields
of `Line`, ``n_held_out``, ``n_trained``, ``floor_seconds``, ``problem`` and ``systems``. A system
has ``name``, ``ours``, ``device``, ``version``, ``problem``, ``cold_seconds``, ``compile_seconds``
(`bench.compiled`), ``quality``, ``digest`` (SHA-256 of predictions), ``peak_bytes`` of the device
as ours counts them, ``sampled_bytes`` through NVIDIA's library, which counts the driver's share
too, while the first round trains, ``host_peak_bytes``, ``kernels`` of ours, and ``seconds``:
samples of ``setup``, ``first`` (round), ``round``, ``predict`` and ``one`` (row), one a turn.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.children import in_child
from bench.compiled import COMPILED
from bench.host import free_bytes, n_cpus, parser_of, report_head
from bench.ours import facts
from bench.page_lines import LINES, Line, quick, sized
from bench.peers import ALONE, COMMON, ON_CPUS_ALONE, PEERS, SPARSE, choose_peers
from bench.turns import Player, Record, in_turns
from pyopencl_gbdt.device.timing import Times
from pyopencl_gbdt.errors import GBDTError

FORMAT = 1
_FACTS_LIMIT = 300.0
#: Held-out rows.
_MOST_HELD_OUT, _LEAST_HELD_OUT = 1_000_000, 10_000
#: Rows on which lines of prediction train.
_PREDICTED_FROM = 200_000


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        reports = [json.loads(Path(name).read_text(encoding="utf-8")) for name in options.drawn]
        if not reports:
            reports = [_measured(options, arguments)]
        if options.plot:
            from bench.plots import plot

            print(f"\n{plot(reports[0], options.plot)}")
        if options.out:
            from bench.page_drawing import draw

            draw(reports, Path(options.out))
    except (GBDTError, ImportError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    systems = [s for report in reports for line in report["lines"] for s in line["systems"]]
    return int(any(system["problem"] for system in systems if system["ours"]))


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("pages", __doc__)
    add = parser.add_argument
    add("--only", metavar="A,B", help="lines by name or pattern, such as 'gpu-*'")
    add("--device", default="auto", help="of ours, with commas between: cuda,opencl")
    add("--peers", default="auto", help="auto (what is installed), none, or names with commas")
    add("--turns", type=int, default=7)
    add("--limit", type=float, default=300.0, help="seconds after which a turn is stopped")
    add("--seed", type=int, default=0)
    add("--rows-scale", type=float, default=1.0, help="a factor on every line's rows")
    add("--rounds", type=int, help="so many rounds of a group instead of each line's own")
    add("--quick", action="store_true", help="few rows and rounds, to try the command")
    add("--json", metavar="FILE", help="write the results there")
    add("--from", dest="drawn", nargs="+", default=[], metavar="FILE", help="draw these files")
    add("--out", metavar="FOLDER", help="write the tables into the page of this folder")
    add("--plot", metavar="FILE", help="draw the first file; a folder gets pages.png")
    return parser


def chosen(only: str | None, kinds: Sequence[str]) -> list[Line]:
    """Return the lines for devices of these kinds, or of these names or patterns.

    Parameters
    ----------
    only : str or None
        Names or patterns, with commas between them.
    kinds : sequence of str
        ``"cpu"`` or ``"gpu"``, a kind for each device of ours.
    """
    here = [line for line in LINES if line.where in kinds]
    if only is None:
        return here
    found = []
    for word in only.split(","):
        names = fnmatch.filter([line.name for line in LINES], word.strip())
        if not names:
            offered = ", ".join(line.name for line in LINES)
            raise ValueError(f"--only {word}: expected a pattern or some of {offered}")
        found += names
    return [line for line in LINES if line.name in found]


def _measured(options: argparse.Namespace, arguments: list[str]) -> Record:
    """Measure every line; write the file after each."""
    for name, low in (("turns", 1), ("rounds", 1), ("rows_scale", 0.001)):
        value = getattr(options, name)
        if value is not None and not value >= low:
            raise ValueError(f"--{name.replace('_', '-')} {value}: expected {low} or more")
    if options.plot:
        import bench.plots  # noqa: F401  # fails now rather than after the work
    devices = [in_child(facts, spec.strip(), limit=_FACTS_LIMIT)
               for spec in options.device.split(",")]  # fmt: skip
    lines = chosen(options.only, [device["kind"] for device in devices])
    cuda = any(d["kind"] == "gpu" and "nvidia" in d["vendor"].lower() for d in devices)
    peers = choose_peers(options.peers, cuda=cuda, offered=PEERS | COMPILED)
    players = [Player("ours", device["device_id"], n_cpus()) for device in devices]
    players += [Player(name, "cuda" if cuda else "cpu", n_cpus()) for name in peers]
    report: Record = {
        "format": FORMAT, **report_head("pages", arguments), "seed": options.seed,
        "turns": options.turns, "devices": devices, "lines": [],
    }  # fmt: skip
    for one in lines:
        line = sized(quick(one) if options.quick else one, options.rows_scale, options.rounds)
        report["lines"].append(_line(line, players, report, options))
        print(said(report["lines"][-1]), flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def _line(
    line: Line, players: Sequence[Player], report: Record, options: argparse.Namespace
) -> Record:
    n_held_out = min(_MOST_HELD_OUT, max(_LEAST_HELD_OUT, line.n_rows // 4))
    n_trained = line.n_rows
    if line.trained:
        n_trained, n_held_out = min(_PREDICTED_FROM, line.n_rows), line.n_rows
    record: Record = {
        **asdict(line), "n_held_out": n_held_out, "n_trained": n_trained, "problem": "",
        "floor_seconds": line.floor_bytes / report["devices"][0]["copy_bytes_per_second"],
        "systems": [],
    }  # fmt: skip
    # every process keeps the rows in a form of its own, up to as large as the rows
    n_bytes = line.expected_bytes(n_trained) * (1 + len(players)) + line.expected_bytes(n_held_out)
    free = free_bytes()
    if free is not None and n_bytes > free:
        record["problem"] = f"the systems take {n_bytes} bytes, {free} are free"
        return record
    data = line.make(options.seed, n_trained), line.make(options.seed, n_held_out, held_out=True)
    mine = [one for one in players if _has(one, line)]
    record["systems"] = in_turns(line, mine, data, options.turns, options.limit)
    return record


def _has(player: Player, line: Line) -> bool:
    """Tell whether a system takes part: compiled models only predict, and few take sparse rows.

    These and peers of processors are not measured beside a GPU. CatBoost draws columns on
    processors alone.
    """
    if player.name in COMPILED and not line.trained:
        return False
    few = SPARSE if line.per_row else None
    if line.tree_method == "exact" or line.params or line.objective not in COMMON:
        few = ALONE
    if player.name != "ours" and (line.ours_alone or (few is not None and player.name not in few)):
        return False
    if player.device != "cuda":
        return True
    if player.name == "catboost" and line.drawn < 1:
        return False
    return player.name not in (*ON_CPUS_ALONE, *COMPILED)


def said(line: Record) -> str:
    """Return a line's results as text."""
    text = [f"\n{line['name']}: {line['title']}, {line['n_rows']:,} x {line['n_features']}"]
    if line["problem"]:
        return "\n".join([*text, f"left out: {line['problem']}"])
    for system in line["systems"]:
        parts = [f"  {system['name']:<20}"]
        for part, samples in system["seconds"].items():
            times = Times(tuple(1e3 * seconds for seconds in samples))
            low, high = times.quartiles
            parts.append(f"{part} {times.median:.4g} ms ({low:.4g} to {high:.4g})")
        if system["problem"]:
            parts.append(f"failed: {system['problem']}")
        parts += [f"{name} {value:.5f}" for name, value in system.get("quality", {}).items()]
        own = {"device": system.get("peak_bytes") or system.get("sampled_bytes"),
               "host": system.get("host_peak_bytes")}  # fmt: skip
        parts += [f"{where} {n_bytes / 1e6:.0f} MB" for where, n_bytes in own.items() if n_bytes]
        text.append("  ".join(parts))
    digests = {s["digest"] for s in line["systems"] if s["ours"] and not s["problem"]}
    if len(digests) > 1:
        text.append("  predictions of ours: DIFFERENT BYTES")
    return "\n".join(text)
