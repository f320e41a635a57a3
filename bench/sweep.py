"""``python -m bench sweep FOLDER``: primitives at every size from 2^10 to 2^28, drawn.

Writes NAME.json and NAME.png into the folder. Times are as those of ``python -m bench primitives``;
results of up to 2^20 elements are checked against NumPy. It takes a minute on a GPU; on a CPU,
``--last 24`` is enough.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

try:
    from matplotlib.figure import Figure  # no pyplot: no window, no global state
except ImportError as error:
    raise ImportError("pictures need matplotlib; pip install matplotlib") from error

from bench.common import HEAD, Case, Result, line, measure, same
from bench.cub import Cub
from bench.primitives import report
from pyopencl_gbdt.device import Device, DeviceArray, open_device
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.primitives import (
    RadixSort,
    Reduce,
    Scan,
    SegmentedReduce,
    SegmentedScan,
)

#: Beyond so many elements results are not checked.
_CHECKED = 2**20
#: Runs of the smallest sizes, whose times vary most.
_MOST_REPEATS = 200
#: Mean length of a segment.
_SEGMENT = 1000
Arrays = dict[str, np.ndarray]
Record = dict[str, Any]
#: Of panels.
_COLUMNS = 3


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench sweep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    every = inputs(2**options.last)
    results: list[Result] = []
    for power in range(options.first, options.last + 1):
        some = {name: array[: 2**power] for name, array in every.items()}
        try:
            repeats = max(options.repeats, min(_MOST_REPEATS, 2**25 >> power))
            for case in cases(device, some):
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


def inputs(n: int) -> Arrays:
    """Return words of random bits, floats of 0 to 1, and flags of where segments begin."""
    rng = np.random.default_rng(7)
    heads = rng.random(n, np.float32) < 1 / _SEGMENT
    heads[0] = True
    return {
        "words": rng.integers(0, 2**32, n, dtype=np.uint32),
        "floats": rng.random(n, np.float32),
        "heads": heads,
    }


def cases(device: Device, host: Arrays) -> Iterator[Case]:
    """Yield what is measured at one size."""
    yield from _unsegmented(device, host["words"].view(np.int32))
    yield from _unsegmented(device, host["floats"])
    yield from _segmented(device, host["words"].view(np.int32), host["heads"])
    for has_values in (False, True):
        yield _sort(device, host["words"], has_values=has_values)


def _unsegmented(device: Device, values: np.ndarray) -> Iterator[Case]:
    n, dtype, on_device = len(values), values.dtype, device.upload(values)
    for kernel, prepared, by_numpy, size in (
        ("reduce", Reduce(device, n, dtype), np.sum, 1),
        ("scan", Scan(device, n, dtype, inclusive=True), np.cumsum, n),
    ):
        out = device.empty(size, dtype)
        yield Case(
            kernel=kernel,
            detail=dtype.name,
            n=n,
            n_bytes=(n + size) * dtype.itemsize,
            launches=prepared.bind(on_device, out),
            check=_check(out, n, partial(by_numpy, values, dtype=dtype)),
            numpy=partial(by_numpy, values, dtype=dtype),
            cub=(kernel, dtype.name, 0),
        )


def _segmented(device: Device, values: np.ndarray, heads: np.ndarray) -> Iterator[Case]:
    n, on_device, places = len(values), device.upload(values), np.flatnonzero(heads)
    offsets = device.upload(np.append(places, n), np.int64)
    sums, out = device.empty(len(places), np.int32), device.empty(n, np.int32)
    by_numpy = partial(np.add.reduceat, values, places, dtype=np.int32)
    yield Case(
        kernel="segmented_reduce",
        detail="int32",
        n=n,
        n_bytes=values.nbytes + offsets.nbytes + sums.nbytes,
        launches=SegmentedReduce(device, n, len(places), np.int32).bind(on_device, offsets, sums),
        check=_check(sums, n, by_numpy),
        numpy=by_numpy,
        cub=("segmented_reduce", "int32", len(places)),
    )
    scanned = partial(_scan_segments, values, places)
    yield Case(
        kernel="segmented_scan",
        detail="int32",
        n=n,
        n_bytes=2 * values.nbytes + n,
        launches=SegmentedScan(device, n, np.int32, inclusive=True).bind(
            on_device, device.upload(heads), out
        ),
        check=_check(out, n, scanned),
        numpy=scanned,
        cub=("segmented_scan", "int32", len(places)),
    )


def _scan_segments(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    sums = np.cumsum(values, dtype=values.dtype)
    before = np.repeat((sums - values)[places], np.diff(places, append=len(values)))
    return sums - before


def _sort(device: Device, keys: np.ndarray, *, has_values: bool) -> Case:
    n, fresh = len(keys), device.upload(keys)
    moved = [device.empty(n, np.uint32) for _ in range(1 + has_values)]

    def prepare() -> None:
        for array in moved:
            device.copy(fresh, array, 0)

    by_numpy = partial(np.argsort if has_values else np.sort, keys, kind="stable")
    return Case(
        kernel="radix_sort",
        detail="uint32 pairs" if has_values else "uint32 keys",
        n=n,
        n_bytes=2 * len(moved) * keys.nbytes,
        launches=RadixSort(device, n, np.uint32, np.uint32 if has_values else None).bind(*moved),
        check=_check(moved[-1], n, partial(np.sort, keys)),  # values are the keys once more
        numpy=by_numpy,
        prepare=prepare,
        cub=("sort_pairs" if has_values else "sort_keys", "uint32", 0),
    )


def _check(out: DeviceArray, n: int, by_numpy: Callable[[], Any]) -> Callable[[], None]:
    """Return what compares with NumPy; sums of floats, which it takes in another order, nearly."""

    def check() -> None:
        if n > _CHECKED:
            return
        expected = np.atleast_1d(by_numpy())
        if out.dtype == np.float32:
            np.testing.assert_allclose(out.get(), expected, rtol=1e-3)
        else:
            same(out.get(), expected)

    return check


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
