"""Models behind a web service, in threads and after a fork, as docs/deploy.md says."""

import importlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, Model, train
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

SMALL = {"max_depth": 4, "device": TEST_DEVICE, "verbosity": 0}
TOWNS = np.array(["Bern", "Lyon", "Oslo", "Ulm"])


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"area": rng.gamma(9, 9, n_rows), "town": TOWNS[rng.integers(0, 4, n_rows)]}
    )


def rents(rows):
    return rows["area"].to_numpy() * np.where(rows["town"] == "Bern", 19, 11)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rows = table(400)
    file = tmp_path_factory.mktemp("serving") / "rent.json"
    train(SMALL, Dataset(rows, rents(rows)), 8).save_model(file)
    return file


def test_threads_predict_on_one_model_at_once(path):
    """Few rows on the host and many on the device, margins and contributions; no warm-up."""
    tables = [table(n_rows, seed) for seed, n_rows in enumerate((1, 3000, 7, 3000) * 3)]
    kinds = ({}, {"output_margin": True}, {"pred_contribs": True})
    calls = [(rows, kinds[number % 3]) for number, rows in enumerate(tables)]
    alone = Model.load_model(path)
    wanted = [alone.predict(rows, device=TEST_DEVICE, **kind) for rows, kind in calls]
    shared = Model.load_model(path)
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda c: shared.predict(c[0], device=TEST_DEVICE, **c[1]), calls))
    for own, expected in zip(found, wanted, strict=True):
        assert_same_bits(own, expected)


