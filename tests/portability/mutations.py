"""Break a kernel on purpose, and see which row of the matrix goes red.

``python -m tests.portability.mutations [NAME ...]`` copies the checkout to a temporary folder for
each mutation, changes one line there and runs the rows that should notice. A row that stays green
is a hole in the matrix.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.portability.runtimes import ROOT, SETTINGS, Setting, run_setting


@dataclass(frozen=True)
class Mutation:
    """One broken line.

    Attributes
    ----------
    name : str
    file, old, new : str
        Where, and what becomes what; ``old`` must be there.
    noticed_by : tuple of str
        Settings (row: name), or ``"vocabulary"`` for the tests that read the kernels' words.
    """

    name: str
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]


_SUM = "templates/parts/group.cl.mako"
_HALVE = """        if (id < half_size) shared[id] += shared[id + half_size];
        BARRIER();"""
_SCAN = """            shared[i] = sum;
        }
    }
    BARRIER();"""
_NARROW = "intel-cpu: sub-groups of 8"
_RACES = "oclgrind: kernels of GPUs, races"

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "a warp of 32 needs no barrier",
        _SUM,
        _HALVE,
        """        if (id < half_size) shared[id] += shared[id + half_size];
        if (half_size > 32) BARRIER();""",
        (_RACES, _NARROW),
    ),
    Mutation(
        "a barrier of the scan is missing",
        _SUM,
        _SCAN,
        "            shared[i] = sum;\n        }\n    }",
        (_RACES, "pocl: kernels of GPUs", _NARROW),
    ),
    Mutation(
        "local memory is read one too far",
        _SUM,
        "            const ${type} sum = shared[${k * wg_size} + run_end];",
        "            const ${type} sum = shared[${k * wg_size + 1} + run_end];",
        (_RACES, "intel-cpu: sub-groups of 64, 32 KiB"),
    ),
    Mutation(
        "multiply and add are fused",
        "cl_kernels/portable_math.h",
        "    const f32 p = x * r;\n    const f32 e = 1.0f - p;",
        "    const f32 e = fma(-x, r, 1.0f);",
        ("vocabulary", "baseline: PoCL"),
    ),
    Mutation(
        "contraction is allowed",
        "cl_kernels/dialect_opencl.h",
        "#pragma OPENCL FP_CONTRACT OFF",
        "#pragma OPENCL FP_CONTRACT ON",
        ("vocabulary", "baseline: PoCL"),
    ),
    Mutation(
        "a number is a double",
        "cl_kernels/portable_math.h",
        "const f32 t = c * 1.44269502f;",
        "const f32 t = (f32)(c * 1.44269502);",
        ("vocabulary", "baseline: PoCL"),
    ),
    Mutation(
        "the baseline takes 64-bit atomics",
        "pyopencl_gbdt/device/opencl/device.py",
        'return options if self.caps.int64_atomics else [*options, "-DSUMS_BY_WORDS"]',
        "return options",
        ("baseline: PoCL",),
    ),
)
_VOCABULARY_TESTS = ("tests/device/test_dialects.py", "tests/device/test_templates.py")
_BASELINE_TEST = (
    "tests/portability/test_portability.py::test_the_baseline_is_asked_for_nothing_more"
)


def _vocabulary(folder: Path) -> bool:
    """Whether the tests that read the kernels' words fail."""
    words = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not exhaustive"]
    words += ["-k", "words or contraction or baseline"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *_VOCABULARY_TESTS, _BASELINE_TEST],
        cwd=folder, env={"PYTHONPATH": str(folder), "PATH": ""}, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode == 1


def _notices(row: str, folder: Path) -> tuple[bool, str]:
    if row == "vocabulary":
        return _vocabulary(folder), ""
    setting: Setting = next(s for s in SETTINGS if f"{s.row}: {s.name}" == row)
    outcome = run_setting(setting, folder)
    if outcome.skipped:
        return False, f"skipped: {outcome.skipped}"
    return bool(outcome.failures), outcome.failures[0][:160] if outcome.failures else ""


def try_mutation(mutation: Mutation) -> list[tuple[str, bool, str]]:
    """Return (row, whether it noticed, its first words) for every row that should notice."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        folder = Path(name)
        for part in ("pyopencl_gbdt", "templates", "cl_kernels", "tests"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in ("setup.cfg", "pyproject.toml"):
            shutil.copy(ROOT / file, folder / file)
        path = folder / mutation.file
        text = path.read_text(encoding="utf-8")
        if mutation.old not in text:
            raise SystemExit(f"{mutation.name}: {mutation.file} no longer has {mutation.old!r}")
        path.write_text(text.replace(mutation.old, mutation.new, 1), encoding="utf-8")
        return [(row, *_notices(row, folder)) for row in mutation.noticed_by]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of mutations; default all")
    args = parser.parse_args(words)
    missed = 0
    for mutation in MUTATIONS:
        if args.names and not any(name in mutation.name for name in args.names):
            continue
        start = time.perf_counter()
        results = try_mutation(mutation)
        caught = any(red for _, red, _ in results)
        missed += not caught
        print(f"{mutation.name}: {'caught' if caught else 'MISSED'}", end="")
        print(f" ({time.perf_counter() - start:.0f} s)")
        for row, red, what in results:
            print(f"    {'red  ' if red else 'green'} {row}  {' '.join(what.split())}", flush=True)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
