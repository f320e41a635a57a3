"""Where the time of a cold start goes: new processes train a small model, and tell their parts.

    process 1   caches empty   |start|NumPy|imports|driver|context|programs|quantising|..|rounds|
    process 2   caches kept    |start|NumPy|imports|driver|context|programs|quantising|..|rounds|
    process 3   caches kept    as every fit runs: drivers start beside the imports

The first two run one part after the other, so that each moment belongs to one part: the innermost
that runs. Their caches lie in a new folder; those of the user stay as they are.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from pyopencl_gbdt.errors import DeviceError

#: Version of the JSON; raised when a key changes its meaning.
FORMAT_VERSION = 1
N_ROWS, N_FEATURES, N_ROUNDS, MAX_DEPTH = 10_000, 20, 100, 6
#: TimeParts of a cold start, in their order, and what they are.
PARTS = {
    "start": "the process starts",
    "numpy": "NumPy is imported",
    "imports": "this library, and pyopencl or CuPy",
    "driver": "drivers start, devices are listed",
    "context": "the device is opened",
    "programs": "kernels are built, or loaded",
    "quantising": "columns are sorted, cut and encoded",
    "set-up": "memory of the fit, launches",
    "rounds": "rounds, and the trees are read",
    "rest": "what is left",
}
#: Environment variables that name folders of caches: this library's, NVIDIA's, CuPy's and PoCL's.
CACHES = ("PYOPENCL_GBDT_CACHE", "CUDA_CACHE_PATH", "CUPY_CACHE_DIR", "POCL_CACHE_DIR")
_EARLY_START = "PYOPENCL_GBDT_EARLY_START"
_OPENED = {
    "opencl": ("pyopencl_gbdt.device.opencl.device", "OpenCLDevice.__init__"),
    "cuda": ("pyopencl_gbdt.device.cuda.device", "CudaDevice.__init__"),
}
#: Functions that do a part, by their modules.
_TIMED = (
    ("driver", "pyopencl_gbdt.device", "open_device"),
    ("programs", "pyopencl_gbdt.device.base", "Device.build"),
    ("programs", "pyopencl_gbdt.device.program", "Program.finished"),
    ("quantising", "pyopencl_gbdt.training.placement", "paged"),
    ("set-up", "pyopencl_gbdt.training.running_task", "RunningTask.__init__"),
    ("rounds", "pyopencl_gbdt.training.running_task", "RunningTask.step"),
    ("rounds", "pyopencl_gbdt.training.running_task", "RunningTask.finish"),
)
_CODE = "from pyopencl_gbdt.doctor import cold_start; cold_start.tell_parts()"
_PATIENCE = 300


class TimeParts:
    """Seconds of each part; a part inside another one is not counted there.

    Parameters
    ----------
    begun : float
        When the process was started, as ``time.time`` tells it.
    clock : callable
    """

    def __init__(self, begun: float, clock: Callable[[], float] = time.time) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._clock, self._last = clock, begun
        self._running = ["rest"]
        self.end("start")

    def end(self, part: str) -> None:
        """Count the time since the last part for this one."""
        now = self._clock()
        self.seconds[part] += now - self._last
        self._last = now

    @contextmanager
    def during(self, part: str) -> Iterator[None]:
        """Count the time of a block for a part."""
        self.end(self._running[-1])
        self._running.append(part)
        try:
            yield
        finally:
            self.end(self._running.pop())

    def watch(self, part: str, module: str, name: str) -> None:
        """Count the calls of a function, or of a method, for a part."""
        *owner, last = name.split(".")
        holder: Any = importlib.import_module(module)
        for one in owner:
            holder = getattr(holder, one)
        own = getattr(holder, last)

        @wraps(own)
        def counted(*arguments: Any, **named: Any) -> Any:
            with self.during(part):
                return own(*arguments, **named)

        setattr(holder, last, counted)


def tell_parts() -> None:
    """Train in this process, and print the parts as JSON.

    ``sys.argv`` has the device, the time when the process was started, and the sizes.
    """
    device, begun, *sizes = sys.argv[1:]
    parts = TimeParts(float(begun))
    n_rows, n_features, n_rounds = map(int, sizes)
    import numpy as np

    rng = np.random.default_rng(0)
    values = rng.standard_normal((n_rows, n_features), np.float32)
    label = (values[:, 0] + values[:, 1] * values[:, 2] > 0).astype(np.float32)
    parts.end("numpy")
    if os.environ.get(_EARLY_START) == "off":
        parts.watch("context", *_OPENED[device.partition(":")[0]])
        for part, module, name in _TIMED:
            parts.watch(part, module, name)
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.training.train import train

    data = Dataset(values, label)
    parts.end("imports")
    params = {"objective": "binary:logistic", "max_depth": MAX_DEPTH, "device": device}
    train({**params, "verbosity": 0}, data, n_rounds)
    parts.end("rest")
    modules = sum(name.partition(".")[0] == "pyopencl_gbdt" for name in sys.modules)
    sys.stdout.write(json.dumps({**parts.seconds, "modules": modules}) + "\n")


def _run(device: str, folder: Path, sizes: tuple[int, ...], **variables: str) -> dict[str, float]:
    """Run a process with its caches in a folder; return what it tells."""
    for name in CACHES:
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        variables[name] = str(folder / name)
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    numbers = [repr(time.time()), *map(str, sizes)]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE, device, *numbers], env={**os.environ, **variables},
            capture_output=True, text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
        lines, fails = done.stderr.strip().splitlines(), f"ended with {done.returncode}"
        if done.returncode == 0:
            found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            return found
    except subprocess.TimeoutExpired:
        lines, fails = [], f"took longer than {_PATIENCE} s"
    raise DeviceError(
        f"device={device!r}: a new process that trains {fails}{': ' * bool(lines)}"
        f"{''.join(lines[-1:])}; run pyopencl-gbdt doctor without --time, which tests the device"
    )


def measure(device: str, sizes: tuple[int, ...] = (N_ROWS, N_FEATURES, N_ROUNDS)) -> dict[str, Any]:
    """Return the seconds that cold starts on a device take.

    ``device``: an identifier, such as ``"opencl:0:0"``.
    ``sizes``: rows, features and rounds.

    Returns
    -------
    dict
        ``"empty"`` and ``"kept"``: seconds of each of ``PARTS`` with such caches, and
        ``"modules"``, how many modules of the package were imported; ``"as_fits_run"``: seconds
        of a process with kept caches whose drivers start beside its imports.

    Raises
    ------
    DeviceError
        If a process fails.
    """
    found: dict[str, Any] = {"format": FORMAT_VERSION, "device": device}
    found |= dict(zip(("rows", "features", "rounds"), sizes, strict=True), depth=MAX_DEPTH)
    with tempfile.TemporaryDirectory() as folder:
        for state in ("empty", "kept"):
            found[state] = _run(device, Path(folder), sizes, **{_EARLY_START: "off"})
        whole = _run(device, Path(folder), sizes, **{_EARLY_START: "on"})
    found["as_fits_run"] = sum(whole[part] for part in PARTS)
    return found


def table(found: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table of what ``measure`` returned."""
    empty, kept = found["empty"], found["kept"]
    lines = [f"  {'seconds':50}{'caches empty':>14}{'kept':>8}"]
    for part, meaning in PARTS.items():
        lines.append(f"  {f'{part}: {meaning}':50}{empty[part]:14.3f}{kept[part]:8.3f}")
    both = [sum(state[part] for part in PARTS) for state in (empty, kept)]
    lines.append(f"  {'in all, one part after the other':50}{both[0]:14.3f}{both[1]:8.3f}")
    as_run = found["as_fits_run"]
    lines.append(f"  {'in all, drivers start beside the imports':50}{'':14}{as_run:8.3f}")
    if sys.dont_write_bytecode:
        lines.append("  Python keeps no compiled modules here (PYTHONDONTWRITEBYTECODE), so each")
        lines.append("  process compiles all that it imports.")
    return lines