FORKED = """
import os, sys
import numpy as np
from pyopencl_gbdt import Model

model = Model.load_model(sys.argv[1])  # opens no driver
rows = np.array([[70.0, "Ulm"]] * 3000, dtype=object)
process = os.fork()
if process == 0:
    few, many = model.predict(rows[:2]), model.predict(rows)
    os._exit(0 if few[0] == many[-1] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_model_that_is_loaded_before_a_fork_predicts_after_it(path):
    environment = {**os.environ, "PYOPENCL_GBDT_DEVICE": TEST_DEVICE}
    command = [sys.executable, "-c", FORKED, str(path)]
    subprocess.run(command, check=True, timeout=120, env=environment)


@pytest.fixture
def service(path):
    """The service of docs/deploy.md."""
    fastapi = pytest.importorskip("fastapi", reason="the example needs fastapi")
    pytest.importorskip("httpx", reason="fastapi's TestClient needs httpx")
    from fastapi.testclient import TestClient

    from tests.service import make_app

    assert fastapi
    with TestClient(make_app(path)) as client:
        yield client


def test_the_page_shows_the_service():
    root = Path(__file__).resolve().parents[1]
    page = (root / "docs" / "deploy.md").read_text(encoding="utf-8")
    source = (root / "tests" / "service.py").read_text(encoding="utf-8")
    assert f"```py\n{source.split('annotations')[1].strip()}\n\n\napp = make_app(" in page


def test_a_service_predicts_requests(service, path):
    rows = table(5, seed=3)
    answer = service.post("/rent", json=rows.to_dict("records"))
    assert answer.status_code == 200
    assert_same_bits(
        np.array(answer.json()["rent"], np.float32),
        Model.load_model(path).predict(rows, device=TEST_DEVICE),
    )
    assert service.get("/health").json()["rounds"] == 8


def test_a_service_predicts_requests_at_once(service):
    bodies = [table(n, seed=n).to_dict("records") for n in range(1, 13)]
    one_by_one = [service.post("/rent", json=body).json() for body in bodies]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda body: service.post("/rent", json=body).json(), bodies))
    assert together == one_by_one


def test_a_service_refuses_what_it_cannot_predict(service):
    for body in ([{"area": 70.0}], [{"area": "large", "town": "Ulm"}], [], {"area": 1}):
        assert service.post("/rent", json=body).status_code == 422
    unknown = service.post("/rent", json=[{"area": 70.0, "town": "Rome"}])
    assert unknown.status_code == 200  # a level that training has not seen is missing
    missing = service.post("/rent", json=[{"area": 70.0, "town": None}])
    assert missing.json() == unknown.json()


@pytest.mark.thorough
def test_mlflow_records_parameters_and_the_model(tmp_path, monkeypatch):
    """It patches scikit-learn's own classes, so the estimator stands in a pipeline of these."""
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow or mlflow-skinny")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions prefer a data base
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    rows = table(200)
    X, y = rows[["area"]], (rents(rows) > 900).astype(int)
    mlflow.sklearn.autolog(log_datasets=False, silent=True, serialization_format="cloudpickle")
    try:
        with mlflow.start_run() as run:
            model = make_pipeline(GBDTClassifier(n_estimators=3, **SMALL)).fit(X, y)
    finally:
        mlflow.sklearn.autolog(disable=True)
    recorded = mlflow.get_run(run.info.run_id).data
    assert recorded.params["gbdtclassifier__n_estimators"] == "3"
    assert recorded.params["gbdtclassifier__max_depth"] == "4"
    assert recorded.metrics["training_score"] == pytest.approx(model.score(X, y))
    again = mlflow.sklearn.load_model(f"runs:/{run.info.run_id}/model")
    assert_same_bits(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.thorough
def test_mlflow_records_an_estimator_alone(tmp_path, monkeypatch):
    """As ``docs/deploy.md`` shows: parameters, scores and the model, then every round's metric."""
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow or mlflow-skinny")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    rows = table(200)
    X, y = rows[["area"]], (rents(rows) > 900).astype(int)
    importlib.import_module("pyopencl_gbdt.estimators.mlflow")
    mlflow.sklearn.autolog(log_datasets=False, silent=True, serialization_format="cloudpickle")
    try:
        with mlflow.start_run() as run:
            model = GBDTClassifier(n_estimators=3, **SMALL).fit(X, y, eval_set=[(X[:50], y[:50])])
        with mlflow.start_run() as other:
            numbers = GBDTRegressor(n_estimators=2, **SMALL).fit(X, rents(rows))
        assert isinstance(clone(model), GBDTClassifier)
    finally:
        mlflow.sklearn.autolog(disable=True)
    with mlflow.start_run(run_id=run.info.run_id):
        for data, metrics in model.evals_result().items():
            for metric, values in metrics.items():
                for step, value in enumerate(values):
                    mlflow.log_metric(f"{data}-{metric}", value, step=step)
    recorded = mlflow.get_run(run.info.run_id).data
    assert recorded.params["n_estimators"] == "3"
    assert recorded.params["max_depth"] == "4"
    assert recorded.metrics["training_score"] == pytest.approx(model.score(X, y))
    recorded = mlflow.get_run(other.info.run_id).data
    assert recorded.params["n_estimators"] == "2"
    assert recorded.metrics["training_r2_score"] == pytest.approx(numbers.score(X, rents(rows)))
    ((data, metrics),) = model.evals_result().items()
    ((metric, values),) = metrics.items()
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, f"{data}-{metric}")
    assert {point.step: point.value for point in history} == dict(enumerate(values))
    assert len(values) == 3
    again = mlflow.sklearn.load_model(f"runs:/{run.info.run_id}/model")
    assert_same_bits(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.thorough
def test_an_mlflow_that_lists_no_classes_is_named(monkeypatch):
    flavor = pytest.importorskip("mlflow.sklearn", reason="needs mlflow or mlflow-skinny")
    importlib.import_module("pyopencl_gbdt.estimators.mlflow")
    classes = flavor._gen_estimators_to_patch()
    assert classes.count(GBDTClassifier) == classes.count(GBDTRegressor) == 1
    monkeypatch.delattr(flavor, "_gen_estimators_to_patch")
    monkeypatch.delitem(sys.modules, "pyopencl_gbdt.estimators.mlflow")
    with pytest.raises(ImportError, match="no _gen_estimators_to_patch: expected mlflow 2 or 3"):
        importlib.import_module("pyopencl_gbdt.estimators.mlflow")
    monkeypatch.setitem(sys.modules, "mlflow.sklearn", None)
    with pytest.raises(ImportError, match="needs mlflow and scikit-learn: expected both"):
        importlib.import_module("pyopencl_gbdt.estimators.mlflow")
