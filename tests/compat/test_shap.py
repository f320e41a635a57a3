"""The package shap explains models of the interfaces, whichever of the two is imported first."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.sklearn import HistGradientBoostingRegressor
from pyopencl_gbdt.compat.xgboost.fitted_booster import SklearnNotFittedError
from tests.processes import IMPORT_PATH

ORDERS = (
    "import shap; from pyopencl_gbdt.compat import xgboost as xgb",
    "from pyopencl_gbdt.compat import xgboost as xgb; import shap",
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    return X, X[:, 0] + X[:, 1] * X[:, 2]


def lightgbm_booster(X, y):
    return lgb.train({"verbosity": -1}, lgb.Dataset(X, y), 12)


#: By name: a function that trains, and one that predicts margins.
MODELS = {
    "xgb estimator": (lambda X, y: xgb.XGBRegressor(n_estimators=12).fit(X, y), "predict"),
    "xgb booster": (lambda X, y: xgb.train({}, xgb.DMatrix(X, y), 12), "inplace_predict"),
    "lgb estimator": (
        lambda X, y: lgb.LGBMRegressor(n_estimators=12, verbosity=-1).fit(X, y),
        "predict",
    ),
    "lgb booster": (lightgbm_booster, "predict"),
    "sklearn": (lambda X, y: HistGradientBoostingRegressor(max_iter=12).fit(X, y), "predict"),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_add_up_to_predictions(rows, name):
    shap = pytest.importorskip("shap", reason="needs shap")
    fit, predict = MODELS[name]
    model = fit(*rows)
    explainer = shap.TreeExplainer(model)
    found = explainer.shap_values(rows[0][:40])
    assert found.shape == (40, 4)
    margins = found.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(margins, getattr(model, predict)(rows[0][:40]), atol=1e-5)
    assert shap.Explainer(model)(rows[0][:5]).values.shape == (5, 4)


def test_rounds_after_the_best_one_do_not_count(rows):
    shap = pytest.importorskip("shap", reason="needs shap")
    (X, y), rng = rows, np.random.default_rng(1)
    noise = y + rng.normal(size=y.size)
    model = xgb.XGBRegressor(n_estimators=40, early_stopping_rounds=3)
    model.fit(X[:200], noise[:200], eval_set=[(X[200:], noise[200:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    found = shap.TreeExplainer(model)(X[:20])
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.base_values, model.predict(X[:20]), atol=1e-5
    )


def test_an_estimator_that_is_not_fitted():
    shap = pytest.importorskip("shap", reason="needs shap")
    for model in (xgb.XGBRegressor(), lgb.LGBMRegressor(), HistGradientBoostingRegressor()):
        with pytest.raises(SklearnNotFittedError):
            shap.TreeExplainer(model)


@pytest.mark.thorough
@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_imports(order):
    pytest.importorskip("shap", reason="needs shap")
    code = (
        f"{order}; import importlib.util; importlib.util.find_spec('shap'); import shap.maskers\n"
        "import pyopencl_gbdt.explain.shap as own\n"
        "print(shap.Explainer.__new__ is own._new, shap.__spec__.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "shap"]


def test_importing_an_interface_does_not_import_shap():
    """It only makes Python's import system call back."""
    code = (
        "import sys; from pyopencl_gbdt import compat as k; k._watch()\n"
        "found = [f for f in sys.meta_path if isinstance(f, k._Finder)]\n"
        "print('shap' in sys.modules, 'numpy' in sys.modules, len(found),\n"
        "      found[0].find_spec('numpy'), found[0].find_spec('no_such_shap'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "False", "1", "None", "None"]
