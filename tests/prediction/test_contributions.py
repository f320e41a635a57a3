"""Contributions of features: equal to the twin, to the definition and to XGBoost's; exact sums."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.data import budget
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.numerics.quadrature import points_for
from pyopencl_gbdt.prediction.contributions import explain_rows, path_factors
from pyopencl_gbdt.prediction.contributions.explain_rows import Games
from pyopencl_gbdt.prediction.contributions.quantum import divided, to_floats
from pyopencl_gbdt.prediction.contributions.sums import pairs_to_columns, to_columns
from tests import explained
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference import contributions as twin

SHAPES = {
    "small": {},
    "outputs": {"n_outputs": 3, "n_trees": 2},
    "forest": {"n_parallel": 3, "n_trees": 2},
    "sets": {"sets": True},
    "one feature": {"n_features": 1},
    "stumps": {"n_splits": 1},
    "deep": {"n_features": 25, "n_trees": 1, "deep": 24},
    "negative": {"base": -1000.5},
}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def summed(found, margins):
    """Check that contributions add up to margins, in any order."""
    margins = margins.reshape(found.shape[:-1])
    assert_same_bits(found.sum(axis=-1), margins.astype(np.float64), "sums")
    assert_same_bits(np.add.reduce(found[..., ::-1], -1), margins.astype(np.float64), "backwards")


@pytest.mark.parametrize("n", [1, 2, 5, 8, 16, 17, 40])
def test_points_integrate_polynomials(n):
    points = points_for(n)
    t, weight = points.t.ravel(), points.weight.ravel()
    assert t.size >= n / 2
    assert points.n_each <= 8
    for degree in range(n):
        assert (weight * t**degree).sum() == pytest.approx(1 / (degree + 1), rel=1e-14)
    assert np.array_equal(points.s.ravel(), t[::-1])


@pytest.mark.parametrize("shape", SHAPES)
def test_host_equals_twin(rng, shape):
    model = explained.ensemble(rng, **SHAPES[shape])
    values = explained.rows_of(rng, 7, model.n_features)
    margins = Model(model).predict(values, output_margin=True)
    start = np.broadcast_to(np.float32(each(model.base_margin))[:, None], (model.n_outputs, 7))
    single, pairs = twin.quanta(model, values)
    got = Model(model).predict(values, pred_contribs=True)
    wanted = to_floats(single, twin.bits_of(model), margins.reshape(7, -1).T, start)
    assert_same_bits(got, wanted.reshape(got.shape), "contributions")
    summed(got, margins)
    matrices = Model(model).predict(values, pred_interactions=True)
    n = model.n_features
    off = np.ldexp(pairs.astype(np.float64), -twin.bits_of(model)).reshape(*got.shape[:-1], n, n)
    index = np.arange(n)
    assert_same_bits(matrices[..., index, index], got[..., :-1] - off.sum(-1), "diagonal")
    matrices[..., index, index] = 0
    assert_same_bits(matrices[..., :-1, :-1], off, "pairs")
    path = Model(model).predict(values, pred_contribs=True, approx_contribs=True)
    wanted = twin.path_quanta(model, values)
    wanted = to_floats(wanted, twin.bits_of(model), margins.reshape(7, -1).T, start)
    assert_same_bits(path, wanted.reshape(path.shape), "changes along paths")


@pytest.mark.parametrize("shape", ["small", "sets", "one feature"])
def test_equals_the_definition(rng, shape):
    model = explained.ensemble(rng, **SHAPES[shape])
    values, others = (explained.rows_of(rng, n, model.n_features) for n in (5, 3))
    for background in (None, others):
        single, pairs = np.zeros((5, model.n_features)), np.zeros((5, *[model.n_features] * 2))
        for tree in model.trees:
            games = [twin.Game.of_covers(tree)]
            if background is not None:
                games = [twin.Game.of_row(tree, x) for x in background]
            for game in games:
                for row, x in enumerate(values):
                    alone, both = twin.brute_force(game, x)
                    for i, own in alone.items():
                        single[row, i] += own / len(games)
                    for (i, j), own in both.items():
                        pairs[row, [i, j], [j, i]] += own / len(games)
        options = {"background": background}
        got = Model(model).predict(values, pred_contribs=True, **options)
        assert np.abs(got[:, :-1] - single).max() < 1e-6
        summed(got, Model(model).predict(values, output_margin=True))
        got = Model(model).predict(values, pred_interactions=True, **options)[:, :-1, :-1]
        got[:, np.arange(model.n_features), np.arange(model.n_features)] = 0
        assert np.abs(got - pairs).max() < 1e-6


def test_background_base_is_the_mean_margin(rng):
    model = Model(explained.ensemble(rng, n_outputs=3, n_trees=1))
    values, others = (explained.rows_of(rng, n, 5) for n in (4, 30))
    got = model.predict(values, pred_contribs=True, background=others)
    mean = model.predict(others, output_margin=True).mean(axis=0, dtype=np.float64)
    assert np.abs(got[:, :, -1] - mean).max() < 1e-6
    summed(got, model.predict(values, output_margin=True))
    many = np.repeat(others, 40, axis=0)
    assert Games(model.ensemble, many).bits == Games(model.ensemble, others).bits - 1


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 3.0, 1e30])
def test_sums_are_exact_at_every_scale(rng, scale):
    model = explained.ensemble(rng, base=0.0)
    trees = [replace(tree, value=tree.value * np.float32(scale)) for tree in model.trees]
    model = Model(replace(model, trees=trees))
    values = explained.rows_of(rng, 40, 5)
    summed(model.predict(values, pred_contribs=True), model.predict(values, output_margin=True))


def test_sums_are_exact_for_every_base_margin(rng):
    model = Model(explained.ensemble(rng))
    values = explained.rows_of(rng, 60, 5)
    start = (rng.normal(size=60) * 10.0 ** rng.integers(-5, 30, 60)).astype(np.float32)
    margins = model.predict(values, output_margin=True, base_margin=start)
    for options in ({}, {"approx_contribs": True}, {"background": values[:3]}):
        found = model.predict(values, pred_contribs=True, base_margin=start, **options)
        summed(found, margins)
    found = model.predict(values, pred_contribs=True, base_margin=start)
    matrices = model.predict(values, pred_interactions=True, base_margin=start)
    assert_same_bits(matrices.sum(axis=2), found, "lines")
    assert_same_bits(matrices, matrices.swapaxes(1, 2), "transposed")


def test_lines_of_interactions_add_up_to_contributions(rng):
    model = Model(explained.ensemble(rng, n_outputs=3))
    values = explained.rows_of(rng, 30, 5)
    matrices = model.predict(values, pred_interactions=True)
    assert matrices.shape == (30, 3, 6, 6)
    assert_same_bits(matrices.sum(axis=3), model.predict(values, pred_contribs=True), "lines")
    assert_same_bits(matrices, matrices.swapaxes(2, 3), "transposed")


def test_the_rest_goes_to_the_largest():
    quanta = np.array([[[5, -9, 9, 1]], [[0, 0, 0, 2]]])
    margins = np.float32([[7.5, 4]])
    got = to_floats(quanta, 0, margins, np.zeros((1, 2), np.float32))
    assert got.tolist() == [[[5, -7.5, 9, 1]], [[0, 0, 0, 4]]]
    assert divided(np.array([-3, -1, 1, 3, 5]), 2).tolist() == [-2, 0, 0, 2, 2]


def test_rounds_batches_and_sparse_rows(rng):
    sparse = pytest.importorskip("scipy.sparse")
    model = Model(explained.ensemble(rng, n_trees=6))
    values = explained.rows_of(rng, 20, 5)
    options = {"pred_contribs": True, "iteration_range": (1, 4)}
    got = model.predict(values, **options)
    margins = model.predict(values, output_margin=True, iteration_range=(1, 4))
    summed(got, margins)
    given = np.where(np.isnan(values), 0, values)
    given[~np.isnan(values) & (values == 0)] = 1e-30
    assert_same_bits(model.predict(sparse.csr_matrix(given), **options), got, "sparse")
    parts = iter([values[:7], values[7:]])
    assert_same_bits(model.predict(lambda: parts, **options), got, "batches")
    assert_same_bits(model.predict(Dataset(values), **options), got, "Dataset")


def test_features_of_several_columns_are_shared_out():
    model = SimpleNamespace(n_features=3, sources=lambda f: {3: (0, 2), 4: (1,)}.get(f, (f,)))
    used = np.array([1, 3, 4], np.uint32)
    got = to_columns(model, used, np.array([[[10, -7, 5]]]))
    assert got.tolist() == [[[-3, 15, -4, 0]]]
    got = pairs_to_columns(model, used, np.array([[[5, 100, 8, 10, -7, 5]]]))[0, 0]
    assert got.tolist() == [[-3, 7, 0, 0], [7, 15, 6, 0], [0, 6, -4, 0], [0, 0, 0, 0]]


@pytest.mark.thorough
def test_statistics_are_told_for_the_columns(rng):
    levels = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, (200, 2))]
    numbers = rng.normal(size=200)
    y = (levels[:, 0] == "a") * 2.0 + 3.0 * (levels[:, 1] == "b") + numbers
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"x": numbers, "p": levels[:, 0], "q": levels[:, 1]})
    model = train(
        {"num_round": 5, "max_depth": 3, "cat_method": "statistics", "device": TEST_DEVICE},
        Dataset(X, y, categorical_features=["p", "q"]),
    )
    margins = model.predict(X, output_margin=True)
    got = model.predict(X, pred_contribs=True)
    assert got.shape == (200, 4)
    assert (np.abs(got).max(axis=0) > 0).all()
    summed(got, margins)
    assert_same_bits(model.predict(X, pred_interactions=True).sum(axis=2), got, "lines")


def test_bad_input(rng):
    whole = explained.ensemble(rng)
    model, values = Model(whole), explained.rows_of(rng, 3, 5)
    both = {"pred_contribs": True}
    for options, words in (
        ({"pred_contribs": True, "pred_interactions": True}, "expected one of them"),
        ({"pred_contribs": True, "pred_leaf": True}, "expected one of them"),
        ({"approx_contribs": True}, "expected pred_contribs=True with it"),
        ({"background": values}, "expected pred_contribs=True or pred_interactions=True"),
        ({"pred_contribs": 3}, "pred_contribs=3: expected True or False"),
    ):
        with pytest.raises(ParameterError, match=words):
            model.predict(values, **options)
    with pytest.raises(DataError, match=r"background has no rows: expected one or more"):
        model.predict(values, **both, background=values[:0])
    with pytest.raises(DataError, match=r"^background: X has 4 "):
        model.predict(values, **both, background=values[:, :4])
    bare = [replace(tree, sum_hessian=np.zeros_like(tree.gain)) for tree in whole.trees]
    bare = Model(replace(whole, trees=bare))
    with pytest.raises(ParameterError, match=r"trees\[\d\].sum_hessian\[0\]=0.0: expected "):
        bare.predict(values, **both)
    got = bare.predict(values, **both, background=values)
    assert_same_bits(got, model.predict(values, **both, background=values), "without covers")


def test_memory_is_told_before_it_is_taken(rng, monkeypatch):
    model, values = Model(explained.ensemble(rng)), explained.rows_of(rng, 3, 5)
    monkeypatch.setattr(budget, "available_memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"the contributions, float64 \(3, 1, 6, 6\)"):
        model.predict(values, pred_interactions=True)
    monkeypatch.setattr(budget, "UNQUESTIONED", 0)
    monkeypatch.setattr(explain_rows, "PIECE_BYTES", 0)
    n_inner = sum(int((~tree.is_leaf).sum()) for tree in model.ensemble.trees)
    monkeypatch.setattr(budget, "available_memory", lambda: 10 * n_inner - 1)
    small = model.ensemble
    with pytest.raises(DataError, match=rf"the ways of 10 background rows take {10 * n_inner} byt"):
        Games(small, explained.rows_of(rng, 10, 5))
    bytes_of = path_factors.path_factors(small).constant_bytes
    steps, told = (path_factors.path_factors(small).all_steps, "all_told_apart")
    assert bytes_of(False) == sum(own.nbytes for own in steps)
    more = sum(own.nbytes for own in getattr(path_factors.path_factors(small), told))
    assert bytes_of(True) == bytes_of(False) + more
    monkeypatch.setattr(budget, "available_memory", lambda: bytes_of(False) - 1)
    with pytest.raises(DataError, match="the constants of the trees' nodes take"):
        model.predict(values[:1], pred_contribs=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", ["reg:squarederror", "binary:logistic", "multi:softprob"])
def test_equals_xgboost(rng, tmp_path, loss):
    xgboost = pytest.importorskip("xgboost")
    X = explained.rows_of(rng, 300, 6)
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2])
    y = y if loss.startswith("reg") else np.digitize(y, [0.0, 0.8][: 1 + (loss[0] == "m")])
    classes = {"num_class": 3} if loss[0] == "m" else {}
    params = {"objective": loss, "max_depth": 5, "nthread": 1, **classes}
    booster = xgboost.train(params, xgboost.DMatrix(X, y), 8)
    booster.save_model(tmp_path / "m.json")
    model, rows = Model.load_model(tmp_path / "m.json"), xgboost.DMatrix(X[:60])
    for options in (
        {"pred_contribs": True},
        {"pred_interactions": True},
        {"pred_contribs": True, "approx_contribs": True},
        {"pred_contribs": True, "iteration_range": (0, 5)},
    ):
        wanted = booster.predict(rows, **options)
        got = model.predict(X[:60], **options)
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() < 1e-5


def test_paths_of_too_many_features_are_refused(rng, monkeypatch):
    monkeypatch.setattr(path_factors, "MOST_FEATURES", 1)
    model = Model(explained.ensemble(rng))
    with pytest.raises(ParameterError, match=r"\d features on one path: expected 1 at"):
        model.predict(explained.rows_of(rng, 4, 5), pred_contribs=True)
