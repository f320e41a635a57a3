"""Models whose trees have weights: margins in fixed point, slices, files and contributions."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.explain import partial_dependence, to_shap
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.numerics.tree_weights import digit_bits, digits, in_units, margins_of
from tests.conftest import TEST_DEVICE
from tests.reference import dropout
from tests.reference.predict import predict

rng = np.random.default_rng(3)
X = rng.normal(size=(200, 5)).astype(np.float32)
X[rng.random(X.shape) < 0.1] = np.nan
SHAPES = {
    "one output": {"objective": "reg:squarederror", "base_score": 0.25},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "forest": {"objective": "binary:logistic", "num_parallel_tree": 3, "subsample": 0.5},
}
DATA = xgboost.DMatrix(X, nthread=1)


@pytest.fixture(scope="module", params=SHAPES)
def booster(request) -> xgboost.Booster:
    given = SHAPES[request.param]
    n_classes = given.get("num_class", 2)
    y = rng.integers(0, n_classes, len(X)) if n_classes > 2 else np.nan_to_num(X[:, 0]) > 0
    given = {**given, "booster": "dart", "rate_drop": 0.4, "max_depth": 3, "nthread": 1}
    return xgboost.train(given, xgboost.DMatrix(X, y, nthread=1), 8)


@pytest.fixture
def model(booster) -> Model:
    found = Model.load_model(booster.save_raw("json"))
    assert len(set(found.ensemble.tree_weights)) > 3
    return found


def margins(model, rows=X, **options):
    return model.predict(rows, output_margin=True, device=TEST_DEVICE, **options)


NUMBERS = np.concatenate(
    [
        rng.normal(size=500) * 10.0 ** rng.integers(-12, 8, 500),
        [0.0, -0.0, 1e-40, 2.0**-33, 3 * 2.0**-33, -(2.0**-33), 2.0**29, -(2.0**29)],
    ]
).astype(np.float32)


def test_terms_and_margins_are_those_of_the_twin():
    for weight in (1.0, 0.3, 1e-6, 0.0):
        units = in_units(NUMBERS, weight)
        assert units.tolist() == [dropout.term(weight, one) for one in NUMBERS]
        sums = units * 3 + 1
        starts = np.resize(NUMBERS[::-1], sums.size)
        expected = [dropout.margin(a, b) for a, b in zip(starts, sums.tolist(), strict=True)]
        assert np.array_equal(margins_of(starts, sums), np.array(expected, np.float32))


def test_a_tree_that_is_taken_out_and_put_back_leaves_no_trace():
    sums = in_units(NUMBERS, 0.7)
    other = in_units(NUMBERS[::-1], 0.123)
    assert np.array_equal(((sums - other) + other), sums)


@pytest.mark.parametrize("n_added", [1, 512, 513, 65536])
def test_digits_add_up_to_the_number_and_float32_adds_them_exactly(n_added):
    bits, units = digit_bits(n_added), in_units(NUMBERS, 0.7)
    found = digits(units, bits)
    assert sum(d.astype(object) << (bits * k) for k, d in enumerate(found)).tolist() == list(units)
    assert n_added * max(np.abs(d).max() for d in found) <= 2**24


def test_margins_are_those_of_the_twin_and_near_xgboost(booster, model):
    found = margins(model)
    assert np.array_equal(found, predict(model.ensemble, X).T)
    assert np.array_equal(found[:5], model.predict(X[:5], output_margin=True))  # on the host
    np.testing.assert_allclose(found, booster.predict(DATA, output_margin=True), atol=1e-5)


def test_stages_and_slices(booster, model):
    stages = list(model.staged_predict(X, output_margin=True, device=TEST_DEVICE))
    assert len(stages) == 8
    for number, stage in enumerate(stages):
        assert np.array_equal(stage, margins(model, iteration_range=(0, number + 1)))
    part = margins(model[2:5])
    assert np.array_equal(part, margins(model, iteration_range=(2, 5)))
    theirs = booster[2:5].predict(DATA, output_margin=True)
    np.testing.assert_allclose(part, theirs, atol=1e-5)


@pytest.mark.parametrize("raw", ["json", "ubj"])
def test_xgboost_reads_weights_and_writes_the_same_bytes(booster, model, raw):
    data = model.save_raw(raw)
    again = xgboost.Booster(model_file=data)
    if xgboost.__version__.startswith("3.2"):  # the version whose form is written here
        assert again.save_raw(raw) == data
    assert Model.load_model(again.save_raw(raw)).ensemble == Model.load_model(data).ensemble
    theirs = again.predict(DATA, output_margin=True)
    assert np.array_equal(theirs, booster.predict(DATA, output_margin=True))


def test_other_formats_multiply_weights_into_leaves(model):
    folded = model.ensemble.folded()
    assert folded.tree_weights is None
    assert folded.folded() is folded
    np.testing.assert_allclose(margins(Model(folded)), margins(model), atol=1e-5)
    assert model.save_raw("txt") == Model(folded).save_raw("txt")


@pytest.mark.parametrize(
    ("raw", "told"), [("py", b", the same bits"), ("c", b", with the same bits")]
)
def test_programs_have_folded_leaves_and_do_not_promise_the_bits(model, raw, told):
    plain = Model(model.ensemble.folded()).save_raw(raw)
    assert told in plain
    assert model.save_raw(raw) == plain.replace(told, b"")


def test_weighted_leaves_beyond_fixed_point_are_read_with_the_weights_in_the_leaves(booster):
    document = json.loads(booster.save_raw("json"))
    part = document["learner"]["gradient_booster"]
    trees = part.get("gbtree", part)["model"]  # 3.4 keeps the weights there
    for tree in trees["trees"]:
        pairs = zip(tree["split_conditions"], tree["left_children"], strict=True)
        tree["split_conditions"] = [v if left >= 0 else v * 2e9 for v, left in pairs]
    data = json.dumps(document).encode()
    found = Model.load_model(data)
    assert found.ensemble.tree_weights is None
    theirs = xgboost.Booster(model_file=bytearray(data)).predict(DATA, output_margin=True)
    np.testing.assert_allclose(margins(found), theirs, rtol=1e-5, atol=1e4)
    (part if "weight_drop" in part else trees)["weight_drop"][1] = 1e38
    with pytest.raises(ModelFormatError, match="with finite products of leaf values"):
        Model.load_model(json.dumps(document).encode())


def test_contributions_add_up_to_the_margin(booster, model):
    found = model.predict(X, pred_contribs=True, device=TEST_DEVICE)
    assert np.array_equal(found.sum(axis=-1), margins(model))
    np.testing.assert_allclose(found, booster.predict(DATA, pred_contribs=True), atol=1e-5)


def test_partial_dependence_is_the_mean_of_predict(model):
    found = partial_dependence(model, X, [2], grid=[-1, 1], kind="both", device=TEST_DEVICE)
    for place, value in enumerate((-1, 1)):
        rows = X.copy()
        rows[:, 2] = value
        wanted = model.predict(rows, device=TEST_DEVICE).reshape(len(X), -1).T
        assert np.array_equal(found.individual[:, :, place], wanted)
        means = wanted.mean(axis=1, dtype=np.float64)
        np.testing.assert_allclose(found.average[:, place], means, rtol=1e-12)


def test_the_dictionary_of_shap_has_weighted_leaves(model):
    assert [tree["values"].sum() for tree in to_shap(model)["trees"]] == [
        tree.value.astype(np.float64).sum() for tree in model.ensemble.folded().trees
    ]


def test_shap_predicts_the_margins(model):
    shap = pytest.importorskip("shap")
    found = shap.TreeExplainer(to_shap(model)).model.predict(X)
    np.testing.assert_allclose(found, margins(model), atol=1e-5)


def test_a_description_tells_that_trees_have_weights(model):
    weights = model.ensemble.tree_weights
    told = f"a round, weighted by {min(weights):.3g} to {max(weights):.3g} (DART)"
    assert told in model.describe()
    assert told in model._repr_html_()
    assert "weighted" not in Model(model.ensemble.folded()).describe()


def test_a_model_without_trees_keeps_that_it_is_dart(model):
    empty = replace(model.ensemble, trees=[], tree_weights=())
    assert np.array_equal(margins(Model(empty)), predict(empty, X).T)
    assert Model.load_model(Model(empty).save_raw("json")).ensemble == empty


@pytest.mark.parametrize("kind", [np.array, list, np.float32])
def test_weights_become_plain_numbers(model, kind):
    weights = model.ensemble.tree_weights
    again = replace(model.ensemble, tree_weights=kind(weights))
    assert again == model.ensemble
    assert {type(weight) for weight in again.tree_weights} == {float}
    assert Model(again).save_raw("json") == model.save_raw("json")


@pytest.mark.parametrize("given", ["12", 1.0, np.ones((2, 2)), [[1.0], [1.0, 2.0]], ["a"], [None]])
def test_weights_that_are_no_numbers(model, given):
    with pytest.raises(
        ModelFormatError, match=r"(?s)^tree_weights=.*: expected None or a sequence"
    ):
        replace(model.ensemble, tree_weights=given)
    with pytest.raises(
        ModelFormatError, match=r"(?s)^tree_weights=.*: expected None or a sequence"
    ):
        object.__new__(Ensemble).__setstate__(
            {**model.ensemble.__getstate__(), "tree_weights": given}
        )


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((1.0,), r"has the shape \(1,\): expected \d+ numbers, one for each tree"),
        ((0.1,), r"tree_weights\[0\]=0.1: expected a float32 of 0 or more; round it"),
        ((-1.0,), r"tree_weights\[0\]=-1.0: expected a float32 of 0 or more"),
        ((np.nan,), r"tree_weights\[0\]=nan: expected"),
        ((2.0**40,), r"add up to .*: expected less than 2\^30 .*; divide the labels"),
    ],
)
def test_weights_that_are_wrong(model, weights, words):
    given = weights if "shape" in words else weights * len(model.ensemble.trees)
    with pytest.raises(ModelFormatError, match=words):
        replace(model.ensemble, tree_weights=given)
