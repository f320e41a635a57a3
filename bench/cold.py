"""Cold starts: from the start of a process to the end of its first fit, in parts, beside XGBoost.

Each turn starts new processes: with empty caches and with kept ones, for every device, and XGBoost
by the same script. A process imports NumPy and makes the data, which all of them pay. Its other
parts are ``import``, what the system imports before training, and ``train``, the call, in which
this library imports more while drivers start. ``pyopencl-gbdt doctor --time`` tells its parts.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.host import parser_of
from pyopencl_gbdt.doctor.cold_start import CACHES

_ROOT = Path(__file__).resolve().parents[1]
_BEGIN = """
import json, os, sys, time
parts, last = {}, float(os.environ["BENCH_COLD_BEGIN"])
def part(name):
    global last
    now = time.time()
    parts[name], last = now - last, now
part("Python")
import numpy as np
rng = np.random.default_rng(0)
rows, columns, rounds = map(int, sys.argv[2:])
X = rng.normal(size=(rows, columns)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows) > 0).astype(np.float32)
params = {"objective": "binary:logistic", "max_depth": 6, "device": sys.argv[1]}
part("NumPy")
"""
_OURS = """
import pyopencl_gbdt
pyopencl_gbdt.train, pyopencl_gbdt.Dataset
part("import")
pyopencl_gbdt.train(params, pyopencl_gbdt.Dataset(X, y), rounds)
part("train")
"""
_XGBOOST = """
import xgboost
part("import")
xgboost.train(params, xgboost.DMatrix(X, y), rounds)
part("train")
"""
_END = """
own = ("Python", "NumPy", "import", "train")
print(json.dumps({"all": sum(parts[name] for name in own), **parts}))
"""


def run(code: str, arguments: list[str], folder: str) -> dict[str, float]:
    """Run a process with its caches in a folder; return its parts in seconds.

    Raises
    ------
    RuntimeError
        If it fails; with what it wrote last.
    """
    places = {name: str(Path(folder) / name.lower()) for name in CACHES}
    for place in places.values():
        Path(place).mkdir(mode=0o700, exist_ok=True)
    path = os.pathsep.join([str(_ROOT), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + code + _END, *arguments],
        env={**os.environ, **places, "PYTHONPATH": path, "BENCH_COLD_BEGIN": str(time.time())},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: list[str]) -> int:
    """Print the medians of the parts, a line for each system and state of the caches."""
    parser = parser_of("cold", __doc__)
    parser.add_argument("--device", default="auto", help="devices, with commas between them")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path, help="write all turns to this file")
    given = parser.parse_args(arguments)
    sizes = [str(given.rows), str(given.columns), str(given.rounds)]
    systems = {name: (_OURS, name) for name in given.device.split(",")}
    if importlib.util.find_spec("xgboost") is not None:
        of_xgboost = {"cuda" if "cpu" not in name else "cpu" for name in systems}
        systems |= {f"XGBoost {name}": (_XGBOOST, name) for name in sorted(of_xgboost)}
    turns: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as kept:
        for code, name in systems.values():  # fills the caches
            run(code, [name, *sizes], kept)
        for _ in range(given.turns):
            for label, (code, name) in systems.items():
                with tempfile.TemporaryDirectory() as empty:
                    for state, folder in (("empty", empty), ("kept", kept)):
                        own = run(code, [name, *sizes], folder)
                        turns.setdefault(f"{label}, {state}", []).append(own)
    for label, own in turns.items():
        print(f"{label:32}", _line(own))
    if given.json is not None:
        given.json.write_text(json.dumps(turns, indent=1) + "\n", encoding="utf-8")
    return 0


def _line(turns: list[dict[str, Any]]) -> str:
    medians = {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
    return "  ".join(f"{name} {seconds:.3f} s" for name, seconds in medians.items())
