"""The JSON of a comparison: its schema, a check whose errors name the place, and joined files.

A file holds one machine or, after a merge, several::

    {"format": "pyopencl_gbdt comparison", "format_version": 1, "machines": [MACHINE, ...]}

Later versions may add keys; the format version is raised when a key changes its meaning.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

FORMAT = "pyopencl_gbdt comparison"
FORMAT_VERSION = 1

MOST = 10**18
"""The largest allowed number; sums and quotients of such numbers stay finite."""

LEAST = 1e-30
"""The smallest allowed number besides 0, and the smallest divisor."""


class _Divisor(float):
    """A number of at least `LEAST`."""


_NUMBER = (int, float)
_DIVISOR = (int, float, _Divisor)
_MAYBE = (int, float, types.NoneType)
_TEXT = (str, types.NoneType)

SHAPE = {
    "name": str, "title": str, "n_rows": int, "n_features": int, "objective": str,
    "max_depth": int, "max_bin": int, "n_rounds": int, "n_models": int, "missing": _NUMBER,
    "floor_bytes": int,  # least bytes that a round has to move
    "data_bytes": int,
    "data_digest": _TEXT,  # SHA-256 of values and labels; None where they did not fit
    "problem": str,  # why it was not trained; else empty
}  # fmt: skip
KERNEL = {
    "kernel": str,
    "launches": _NUMBER,  # a round
    "ms": _NUMBER,  # a round
    "bytes": _MAYBE,  # a round, None where the kernel does not count them
    "share_of_copy": _MAYBE,
}
#: Keys of every result; those of a measurement are absent or None if a fit failed.
RESULT = {"device": str, "shape": str, "problem": str}
MEASURED = {
    "model_digest": str,  # SHA-256 of the models in XGBoost's JSON
    "prediction_digest": str,  # SHA-256 of margins
    "repeats_agree": bool,  # whether every fit gave the same trees
    "variants": {str: str},  # of every kernel
    "first_fit_seconds": _NUMBER,  # set-up and one round, kernels built
    "setup_seconds": _NUMBER,  # median; from NumPy arrays to ready to boost
    "round_ms": _DIVISOR,  # median
    "round_ms_runs": [_NUMBER],
    "predicted_rows_per_second": _DIVISOR,
    "peak_bytes": int,
    "share_of_copy": _NUMBER,  # floor_bytes a round over the bandwidth of a copy
    "kernels": [KERNEL],
}
DEVICE = {
    "device": str,  # the string that selects it
    "capabilities": {
        "api": str, "name": str, "platform": str, "driver": str, "kind": str,
        "compute_units": int, "global_bytes": int,
    },
    "copy_bytes_per_second": _MAYBE,
    # and, in files since version 0.2: "int64_percent", the time of sums and comparisons of 64-bit
    # integers in percent of those of 32 bits, or None
    "problem": str,  # why nothing was measured; else empty
}  # fmt: skip
MACHINE = {
    "name": str, "date": str, "library": str, "versions": {str: str}, "threads": int,
    "memory_bytes": int,
    "finished": bool,  # False while it runs, and for ever if it was interrupted
    "options": {"repeats": int, "seed": int, "quick": bool},
    "devices": [DEVICE], "shapes": [SHAPE], "results": [RESULT],
}  # fmt: skip


def load(path: str) -> dict[str, Any]:
    """Read a comparison.

    Raises
    ------
    DataError
        If the file is absent, not JSON, of another kind or version, or damaged; says where.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path}: cannot be read: {reason}; check the path") from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: not JSON ({show(str(error))}); give a file of pyopencl-gbdt bench --json"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(
            f"{path}: not a comparison: expected 'format': {FORMAT!r}; give a file of "
            f"pyopencl-gbdt bench --json"
        )
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise DataError(
            f"{path}: format_version={show(version)}: expected {FORMAT_VERSION}; run pyopencl-gbdt "
            f"bench again with this version of the library, or merge with that one"
        )
    problem = check(document)
    if problem:
        raise DataError(f"{path}: {problem}; the file is damaged, run pyopencl-gbdt bench again")
    return document


