"""``python -m bench switch-depth``: to which depth exact search had best leave entries in order.

The lines of ``python -m bench pages`` that are searched exactly are trained with each depth in
turns, several times over. A depth's ms a round is the least mean of its turns, after two rounds
that warm up, with the device idle at both ends; ``processor`` is the same of the process's
processor time, which other processes change less. ``x`` compares with depth 0, where all entries
move at every level: on the wall, and on a CPU the processor's time. All models must be equal. The
fastest depth belongs in the row ``interleaved`` of the variant table.
"""

from __future__ import annotations

import argparse
from typing import Any

from bench.host import parser_of
from bench.page_lines import LINES, Line, quick, sized
from bench.system import LEARNING_RATE, params_of
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.device.timing import clocked
from pyopencl_gbdt.device.variants import choose
from pyopencl_gbdt.device.variants.tuning import Choice, using
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.running_task import RunningTask

_WARM_UP = 2
#: Lines whose trees are grown by exact search, by their names.
SEARCHED = {line.name: line for line in LINES if line.tree_method == "exact" or line.per_row}
Times = tuple[float, float]


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        caps = find(options.device).caps
    except GBDTError as error:
        _parser().error(str(error))
    assert caps is not None
    print(f"{caps.label}: ms a round, and of the processor")
    row = choose("interleaved", caps)
    for name in options.only:
        own = quick(SEARCHED[name]) if options.quick else SEARCHED[name]
        shape = sized(own, options.rows_scale, options.rounds)
        choices: dict[int, Choice] = {}
        for depth in options.depths:
            sizes = {"depth": depth} if options.chunk is None else {"chunk": options.chunk}
            choices[depth] = Choice(row.name, {**row.params, **sizes, "depth": depth})
        print(f"\n{name}: {shape.n_rows} x {shape.n_features}, {shape.n_rounds} rounds of depth "
              f"{shape.max_depth}")  # fmt: skip
        best = _measure(shape, options, choices)
        base = best[options.depths[0]]
        for depth, (wall, busy) in best.items():
            ratios = f"{base[0] / wall:>8.2f}{base[1] / busy:>8.2f}"
            print(f"  depth {depth}{1e3 * wall:>10.1f}{1e3 * busy:>10.1f}{ratios}", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("switch-depth", __doc__)
    add = parser.add_argument
    add("--only", nargs="+", choices=SEARCHED, default=list(SEARCHED), help="these lines alone")
    add("--depths", nargs="+", type=int, choices=range(7), default=list(range(7)), metavar="DEPTH")
    add("--chunk", type=int, help="entries of a stretch, instead of the table's")
    add("--turns", type=int, default=3, help="fits with each depth")
    add("--quick", action="store_true", help="sizes for a machine of two cores")
    add("--rows-scale", type=float, default=1.0, help="a factor on every shape's rows")
    add("--rounds", type=int, help="so many rounds instead of each shape's own")
    add("--device", default="auto", help="as for open_device")
    return parser


def _measure(
    shape: Line, options: argparse.Namespace, choices: dict[int, Choice]
) -> dict[int, Times]:
    """Return the least times of a round with each depth, on the wall and of the processor."""
    data = Dataset(*shape.make(0))
    found: dict[int, list[Times]] = {depth: [] for depth in choices}
    models = set()
    for _ in range(options.turns):
        for depth, choice in choices.items():
            with using({"interleaved": choice}):
                times, model = _fit(shape, options, data)
            found[depth].append(times)
            models.add(model)
    if len(models) > 1:
        raise GBDTError(f"{shape.name}: the depth changes the model; please report it")
    return {
        depth: (min(wall for wall, _ in all_of), min(busy for _, busy in all_of))
        for depth, all_of in found.items()
    }


def _fit(shape: Line, options: argparse.Namespace, data: Dataset) -> tuple[Times, str]:
    own: dict[str, Any] = {
        "objective": shape.objective, "max_depth": shape.max_depth, "device": options.device,
        "learning_rate": LEARNING_RATE, "n_estimators": _WARM_UP + shape.n_rounds,
        "tree_method": shape.tree_method or "auto", **params_of(shape),
    }  # fmt: skip
    fit = RunningTask(open_device(options.device), prepare(own, data, (), None, None))
    for _ in range(_WARM_UP):
        fit.step()
    _finish(fit)
    trees = ""

    def rounds() -> None:
        nonlocal trees
        for _ in range(shape.n_rounds):
            fit.step()
        trees = _finish(fit)

    wall, processor = clocked(rounds)
    return (wall / shape.n_rounds, processor / shape.n_rounds), trees


def _finish(fit: RunningTask) -> str:
    """Wait for all rounds; return what tells models apart."""
    trees = fit.fit.finished_trees()
    fit.device.finish()
    return repr([(tree.feature.tobytes(), tree.threshold.tobytes()) for tree in trees])
