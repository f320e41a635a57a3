"""``survival:aft``: kernels as the twin, the twin as float64, trees and files as XGBoost's."""

import math

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTRegressor, Model, cv, train
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model import from_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.objectives.survival import log_bounds
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.objectives.given import device_gradients
from tests.objectives.survival_samples import times
from tests.reference.train import train_reference

CASES = [(name, scale) for name in ("normal", "logistic", "extreme") for scale in (1.0, 0.4, 2.5)]

THOROUGH = {
    "test_kernels_are_the_twin": lambda name, scale, wg_size: scale != 1.0 and wg_size != 64,
    "test_same_trees_as_xgboost": lambda case, weighted: weighted != (case[1] == 1.0),
}


def aft(distribution, scale):
    given = {"aft_loss_distribution": distribution, "aft_loss_distribution_scale": scale}
    return get_objective("survival:aft", given)


def bounds_of(rng, n):
    """Return lower and upper bounds: known, left-, right- and interval-censored, some narrow."""
    lower = np.exp(rng.standard_normal(n) * 2).astype(np.float32)
    upper = lower * (1 + rng.choice([1e-5, 1e-2, 0.3, 5], n)).astype(np.float32)
    kind = rng.integers(0, 4, n)
    upper[kind == 0] = lower[kind == 0]
    lower[kind == 1] = 0
    upper[kind == 2] = np.inf
    return lower, upper


def dataset(lower, upper, X=None, weight=None):
    X = np.zeros((lower.size, 1)) if X is None else X
    return Dataset(X, weight=weight, label_lower_bound=lower, label_upper_bound=upper)


def normal64(lower, upper):
    """Return gradient and Hessian by z, by moments of the truncated normal distribution."""
    points, weights = np.polynomial.legendre.leggauss(400)
    low, high = np.maximum(lower, -12), np.minimum(upper, 12)
    z = low[:, None] + (high - low)[:, None] * (points + 1) / 2
    density = weights * np.exp(-z * z / 2)
    total = density.sum(axis=1)
    mean = (density * z).sum(axis=1) / total
    spread = (density * (z - mean[:, None]) ** 2).sum(axis=1) / total
    return -mean, 1 - spread


def formula64(name, lower, upper):
    """Return gradient and Hessian by z, by density and its derivatives (XGBoost's formulas)."""

    def of(z):
        """Return the share above z, the density and its first two derivatives."""
        with np.errstate(over="ignore", invalid="ignore"):
            w = np.exp(z)
            if name == "logistic":
                above, density = 1 / (1 + w), np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2
                bend = -np.tanh(z / 2)
                found = above, density, density * bend, density * (bend**2 - 2 * density)
            else:
                above = np.exp(-w)
                density = w * above
                found = above, density, (1 - w) * density, (w * w - 3 * w + 1) * density
        return [np.where(np.isposinf(z), 0, part) for part in found]

    low, high = of(lower), of(upper)
    share, density, slope = low[0] - high[0], high[1] - low[1], high[2] - low[2]
    with np.errstate(invalid="ignore", divide="ignore"):
        known = low[2] / low[1], (low[2] ** 2 - low[1] * low[3]) / low[1] ** 2
        between = density / share, (density**2 - share * slope) / share**2
    same = lower == upper
    return [np.where(same, a, b) for a, b in zip(known, between, strict=True)]


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_gradients_are_derivatives(name, scale):
    rng = np.random.default_rng(3)
    lower, upper = bounds_of(rng, 4000)
    margin = np.log(np.where(lower > 0, lower, upper)) + rng.uniform(-2.5, 2.5, 4000) * scale
    margin = margin.astype(np.float32)
    g, h = aft(name, scale).gradients(margin[None], dataset(lower, upper))
    with np.errstate(divide="ignore"):
        near, far = ((np.log(b.astype(float)) - margin) / scale for b in (lower, upper))
    if name == "normal":
        first, second = normal64(near, far)
    else:
        apart = (lower == upper) | (upper > 1.1 * lower)  # differences of others are noise
        g, h, near, far = g[:, apart], h[:, apart], near[apart], far[apart]
        first, second = formula64(name, near, far)
    wanted = np.clip(first / scale, -15, 15), np.clip(second / scale**2, 1e-16, 15)
    np.testing.assert_allclose(g[0], wanted[0], rtol=3e-6, atol=3e-6 / scale)
    near = 2e-5 if name == "normal" else 2e-6
    np.testing.assert_allclose(h[0], wanted[1], rtol=near, atol=near / scale**2)


