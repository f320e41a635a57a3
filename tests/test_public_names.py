"""Public names stay, or leave two releases after the one that began to warn of them.

``public_names.txt`` has the last release, then a line for each object that ``docs/api.md`` shows:
its name, then the names of a class's members that are shown, or of a function's parameters. Each
release writes it anew; names that left stay in it until `LEFT` says that they may go:

    PYOPENCL_GBDT_UPDATE_GOLDEN=1 python -m pytest tests/test_public_names.py
"""

import importlib
import inspect
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn")

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).parent / "public_names.txt"
#: Each name that left, as ``object.member``, and the release that first warned of it.
LEFT: dict[str, str] = {}
#: Modules of which all names in ``__all__`` are public, whether or not the pages show them.
MODULES = (
    "pyopencl_gbdt", "pyopencl_gbdt.callbacks", "pyopencl_gbdt.compat.lightgbm",
    "pyopencl_gbdt.compat.sklearn", "pyopencl_gbdt.compat.xgboost",
)  # fmt: skip
#: All members of a class.
ALL = ["*"]
#: Their members are the originals', with which other tests compare them.
COMPARED = "pyopencl_gbdt.compat."

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs a checkout")


def find(path):
    """Return the object of a dotted name."""
    names = path.split(".")
    for end in range(len(names), 0, -1):
        try:
            found = importlib.import_module(".".join(names[:end]))
        except ModuleNotFoundError:
            continue
        for name in names[end:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


def parameters(function):
    """Return the names of a callable's parameters, but for ``self``."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in found if name != "self" and not name.startswith("_")]


def members(owner):
    """Return the public members of a class that this package defines."""
    own = [one for one in owner.__mro__ if one.__module__.startswith("pyopencl_gbdt")]
    return sorted({name for one in own for name in vars(one) if not name.startswith("_")})


def names_of(path, found, shown):
    """Yield a line's name and its names: of an object, then of the methods of a class."""
    is_class = inspect.isclass(found)
    if path.startswith(COMPARED) or not (is_class or inspect.isroutine(found)):
        yield path, []
    elif not is_class:
        yield path, parameters(found)
    else:
        shown = members(found) if shown is ALL else shown
        yield path, shown
        if path.rpartition(".")[0] in MODULES:
            yield f"{path}()", parameters(found)
        for name in shown:
            if inspect.isroutine(getattr(found, name, None)):
                yield f"{path}.{name}()", parameters(getattr(found, name))


def public_paths():
    """Return what docs/api.md shows, and `MODULES`: ``{dotted name: members that are shown}``."""
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    found = {}
    for path, options in re.findall(r"auto(?:class|function):: ([\w.]+)\n((?: +\S.*\n)*)", page):
        _, given, names = options.partition(":members:")
        names = re.sub(r":[\w-]+:.*", "", names, flags=re.DOTALL)
        found[path] = (re.findall(r"\w+", names) or ALL) if given else []
    for module in {*MODULES, *re.findall(r"automodule:: ([\w.]+)", page)}:
        own = importlib.import_module(module)
        listed = getattr(own, "__all__", None) or [
            name for name, one in vars(own).items()
            if inspect.isclass(one) and one.__module__ == module
        ]  # fmt: skip
        for name in listed:
            found.setdefault(f"{module}.{name}", [])
    return found


def public_names():
    """Return ``{line's name: its names}`` of this checkout."""
    return {
        line: names
        for path, shown in public_paths().items()
        for line, names in names_of(path, find(path), shown)
    }


def read(text):
    """Return ``{line's name: its names}`` of the file's text."""
    pairs = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {name: rest.split() for name, _, rest in pairs}


def spelled(lines):
    """Return each name of lines once: ``object`` and ``object.member``."""
    return {*lines, *(f"{line}.{name}" for line, names in lines.items() for name in names)}


def releases(changelog):
    """Return the releases of a changelog, the newest first."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, flags=re.MULTILINE)


def gone_too_early(before, now, left, known):
    """Return the names that are gone without two releases since the first one that warned."""
    may_go = {name for name, since in left.items() if since in known and known.index(since) >= 2}
    return sorted(spelled(before) - spelled(now) - may_go)


def test_no_public_name_leaves_without_two_releases_of_warning():
    text, now = FILE.read_text("utf-8"), public_names()
    known = releases((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    early = gone_too_early(read(text), now, LEFT, known)
    assert not early, "keep these names with a warning; two releases later, add them to LEFT"
    if os.environ.get("PYOPENCL_GBDT_UPDATE_GOLDEN"):
        lines = [f"{name}: {' '.join(names)}".rstrip() for name, names in sorted(now.items())]
        text = "\n".join([f"# {known[0]}", *lines]) + "\n"
        FILE.write_text(text, encoding="utf-8")
    assert text.startswith(f"# {known[0]}\n"), "a release writes tests/public_names.txt anew"


def test_a_name_leaves_two_releases_after_the_first_warning():
    before, now = read("# 0.3.0\na.f: x y\na.C: m\na.C.m(): z"), read("a.f: x\na.C:\n")
    assert gone_too_early(before, before, {}, []) == []
    gone = ["a.C.m", "a.C.m()", "a.C.m().z", "a.f.y"]
    assert gone_too_early(before, now, {}, ["0.3.0"]) == gone
    left = dict.fromkeys(gone, "0.3.0")
    assert gone_too_early(before, now, left, ["0.4.0", "0.3.0"]) == gone
    assert gone_too_early(before, now, left, ["0.5.0", "0.4.0", "0.3.0"]) == []
    assert gone_too_early(before, now, left, ["0.5.0", "0.4.0"]) == gone  # no such release
    text = "## [Unreleased]\n\n## [0.2.0]\n\n### Added\n\n## [0.1.0]\n"
    assert releases(text) == ["0.2.0", "0.1.0"]


def test_names_of_classes_and_functions_are_found():
    found = public_names()
    assert "n_estimators" in found["pyopencl_gbdt.GBDTClassifier()"]
    assert {"predict", "best_iteration"} <= {*found["pyopencl_gbdt.Model"]}
    assert "digests" not in found["pyopencl_gbdt.Dataset"]  # no page shows it
    assert "describe" in found["pyopencl_gbdt.device.DeviceInfo"]
    assert "iteration_range" in found["pyopencl_gbdt.Model.predict()"]
    assert "num_boost_round" in found["pyopencl_gbdt.train"]
    assert found["pyopencl_gbdt.compat.xgboost.DMatrix"] == []
    assert "pyopencl_gbdt.errors.DataError" in found