def check(document: dict[str, Any]) -> str:
    """Return what is wrong with a document, and where; empty if it is valid."""
    problem = _check(document.get("machines"), [MACHINE], "machines")
    if problem:
        return problem
    for number, machine in enumerate(document["machines"]):
        devices = {device["device"] for device in machine["devices"]}
        shapes = {shape["name"] for shape in machine["shapes"]}
        for index, result in enumerate(machine["results"]):
            place = f"machines[{number}].results[{index}]"
            if result["device"] not in devices or result["shape"] not in shapes:
                return f"{place}: its device or shape is not listed"
            problem = result["problem"] or _check(result, MEASURED, place)
            if problem and not result["problem"]:
                return problem
    return ""


def _check(value: Any, expected: Any, place: str) -> str:
    if isinstance(expected, list):
        if not isinstance(value, list):
            return f"{place}: expected a list"
        parts = [(item, expected[0], f"{place}[{i}]") for i, item in enumerate(value)]
    elif isinstance(expected, dict):
        if not isinstance(value, dict):
            return f"{place}: expected an object"
        missing = [key for key in expected if key is not str and key not in value]
        if missing:
            return f"{place}: {missing[0]} is missing"
        keys = value if str in expected else expected
        if not all(map(_is_text, keys)):
            return f"{place}: half of a character in a name"
        parts = [(value[key], expected.get(key, str), f"{place}.{key}") for key in keys]
    else:
        return _check_plain(value, expected, place)
    return next(filter(None, (_check(*part) for part in parts)), "")


def _check_plain(value: Any, expected: Any, place: str) -> str:
    allowed = expected if isinstance(expected, tuple) else (expected,)
    wrong = not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)
    if wrong:
        names = " or ".join(kind.__name__ for kind in allowed if kind is not _Divisor)
        return f"{place}: expected {names}, found {show(value)}"
    if isinstance(value, str):
        return "" if _is_text(value) else f"{place}: half of a character, found {show(value)}"
    if isinstance(value, _NUMBER):
        if not 0 <= value <= MOST:
            return f"{place}: expected a finite number >= 0, {MOST:g} at most, found {show(value)}"
        if value < LEAST and (value != 0 or _Divisor in allowed):
            zero = "" if _Divisor in allowed else "0 or "
            return f"{place}: expected {zero}a number >= {LEAST:g}, found {show(value)}"
    return ""


def _is_text(value: str) -> bool:
    """Tell whether a string can be encoded; JSON may contain half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def size(n_bytes: float) -> str:
    """Format bytes for people, in powers of 1000."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"


def duration(seconds: float) -> str:
    """Format seconds for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def short(number: float, digits: int = 3) -> str:
    """Format a number with so many significant digits, without an exponent."""
    if number == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(number)))
    return f"{number:,.{min(max(decimals, 0), 5)}f}"


#: The number that an earlier merge appended to equal names of machines.
_PLACE = re.compile(r" #\d+$")


def document(machines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a document of machines, see `schema`."""
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "machines": list(machines)}


def merge(paths: Sequence[str]) -> dict[str, Any]:
    """Join files of comparisons, possibly joined ones, in their order.

    A run that occurs in several files is kept once; machines with equal names are numbered.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    machines: list[dict[str, Any]] = []
    for path in paths:
        for machine in load(path)["machines"]:
            plain = {**machine, "name": _PLACE.sub("", machine["name"])}
            if plain not in machines:
                machines.append(plain)
    counts: Counter[str] = Counter()
    for machine in machines:
        counts[machine["name"]] += 1
        if counts[machine["name"]] > 1:
            machine["name"] += f" #{counts[machine['name']]}"
    return document(machines)
