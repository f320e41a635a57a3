"""Test the lowest and the newest versions of what the library needs.

``python -m tests.versions``: for each end of the range that ``setup.cfg`` allows, make a virtual
environment, install the library there with the lowest (or newest) Python that this machine has and
the lowest (or newest) release of every package, then run ``tests/scripts`` and some tests. Pythons
are the ``python3.N`` on the PATH, those of pyenv, and those named by ``--python``. The last lines
say what was tested, and which Python at an end of the range is not on this machine. Ends with 1 if
a test fails.
"""

from __future__ import annotations

import argparse
import configparser
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What users install: the library's own needs and those of these extras.
EXTRAS = ("arrow", "cpu", "plot", "scikit-learn")
#: Beside them, what the tests below read; the bounds are those of the extra ``test``.
TOOLS = ("pandas", "pytest", "xgboost-cpu")
#: Packages whose releases the last lines name.
TOLD = ("numpy", "pyopencl", "scikit-learn", "scipy")
TESTS = (
    "tests/numerics",
    "tests/data/test_categories.py",
    "tests/data/test_dataset.py",
    "tests/estimators/test_checks.py",
    "tests/estimators/test_meta.py",
    "tests/estimators/test_estimators.py",
    "tests/test_reproducible.py",
    "tests/training/test_train_sparse.py",
    "tests/training/test_training.py",
)


def requirements() -> tuple[str, list[str]]:
    """Return the lowest Python, such as "3.10", and the requirements with their lower bounds."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    options, extras = config["options"], config["options.extras_require"]
    lines = options["install_requires"].splitlines()
    for extra in EXTRAS:
        lines += extras[extra].splitlines()
    lines += [
        line for line in extras["test"].splitlines() if re.match(rf"({'|'.join(TOOLS)})\b", line)
    ]
    wanted = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return options["python_requires"].removeprefix(">="), wanted


def lowest(requirement: str) -> str:
    """Return a requirement with its lower bound as the only release, its patches allowed.

    >>> lowest("numpy>=1.23")
    'numpy==1.23.*'
    """
    return re.sub(r">=([0-9.]+)", r"==\1.*", requirement)


def newest_release(day: datetime.date) -> tuple[int, int]:
    """Return the newest Python of a day: 3.14 appeared in October 2025, and so on every year.

    >>> newest_release(datetime.date(2026, 9, 30))
    (3, 14)
    """
    return 3, day.year - 2011 - (day.month < 10)


def version(python: str) -> tuple[int, ...]:
    """Return a Python's version, such as (3, 11); () if it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return tuple(int(word) for word in done.stdout.split())


def text(number: tuple[int, ...]) -> str:
    """Return a version as text, such as "3.11"."""
    return ".".join(map(str, number))


def pythons(named: list[str], least: tuple[int, ...]) -> dict[tuple[int, ...], str]:
    """Return the Pythons of this machine that the library allows, by version.

    Of two with one version the one that is named counts, then that on the PATH.
    """
    for path in named:
        if version(path) < least:
            raise SystemExit(f"--python {path}: expected a Python {text(least)} or newer")
    minors = range(least[1], least[1] + 12)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    on_path = [shutil.which(f"python3.{minor}") for minor in minors]
    own = [str(path) for minor in minors for path in pyenv.glob(f"3.{minor}.*/bin/python")]
    paths = [*named, sys.executable, *filter(None, on_path), *own]
    versions = [(version(path), path) for path in reversed(paths)]
    return {number: path for number, path in versions if number >= least}


def not_here(ends: dict[str, tuple[int, ...]], found: Iterable[tuple[int, ...]]) -> list[str]:
    """Return a line for each end of the range whose Python is not on this machine.

    >>> not_here({"lowest": (3, 10), "newest": (3, 14)}, [(3, 10), (3, 13)])
    ['newest: Python 3.14 is not on this machine; name one by --python PATH']
    """
    return [
        f"{end}: Python {text(number)} is not on this machine; name one by --python PATH"
        for end, number in ends.items()
        if number not in found
    ]


def check(end: str, python: str, wanted: list[str], tests: list[str]) -> tuple[bool, str]:
    """Install one end of the range and test it; return whether all went well, and a line."""
    used = f"{end}: Python {text(version(python))} ({python})"
    print(f"\n=== {used} ===", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = str(Path(folder) / "bin" / "python")
        pip = [own, "-m", "pip", "--disable-pip-version-check"]
        packages = [lowest(one) for one in wanted] if end == "lowest" else ["--upgrade", *wanted]
        if subprocess.run([*pip, "install", "-q", *packages, str(ROOT)], check=False).returncode:
            return False, f"{used}: failed, as its packages could not be installed"
        command = [*pip, "list", "--format=freeze"]
        releases = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(releases, flush=True)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env["PYTHONWARNINGS"] = "ignore"  # old packages warn of newer ones that they need
        commands = [[own, str(ROOT / "tests/scripts")]]
        # Options of pytest-xdist in setup.cfg are none of this environment.
        commands += (
            [[own, "-m", "pytest", "-q", "-o", "addopts=--strict-markers", *tests]] if tests else []
        )
        codes = [subprocess.run(one, cwd=ROOT, env=env, check=False).returncode for one in commands]
    told = [line for line in releases.splitlines() if line.split("==")[0] in TOLD]
    return not any(codes), f"{used}, {', '.join(told)}: {'failed' if any(codes) else 'ok'}"


def main() -> int:
    """Check both ends, or the one that is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("ends", nargs="*", metavar="END", help="lowest or newest; default both")
    parser.add_argument("--python", action="append", default=[], help="path of another Python")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="what pytest runs")
    options = parser.parse_args()
    least_text, wanted = requirements()
    least = tuple(int(word) for word in least_text.split("."))
    newest = newest_release(datetime.datetime.now(tz=datetime.timezone.utc).date())
    ends = {"lowest": least, "newest": newest}
    for end in options.ends:
        if end not in ends:
            parser.error(f"{end}: expected lowest or newest")
    ends = {end: number for end, number in ends.items() if end in (options.ends or ends)}
    found = pythons(options.python, least)
    if not found:
        print(f"no Python {least_text} or newer here; name one by --python PATH")
        return 1
    print(f"Pythons here: {', '.join(text(number) for number in sorted(found))}")
    lines = not_here(ends, found)
    print(*lines, sep="\n", flush=True)
    chosen = {"lowest": found[min(found)], "newest": found[max(found)]}
    results = [check(end, chosen[end], wanted, options.tests) for end in ends]
    print("", *lines, *(line for _, line in results), sep="\n")
    return 0 if all(fine for fine, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
