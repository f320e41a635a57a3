"""``python -m bench batches``: training from files batch by batch, beside the whole array.

Rows are drawn, and written to one file of each format, some at a time; ``function`` has no file, a
function draws its rows anew in every pass. Each case runs in a process
of its own, on a device whose kernels have been built: ``whole`` reads the file into an array;
``batches`` reads it batch by batch, and keeps the codes on the device; ``summaries`` cuts bins by
quantile summaries; ``host`` and ``disk`` have a quarter of the memory that ``batches`` takes, so
that codes lie in the host's memory or in files. ``set_up`` are the seconds before the first round,
``round`` those of a round, ``peak`` the megabytes of main memory that the process came to beside
what it had before; on a CPU that has the device's arrays too.

``--json`` writes ``format`` (1), ``host``, ``n_rows``, ``n_columns`` and ``cases`` by format and
name, each with these three, with ``look``, the seconds of the first pass, ``passes``, how often the
rows were read, and ``card``, the megabytes of NVIDIA cards, their driver's own included, or null.

A billion rows with 16 GB of device memory, of which the driver takes some::

    python -m bench batches --rows 1e9 --formats function --cases host --summaries --memory 15e9
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.children import in_child
from bench.gpu_memory import GpuMemory
from bench.host import describe_host, parser_of
from bench.page_lines import F32
from pyopencl_gbdt.device.timing import Stopwatch

FORMAT = 1
CASES = ("whole", "batches", "summaries", "host", "disk")
FUNCTION = "function"
FORMATS = ("npy", "csv", "parquet", FUNCTION)
_ROWS = 1 << 16
#: Blocks of rows in a batch of the function; threads draw them side by side.
_BLOCKS = 16
_LIMIT = 1800.0


def main(arguments: list[str]) -> int:
    parser = parser_of("batches", __doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--formats", default="npy", help=f"some of {','.join(FORMATS)}")
    parser.add_argument("--cases", default=",".join(CASES), help=f"some of {','.join(CASES)}")
    parser.add_argument("--summaries", action="store_true", help="cut the bins of all cases so")
    parser.add_argument("--memory", type=float, help="bytes of `host` and `disk`; else a quarter")
    parser.add_argument("--folder", type=Path, help="for files; default a temporary folder")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    formats, cases = options.formats.split(","), options.cases.split(",")
    if not {*formats} <= {*FORMATS} or not {*cases} <= {*CASES}:
        parser.error(f"--formats, --cases: expected some of {FORMATS} and of {CASES}")
    if FUNCTION in formats and "whole" in cases:
        parser.error("--cases: rows of a function come in batches alone; leave out whole")
    shape = int(options.rows), options.columns
    report: dict[str, Any] = {
        "format": FORMAT, "host": describe_host(), "n_rows": shape[0], "n_columns": shape[1],
        "cases": {},
    }  # fmt: skip
    print(f"{shape[0]} x {shape[1]}; seconds of set-up and of a round, MB of main memory")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as folder:
        for name in formats:
            path = Path(folder) / f"rows.{name}"
            if name != FUNCTION:
                in_child(write, path, shape, limit=_LIMIT)
            own = report["cases"][name] = {}
            for case in cases:
                settings = {"device": options.device, "n_estimators": options.rounds}
                if case == "summaries" or options.summaries:
                    settings["max_bin_exact"] = False
                if case in ("host", "disk"):
                    settings |= {"page": "streamed", "device_memory": int(options.memory or 0)}
                own[case] = in_child(run, case, path, settings, shape, limit=_LIMIT)
                took = own[case]
                print(
                    f"{name:8} {case:10} set-up {took['set_up']:7.2f}  round {took['round']:7.3f}  "
                    f"peak {took['peak']:7.0f}  passes {took['passes']}, the first "
                    f"{took['look']:.2f}, card {took['card'] or 0:.0f}",
                    flush=True,
                )
            path.unlink(missing_ok=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def made(first: int, n_rows: int, n_columns: int) -> np.ndarray[Any, Any]:
    """Return rows from ``first`` on: a label, then columns; the same in every process."""
    rng = np.random.default_rng(first)
    table = rng.standard_normal((n_rows, 1 + n_columns), np.float32)
    table[:, 2::4] = np.round(table[:, 2::4] * 8) / 8
    table[:, 0] = table[:, 1] * table[:, 2] + table[:, 3] > 0
    return table


def drawn(shape: tuple[int, int]) -> Iterator[tuple[F32, F32]]:
    """Yield batches of values and labels, drawn by several threads."""
    n_rows, n_columns = shape
    with ThreadPoolExecutor() as pool:
        for begin in range(0, n_rows, _BLOCKS * _ROWS):
            rows = min(_BLOCKS * _ROWS, n_rows - begin)
            values, label = np.empty((rows, n_columns), np.float32), np.empty(rows, np.float32)

            def fill(first: int, at: int = begin, values: F32 = values, label: F32 = label) -> None:
                own = values[first : first + _ROWS]
                np.random.default_rng(at + first).random(out=own, dtype=np.float32)
                label[first : first + _ROWS] = own[:, 0] * own[:, 1] + own[:, 2] > 0.75

            list(pool.map(fill, range(0, rows, _ROWS)))
            yield values, label
            del values, label, fill


def write(path: Path, shape: tuple[int, int]) -> None:
    """Write a file of drawn rows, some at a time."""
    n_rows, n_columns = shape
    blocks = ((i, made(i, min(_ROWS, n_rows - i), n_columns)) for i in range(0, n_rows, _ROWS))
    if path.suffix == ".npy":
        out = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, 1 + n_columns))
        for first, block in blocks:
            out[first : first + len(block)] = block
        out.flush()
    elif path.suffix == ".csv":
        with path.open("w") as file:
            for _, block in blocks:
                np.savetxt(file, block, "%.6g", ",")
    else:
        import pyarrow
        import pyarrow.parquet

        names = [f"f{i}" for i in range(1 + n_columns)]
        schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            for _, block in blocks:
                columns = [np.ascontiguousarray(column) for column in block.T]
                writer.write_table(pyarrow.table(columns, schema=schema))


def run(case: str, path: Path, settings: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    """Train once to build the kernels, then measure."""
    from pyopencl_gbdt import Dataset, train
    from pyopencl_gbdt.callbacks import TrainingCallback

    class Laps(TrainingCallback):
        def __init__(self) -> None:
            self.watch = Stopwatch()
            self.seconds: list[float] = []

        def before_training(self, model: Any) -> Any:
            self.seconds.append(self.watch.lap())
            return model

        def after_iteration(self, model: Any, epoch: int, history: Any) -> bool:
            model.current()  # waits for the round
            self.seconds.append(self.watch.lap())
            return False

    params = {"objective": "binary:logistic", **settings}
    with tempfile.TemporaryDirectory(dir=path.parent) as cache:
        if case == "disk":
            params["cache_dir"] = cache
        if params.get("device_memory") == 0:
            params["device_memory"] = _quarter(params, shape)
        small = made(0, 3000, shape[1])
        warm = {name: params[name] for name in params if name != "device_memory"}
        train({**warm, "n_estimators": 1}, Dataset(small[:, 1:], small[:, 0]))
        source = partial(drawn, shape) if path.suffix == f".{FUNCTION}" else path
        before = _memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # begin the peak anew
        laps, watch = Laps(), Stopwatch()
        with GpuMemory() as card:
            data = _whole(path) if case == "whole" else Dataset.from_batches(source)
            look = watch.lap()
            passes = _counted(data) if case != "whole" else []
            train(params, data, callbacks=[laps])
    return {
        "set_up": laps.seconds[0],
        "look": look,
        "card": None if card.peak_bytes is None else card.peak_bytes / 1e6,
        "round": sum(laps.seconds[1:]) / settings["n_estimators"],
        "peak": (_memory("VmHWM") - before) / 1000,
        "passes": 1 + len(passes),
    }


def _counted(data: Any) -> list[int]:
    """Return a list that grows by each pass over the batches."""
    passes: list[int] = []
    source = data.batches._source

    def counted() -> Any:
        passes.append(1)
        return source()

    data.batches._source = counted
    return passes


def _whole(path: Path) -> Any:
    from pyopencl_gbdt import Dataset
    from pyopencl_gbdt.data import read_table

    if path.suffix == ".csv":
        table = read_table(path)
        return Dataset(table.features, table.y)
    if path.suffix == ".npy":
        array = np.load(path)
        return Dataset(np.ascontiguousarray(array[:, 1:]), array[:, 0])
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return Dataset(table.drop_columns("f0"), np.asarray(table.column("f0")))


def _quarter(params: dict[str, Any], shape: tuple[int, int]) -> int:
    """Return a quarter of the device memory that training takes with all codes there."""
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.parameters.parameters import Parameters
    from pyopencl_gbdt.training.memory_estimate import estimate_memory

    own = {name: params[name] for name in params if name not in ("page", "device_memory")}
    device = open_device(params["device"])
    return estimate_memory(device, Parameters.from_dict(own), *shape).training_bytes // 4


def _memory(name: str) -> int:
    """Return a line of the process's status, in kB."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(f"{name}:")[1].split()[0])
