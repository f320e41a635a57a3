"""Gradients are derivatives, links invert each other, numbers reach the kernel exactly."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import margin_from_base_score
from pyopencl_gbdt.numerics.expressions import evaluate, literal
from pyopencl_gbdt.objectives import OBJECTIVES, get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import OBJECTIVES as NAMES
from tests.objectives.samples import NEEDED, ONE_OUTPUT, PER_ROW, label_of, name_of


def cross_entropy(m, y, s=1.0):
    return np.where(y == 1, s, 1.0) * (np.logaddexp(0, m) - y * m)


def tweedie(m, y, rho=1.5):
    b = np.exp((2 - rho) * m) / (2 - rho)
    return b - (y * m if rho == 1 else y * np.exp((1 - rho) * m) / (1 - rho))


def huber(m, y, alpha=0.9):
    d = np.abs(m - y)
    return np.where(d <= alpha, d * d / 2, alpha * (d - alpha / 2))


#: The losses in float64, of margin, label and the loss's own number.
LOSS = {
    "reg:squarederror": lambda m, y: (m - y) ** 2 / 2,
    "reg:squaredlogerror": lambda m, y: (np.log1p(m) - np.log1p(y)) ** 2 / 2,
    "reg:pseudohubererror": lambda m, y, s=1.0: s * s * (np.sqrt(1 + ((m - y) / s) ** 2) - 1),
    "reg:gamma": lambda m, y: y * np.exp(-m) + m,
    "reg:tweedie": tweedie,
    "count:poisson": lambda m, y, _=0.7: np.exp(m) - y * m,
    **dict.fromkeys(
        ("reg:logistic", "binary:logistic", "binary:logitraw", "cross_entropy"), cross_entropy
    ),
    "binary:hinge": lambda m, y: np.maximum(0, 1 - m * (2 * y - 1)),
    "huber": huber,
    "fair": lambda m, y, c=1.0: c * np.abs(m - y) - c * c * np.log1p(np.abs(m - y) / c),
    "mape": lambda m, y: np.abs(m - y) / np.maximum(1, np.abs(y)),
    "reg:absoluteerror": lambda m, y: np.abs(m - y),
    "reg:expectileerror": lambda m, y, a=0.5: np.where(m < y, a, 1 - a) * (m - y) ** 2 / 2,
    "reg:quantileerror": lambda m, y, a=0.5: np.maximum(a * (y - m), (a - 1) * (y - m)),
}
#: Hessians that are no second derivatives; Poisson's is multiplied by e^max_delta_step.
CONSTANT = ("huber", "mape", "binary:hinge", "reg:absoluteerror", "reg:quantileerror")


def drawn(objective, n=4000):
    rng = np.random.default_rng(5)
    margin = rng.uniform(-0.9 if objective == "reg:squaredlogerror" else -3, 3, n)
    return margin.astype(np.float32), label_of(objective, rng.normal(size=n), rng)


@pytest.mark.parametrize("case", PER_ROW, ids=name_of)
def test_gradients_are_derivatives(case):
    name, params = case
    margin, label = drawn(name)
    g, h = get_objective(name, params).gradient(margin, label)
    m, y, e = margin.astype(np.float64), label.astype(np.float64), 1e-4

    def loss(at):
        return LOSS[name](at, y, *params.values())

    first = (loss(m + e) - loss(m - e)) / (2 * e)
    second = (loss(m + e) - 2 * loss(m) + loss(m - e)) / (e * e)
    smooth = np.abs(second) < 100  # not at a kink
    np.testing.assert_allclose(g[smooth], first[smooth], rtol=2e-5, atol=2e-4)
    if name == "count:poisson":
        second = second * np.exp(next(iter(params.values()), 0.7))
    if name in CONSTANT:
        assert set(np.unique(h)) <= {0.0, 1.0}
    else:
        wanted = np.maximum(second, 1e-6)
        np.testing.assert_allclose(h[smooth], wanted[smooth], rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("case", PER_ROW, ids=name_of)
def test_finite_for_finite_numbers(case):
    name, params = case
    edges = np.float32([0, 1e-45, 1e-30, 1, 50, 80, 100, 1e10, 1e30, 3e38])
    margin, label = (a.ravel() for a in np.meshgrid(np.r_[-edges, edges], np.r_[-edges, edges]))
    ok = label > -1 if name == "reg:squaredlogerror" else label >= 0
    if name.startswith("binary") or name in ("reg:logistic", "cross_entropy"):
        ok &= label <= 1
    if name == "reg:squarederror":
        ok &= np.abs(margin.astype(float) - label) < 3e38  # a difference has to be a float
    with np.errstate(all="ignore"):
        g, h = get_objective(name, params).gradient(margin[ok], label[ok])
    assert g.dtype == h.dtype == np.float32
    assert np.isfinite(g).all()
    assert np.isfinite(h).all()
    assert (h >= 0).all()


@pytest.mark.parametrize("name", sorted({name for name, _ in ONE_OUTPUT}))
def test_links_invert_each_other(name):
    objective = get_objective(name)
    if name == "binary:hinge":
        assert objective.to_prediction(np.float32([-1, 0, 1e-30, 2])).tolist() == [0, 0, 1, 1]
        return
    for score in (0.03, 0.5, 0.9):
        margin = objective.to_margin(score)
        assert margin == np.float32(margin) == margin_from_base_score(name, score)
        assert objective.to_prediction(np.float32([margin]))[0] == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize("name", NEEDED)
def test_classes(name):
    """Gradients of -log softmax, the diagonal of its Hessian twice, and its mean at the start."""
    objective, rng = get_objective(name, NEEDED[name]), np.random.default_rng(1)
    k = objective.n_outputs
    margins = rng.normal(0, 2, (k, 500)).astype(np.float32)
    label = rng.integers(0, k, 500).astype(np.float32)
    g, h = objective.gradient(margins, label)
    assert g.dtype == h.dtype == np.float32
    m, e = margins.astype(np.float64), 1e-4

    def loss(m):
        return np.log(np.exp(m).sum(axis=0)) - m[label.astype(int), np.arange(500)]

    for output in range(k):
        step = e * (np.arange(k) == output)[:, None]
        first = (loss(m + step) - loss(m - step)) / (2 * e)
        second = (loss(m + step) - 2 * loss(m) + loss(m - step)) / (e * e)
        np.testing.assert_allclose(g[output], first, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(h[output], 2 * second, rtol=1e-4, atol=2e-6)
    edges = np.float32([-3e38, -1e30, -50, 0, 1e-30, 50, 1e10, 1.5e38])
    with np.errstate(all="ignore"):
        for margin in (np.resize(edges, (k, 40)), np.repeat(edges[None], k, axis=0)):
            g, h = objective.gradient(margin, np.zeros(margin.shape[1], np.float32))
            assert np.isfinite(g).all()
            assert (h > 0).all()
    shares = np.bincount(label.astype(int), minlength=k) / label.size
    start = np.float32(objective.to_margin(objective.starting_scores(label, None)))[:, None]
    np.testing.assert_allclose(objective.to_probability(start)[:, 0], shares, rtol=1e-6)


def test_every_loss_is_listed_once():
    assert tuple(OBJECTIVES) == NAMES
    assert all(objective.name == name for name, objective in OBJECTIVES.items())


def test_own_parameters():
    p = Parameters.from_dict({"objective": "reg:tweedie", "tweedie_variance_power": 1.3})
    objective = get_objective(p.objective, p)
    assert objective.parameters == {"tweedie_variance_power": float(np.float32(1.3))}
    assert objective.metric == "tweedie-nloglik@1.3"
    assert get_objective("reg:tweedie", objective.parameters).kernel == objective.kernel
    assert get_objective("reg:tweedie").parameters == {}
    assert get_objective("reg:squarederror", p).parameters == {}
    poisson = get_objective("count:poisson", Parameters.from_dict({"objective": "count:poisson"}))
    assert poisson.parameters == {}
    with pytest.raises(ParameterError, match="expected one of"):
        get_objective("rank:nothing")


def test_numbers_in_kernels_are_exact():
    assert literal(1.0) == "as_f32(0x3F800000u)"
    assert literal(-0.1) == "as_f32(0xBDCCCCCDu)"
    assert "as_f32(0x40600000u)" in get_objective("huber", {"huber_alpha": 3.5}).kernel


def test_gradients_of_a_class_whose_margin_grows():
    """Those of softmax at the margins of all classes, from the share of the class alone."""
    objective, rng = get_objective("multi:softprob", {"num_class": 4}), np.random.default_rng(2)
    margins = rng.normal(0, 2, (4, 500)).astype(np.float32)
    label = rng.integers(0, 4, 500).astype(np.float32)
    added = rng.normal(0, 3, 500).astype(np.float32)
    g, h = objective.gradient(margins, label)
    for output in range(4):
        grown = margins.copy()
        grown[output] += added
        wanted_g, wanted_h = objective.gradient(grown, label)
        found_g, found_h = evaluate(objective.moved, g[output], h[output], added)
        np.testing.assert_allclose(found_g, wanted_g[output], rtol=1e-4, atol=2e-6)
        np.testing.assert_allclose(found_h, wanted_h[output], rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("added", [-3e38, -100, 0, 100, 3e38])
def test_gradients_of_a_class_stay_finite(added):
    objective = get_objective("multi:softprob", {"num_class": 2})
    g = np.float32([-1, -1e-30, 0, 1e-30, 1])
    moved = evaluate(objective.moved, g, np.full_like(g, 1e-16), np.full_like(g, added))
    assert np.isfinite(moved).all()
    assert (moved[1] > 0).all()
