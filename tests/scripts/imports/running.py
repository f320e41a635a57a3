"""Change the import of a script, run it in a process of its own, and compare what it printed."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import multiprocessing
import os
import re
import sys
import tempfile
import time
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

#: Files that scripts read; each finds them in its folder.
DATA = Path(__file__).resolve().parents[3] / "bench" / "data"
#: Seconds after which a script has failed.
LIMIT = 120
#: Scores are within noise if they differ by this share of the original's, or by this number.
SHARE, LEAST = 0.03, 0.01
#: Imported once, before the scripts' processes are forked.
PRELOADED = (
    "numpy", "scipy.sparse", "scipy.special", "pandas", "matplotlib.pyplot", "sklearn.ensemble",
    "sklearn.datasets", "sklearn.model_selection", "sklearn.inspection", "sklearn.metrics",
    "sklearn.pipeline", "sklearn.preprocessing", "xgboost", "lightgbm", "shap", "optuna",
    "mako.template", "pyopencl", "pyopencl_gbdt.compat.xgboost", "pyopencl_gbdt.compat.lightgbm",
    "pyopencl_gbdt.compat.sklearn",
)  # fmt: skip
#: How the import of a script is written, and what takes its place.
CHANGES = (
    (r"import (xgboost|lightgbm) as (\w+)$", r"from pyopencl_gbdt.compat import \1 as \2"),
    (r"from (xgboost|lightgbm) import ", r"from pyopencl_gbdt.compat.\1 import "),
    (r"from sklearn.ensemble import (?=Hist)", "from pyopencl_gbdt.compat.sklearn import "),
)


def changed(text: str) -> str:
    """Return a script with one import changed.

    Raises
    ------
    ValueError
        The script does not have exactly one line that is to be changed.
    """
    lines = text.splitlines(keepends=True)
    found = []
    for place, line in enumerate(lines):
        for pattern, instead in CHANGES:
            if re.match(pattern, line):
                found.append((place, re.sub(pattern, instead, line, count=1)))
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines import the library; write one import")
    place, line = found[0]
    return "".join([*lines[:place], line, *lines[place + 1 :]])


def original(text: str) -> str:
    """Return the library that a script imports: xgboost, lightgbm or sklearn."""
    line = next(line for line in text.splitlines() if any(re.match(p, line) for p, _ in CHANGES))
    return re.split(r"[ .]", line)[1]


def missing(text: str) -> list[str]:
    """Return the packages that a script imports and that are not installed."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).split(".")[0])
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


@dataclass(frozen=True)
class Outcome:
    """What became of a run: why it failed (empty if it did not), its seconds and its output."""

    failure: str
    seconds: float
    output: str


def _execute(text: str, name: str, folder: str, printed: str, absent: str) -> None:
    """Run a script as Python does, in a process that was forked for it."""
    with Path(printed).open("w", encoding="utf-8", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        os.chdir(folder)
        Path(name).write_text(text, encoding="utf-8")
        main = types.ModuleType("__main__")
        main.__file__ = str(Path(name).resolve())
        sys.modules["__main__"], sys.argv = main, [name]
        if absent:
            sys.modules[absent] = None  # type: ignore[assignment]  # an import of it raises
        try:
            exec(compile(text, name, "exec"), main.__dict__)
        except BaseException:
            traceback.print_exc()
            sys.exit(1)


def processes() -> multiprocessing.context.BaseContext:
    """Return the way to start processes, with all libraries imported where it can fork."""
    os.environ.update(
        MPLBACKEND="agg", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
        POCL_MAX_PTHREAD_COUNT="1",  # two scripts run at a time
    )  # fmt: skip
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def run(
    text: str, name: str, context: multiprocessing.context.BaseContext, absent: str = ""
) -> Outcome:
    """Run a script in a process and a folder of its own.

    Parameters
    ----------
    text, name : str
        The script, and its name in tracebacks.
    context : multiprocessing context
        The way to start a process, see `processes`.
    absent : str
        A library that the script cannot import.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file in DATA.iterdir():
            (Path(folder) / file.name).symlink_to(file)
        printed = Path(folder) / "printed.txt"
        process = context.Process(  # type: ignore[attr-defined]
            target=_execute, args=(text, name, folder, str(printed), absent)
        )
        start = time.perf_counter()
        process.start()
        process.join(LIMIT)
        seconds = time.perf_counter() - start
        failure = f"exit code {process.exitcode}" if process.exitcode else ""
        if process.is_alive():
            failure = f"no end after {LIMIT} s"
            process.kill()
            process.join()
        output = ""
        with contextlib.suppress(OSError):  # a process that could not begin
            output = printed.read_text(encoding="utf-8")
        return Outcome(failure, seconds, output)


def scores(output: str) -> dict[str, str]:
    """Return what a script printed as ``score NAME VALUE [SHARE]`` or ``same NAME WORDS``."""
    found = re.findall(r"^((?:score|same) \S+) (.+)$", output, flags=re.MULTILINE)
    return dict(found)


def differences(theirs: str, ours: str) -> list[str]:
    """Return where the scores of two outputs differ by more than noise, a line for each."""
    before, after = scores(theirs), scores(ours)
    if not before:
        return ["no score is printed"]
    found = [f"{name}: only one of the two prints it" for name in before.keys() ^ after.keys()]
    for name in before.keys() & after.keys():
        first, second = before[name], after[name]
        if name.startswith("same"):
            alike = first == second
        else:
            value, *share = map(float, first.split())
            allowed = max((*share, SHARE)[0] * abs(value), LEAST)
            alike = abs(value - float(second.split()[0])) <= allowed
        if not alike:
            found.append(f"{name}: {first} with the original, {second} with this library")
    return sorted(found)
