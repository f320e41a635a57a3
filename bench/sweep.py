"""``python -m bench sweep FOLDER``: primitives at every size from 2^10 to 2^28, drawn.

Writes NAME.json and NAME.png into the folder. Times are as those of ``python -m bench primitives``;
results of up to 2^20 elements are checked. It takes a minute on a GPU; on a CPU,
``--last 24`` is enough.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

try:
    from matplotlib.figure import Figure  # no pyplot: no window, no global state
except ImportError as error:
    raise ImportError("pictures need matplotlib; pip install matplotlib") from error

from bench import cases_of_moves, cases_of_sums
from bench.common import HEAD, Case, Result, line, measure
from bench.cub import Cub
from bench.host import parser_of
from bench.primitives import report
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.timing import nothing
from pyopencl_gbdt.errors import GBDTError

#: Beyond so many elements results are not checked.
_CHECKED = 2**20
#: Runs of the smallest sizes, whose times vary most.
_MOST_REPEATS = 200
Record = dict[str, Any]
#: Of panels.
_COLUMNS = 3


def main(arguments: list[str]) -> int:
    parser = parser_of("sweep", __doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="made if it is not there")
    parser.add_argument("--name", default="primitives", help="of both files; default: %(default)s")
    parser.add_argument("--device", default="auto", help="as for open_device")
    parser.add_argument("--first", type=int, default=10, help="power of two; default: %(default)s")
    parser.add_argument("--last", type=int, default=28, help="power of two; default: %(default)s")
    parser.add_argument("--repeats", type=int, default=7, help="at least; of small sizes more")
    parser.add_argument("--cub", action="store_true", help="CUB as a peer; nvcc builds it once")
    options = parser.parse_args(arguments)
    device = open_device(options.device, profile=True)
    print(f"{device.caps.label}, driver {device.caps.driver}\n{HEAD}")
    options.folder.mkdir(parents=True, exist_ok=True)
    cub = Cub() if options.cub else None
    most_by_numpy = 2**25 if device.caps.kind == "cpu" else 2**20
    results: list[Result] = []
    for power in range(options.first, options.last + 1):
        try:
            repeats = max(options.repeats, min(_MOST_REPEATS, 2**25 >> power))
            for case in cases(device, 2**power):
                results.append(measure(device, case, repeats, "auto", cub, most_by_numpy))
                print(line(results[-1]), flush=True)
        except GBDTError as error:
            print(f"2^{power}: {error}")
            break
    if cub:
        cub.close()
    target = options.folder / options.name
    target.with_suffix(".json").write_text(json.dumps(report(device, results), indent=1) + "\n")
    picture = target.with_suffix(".png")
    print(plot([asdict(result) for result in results], str(picture), device.caps.name))
    return 0


def cases(device: Device, n: int) -> Iterator[Case]:
    """Yield what is measured at one size."""
    every = {
        cases_of_sums.reduce: ((np.int32, "sum"), (np.float32, "sum")),
        cases_of_sums.scan: ((np.int32, "sum"), (np.float32, "sum")),
        cases_of_sums.segmented_reduce: ((np.int32, "1000"),),
        cases_of_sums.segmented_scan: ((np.int32, "flags"),),
        cases_of_moves.radix_sort: ((np.uint32, None), (np.uint32, np.uint32)),
    }
    for primitive, kinds in every.items():
        for case in primitive(device, n, np.random.default_rng(7), "auto", kinds):
            yield case if n <= _CHECKED else replace(case, check=nothing)


def plot(results: list[Record], path: str, device: str) -> str:
    """Draw one panel a primitive: ours as lines, the peer dashed and a copy dotted.

    Parameters
    ----------
    results : list of dict
        As ``Result``, of several sizes.
    path : str
        A file, whose ending chooses the format.
    device : str
        For the title.

    Returns
    -------
    str
        The file's name.
    """
    panels: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        panels[result["kernel"]][result["detail"]].append(result)
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(4.4 * _COLUMNS, 3.4 * rows), layout="constrained")
    axes = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
    for axis, (kernel, lines) in zip(axes, panels.items(), strict=False):
        for detail, points in lines.items():
            _draw(axis, sorted(points, key=lambda r: r["n"]), detail)
        axis.set(title=kernel, xlabel="elements", ylabel="million elements a second")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize=7)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.suptitle(f"{device}; dotted: a copy of as many bytes")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return str(path)


def _draw(axis: Any, points: list[Record], detail: str) -> None:
    """Draw the fastest runs, which a busy machine disturbs least."""
    sizes = [r["n"] for r in points]
    (drawn,) = axis.plot(
        sizes, [r["n"] / r["fastest"] / 1e6 for r in points], marker=".", label=detail
    )
    colour = drawn.get_color()
    copies = [r["mega_per_second"] / r["share_of_copy"] for r in points]
    axis.plot(sizes, copies, ":", color=colour, alpha=0.6)
    peers = [(r["n"], r["n"] / r["peer_fastest"] / 1e6) for r in points if r["peer_fastest"]]
    if peers:
        axis.plot(*zip(*peers, strict=True), "--", color=colour, alpha=0.6, label=points[0]["peer"])