@pytest.mark.parametrize("name", ["normal", "logistic", "extreme"])
def test_far_from_the_margin(name):
    """Limits are those of XGBoost: nothing overflows, nothing is lost."""
    margin = np.float32([-1e30, -1000, -50, -20, 20, 50, 1000, 1e30])
    one = np.ones(8, np.float32)
    kinds = {
        "known": (one, one), "right": (one, one * np.inf), "left": (one * 0, one),
        "between": (one, one * 3),
    }  # fmt: skip
    objective = aft(name, 1.0)
    for kind, (lower, upper) in kinds.items():
        g, h = objective.gradients(margin[None], dataset(lower, upper))
        assert np.isfinite([g, h]).all()
        assert (h >= np.float32(1e-16)).all()
        late = {"normal": 15, "logistic": 1, "extreme": 1}[name] if kind != "right" else 0
        soon = 0 if kind == "left" else {"normal": -15, "logistic": -1, "extreme": -15}[name]
        np.testing.assert_allclose(g[0, -4:], late, atol=1e-6)
        np.testing.assert_allclose(g[0, :4], soon, atol=1e-6)


def test_hessians_of_known_times_are_exact():
    margin = np.float32([-3e4, -100, -1, 0, 1, 100, 3e4])
    label = np.full(7, np.float32(2))
    assert aft("normal", 1.0).gradient(margin, label)[1].tolist() == [1] * 7
    assert aft("normal", 0.5).gradient(margin, label)[1].tolist() == [4] * 7


@pytest.mark.parametrize("wg_size", [1, 64, 256])
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_kernels_are_the_twin(device, name, scale, wg_size):
    rng = np.random.default_rng(wg_size)
    lower, upper = bounds_of(rng, 3001)
    objective, data = aft(name, scale), dataset(lower, upper)
    for spread in (0, 2, 40, 1e6):
        margin = (rng.standard_normal(3001) * spread).astype(np.float32)
        found = device_gradients(device, objective, margin, data, wg_size)
        for got, wanted in zip(found, objective.gradients(margin[None], data), strict=True):
            assert_same_bits(got, wanted[0], f"spread {spread}")


def test_log_bounds():
    low, high = log_bounds(np.float32([0, 1, 2]), np.float32([1, np.inf, 2]))
    assert low.tolist()[:2] == [np.float32(-1e35), 0]
    assert high.tolist()[:2] == [0, np.float32(1e35)]
    assert low[2] == high[2] == np.float32(math.log(2))


def survival(seed=0, n=900):
    """Return X and bounds of every kind."""
    X, label = times(seed, n)
    lower, upper = np.abs(label), np.where(label > 0, label, np.inf).astype(np.float32)
    kind = np.random.default_rng(seed).integers(0, 4, n)
    lower = np.where(kind == 0, 0, lower).astype(np.float32)
    upper = np.where(kind == 1, 1.5 * np.abs(label), upper).astype(np.float32)
    return X, lower, upper


@pytest.mark.parametrize(("name", "scale"), CASES[::3])
def test_fit_is_the_references(name, scale):
    X, lower, upper = survival(n=500)
    weight = np.random.default_rng(0).integers(0, 3, lower.size).astype(np.float32)
    given = {"objective": "survival:aft", "aft_loss_distribution": name, "max_depth": 3,
             "n_estimators": 4, "aft_loss_distribution_scale": scale, "max_bin": 32}  # fmt: skip
    fitted = train({**given, "device": TEST_DEVICE}, dataset(lower, upper, X, weight)).ensemble
    bounds = {"label_lower_bound": lower, "label_upper_bound": upper}
    assert fitted == train_reference(Parameters.from_dict(given), X, lower, weight, **bounds)


def both(case, weighted=False, n_rounds=8):
    """Train ours and theirs; all times are near, as XGBoost's differences are noise far away."""
    xgboost = pytest.importorskip("xgboost")
    X, lower, upper = survival(3)
    weight = np.random.default_rng(1).uniform(0.5, 2, lower.size) if weighted else None
    params = {"objective": "survival:aft", "max_depth": 4, "learning_rate": 0.2, "base_score": 12,
              "aft_loss_distribution": case[0], "aft_loss_distribution_scale": case[1],
              "eval_metric": ["aft-nloglik", "interval-regression-accuracy"]}  # fmt: skip
    matrix, log = xgboost.DMatrix(X, weight=weight), {}
    matrix.set_float_info("label_lower_bound", lower)
    matrix.set_float_info("label_upper_bound", upper)
    settings = {**params, "tree_method": "hist", "nthread": 1}
    evals = {"evals": [(matrix, "a")], "evals_result": log, "verbose_eval": False}
    theirs = xgboost.train(settings, matrix, n_rounds, **evals)
    data = dataset(lower, upper, X, weight)
    ours = train({**params, "device": TEST_DEVICE}, data, n_rounds, evals=[(data, "a")])
    for metric, values in ours.history["a"].items():
        np.testing.assert_allclose(values, log["a"][metric], rtol=1e-5)
    return X, ours, theirs


