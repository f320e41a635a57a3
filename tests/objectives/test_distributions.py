"""Losses of distributions: gradients by float64, the bits of the twin, metrics, files, errors."""

import math

import numpy as np
import pytest
from scipy import special, stats

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, Model, train
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.explain import select_features
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.metrics.distributions import crps, nll, row_loss_by_name
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_reader import OBJECTIVE_KEY
from pyopencl_gbdt.numerics.portable_loss import digamma_rest, gamma_rest, trigamma_rest
from pyopencl_gbdt.numerics.quantile_functions import gamma_quantile, negative_binomial_quantile
from pyopencl_gbdt.objectives import get_objective
from tests.beside_twin import trained_as_twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, run

NAMES = ["dist:normal", "dist:lognormal", "dist:gamma", "dist:negative_binomial"]
STRATEGIES = ["one_output_per_tree", "multi_output_tree"]
PARAMS = {"max_depth": 3, "n_estimators": 4, "max_bin": 16, "device": TEST_DEVICE, "verbosity": 0}
RNG = np.random.default_rng(7)
X = RNG.normal(size=(600, 4)).astype(np.float32)
MEAN, SHAPE = np.exp(X[:, 0] / 2), np.exp(1 + X[:, 2] / 2)
LABELS = {
    "dist:normal": X[:, 0] + np.exp(X[:, 2] / 2) * RNG.normal(size=600),
    "dist:lognormal": MEAN * np.exp(np.exp(X[:, 2] / 4) * RNG.normal(size=600) / 2),
    "dist:gamma": RNG.gamma(SHAPE, MEAN / SHAPE),
    "dist:negative_binomial": RNG.negative_binomial(SHAPE, SHAPE / (SHAPE + 3 * MEAN)),
}
LABELS = {name: label.astype(np.float32) for name, label in LABELS.items()}
WEIGHTS = RNG.integers(0, 4, 600).astype(np.float32)


def frozen(name, first, second):
    """Return the distribution of scipy."""
    if name == "dist:normal":
        return stats.norm(first, second)
    if name == "dist:lognormal":
        return stats.lognorm(second, scale=np.exp(first))
    if name == "dist:gamma":
        return stats.gamma(second, scale=first / second)
    return stats.nbinom(second, second / (second + first))


def loss64(name, first, second, label):
    """Return the loss of margins."""
    first = np.exp(first) if name in NAMES[2:] else first
    one = frozen(name, first, np.exp(second))
    return -(one.logpmf(label) if name == NAMES[3] else one.logpdf(label))


def test_functions_beside_the_gamma_function():
    x = np.geomspace(1e-6, 1e6, 100_001).astype(np.float32)
    x = np.r_[x, np.float32([4, np.nextafter(np.float32(4), np.float32(0))])]
    wide = x.astype(np.float64)
    log = np.log(wide)
    for found, wanted, most in (
        (digamma_rest(x), wide * (log - special.digamma(wide)), 2e-6),
        (trigamma_rest(x), wide * (wide * special.polygamma(1, wide) - 1), 2e-6),
        (gamma_rest(x), special.gammaln(wide) - wide * log + wide + log / 2, 3e-6),
    ):
        assert (np.abs(found - wanted) < most * np.maximum(1, np.abs(wanted))).all()
    far = np.float32([1e-25, 1e25])
    np.testing.assert_array_equal(digamma_rest(far), np.float32([1, 0.5]))
    np.testing.assert_array_equal(trigamma_rest(far), np.float32([1, 0.5]))
    assert gamma_rest(far)[1] == np.float32(0.918938518)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_derivatives_divided_by_a_positive_number(name):
    """That of dist:normal's mean is natural: the derivative times the variance."""
    objective, label = get_objective(name), LABELS[name]
    margins = RNG.uniform(-1, 1.5, (2, 600)).astype(np.float32)
    g, h = objective.gradient(margins, label)
    first, second = margins.astype(np.float64)
    e, y = 1e-5, label.astype(np.float64)
    wanted = [
        (loss64(name, first + a, second + b, y) - loss64(name, first - a, second - b, y)) / (2 * e)
        for a, b in ((e, 0), (0, e))
    ]
    wanted[0] *= np.exp({NAMES[2]: -second, NAMES[3]: 0}.get(name, 2 * second))
    wanted[1] *= 0.5 if name in NAMES[:2] else 1
    np.testing.assert_allclose(g, wanted, rtol=2e-4, atol=2e-5)
    assert (h > 0).all()
    if name != NAMES[3]:
        assert (np.abs(g[1]) <= 2.0001 * h[1]).all()  # no step is longer


