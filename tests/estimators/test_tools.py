"""The estimators in scikit-learn's tools, copied, pickled, and predicting on other devices."""

import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor, devices
from pyopencl_gbdt.callbacks import EarlyStopping
from tests.conftest import TEST_DEVICE
from tests.processes import IMPORT_PATH, QUICK_BUILDS

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
RNG = np.random.default_rng(7)
X = RNG.standard_normal((200, 4)).astype(np.float32)
Y = X[:, 0] - 2 * X[:, 1] + RNG.standard_normal(200) / 4
LABEL = np.where(Y > 0, "yes", "no")
WEIGHT = RNG.integers(0, 4, 200)
LOADERS = {
    "pickle": (lambda e, path: path.write_bytes(pickle.dumps(e)),
               lambda path: pickle.loads(path.read_bytes())),
    "joblib": (joblib.dump, joblib.load),
    "joblib compressed": (lambda e, path: joblib.dump(e, path, compress=3), joblib.load),
}  # fmt: skip


def regressor(**more):
    return GBDTRegressor(**{"n_estimators": 5, "device": TEST_DEVICE, **more})


def classifier(**more):
    return GBDTClassifier(**{"n_estimators": 5, "device": TEST_DEVICE, **more})


def fitted():
    return [regressor(reg_lambda=2.0).fit(X, Y), classifier(max_depth=3).fit(X, LABEL)]


def probabilities(estimator, rows=X):
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
    return getattr(estimator, method)(rows)


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), regressor())
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline.fit(frame, Y, gbdtregressor__sample_weight=WEIGHT)
    own = pipeline[-1]
    assert list(own.feature_names_in_) == list("abcd")
    scaled = StandardScaler().fit_transform(X)
    alone = regressor().fit(scaled, Y, WEIGHT)
    np.testing.assert_array_equal(pipeline.predict(frame), alone.predict(scaled))
    assert cross_val_score(make_pipeline(StandardScaler(), regressor()), X, Y, cv=3).mean() > 0.5
    pipeline.set_params(gbdtregressor__max_depth=1)
    assert own.max_depth == 1


@pytest.mark.thorough
def test_in_several_processes():
    search = GridSearchCV(regressor(), {"max_depth": [1, 3]}, cv=2)
    alone = search.fit(X, Y).cv_results_["mean_test_score"]
    together = clone(search).set_params(n_jobs=2).fit(X, Y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(together, alone)


def test_clones_have_the_parameters_and_nothing_else():
    stop = EarlyStopping(3)
    for estimator in (
        regressor(reg_lambda=2.0, objective="reg:gamma", callbacks=[stop]),
        classifier(scale_pos_weight=2.0, eval_metric=["auc", "logloss"], random_state=3),
    ):
        copy = clone(estimator)
        assert copy is not estimator
        mine, theirs = estimator.get_params(), copy.get_params()
        kinds = [list(map(type, p.pop("callbacks") or [])) for p in (mine, theirs)]
        assert kinds[0] == kinds[1]
        assert mine == theirs
    for estimator in fitted():
        assert not hasattr(clone(estimator), "model_")
        assert hasattr(estimator, "model_")


@pytest.mark.parametrize("how", LOADERS)
def test_pickles_predict_the_same(how, tmp_path):
    dump, load = LOADERS[how]
    for estimator in fitted():
        dump(estimator, tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(probabilities(again), probabilities(estimator))
        np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
        assert repr(again.get_params()) == repr(estimator.get_params())  # NaN among them
        np.testing.assert_array_equal(again.feature_importances_, estimator.feature_importances_)


def test_an_unfitted_estimator_pickles():
    again = pickle.loads(pickle.dumps(classifier()))
    np.testing.assert_array_equal(
        again.fit(X, LABEL).predict_proba(X), classifier().fit(X, LABEL).predict_proba(X)
    )


PREDICT = """
import pickle, sys
from pathlib import Path
estimators, rows = pickle.loads(Path(sys.argv[1]).read_bytes())
for name in sys.argv[2:]:
    for estimator in estimators:
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
        predict = getattr(estimator.set_params(device=name), method)
        print(name, predict(rows).tobytes().hex())
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "pretend", ["", "gpu", pytest.param("baseline", marks=pytest.mark.exhaustive)]
)
def test_fitted_on_one_device_predicts_on_another(pretend, tmp_path):
    """Each device that is here, as itself and as what it can pretend to be, in a new process."""
    rows = X[:20]
    estimators = fitted()
    names = [found.device_id for found in devices() if not found.problem]
    (tmp_path / "model").write_bytes(pickle.dumps((estimators, rows)))
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, str(tmp_path / "model"), *names],
        env={
            **os.environ, **QUICK_BUILDS, "PYTHONPATH": IMPORT_PATH,
            "PYOPENCL_GBDT_PRETEND": pretend,
        },
        capture_output=True, timeout=300, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = [probabilities(e, rows).tobytes().hex() for e in estimators]
    assert done.stdout.splitlines() == [f"{name} {bits}" for name in names for bits in expected]
