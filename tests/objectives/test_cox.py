"""``survival:cox``: kernels as the twin, the twin as float64, trees and files as XGBoost's."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.metrics import cox_nloglik
from pyopencl_gbdt.model import from_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.objectives.survival import PLANES, in_time, plane_of
from tests.beside_twin import trained_as_twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.objectives.given import device_gradients
from tests.objectives.survival_samples import times

COX = get_objective("survival:cox")


def in_float64(margin, label):
    """Return gradients and Hessians row by row."""
    order = np.argsort(np.abs(label), kind="stable")
    risk, time = np.exp(margin.astype(np.float64)), np.abs(label)
    g, h = np.zeros(label.size), np.zeros(label.size)
    r = s = 0.0
    for row in order:
        at_risk = risk[time >= time[row]].sum()
        if label[row] > 0:
            r, s = r + 1 / at_risk, s + 1 / at_risk**2
        g[row] = risk[row] * r - (label[row] > 0)
        h[row] = risk[row] * r - risk[row] ** 2 * s
    return g, h


def labels(rng, n, ties):
    label = rng.exponential(5, n) * rng.choice([-1, 1], n, p=[0.3, 0.7])
    return (np.rint(label) if ties else label).astype(np.float32)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("spread", [0, 1, 3])
def test_twin_is_float64s(ties, spread):
    rng = np.random.default_rng(1)
    for n in (1, 2, 17, 400):
        label, margin = labels(rng, n, ties), (rng.standard_normal(n) * spread).astype(np.float32)
        g, h = COX.gradient(margin, label)
        wanted_g, wanted_h = in_float64(margin, label)
        size = 1 + np.abs(wanted_g)
        assert (np.abs(g - wanted_g) <= 1e-6 * size).all()
        assert (np.abs(h - wanted_h) <= 2e-6 * size).all()
        assert (h >= 0).all()


def test_gradients_are_derivatives_without_ties():
    rng = np.random.default_rng(2)
    label, margin = labels(rng, 60, False), rng.standard_normal(60)

    def loss(m):
        return cox_nloglik(label, np.exp(m), None) * (label > 0).sum()

    step = 1e-3 * np.eye(60)
    wanted = [(loss(margin + e) - loss(margin - e)) / 2e-3 for e in step]
    bent = [(loss(margin + e) - 2 * loss(margin) + loss(margin - e)) / 1e-6 for e in step]
    g, h = COX.gradient(margin.astype(np.float32), label)
    np.testing.assert_allclose(g, wanted, atol=1e-5)
    np.testing.assert_allclose(h, bent, atol=1e-4)


@pytest.mark.parametrize("wg_size", [1, 64, 256])
@pytest.mark.parametrize("n", [1, 2, 63, 257, 4097, 9000])
def test_kernels_are_the_twin(device, n, wg_size):
    rng = np.random.default_rng(n)
    for spread in (0, 2, 30):
        label = labels(rng, n, n % 2)
        margin = (rng.standard_normal(n) * spread).astype(np.float32)
        data = Dataset(np.zeros((n, 1)), label)
        found = device_gradients(device, COX, margin, data, wg_size)
        for got, wanted in zip(found, COX.gradients(margin[None], data), strict=True):
            assert_same_bits(got, wanted[0], f"spread {spread}")


@pytest.mark.parametrize("label", [[0, 0, 0], [-1, -2, -3], [2, 2, 2], [3e38, -3e38, 1e-45]])
def test_odd_labels(device, label):
    label, margin = np.float32(label), np.float32([80, -80, 3])
    data = Dataset(np.zeros((3, 1)), label)
    found = device_gradients(device, COX, margin, data)
    twin = COX.gradient(margin, label)
    assert np.isfinite(twin).all()
    np.testing.assert_array_equal(found, twin)
    if not (label > 0).any():
        assert not np.any(twin)


def test_planes_hold_every_bit():
    rng = np.random.default_rng(0)
    x = np.ldexp(rng.uniform(0.5, 1, 2000), rng.integers(-60, 1, 2000)).astype(np.float32)
    for planes, unit in PLANES.values():
        parts = [plane_of(x, unit, j, planes).astype(object) for j in range(planes)]
        total = sum(part * 2 ** (31 * j) for j, part in enumerate(parts))
        wanted = [int(number * 2**unit) for number in x.astype(object)]
        assert total.tolist() == wanted
        assert all((part < 2**31).all() for part in parts[:-1])


def test_order():
    order, starts = in_time(np.float32([3, -1, 2, -3, 3, 0]))
    assert order.tolist() == [5, 1, 2, 0, 3, 4]
    assert (starts & 0x7FFFFFFF).tolist() == [0, 1, 2, 3, 3, 3]
    assert (starts >> 31).tolist() == [0, 0, 1, 1, 0, 1]


def test_fit_is_the_references():
    X, y = times(n_rows=500)
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(np.float32)
    given = {"objective": "survival:cox", "max_depth": 3, "n_estimators": 4, "max_bin": 32}
    trained_as_twin(given, X, y, weight)


def both(weighted=False, n_rounds=8, **more):
    xgboost = pytest.importorskip("xgboost")
    X, y = times(3)
    weight = np.random.default_rng(1).uniform(0.5, 2, y.size) if weighted else None
    params = {"objective": "survival:cox", "max_depth": 4, "learning_rate": 0.2, **more}
    matrix, log = xgboost.DMatrix(X, y, weight=weight), {}
    settings = {**params, "tree_method": "hist", "nthread": 1}
    evals = {"evals": [(matrix, "a")], "evals_result": log, "verbose_eval": False}
    theirs = xgboost.train(settings, matrix, n_rounds, **evals)
    data = Dataset(X, y, weight)
    ours = train({**params, "device": TEST_DEVICE}, data, n_rounds, evals=[(data, "a")])
    np.testing.assert_allclose(ours.history["a"]["cox-nloglik"], log["a"]["cox-nloglik"], rtol=1e-6)
    return X, ours, theirs


@pytest.mark.parametrize("weighted", [False, True])
def test_same_trees_as_xgboost(weighted):
    _, ours, theirs = both(weighted)
    theirs = from_xgboost_json(bytes(theirs.save_raw("json")))
    assert ours.ensemble.base_score == pytest.approx(theirs.base_score, rel=2e-6)
    for a, b in zip(ours.ensemble.trees, theirs.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value, b.value, atol=2e-5)


def test_files_go_both_ways(tmp_path):
    X, ours, theirs = both()
    xgboost = pytest.importorskip("xgboost")
    ours.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    mine = ours.predict(X, device=TEST_DEVICE)
    np.testing.assert_allclose(mine, booster.predict(xgboost.DMatrix(X)), rtol=1e-5)
    theirs.save_model(tmp_path / "theirs.json")
    read = Model.load_model(tmp_path / "theirs.json")
    assert read.ensemble.objective == "survival:cox"
    predicted = theirs.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(read.predict(X, device=TEST_DEVICE), predicted, rtol=1e-5)
    assert Model.load_model(tmp_path / "ours.json").ensemble == ours.ensemble
