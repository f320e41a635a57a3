"""``python -m tests.fuzz.worker MODULE SEED FORMAT:FIRST:END ...``: read mutations, a line each."""

from __future__ import annotations

import gc
import importlib
import json
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from pyopencl_gbdt.errors import GBDTError
from tests.fuzz.formats import Format, all_formats

#: Bytes of address space beyond those in use at the start: what wants more fails here, and the
#: machine lives.
HEADROOM = 4 << 30


def main(words: list[str]) -> None:
    module, seed = words[0], int(words[1])
    jobs = [word.split(":") for word in words[2:]]
    if module:
        formats = {one.name: one for one in importlib.import_module(module).BAD}
    else:
        formats = all_formats()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, _, _ in jobs:  # what is imported or cached once counts for no mutation
            formats[name].prepare()
            for data in formats[name].seeds():
                _read(formats[name], Path(folder) / f"seed{formats[name].suffix}", data)
        in_use = _status("VmSize")
        if in_use is not None:
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (in_use + HEADROOM, most))
        print(json.dumps({"ready": True}), flush=True)
        for name, first, end in jobs:
            one = formats[name]
            for number in range(int(first), int(end)):
                data = one.mutation(number, seed)
                line = _read(one, Path(folder) / f"mutation{one.suffix}", data)
                print(json.dumps({"number": number, "size": len(data), **line}), flush=True)


def _read(one: Format, path: Path, data: bytes) -> dict[str, Any]:
    """Read a file; return what came of it."""
    path.write_bytes(data)
    gc.collect(0)
    before = _reset_peak()
    began = time.perf_counter()
    error = problem = ""
    try:
        one.read(path)
    except GBDTError as refused:
        error = str(refused)
        if path.name not in error:
            problem = "the error does not name the file"
        elif len(error) > 2000:
            problem = f"the error has {len(error)} characters"
    except BaseException as foreign:
        error = f"{type(foreign).__name__}: {foreign}"
        problem = "foreign error"
    seconds = time.perf_counter() - began
    peak = _status("VmHWM")
    return {
        "refused": bool(error),
        "problem": problem,
        "error": error[:300],
        "seconds": seconds,
        "peak": None if before is None or peak is None else peak - before,
    }


def _reset_peak() -> int | None:
    """Let the system forget the most memory that was in use; return what is in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _status(word: str) -> int | None:
    """Return the bytes of a line of Linux's account of this process; None elsewhere."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next(int(x.split()[1]) * 1024 for x in text.splitlines() if x.startswith(word + ":"))


if __name__ == "__main__":
    main(sys.argv[1:])