@pytest.mark.parametrize("name", NAMES)
def test_hessians_are_the_information_in_the_mean(name):
    """The mean of squared gradients too, where both are of the same scale."""
    objective, n = get_objective(name), 200_000
    for margins in ([0.3, -0.2], [1.2, 1.0]):
        both = np.repeat(np.float32(margins)[:, None], n, axis=1)
        one = frozen(name, *objective.to_probability(both[:, :1]).astype(np.float64)[:, 0])
        y = one.rvs(n, random_state=3).astype(np.float32)
        g, h = objective.gradient(both, y)
        np.testing.assert_allclose(g.mean(axis=1), 0, atol=0.02)
        scale = 0.5 if name in NAMES[:2] else 1.0  # both halved
        information = np.square(g[1]).mean() / scale
        if name == NAMES[3]:
            assert information < h[1].mean() < 1.6 * information
            assert h[0].mean() == pytest.approx(np.square(g[0]).mean(), rel=0.03)
        else:
            assert h[1].mean() == pytest.approx(information, rel=0.03)
            assert h[0].mean() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_finite_for_finite_numbers(name):
    edges = np.float32([-3e38, -1e10, -80, -20, -1, 0, 1e-30, 1, 20, 80, 1e10, 3e38])
    labels = np.float32([0, 1e-45, 1e-30, 0.5, 1, 7, 1e10, 3e38])
    grid = np.meshgrid(edges, edges, labels if name != NAMES[0] else edges)
    first, second, label = (part.ravel() for part in grid)
    objective, margins = get_objective(name), np.stack([first, second])
    g, h = objective.gradient(margins, label)
    assert np.isfinite(g).all()
    assert (h > 0).all()
    assert np.isfinite(h).all()
    assert np.isfinite(objective.to_prediction(margins)).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["", "weights"])
def test_the_first_margins_have_the_labels_mean_and_variance(name, weight):
    objective, label = get_objective(name), LABELS[name]
    margins = np.array(objective.starting_scores(label, weight), np.float32)[:, None]
    one = frozen(name, *objective.to_probability(margins).astype(np.float64)[:, 0])
    values = np.log(label) if name == NAMES[1] else label
    mean = np.average(values, weights=weight)
    variance = np.average((values - mean) ** 2, weights=weight)
    if name == NAMES[1]:
        assert margins[0, 0] == pytest.approx(mean, rel=1e-5)
        assert np.exp(2 * margins[1, 0]) == pytest.approx(variance, rel=1e-4)
    else:
        assert one.mean() == pytest.approx(mean, rel=1e-5)
        assert one.var() == pytest.approx(variance, rel=1e-4)


def test_starts_of_labels_without_variance():
    for name in NAMES:
        start = get_objective(name).starting_scores(np.full(9, 3, np.float32), None)
        assert all(map(math.isfinite, start)), name
    zeros = get_objective("dist:negative_binomial").starting_scores(np.zeros(9, np.float32), None)
    assert all(map(math.isfinite, zeros))
    huge = get_objective("dist:normal").starting_scores(np.float32([-3e38, 3e38]), None)
    assert huge[1] == pytest.approx(math.log(3e38), rel=1e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", NAMES)
def test_bits_are_those_of_the_twin(name, strategy):
    params = {**PARAMS, "objective": name, "multi_strategy": strategy}
    found = trained_as_twin(params, X, LABELS[name], WEIGHTS).ensemble
    assert (found.leaves.name == "vectors") == (strategy == "multi_output_tree")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_is_scipys_and_grows(name):
    params = {**PARAMS, "objective": name, "n_estimators": 12}
    data = Dataset(X, LABELS[name], WEIGHTS)
    model = train(params, data, evals=[(data, "rows")])
    found = model.history["rows"]["nll"]
    assert found[-1] < found[0] - 0.05
    parts = model.predict_distribution(X, device=TEST_DEVICE)
    assert [*parts] == [*get_objective(name).parameter_names]
    one = frozen(name, *(part.astype(np.float64) for part in parts.values()))
    y = LABELS[name].astype(np.float64)
    each = -(one.logpmf(y) if name == NAMES[3] else one.logpdf(y))
    assert found[-1] == pytest.approx(np.average(each, weights=WEIGHTS), rel=2e-6)
    mean = model.predict(X, device=TEST_DEVICE)
    assert mean.shape == (600,)
    np.testing.assert_allclose(mean, one.mean(), rtol=1e-5)
    margins = model.predict(X, output_margin=True, device=TEST_DEVICE)
    assert margins.shape == (600, 2)


def test_crps_is_the_integral():
    rng = np.random.default_rng(1)
    mean, std, y = rng.normal(size=50), rng.gamma(2, 1, 50), 3 * rng.normal(size=50)
    grid = np.linspace(-60, 60, 120_001)
    wanted = [
        np.sum((stats.norm(m, s).cdf(grid) - (grid >= v)) ** 2) * (grid[1] - grid[0])
        for m, s, v in zip(mean, std, y, strict=True)
    ]
    parts = np.float32([mean, std])
    assert get_metric("crps")(np.float32(y), parts, None) == pytest.approx(
        np.mean(wanted), rel=1e-3
    )


def test_losses_far_from_the_mean_are_finite_and_metrics_are_refused():
    parts = np.float32([[1, 1, 1, 1], [1e-20, 1e20, 1, 1]])
    label = np.float32([0, 1e30, 1e9, 1])
    for name in NAMES:
        assert not np.isnan(row_loss_by_name(nll, name).twin(parts, label, 1)).any()
    data = Dataset(X, LABELS["dist:gamma"])
    for metric in ("rmse", "crps"):
        with pytest.raises(ParameterError, match=f"eval_metric='{metric}': .* try 'nll'"):
            train({**PARAMS, "objective": "dist:gamma"}, data, eval_metric=metric)
    with pytest.raises(
        ParameterError, match="eval_metric='nll': it fits numbers of a distribution"
    ):
        train(PARAMS, data, eval_metric="nll")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [*NAMES, "crps"])
