"""Formats that other packages make of our files: treelite, tl2cgen's C, PMML."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost

from pyopencl_gbdt import Model
from pyopencl_gbdt.model import Ensemble, to_xgboost_json
from pyopencl_gbdt.model.formats.lightgbm_text import to_lightgbm_text
from tests.conftest import TEST_DEVICE
from tests.model.kinds import KINDS, frame, kind, rows, with_sets


def predicted(model: Ensemble, X: Any = None) -> np.ndarray:
    return Model(model).predict(rows() if X is None else X, device=TEST_DEVICE)


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    atol = 1e-6 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in ("most probable class", "stopped early")]
)
def test_treelite_reads_our_json(name: str) -> None:
    treelite = pytest.importorskip("treelite")
    model = treelite.frontend.from_xgboost_json(to_xgboost_json(kind(name)))
    assert_near(treelite.gtil.predict(model, rows(), nthread=1), predicted(kind(name)))


def test_treelite_reads_sets_from_lightgbms_text(tmp_path: Path) -> None:
    treelite = pytest.importorskip("treelite")
    model, X = with_sets(), frame()
    (tmp_path / "m.txt").write_text(to_lightgbm_text(model))
    codes = [X[name].cat.codes.to_numpy() for name in ("town", "size")]
    town, size = (np.where(own < 0, np.nan, own) for own in codes)
    coded = X.assign(town=town, size=size).to_numpy(np.float32)
    loaded = treelite.frontend.load_lightgbm_model(tmp_path / "m.txt")
    assert_near(treelite.gtil.predict(loaded, coded, nthread=1), predicted(model, X))


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_tl2cgen_compiles_our_json(tmp_path: Path) -> None:
    treelite, tl2cgen = pytest.importorskip("treelite"), pytest.importorskip("tl2cgen")
    model = treelite.frontend.from_xgboost_json(to_xgboost_json(kind("logistic")))
    library = str(tmp_path / "m.so")
    tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params={}, verbose=False)
    own = tl2cgen.Predictor(library, nthread=1, verbose=False)
    found = own.predict(tl2cgen.DMatrix(rows(), dtype="float32"))
    assert_near(found, predicted(kind("logistic")))


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java")
def test_pmml_by_the_package_sklearn2pmml(tmp_path: Path) -> None:
    sklearn2pmml = pytest.importorskip("sklearn2pmml")
    evaluator = pytest.importorskip("jpmml_evaluator")
    Model(kind("logistic")).save_model(tmp_path / "m.json")
    classifier = xgboost.XGBClassifier()
    classifier.load_model(tmp_path / "m.json")
    pipeline = sklearn2pmml.PMMLPipeline([("model", classifier)])
    names = ["a", "b", "c", "d", "e"]
    pipeline.active_fields, pipeline.target_fields = np.array(names), np.array(["y"])
    sklearn2pmml.sklearn2pmml(pipeline, str(tmp_path / "m.pmml"))
    found = evaluator.make_evaluator(str(tmp_path / "m.pmml")).evaluateAll(
        pd.DataFrame(rows(), columns=names)
    )
    assert_near(found["probability(1)"].to_numpy(float), predicted(kind("logistic")))
