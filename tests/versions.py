"""Test the lowest and the newest versions of what the library needs.

``python -m tests.versions``: for each end of the range that ``setup.cfg`` allows, make a virtual
environment, install the library there with the lowest (or newest) Python that this machine has and
the lowest (or newest) release of every package, then run ``tests/scripts`` and some tests. Pythons
are the ``python3.N`` on the PATH, and those named by ``--python``. Ends with 1 if a test fails.
"""

from __future__ import annotations

import argparse
import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What users install: the library's own needs and those of these extras.
EXTRAS = ("arrow", "cpu", "plot", "scikit-learn")
#: Beside them, what the tests below read; the bounds are those of the extra ``test``.
TOOLS = ("pandas", "pytest", "xgboost-cpu")
TESTS = (
    "tests/numerics",
    "tests/data/test_categories.py",
    "tests/test_dataset.py",
    "tests/test_estimators.py",
    "tests/test_reproducible.py",
    "tests/test_train_sparse.py",
    "tests/test_training.py",
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


def version(python: str) -> tuple[int, ...]:
    """Return a Python's version, such as (3, 11); () if it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return tuple(int(word) for word in done.stdout.split())


def pythons(named: list[str], least: tuple[int, ...]) -> dict[tuple[int, ...], str]:
    """Return the Pythons of this machine that the library allows, by version."""
    found = [shutil.which(f"python3.{minor}") for minor in range(least[1], least[1] + 12)]
    paths = [*named, *filter(None, found), sys.executable]
    versions = [(version(path), path) for path in reversed(paths)]
    return {number: path for number, path in versions if number >= least}


def check(end: str, python: str, wanted: list[str], tests: list[str]) -> bool:
    """Install one end of the range and test it; True if all went well."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = str(Path(folder) / "bin" / "python")
        install = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        packages = [lowest(one) for one in wanted] if end == "lowest" else ["--upgrade", *wanted]
        subprocess.run([*install, *packages, str(ROOT)], check=True)
        print(f"\n=== {end}: Python {'.'.join(map(str, version(python)))} ===", flush=True)
        subprocess.run([own, "-m", "pip", "list", "--format=freeze"], check=True)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env["PYTHONWARNINGS"] = "ignore"  # old packages warn of newer ones that they need
        commands = [[own, str(ROOT / "tests/scripts")]]
        # Options of pytest-xdist in setup.cfg are none of this environment.
        commands += (
            [[own, "-m", "pytest", "-q", "-o", "addopts=--strict-markers", *tests]] if tests else []
        )
        codes = [subprocess.run(one, cwd=ROOT, env=env, check=False).returncode for one in commands]
    print(f"=== {end}: {'failed' if any(codes) else 'ok'} ===", flush=True)
    return not any(codes)


def main() -> int:
    """Check both ends, or the one that is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("ends", nargs="*", metavar="END", help="lowest or newest; default both")
    parser.add_argument("--python", action="append", default=[], help="path of another Python")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="what pytest runs")
    options = parser.parse_args()
    least, wanted = requirements()
    found = pythons(options.python, tuple(int(word) for word in least.split(".")))
    if not found:
        print(f"no Python {least} or newer here; name one by --python PATH")
        return 1
    if min(found) > tuple(int(word) for word in least.split(".")):
        print(f"Python {least} is not here: the lowest is {'.'.join(map(str, min(found)))}")
    ends = options.ends or ["lowest", "newest"]
    chosen = {"lowest": found[min(found)], "newest": found[max(found)]}
    fine = [check(end, chosen[end], wanted, options.tests) for end in ends]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
