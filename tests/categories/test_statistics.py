"""Statistics of levels: their values, names and tables, and trainings on them."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics, targets_of
from pyopencl_gbdt.comparison.tuning_fits import KernelTimes
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DataError, ModelFormatError
from pyopencl_gbdt.model import to_json, to_xgboost_json
from pyopencl_gbdt.model.combinations import Part
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from pyopencl_gbdt.pages.orders import OrderCodes, Orders
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.category_offers import STATISTICS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.margins import predict_margins
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.combination import level_table

CASES = {
    "binary": {"objective": "binary:logistic"},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "numbers": {"objective": "reg:squarederror", "target_border_count": 3},
}

AS_STATISTICS = dict.fromkeys([1, 2], STATISTICS)


def data_of(case):
    return Dataset(*columns_of(case), categorical_features=[1, 2])


def columns_of(case, n=600, seed=3):
    rng = np.random.default_rng(seed)
    levels = [np.minimum(rng.zipf(1.4, n) - 1, most) for most in (3, 40)]
    effect = rng.normal(size=50)
    y = effect[levels[0]] + 2 * effect[levels[1]] + rng.normal(size=n)
    X = np.column_stack([rng.normal(size=n), *levels, rng.normal(size=n)]).astype(np.float32)
    X[rng.random(n) < 0.05, 2] = np.nan
    if case != "numbers":
        y = np.digitize(y, [0.0] if case == "binary" else [-1.0, 1.0])
    return X, y.astype(np.float32)


def fitted(case, rounds=4, data=None, **more):
    params = {**CASES[case], "cat_method": "statistics", "device": TEST_DEVICE, "max_depth": 3}
    return train({**params, **more}, data_of(case) if data is None else data, rounds)


def one_order(**more):
    return Parameters.from_dict({**CASES["binary"], "permutation_count": 1, **more})


@pytest.fixture(scope="module")
def models():
    return {case: fitted(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_models_keep_their_statistics(models, case, tmp_path):
    model, data = models[case], data_of(case)
    statistics = model.ensemble.statistics
    assert [table.parts for table in statistics.tables] == [(Part(1),), (Part(2),)]
    assert any((tree.feature >= 4).any() for tree in model.ensemble.trees)
    model.save_model(tmp_path / "m.json")
    read = Model.load_model(tmp_path / "m.json")
    assert read.ensemble.statistics == statistics
    assert_same_bits(read.predict(data), model.predict(data))
    assert to_json(read.ensemble) == to_json(model.ensemble)
    kept = pickle.loads(pickle.dumps(model))
    assert_same_bits(kept.predict(columns_of(case)[0]), model.predict(data))


def test_trees_do_not_read_beyond_the_columns(models):
    model, data = models["binary"], data_of("binary")
    assert model.ensemble.n_tree_features == 8
    with pytest.raises(DataError, match=r"\(600, 4\): expected 8 columns"):
        predict_margins(model.ensemble, data.values, TEST_DEVICE)
    margins = predict_margins(model.ensemble, model.tree_values(data), TEST_DEVICE)
    assert_same_bits(margins, model.predict(data, output_margin=True))
    assert KernelTimes(TEST_DEVICE, data, 1)._predict(model, data, ("predict",)) > 0


def test_xgboost_refuses_the_file(models, tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="needs XGBoost")
    models["binary"].save_model(tmp_path / "m.json")
    with pytest.raises(xgboost.core.XGBoostError):
        xgboost.Booster(model_file=tmp_path / "m.json")
    with pytest.raises(ModelFormatError, match="statistics of categories"):
        to_xgboost_json(models["binary"].ensemble)


def test_importances_are_those_of_columns(models):
    assert models["binary"].feature_importances().shape == (4,)
    assert models["binary"].feature_importances()[1:3].sum() > 0.3
    names = {models["binary"].ensemble.feature_name(f) for f in range(8)}
    assert {"f0", "mean(f1, > 0.5)", "count(f1)", "mean(f2, > 0.5)"} <= names


@pytest.mark.parametrize("more", [{"work_group_size": 64}, {"histogram": "auto"}])
def test_variants_give_the_same_model(models, more):
    assert to_json(fitted("binary", **more).ensemble) == to_json(models["binary"].ensemble)


def test_one_order_is_a_training_on_its_values(device):
    data, first = data_of("binary"), fitted("binary", permutation_count=1)
    made = replace_by_statistics(one_order(), data, AS_STATISTICS, device)
    plain = train({**CASES["binary"], "device": TEST_DEVICE, "max_depth": 3}, made.data, 4)
    wanted = replace(
        plain.ensemble, n_features=4, statistics=made.statistics, feature_names=None,
        categories=data.categories, attributes=first.ensemble.attributes,
    )  # fmt: skip
    assert to_json(first.ensemble) == to_json(wanted)


@pytest.mark.parametrize("n_pages", [1, 3])
def test_each_round_has_the_codes_of_its_order(device, n_pages):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(500, 20)).astype(np.float32)
    orders = [rng.normal(size=(500, 2)).astype(np.float32) for _ in range(3)]
    for order in orders:
        order[7] = np.nan
    values[:, -2:] = orders[0]
    quantizer = Quantizer(device, values, None, 40, n_pages)
    made = quantizer.run()
    codes = OrderCodes(device, made, Orders(orders))
    for number in (0, 1, 2, 3):
        codes.take(number)
        wide = values.copy()
        wide[:, -2:] = orders[number % 3]
        wanted = Quantizer(device, wide, None, 40, n_pages).encode(made.layout)
        for page, other in zip(made.pages, wanted, strict=True):
            assert_same_bits(page.codes.codes.get(), other.codes.codes.get())
            assert_same_bits(page.codes.by_feature.get(), other.codes.by_feature.get())


def test_noise_does_not_leak():
    """On targets without a cause, levels of few rows foretell neither seen nor held-out rows.

    With means that include a row's own target, the losses would be 0.29 and 1.04 here.
    """
    rng = np.random.default_rng(6)
    levels, y = rng.integers(0, 10_000, 12_000), rng.integers(0, 2, 12_000)
    X = np.column_stack([levels, rng.normal(size=12_000)]).astype(np.float32)
    first = Dataset(X[:9000], y[:9000], categorical_features=[0])
    params = {"objective": "binary:logistic", "cat_method": "statistics", "device": TEST_DEVICE}
    params |= {"learning_rate": 0.1, "max_depth": 4}
    model = train(params, first, 20, evals=[(first, "train")])
    assert model.history["train"]["logloss"][-1] > np.log(2) * 0.985
    p = model.predict(X[9000:])
    loss = -np.mean(np.log(np.where(y[9000:] == 1, p, 1 - p)))
    assert loss < np.log(2) * 1.01


def test_targets_of_labels():
    label = np.array([0, 1, 1, 0], np.float32)
    two = targets_of([label], np.array([1, 0, 2, 1], np.float32))
    assert two.names == ("> 0.5",)
    assert two.hits.tolist() == [[0, 1, 1, 0]]
    assert two.counted.tolist() == [1, 0, 1, 1]
    classes = targets_of([np.array([2, 0, 1], np.float32)], None, classes=3)
    assert classes.names == ("= 0", "= 1", "= 2")
    assert classes.hits.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    numbers = targets_of([np.arange(100, dtype=np.float32)], None, borders=3)
    assert numbers.hits.sum(axis=1).tolist() == [75, 50, 25]
    constant = targets_of([np.ones(5, np.float32)], None, borders=3)
    assert constant.names == ()
    mostly_lowest = targets_of([np.array([0, 0, 0, 0, 1, 2], np.float32)], None)
    assert mostly_lowest.names == ("> 0.5",)
    several = targets_of([label, 1 - label], None)
    assert several.names == ("y0 > 0.5", "y1 > 0.5")


def test_labels_without_a_border_are_trained_on():
    data = Dataset([[0], [1], [0], [1]], np.ones(4), categorical_features=[0])
    model = train({"cat_method": "statistics", "device": TEST_DEVICE}, data, 1)
    assert (model.predict([[0], [5]]) == 1).all()


def test_values_of_levels_are_shrunken_means():
    data = Dataset(
        np.array([[0], [0], [1], [np.nan], [0]]), [1, 0, 1, 1, 1], categorical_features=[0]
    )
    table = level_table(data, (Part(0),), (3,), targets_of([data.label], None))
    assert table.counts.tolist() == [3, 1, 0]
    assert table.hits.tolist() == [[2, 1, 0]]
    found = Statistics(5, ("> 0.5",), ((0.5,),), (table,)).of_levels(table)
    means = [Fraction(5, 8), Fraction(3, 4), Fraction(1, 2), Fraction(1, 2)]
    assert found[0, :-1].tolist() == [float(mean) for mean in means]
    assert found[1, :-1].tolist() == [3, 1, 0, 0]
    assert np.isnan(found[:, -1]).all()


def bad_tables():
    one, pair = (Part(1),), (Part(0, 0.5), Part(1))
    good = LevelTable(one, (2,), np.array([2, 1]), np.array([[1, 1]]))
    combination = replace(good, parts=pair, sizes=(2, 2), keys=np.array([0, 3]))
    yield replace(good, hits=np.array([[3, 1]])), "hits <= counts"
    yield replace(good, hits=np.array([[1, 1, 0]])), "shape"
    yield replace(good, parts=(Part(9),)), "expected columns"
    yield replace(good, sizes=(3,)), "expected 3 levels"
    yield replace(good, keys=np.array([0, 1])), "expected keys"
    yield replace(combination, keys=None), "expected keys"
    yield replace(combination, keys=np.array([0, 4])), "ascending"
    yield replace(combination, keys=np.array([3, 0])), "ascending"
    yield replace(combination, sizes=(2,)), "for each part"
    yield replace(combination, sizes=(2, 2**62)), "levels at most"


@pytest.mark.parametrize(("table", "words"), [*bad_tables()])
def test_tables_that_lie_are_refused(table, words):
    with pytest.raises(ModelFormatError, match=words):
        Statistics(4, ("> 0.5",), ((0.5,),), (table,))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("version",), 99, "version"),
        (("format",), "other", "format"),
        (("statistics", "columns"), 3, "features"),
        (("statistics", "tables", 0, "counts", 0), -1, "an integer"),
        (("statistics", "tables", 0, "hits"), [], "one for each target"),
        (("statistics", "priors", 0), 2.0, "priors"),
        (("model",), {}, "learner"),
    ],
)
def test_files_that_lie_are_refused(models, tmp_path, place, value, words):
    document = json.loads(to_json(models["binary"].ensemble))
    *way, last = place
    inner = document
    for key in way:
        inner = inner[key]
    inner[last] = value
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFormatError, match=words):
        Model.load_model(path)


def test_interactions_hold_for_statistics():
    model = fitted("binary", interaction_constraints=[["f0", 1], [2, "f3"]])
    ensemble = model.ensemble
    for tree in ensemble.trees:
        used = {c for f in tree.feature[~tree.is_leaf] for c in ensemble.sources(int(f))}
        (first,) = ensemble.sources(int(tree.feature[0]))
        assert used <= ({0, 1} if first in (0, 1) else {2, 3})


def test_time_is_an_order():
    data = data_of("binary")
    model = fitted("binary", has_time=True)
    assert to_json(model.ensemble) != to_json(fitted("binary").ensemble)
    made = replace_by_statistics(
        one_order(has_time=True), data, AS_STATISTICS, open_device(TEST_DEVICE)
    )
    assert made.orders.n_orders == 1
    place = made.statistics.n_columns  # the first row of each level has no history
    codes = data.level_codes(1)
    first = [int(np.flatnonzero(codes == level)[0]) for level in range(4)]
    assert (made.data.values[first, place] == np.float32(made.statistics.priors[0][0])).all()


def test_statistics_that_memory_does_not_hold_are_refused(monkeypatch):
    data = data_of("binary")
    monkeypatch.setattr("pyopencl_gbdt.data.budget.UNQUESTIONED", 0)
    monkeypatch.setattr("pyopencl_gbdt.data.budget.available_memory", lambda: 1000)
    monkeypatch.setattr("pyopencl_gbdt.categories.statistic_values.fits_on", lambda *_: False)
    with pytest.raises(DataError, match=r"statistics of 2 .* 1 kB, .* lower permutation_count"):
        fitted("binary", data=data)


def test_constant_labels_train_the_same_from_values_on_the_host(monkeypatch):
    """No level has a mean that tells rows apart; its number of rows remains."""
    X, _ = columns_of("numbers")
    data = Dataset(X, np.ones(len(X)), categorical_features=[1, 2])
    there = fitted("numbers", data=data)
    monkeypatch.setattr("pyopencl_gbdt.categories.statistic_values.fits_on", lambda *_: False)
    assert to_json(fitted("numbers", data=data).ensemble) == to_json(there.ensemble)