@pytest.mark.few(2)
@pytest.mark.more(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", [case for case in CASES if case[1] >= 1], ids=str)
def test_same_trees_as_xgboost(case, weighted):
    _, ours, theirs = both(case, weighted)
    theirs = from_xgboost_json(bytes(theirs.save_raw("json")))
    assert ours.ensemble.base_score == pytest.approx(theirs.base_score)
    for a, b in zip(ours.ensemble.trees, theirs.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value, b.value, atol=3e-5)


@pytest.mark.parametrize("case", CASES[2::3], ids=str)
def test_files_go_both_ways(case, tmp_path):
    X, ours, theirs = both(case)
    xgboost = pytest.importorskip("xgboost")
    ours.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    mine = ours.predict(X, device=TEST_DEVICE)
    np.testing.assert_allclose(mine, booster.predict(xgboost.DMatrix(X)), rtol=1e-5)
    assert booster.save_config().count(f'"aft_loss_distribution":"{case[0]}"') >= 1
    theirs.save_model(tmp_path / "theirs.json")
    read = Model.load_model(tmp_path / "theirs.json")
    assert read.objective == aft(case[0], float(np.float32(case[1])))
    predicted = theirs.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(read.predict(X, device=TEST_DEVICE), predicted, rtol=1e-5)
    assert Model.load_model(tmp_path / "ours.json").ensemble == ours.ensemble
    text = (tmp_path / "ours.json").read_text()
    wrong = text.replace(f'"aft_loss_distribution":"{case[0]}"', '"aft_loss_distribution":"x"')
    with pytest.raises(ModelFormatError, match="'normal', 'logistic', 'extreme'"):
        from_xgboost_json(wrong)


def test_slices_digests_and_cross_validation():
    X, lower, upper = survival(n=200)
    data = dataset(lower, upper, X)
    some = data.slice([3, 1, 150])
    assert some.label_lower_bound.tolist() == lower[[3, 1, 150]].tolist()
    assert some.label_upper_bound.tolist() == upper[[3, 1, 150]].tolist()
    other = dataset(lower, np.where(np.isinf(upper), np.float32(1e9), upper), X).digests()
    differing = {name for name, digest in data.digests().items() if digest != other[name]}
    assert differing == {"label_upper_bound"}
    assert "label_upper_bound" not in Dataset(X, lower).digests()
    params = {"objective": "survival:aft", "max_depth": 3, "device": TEST_DEVICE}
    found = cv(params, data, 5, metrics="aft-nloglik", as_pandas=False)
    assert found["test-aft-nloglik-mean"][-1] < found["test-aft-nloglik-mean"][0]


def test_labels_alone_are_known_times():
    X, label = times(1, 300)
    label = np.abs(label)
    params = {"objective": "survival:aft", "device": TEST_DEVICE, "n_estimators": 3}
    alone = train(params, Dataset(X, label)).ensemble
    assert alone == train(params, dataset(label, label, X)).ensemble
    assert alone.base_score == 0.5  # as XGBoost's, whatever the data
    model = GBDTRegressor(aft_loss_distribution="logistic", **params).fit(X, label)
    assert model.model_.ensemble.objective_parameters == {"aft_loss_distribution": "logistic"}
    with pytest.raises(DataError, match=r"expected label > 0 .*give label_lower_bound"):
        train(params, Dataset(X, -label))
    with pytest.raises(DataError, match="label is None: expected a number per row"):
        train(params, Dataset(X))


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([1, -1, 1], [1, 2, 3], "label_lower_bound holds -1.0 at row 1.*expected a number >= 0"),
        ([0, 0, 1], [1, 0, 3], "label_upper_bound holds 0.0 at row 1.*expected a number > 0"),
        ([1, 2, 4], [1, 2, 3], "label_upper_bound holds 3.0 at row 2.*label_lower_bound or more"),
        ([1, 2, np.inf], [1, 2, np.inf], "label_lower_bound holds 1 infinite .*at row 2"),
        ([1, 2, 3], [1, 2, np.nan], "label_upper_bound .*at row 2"),
        (
            [1, 2, 3],
            [1, 2, -np.inf],
            r"label_upper_bound holds 1 infinite value, the first \(-inf\) at",
        ),
        ([1, 2], [1, 2, 3], "label_lower_bound has 2 values, X has 3 rows"),
        ([1, 2, 3], ["a", "b", "c"], "label_upper_bound holds 'a'"),
        ([1, 2, 3], None, "label_lower_bound without label_upper_bound: expected both"),
        (None, [1, 2, 3], "label_upper_bound without label_lower_bound: expected both"),
    ],
)
def test_bad_bounds(lower, upper, message):
    with pytest.raises(DataError, match=message):
        Dataset(np.zeros((3, 1)), [1, 2, 3], label_lower_bound=lower, label_upper_bound=upper)


def test_bad_parameters():
    with pytest.raises(ParameterError, match="aft_loss_distribution='gumbel': expected 'normal'"):
        Parameters.from_dict({"aft_loss_distribution": "gumbel"})
    with pytest.raises(ParameterError, match=r"aft_loss_distribution_scale=0.0: expected"):
        Parameters.from_dict({"aft_loss_distribution_scale": 0.0})
    metric = get_metric("aft-nloglik", Parameters.from_dict({"aft_loss_distribution": "extreme"}))
    rows = dataset(np.float32([1]), np.float32([1]))
    assert metric(np.zeros(1, np.float32), rows) == pytest.approx(1.0)
