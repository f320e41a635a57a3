"""Scripts of other libraries' users: one import changes, and the runner finds differences."""

import textwrap
from pathlib import Path

import pytest

from tests.scripts.imports import running
from tests.scripts.imports.__main__ import SCRIPTS, both, report

PATHS = sorted(SCRIPTS.glob("*.py"))


def test_there_are_scripts_of_all_three_libraries():
    names = [running.original(path.read_text("utf-8")) for path in PATHS]
    assert {name: names.count(name) > 0 for name in ("xgboost", "lightgbm", "sklearn")}
    assert all(path.stem.startswith(name) for path, name in zip(PATHS, names, strict=True))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_script_changes_in_one_line(path):
    text = path.read_text("utf-8")
    lines, other = text.splitlines(), running.changed(text).splitlines()
    (place,) = [n for n, (one, two) in enumerate(zip(lines, other, strict=True)) if one != two]
    assert lines[place].split(" import ")[-1].split()[-1] == other[place].split()[-1]
    assert "pyopencl_gbdt.compat" in other[place]
    assert "pyopencl_gbdt" not in text
    assert 'print("score ' in text or 'print(f"score ' in text
    assert 15 <= len(lines) <= 60


@pytest.mark.parametrize("text", ["x = 1\n", "import xgboost as xgb\nimport lightgbm as lgb\n"])
def test_other_numbers_of_imports_are_refused(text):
    with pytest.raises(ValueError, match="lines import the library; write one import"):
        running.changed(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import xgboost as xgb", "from pyopencl_gbdt.compat import xgboost as xgb"),
        ("from lightgbm import A, B", "from pyopencl_gbdt.compat.lightgbm import A, B"),
        (
            "from sklearn.ensemble import HistGradientBoostingRegressor",
            "from pyopencl_gbdt.compat.sklearn import HistGradientBoostingRegressor",
        ),
    ],
)
def test_what_takes_an_imports_place(before, after):
    rest = "from sklearn.ensemble import RandomForestRegressor\n"
    assert running.changed(f"{rest}{before}\n") == f"{rest}{after}\n"


@pytest.mark.parametrize(
    ("theirs", "ours", "found"),
    [
        ("score a 1.0", "score a 1.02", []),
        ("score a 1.0", "score a 1.04", ["score a: 1.0 with the original, 1.04 with this library"]),
        ("score a 1.0 0.1", "score a 1.04 0.1", []),
        ("score a 0.001", "score a 0.01", []),
        ("score a nan", "score a nan", ["score a: nan with the original, nan with this library"]),
        ("same a x y", "same a x y", []),
        ("score b 1\nsame a x", "score b 1\nsame a y",
         ["same a: x with the original, y with this library"]),
        ("score a 1\nscore b 1", "score a 1", ["score b: only one of the two prints it"]),
        ("nothing", "nothing", ["no score is printed"]),
    ],
)  # fmt: skip
def test_scores_within_noise(theirs, ours, found):
    assert running.differences(theirs, ours) == found


def test_packages_that_are_missing():
    text = "import numpy as np\nimport nowhere.at_all\nfrom neither import x\n"
    assert running.missing(text) == ["neither", "nowhere"]


def test_a_script_runs_twice_and_failures_are_told(tmp_path, capsys):
    """The second time without the original; a script that fails or differs is printed whole."""
    pytest.importorskip("xgboost", reason="needs xgboost")
    texts = {
        "good": 'print("score of", 1)\nassert (xgb.__name__ == "xgboost") == HERE',
        "other": 'print("score of", len(xgb.__name__))',
        "bad": 'print("score of", 1 / len([n for n in xgb.__name__ if n == "_"]))',
    }
    here = "try:\n    import xgboost\n    HERE = True\nexcept ImportError:\n    HERE = False\n"
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f"import xgboost as xgb\n{here}{text}\n")
    context = running.processes()
    failed = {
        name: report(path, *both(path, context), verbose=False)
        for name, path in ((name, Path(tmp_path / f"{name}.py")) for name in texts)
    }
    assert failed == {"good": False, "other": True, "bad": True}
    printed = capsys.readouterr().out
    assert "score of: 7 with the original, 28 with this library" in printed
    assert "with the original: exit code 1" in printed
    assert "ZeroDivisionError" in printed
    assert textwrap.dedent(printed)