def test_kernels_of_metrics_are_the_twin(device, name):
    metric = crps if name == "crps" else nll
    name = "dist:normal" if name == "crps" else name
    loss, objective = row_loss_by_name(metric, name), get_objective(name)
    margins = RNG.uniform(-1, 1.5, (2, 600)).astype(np.float32)
    for weight in (None, WEIGHTS):
        words = run(MeanLoss(evaluated(device, margins, LABELS[name], weight), loss))
        losses = loss.twin(objective.to_probability(margins), LABELS[name], np.float32(1))
        assert_same_bits(words[0, :5], sum_words(losses, weight))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_keep_a_distribution_or_refuse_it(strategy, tmp_path):
    params = {**PARAMS, "objective": "dist:gamma", "multi_strategy": strategy}
    model = train(params, Dataset(X, LABELS["dist:gamma"]))
    for name in ("m.gbdt", "m.json", "m.gbdt.json"):
        model.save_model(tmp_path / name)
        again = Model.load_model(tmp_path / name)
        assert again.ensemble == (
            model.ensemble if name == "m.gbdt" else model.ensemble.with_numbers()
        ) or again.ensemble == model.ensemble  # fmt: skip
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for name in ("m.ubj", "m.txt", "m.onnx", "m.c", "m.py", "m.catboost.json"):
        with pytest.raises(ModelFormatError, match="lacks outputs that are parameters of one dist"):
            model.save_model(tmp_path / name)
    more = train({**params, "n_estimators": 2}, Dataset(X, LABELS["dist:gamma"]), model=model)
    whole = train({**params, "n_estimators": 6}, Dataset(X, LABELS["dist:gamma"]))
    assert more.ensemble == whole.ensemble


def test_a_file_with_another_number_of_outputs():
    text = to_xgboost_json(train(PARAMS, Dataset(X, X[:, :3])).ensemble)
    own = f'"{OBJECTIVE_KEY}":"'
    wrong = text.replace(f"{own}reg:squarederror", f"{own}dist:normal")
    assert wrong != text
    with pytest.raises(ModelFormatError, match=r"num_target.*expected 2 outputs for dist:normal"):
        Model.load_model(wrong.encode())


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_are_scipys(name):
    rng = np.random.default_rng(2)
    first, second = np.exp(rng.uniform(-3, 6, 200)), np.exp(rng.uniform(-4, 8, 200))
    if name in NAMES[:2]:
        first, second = np.log(first), np.minimum(second, 3)
    for level in (0.005, 0.05, 0.5, 0.95, 0.999):
        found = get_objective(name).quantile_of(first, second, level)
        wanted = frozen(name, first, second).ppf(level)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-30)


def test_shares_of_extreme_parameters():
    shape = np.exp(np.linspace(-10, 15, 50))
    for level in (0.01, 0.99):
        found = gamma_quantile(shape, level)
        assert np.isfinite(found).all()
        assert (found[shape > 0.2] > 0).all()
    counts = negative_binomial_quantile(
        np.float64([1e-3, 1, 1e4]), np.float64([1e-4, 1e6, 50]), 0.5
    )
    np.testing.assert_array_equal(counts, stats.poisson(1).ppf(0.5) * np.float64([0, 1, 0])
                                  + np.float64([0, 0, counts[2]]))  # fmt: skip
    assert counts[2] == stats.nbinom(50, 50 / 10050).ppf(0.5)


