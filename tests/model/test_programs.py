"""Programs in C and in Python: the bits of this library's predictions."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.program_c import to_c
from pyopencl_gbdt.model.formats.program_python import to_python
from pyopencl_gbdt.model.formats.xgboost_links import LINKS, MULTICLASS
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.model.kinds import KINDS, edge_rows, frame, kind, rows, with_sets
from tests.model.samples import make_ensemble

COMPILER = shutil.which("cc")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99"]
#: Every link, and every kind of tree.
SOME = ("regression", "logistic", "classes", "most probable class", "hinge", "counts")


def predicted(model: Ensemble, X: Any, **given: Any) -> np.ndarray:
    return Model(model).predict(X, device=TEST_DEVICE, **given)


def compiled(model: Ensemble, folder: Path, flags: Sequence[str] = ("-O1",)) -> Any:
    """Compile a model as a shared library, and load it."""
    assert COMPILER is not None
    source, library = folder / "model.c", folder / "model.so"
    source.write_text(to_c(model))
    command = [COMPILER, *WARNINGS, *flags, "-shared", "-fPIC", str(source), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def called(function: Any, X: np.ndarray, n: int) -> np.ndarray:
    """Call a function of a row and of its results for every row."""
    X = np.ascontiguousarray(X, np.float32)
    found = np.empty((len(X), n), np.float32)
    for row, own in zip(X, found, strict=True):
        function(row.ctypes.data_as(ctypes.c_void_p), own.ctypes.data_as(ctypes.c_void_p))
    return found


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


@needs_compiler
@pytest.mark.parametrize(
    "name", [n if n in SOME else pytest.param(n, marks=pytest.mark.thorough) for n in KINDS]
)
def test_c(name: str, tmp_path: Path) -> None:
    model = kind(name)
    library, X = compiled(model, tmp_path), rows()
    margins = called(library.gbdt_margins, X, model.n_outputs)
    expected = predicted(model, X, output_margin=True)
    assert_same_bits(margins.reshape(expected.shape), expected)
    expected = predicted(model, X)
    n = expected[:1].size
    assert_same_bits(called(library.gbdt_predict, X, n).reshape(expected.shape), expected)


@needs_compiler
@pytest.mark.parametrize(
    "flags",
    [
        ("-O3", "-march=native"),  # where products and sums could become one operation
        pytest.param(("-O0",), marks=pytest.mark.thorough),
    ],
)
def test_c_at_the_edges(flags: Sequence[str], tmp_path: Path) -> None:
    model = replace(kind("huge thresholds"), objective="binary:logistic", base_score=0.5)
    library = compiled(model, tmp_path, flags)
    X = np.concatenate([edge_rows(model), rows()])
    expected = predicted(model, X)[:, None]
    assert_same_bits(called(library.gbdt_predict, X, 1), expected)


@needs_compiler
@pytest.mark.parametrize("text", [True, False])
def test_c_with_levels(text: bool, tmp_path: Path) -> None:
    model, table = with_sets(text=text), frame(text=text)
    library = compiled(model, tmp_path)
    X = table.copy()
    for column, name in enumerate(("a", "town", "b", "size")):
        levels = model.categories.get(column)
        if levels is not None:
            kind_of = "text" if levels.are_strings else "number"
            find = getattr(library, f"gbdt_code_of_{kind_of}")
            find.restype = ctypes.c_float
            find.argtypes = [ctypes.c_int, ctypes.c_char_p if text else ctypes.c_int64]
            if not levels.are_strings:
                find.argtypes = [ctypes.c_int, ctypes.c_int64]
            of = {v: find(column, v.encode() if levels.are_strings else v) for v in levels.values}
            assert list(of.values()) == list(range(levels.n_levels))
            for unseen in ("", "aaa", "zzz") if levels.are_strings else (-5, 5, 10**12):
                assert np.isnan(find(column, unseen.encode() if levels.are_strings else unseen))
            X[name] = table[name].map(of).astype(float)
    found = called(library.gbdt_margins, X.to_numpy(np.float32), 1)[:, 0]
    assert_same_bits(found, predicted(model, table, output_margin=True))


def imported(model: Ensemble, folder: Path) -> Any:
    path = folder / "model.py"
    path.write_text(to_python(model))
    spec = importlib.util.spec_from_file_location("written_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", KINDS)
def test_python(name: str, tmp_path: Path) -> None:
    model = kind(name)
    module, X = imported(model, tmp_path), rows()[:60]
    expected = predicted(model, X)
    found = np.array(module.predict(X.tolist()), np.float32)
    assert_same_bits(found, expected)
    margins = module.predict(X.tolist(), output_margin=True)
    assert_same_bits(np.array(margins, np.float32), predicted(model, X, output_margin=True))


@pytest.mark.parametrize(
    "objective",
    sorted(name for name, link in LINKS.items() if name not in MULTICLASS and not link.n_outputs),
)
def test_the_link_of_every_loss(objective: str, tmp_path: Path) -> None:
    model = replace(kind("regression"), objective=objective, trees=kind("regression").trees[:2])
    found = imported(model, tmp_path).predict(rows()[:9].tolist())
    assert_same_bits(np.array(found, np.float32), predicted(model, rows()[:9]))


@pytest.mark.parametrize("text", [True, False])
def test_python_with_levels(text: bool, tmp_path: Path) -> None:
    model, table = with_sets(text=text), frame(text=text)[:80]
    module = imported(model, tmp_path)
    listed = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    found = np.array(module.predict(listed, output_margin=True), np.float32)
    assert_same_bits(found, predicted(model, table, output_margin=True))
    unseen = [[0.5, "nowhere" if text else 1, 0.5, 2]]
    missing = [[0.5, None, 0.5, 2]]
    assert module.predict(unseen) == module.predict(missing)


def test_the_python_program_needs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(to_python(kind("logistic")))
    code = "import model; print(model.predict([[0.5, None, float('nan'), 1, 2]]))"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    X = np.array([[0.5, np.nan, np.nan, 1, 2]], np.float32)
    assert done.stdout == f"[{float(predicted(kind('logistic'), X)[0])!r}]\n"


def test_names_cannot_become_code(tmp_path: Path) -> None:
    evil = ['"; abort(); //', "*/ x", "\\", "'''\"\"\"", "é\n??/"]
    levels = np.empty(3, object)
    levels[:] = ["\"};", "\\\\", "ü\u2028"]  # fmt: skip
    model = replace(
        kind("regression"), feature_names=evil, trees=[], categories={0: Levels(levels)}
    )
    assert evil == imported(model, tmp_path).NAMES
    if COMPILER is not None:
        library = compiled(model, tmp_path)
        library.gbdt_name_of_column.restype = ctypes.c_char_p
        found = [library.gbdt_name_of_column(i).decode() for i in range(5)]
        assert found == evil
    levels = np.array(["a\0b"], object)
    with pytest.raises(ModelFormatError, match="code 0"):
        to_c(replace(model, categories={0: Levels(levels)}))


def test_files_through_the_doors(tmp_path: Path) -> None:
    model = Model(make_ensemble([3, 2]))
    for ending in ("c", "py"):
        model.save_model(tmp_path / f"m.{ending}")
        with pytest.raises(ModelFormatError, match=r"a program in .*, which is only written"):
            Model.load_model(tmp_path / f"m.{ending}")
