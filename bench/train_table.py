"""What ``python -m bench train`` prints: an announcement and a table for every shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.comparison.shapes import Shape

Record = dict[str, Any]
GB = 1e9

#: Nanoseconds a value and round of depth 6 that XGBoost takes, for announcing a run's length: on
#: an H200 (HIGGS, 9.5 ms); on a thread of a processor (1 M x 28, 2 threads, 62 ms).
_CARD_NS, _THREAD_NS = 0.03, 4.4
#: The same for one set-up, and for making the data.
_SETUP_NS, _MAKE_NS = 15.0, 10.0
#: Seconds that a system takes in any case: a process, its libraries, kernels to build.
_START_SECONDS = 4.0


def estimated_seconds(
    shape: Shape, on_card: Sequence[bool], repeats: int, n_threads: int, budget: float
) -> float:
    """Return very roughly how long a shape takes.

    Parameters
    ----------
    shape : Shape
    on_card : sequence of bool
        A flag per system: on a graphics card or on the processor.
    repeats, n_threads : int
    budget : float
        Seconds of a system after which no further fit begins.
    """
    giga_values = shape.n_rows * shape.n_features * (1 - shape.missing) / 1e9
    total = _MAKE_NS * giga_values / n_threads
    for card in on_card:
        rate = _CARD_NS if card else _THREAD_NS / n_threads
        rounds = shape.n_rounds * shape.n_models * rate * shape.max_depth / 6
        fit = giga_values * (rounds + _SETUP_NS / n_threads)
        total += _START_SECONDS + min(repeats * fit, budget + fit)
    return total


def announce(record: Record, data_bytes: int, free: int | None, seconds: float) -> str:
    """Return what is going to be trained, what it needs and how long it may take."""
    parts = [
        f"{record['n_rows']} x {record['n_features']}",
        f"{record['max_bin']} bins",
        f"depth {record['max_depth']}",
        f"{record['n_rounds']} rounds",
    ]
    if record["n_models"] > 1:
        parts.append(f"{record['n_models']} models")
    memory = f"{data_bytes / GB:.2f} GB of data on the host"
    if free is not None:
        memory += f" ({free / GB:.1f} GB free)"
    return (
        f"\n{record['name']}: {record['title']}\n{', '.join(parts)}; "
        f"{record['n_held_out']} held-out rows\n{memory}, about {max(1, round(seconds))} s"
    )


def ratios(systems: Sequence[Record]) -> list[Record]:
    """Return how many times faster each of ours is than each peer."""
    done = [system for system in systems if not system["problem"]]
    return [
        {
            "ours": ours["name"],
            "peer": peer["name"],
            "setup": _ratio(peer["setup_seconds"], ours["setup_seconds"]),
            "round": _ratio(peer["round_seconds"], ours["round_seconds"]),
            "predict": _ratio(peer["predict_seconds"], ours["predict_seconds"]),
        }
        for ours in done
        if ours["ours"]
        for peer in done
        if not peer["ours"]
    ]


def table(record: Record) -> str:
    """Return a shape's results as text."""
    if record["problem"]:
        return f"left out: {record['problem']}"
    metrics = next((list(s["quality"]) for s in record["systems"] if not s["problem"]), [])
    head = (
        f"{'system':<24}{'device':<12}{'set-up s':>9}{'1st ms':>9}{'ms/round':>10}{'x floor':>9}"
        f"{'predict ms':>11}{''.join(f'{name:>9}' for name in metrics)}{'cold s':>8}"
        f"{'peak MiB':>10}"
    )
    lines = [f"floor {_ms(record['floor_seconds'])} ms a round", head]
    lines += [_line(system, metrics) for system in record["systems"]]
    digests = [s["prediction_digest"] for s in record["systems"] if s["ours"] and not s["problem"]]
    if len(digests) > 1:
        same = "the same bytes" if len(set(digests)) == 1 else "DIFFERENT BYTES"
        lines.append(f"predictions of ours: {same} on all devices")
    if record["ratios"]:
        lines.append(f"{'ours is times as fast':<46}{'set-up':>8}{'a round':>9}{'predict':>9}")
    for r in record["ratios"]:
        pair = f"  {r['ours']} : {r['peer']}"
        lines.append(f"{pair:<46}{_x(r['setup']):>8}{_x(r['round']):>9}{_x(r['predict']):>9}")
    return "\n".join(lines)


def _line(system: Record, metrics: Sequence[str]) -> str:
    name = system["name"]
    if system["problem"]:
        return f"{name:<24}failed: {system['problem']}"
    peak = system["peak_bytes"] or system["sampled_bytes"]
    name = f"{'ours' if system['ours'] else name} {system['version']}"
    judged = "".join(f"{system['quality'][metric]:>9.5f}" for metric in metrics)
    mib = f"{peak / 2**20:.0f}" if peak else "-"
    return (
        f"{name:<24}{system['device']:<12}{system['setup_seconds']:>9.3f}"
        f"{_ms(system['first_round_seconds']):>9}{_ms(system['round_seconds']):>10}"
        f"{system['times_floor']:>9.1f}{_ms(system['predict_seconds']):>11}"
        f"{judged}{system['cold_seconds']:>8.2f}{mib:>10}"
    )


def _ratio(theirs: float, ours: float) -> float | None:
    return theirs / ours if ours else None


def _x(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{1e3 * seconds:.1f}" if seconds >= 1 else f"{1e3 * seconds:.3f}"