def test_quantiles_of_counts_above_all_integers_of_float64():
    mean = np.exp(np.float64([37, 50, 60, 60]))
    size = np.exp(np.float64([12, 5, 15, 0]))
    found = negative_binomial_quantile(mean, size, 0.95)
    np.testing.assert_allclose(found, stats.gamma(size, scale=mean / size).ppf(0.95), rtol=1e-5)


def test_quantiles_of_means_near_zero():
    mean, size = np.exp(np.float64([-60, -40, -60])), np.exp(np.float64([15, 0, -10]))
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        found = negative_binomial_quantile(mean, size, 0.999)
    np.testing.assert_array_equal(found, 0)


def test_quantiles_of_lognormal_margins_that_overflow():
    found = get_objective("dist:lognormal").quantile_of(
        np.float64([3, 88, 1e30, -1e30]), np.float64([1, 2, 1, 1]), 0.975
    )
    most = np.finfo(np.float32).max
    np.testing.assert_array_equal(found.astype(np.float32)[1:], np.float32([most, most, 0]))
    assert found[0] == pytest.approx(np.exp(3 + stats.norm.ppf(0.975)))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_quantiles_of_the_distribution(name):
    model = GBDTRegressor(objective=name, n_estimators=20, learning_rate=0.2, max_depth=2,
                          device=TEST_DEVICE).fit(X, LABELS[name])  # fmt: skip
    ends = model.predict_interval(X, coverage=0.8)
    assert ends.dtype == np.float32
    assert ends.shape == (600, 2)
    inside = (ends[:, 0] <= LABELS[name]) & (LABELS[name] <= ends[:, 1])
    assert 0.76 < inside.mean() < 0.93
    one = frozen(
        name, *(part.astype(np.float64) for part in model.predict_distribution(X).values())
    )
    np.testing.assert_allclose(ends[:, 0], one.ppf(0.1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1], one.ppf(0.9), rtol=1e-5)
    with pytest.raises(ParameterError, match="coverage=1: expected a number above 0 and below 1"):
        model.predict_interval(X, coverage=1)
    with pytest.raises(ParameterError, match=f"calibrate: objective='{name}': expected a loss"):
        model.calibrate(X, LABELS[name])


def test_estimators():
    y = LABELS["dist:normal"]
    model = GBDTRegressor(objective="dist:normal", n_estimators=200, device=TEST_DEVICE)
    model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])
    assert model.score(X[400:], y[400:]) > 0.1
    parts = model.predict_distribution(X[400:])
    np.testing.assert_array_equal(parts["mean"], model.predict(X[400:]))
    assert np.corrcoef(np.log(parts["std"]), X[400:, 2])[0, 1] > 0.25
    own = model.predict_distribution(X[400:], iteration_range=(0, 1))
    assert own["std"].std() < parts["std"].std()
    with pytest.raises(ParameterError, match=r"predict_distribution: .* expected one of dist:norm"):
        GBDTRegressor(n_estimators=1, device=TEST_DEVICE).fit(X, y).predict_distribution(X)
    with pytest.raises(ParameterError, match="objective='dist:normal': expected one of"):
        GBDTClassifier(objective="dist:normal").fit(X, y > 0)


@pytest.mark.thorough
def test_what_explains_a_distribution():
    y = LABELS["dist:gamma"]
    params = {**PARAMS, "objective": "dist:gamma"}
    data = Dataset(X, y)
    model = train(params, data, evals=[(data, "rows")])
    assert "distributions, 2 outputs" in str(model.describe())
    found = model.analyze(X, y)
    assert f"nll {model.history['rows']['nll'][-1]:.5f}" in str(found)
    assert model.predict(X, pred_contribs=True, device=TEST_DEVICE).shape == (600, 2, 5)
    own = GBDTRegressor(objective="dist:gamma", n_estimators=3, device=TEST_DEVICE)
    kept = select_features(own, X, y, eval_set=(X, y), num_features_to_select=2)
    assert kept.metric == "nll"
    own.set_params(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9])
    kept = select_features(own, X, y, eval_set=(X, y), num_features_to_select=2)
    assert kept.metric == "quantile"


@pytest.mark.parametrize(
    ("name", "label", "words"),
    [
        ("dist:gamma", 0, "expected label > 0 for objective='dist:gamma'"),
        ("dist:lognormal", -1, "expected label > 0 for objective='dist:lognormal'"),
        ("dist:negative_binomial", 1.5, "expected whole numbers >= 0"),
        ("dist:negative_binomial", -1, "expected whole numbers >= 0"),
    ],
)
def test_labels_outside_the_distribution(name, label, words):
    y = np.ones(600, np.float32)
    y[5] = label
    with pytest.raises(DataError, match=words):
        train({**PARAMS, "objective": name}, Dataset(X, y))
