"""``python -m bench external``: training from pages that take turns, beside training on the device.

Codes are random bytes, made page by page, so that no float32 values of all rows are needed; labels
follow four of the features. A fit with all rows on the device is timed first, if they fit. The same
rows are then streamed with ``--share`` of the bytes which that fit took, or with ``--memory``
bytes. A round's ms is the mean over ``--rounds`` rounds behind two that warm up, with the device
idle at both ends. Printed are also the passes over pages, the GB that a round moves each way, the
rate of copies from page-locked memory alone, and the share of it that the rounds reach. Both fits
must give the same trees. XGBoost trains from an ``ExtMemQuantileDMatrix`` of the same rows, if it
is installed; on a GPU, its pages lie in the host's memory. With ``--subsample`` below 1, trees
grow on the rows that they draw, gathered; ``--no-gather`` takes a pass for every level all the
same. ``--folder`` streams from files in that folder, instead of the host's memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.devices_rows import coded_rows
from bench.external_rows import Rows, bus_rate, resident_codes, xgboost_seconds
from bench.host import parser_of
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.limited_device import with_memory
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.timing import clock
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit import rows_in_turn
from pyopencl_gbdt.fit.choose_turns import PAGE_BYTES
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.disk_pages import DiskPages
from pyopencl_gbdt.pages.stored import HostPages
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit

_WARM_UP = 2


@dataclass
class Timed:
    """What a fit took."""

    seconds: float
    peak_bytes: int
    trees: list[Tree]
    passes: float = 0.0
    n_pages: int = 1
    n_slots: int = 1
    n_in: float = 0.0
    n_out: float = 0.0


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    device = open_device(options.device)
    n_pages = options.pages or max(12, options.rows * (options.features + 32) // PAGE_BYTES)
    rows, pages = coded_rows(device, options.rows, options.features, 0, n_pages)
    print(f"{device.caps.label}: {options.rows} x {options.features}, depth {options.depth}")
    rate = bus_rate(device)
    whole = None if options.memory else _resident(device, rows, pages, options)
    share = options.memory or (int(options.share * whole.peak_bytes) if whole else 0)
    if not share:
        print("all rows do not fit the device: give --memory", file=sys.stderr)
        return 2
    streamed = _streamed(options, share, rows, pages)
    lines = {"resident": whole, "streamed": streamed}
    for name, fit in lines.items():
        if fit is not None:
            print(
                f"  {name:10}{1e3 * fit.seconds:10.1f} ms a round, {fit.peak_bytes / 1e9:8.3f} GB"
            )
    moved = streamed.n_in / streamed.seconds / 1e9
    print(
        f"  {streamed.n_pages} pages, {streamed.n_slots} at a time, {streamed.passes:.1f} passes a "
        f"round, {streamed.n_in / 1e9:.3f} GB in and {streamed.n_out / 1e9:.3f} GB out a round"
    )
    print(f"  copies alone {rate / 1e9:.1f} GB/s, the rounds {moved:.1f} GB/s, "
          f"{100 * moved * 1e9 / rate:.0f} %")  # fmt: skip
    if whole is not None:
        print(f"  of the resident speed: {100 * whole.seconds / streamed.seconds:.0f} %")
        if whole.trees != streamed.trees:
            print("the two fits give other trees", file=sys.stderr)
            return 1
    if options.xgboost and importlib.util.find_spec("xgboost") is not None:
        seconds = xgboost_seconds(device, rows, pages, options.depth, options.rounds)
        print(f"  {'XGBoost':10}{1e3 * seconds:10.1f} ms a round")
    if options.json:
        found = {name: _numbers(fit) for name, fit in lines.items() if fit is not None}
        text = json.dumps({"bus_bytes_a_second": rate, **found}, indent=1)
        Path(options.json).write_text(text, encoding="utf-8")
    return 0


def _numbers(fit: Timed) -> dict[str, float]:
    return {name: value for name, value in vars(fit).items() if name != "trees"}


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("external", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--share", type=float, default=0.25, help="of the resident fit's bytes")
    parser.add_argument("--memory", type=int, default=0, help="bytes; no resident fit is made")
    parser.add_argument("--subsample", type=float, default=1.0, help="rows that a tree draws")
    parser.add_argument("--method", default="uniform", help="sampling_method of these rows")
    parser.add_argument(
        "--no-gather", dest="gather", action="store_false",
        help="a pass over the pages for every level, though few rows are drawn",
    )  # fmt: skip
    parser.add_argument("--pages", type=int, default=0, help="of the codes; 0: of 256 MiB, or 12")
    parser.add_argument("--folder", default="", help="codes of the streamed fit lie on disk there")
    parser.add_argument("--no-xgboost", dest="xgboost", action="store_false")
    parser.add_argument("--json", default="")
    return parser


def _fit(device: Device, rows: Rows, codes: Any, options: argparse.Namespace) -> Timed:
    device.peak_bytes = device.allocated_bytes
    params = Parameters.from_dict(
        {"objective": "binary:logistic", "max_depth": options.depth,
         "subsample": options.subsample, "sampling_method": options.method}
    )  # fmt: skip
    data: Any = rows
    objective = get_objective(params.objective, params)
    gathers = rows_in_turn.may_gather_rows if options.gather else (lambda nodes, team: False)
    with patch.object(rows_in_turn, "may_gather_rows", gathers):
        fit = Fit(device, params, objective, data, 0.0, share=Share(codes=codes))
    pace, visits = Pace(device), fit.parts.rows.stream

    def rounds(count: int) -> None:
        for _ in range(count):
            fit.step(pace)
        if visits is not None:
            visits.transfers.finish()
        device.finish()

    rounds(_WARM_UP)
    before = (0, 0, 0) if visits is None else _counted(visits)
    seconds = clock(rounds, options.rounds) / options.rounds
    taken = Timed(seconds, device.peak_bytes, fit.finished_trees())
    if visits is not None and fit.parts.rows.schedule is not None:
        passes, n_in, n_out = (
            (b - a) / options.rounds for a, b in zip(before, _counted(visits), strict=True)
        )
        taken.passes, taken.n_in, taken.n_out = passes, n_in, n_out
        turns = fit.parts.rows.schedule
        taken.n_pages, taken.n_slots = len(turns.bounds), turns.n_slots
        visits.close()
    return taken


def _counted(visits: Any) -> tuple[int, int, int]:
    return visits.n_passes, visits.transfers.n_in, visits.transfers.n_out


def _resident(
    device: Device, rows: Rows, pages: HostPages, options: argparse.Namespace
) -> Timed | None:
    """Time a fit with all rows on the device; None if they do not fit."""
    try:
        return _fit(device, rows, resident_codes(device, rows.n_rows, pages), options)
    except MemoryPlanError as error:
        print(f"  resident: {error}")
        return None


def _streamed(options: argparse.Namespace, n_bytes: int, rows: Rows, pages: HostPages) -> Timed:
    device = open_device(options.device)
    device.caps = with_memory(device.caps, n_bytes)
    if not options.folder:
        return _fit(device, rows, pages, options)
    stored = DiskPages(pages.layout, pages.bounds, [options.folder], device.caps)
    for index in range(len(pages.bounds)):
        stored.add(index, pages.codes(index))
    try:
        return _fit(device, rows, stored, options)
    finally:
        stored.close()
