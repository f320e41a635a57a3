"""Several trees a round: classes, targets and forests, against the twin and XGBoost."""

import functools
import json

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.dtypes import KEPT, LEVEL, NO_NODE
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.fit import parts as fit_parts
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import assemble, choose_trees
from pyopencl_gbdt.growth.decoded_trees import decode_trees
from pyopencl_gbdt.growth.policy import tree_sizes
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.metrics.formulas import mean_over_numbers, quantile
from pyopencl_gbdt.model import Ensemble, from_xgboost_json, to_xgboost_json
from pyopencl_gbdt.pages.page import even_layout
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.higgs import load_higgs7k
from tests.reference import predict as predict_twin
from tests.reference.train import train_reference

N, RATES = 500, np.ones(2, np.float32)
#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
CASES = {
    "classes": {"objective": "multi:softprob", "num_class": 4},
    "targets": {},
    "forest": {"num_parallel_tree": 5, "learning_rate": 0.5},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    "forests of classes": {"objective": "multi:softmax", "num_class": 4, "num_parallel_tree": 2},
}


def problem(case):
    """Parameters, values, labels and weights of a case."""
    X, y, _, _ = load_higgs7k()
    X, y = X[:N].copy(), y[:N]
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) * 3 + y
    labels = {
        "targets": np.c_[signal, np.nan_to_num(X[:, 1]), y],
        "forest": signal,
        "quantiles": signal,
    }.get(case, y + 2 * (signal > 3))
    params = {"n_estimators": 2, "max_depth": 4, "max_bin": 32, **CASES[case]}
    return params, X, labels.astype(np.float32), rng.integers(0, 3, N).astype(np.float32)


def bytes_of(params, X, y, weight):
    params = {"device": TEST_DEVICE, **params}
    return to_xgboost_json(train(params, Dataset(X, y, weight)).ensemble)


@functools.cache
def usual_bytes(case):
    return bytes_of(*problem(case))


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case):
    trained_as_twin(*problem(case))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_trees_that_do_not_fit_together_are_grown_one_after_the_other(case, at_once, monkeypatch):
    params, *data = problem(case)
    usual = usual_bytes(case)
    monkeypatch.setattr(fit_parts, "trees_fit", lambda parts, build: parts.nodes.n_trees <= at_once)
    assert bytes_of(params, *data) == usual


def test_heavy_tails_of_one_output_alone():
    """Its trees get high words after the first round, which starts everything anew."""
    params, X, y, weight = problem("targets")
    y[7, 1] = 1e9
    trained_as_twin(params, X, y, weight)


@pytest.mark.parametrize("case", CASES)
def test_prediction(case):
    params, X, y, weight = problem(case)
    params["n_estimators"] = 3
    model = train({"device": TEST_DEVICE, **params}, Dataset(X, y, weight))
    margins = model.predict(X, output_margin=True, device=TEST_DEVICE)
    twin = predict_twin.predict(model.ensemble, X).T
    np.testing.assert_array_equal(margins, twin)
    first = model.predict(X, output_margin=True, iteration_range=(0, 1), device=TEST_DEVICE)
    rest = model.predict(
        X, output_margin=True, iteration_range=(1, 3), base_margin=first, device=TEST_DEVICE
    )
    np.testing.assert_array_equal(rest, margins)
    if case == "classes":
        p = model.predict(X, device=TEST_DEVICE)
        assert p.shape == (N, 4)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
        winners = train({"device": TEST_DEVICE, **params, "objective": "multi:softmax"},
                        Dataset(X, y, weight)).predict(X, device=TEST_DEVICE)  # fmt: skip
        np.testing.assert_array_equal(winners, p.argmax(axis=1))


def test_starting_scores_of_classes_are_xgboosts():
    xgboost = pytest.importorskip("xgboost")
    params, X, y, weight = problem("classes")
    ours = train_reference(Parameters.from_dict({**params, "n_estimators": 0}), X, y, weight)
    data = xgboost.DMatrix(X, y, weight=weight)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 4}, data, 1)
    theirs = from_xgboost_json(bytes(booster.save_raw("json"))).base_score
    np.testing.assert_allclose(ours.base_score, theirs, rtol=1e-5)


@pytest.mark.parametrize("case", ["classes", "targets", "quantiles"])
def test_rows_that_are_watched(case):
    params, X, y, weight = problem(case)
    params, rows = {"device": TEST_DEVICE, **params}, Dataset(X[:100], y[:100], weight[:100])
    model = train(params, Dataset(X, y, weight), evals=[(rows, "rows")])
    (metric,) = model.history["rows"]
    again = train(params, Dataset(X, y, weight), evals=[(rows, "rows"), (Dataset(X, y), "all")])
    assert again.history["rows"] == model.history["rows"]
    last = model.objective.to_probability(
        np.ascontiguousarray(model.predict(X[:100], output_margin=True, device=TEST_DEVICE).T)
    )
    if case == "classes":
        own = last[y[:100].astype(int), np.arange(100)].astype(np.float64)
        expected = np.average(-np.log(own), weights=weight[:100])
    elif case == "quantiles":
        own = {"function": quantile, "numbers": (0.1, 0.5, 0.9)}
        expected = mean_over_numbers(y[:100], last, weight[:100], **own)
    else:
        expected = np.sqrt(np.average(((last.T - y[:100]) ** 2).mean(axis=1), weights=weight[:100]))
    assert model.history["rows"][metric][-1] == pytest.approx(expected, rel=1e-5)


def test_bad_input():
    params, X, y, _ = problem("classes")
    with pytest.raises(DataError, match=r"y holds 9.* at row 3: expected whole numbers 0\.\.3"):
        train(params, Dataset(X, np.where(np.arange(N) == 3, 9, y)))
    with pytest.raises(DataError, match="base_margin has 1 column, the model 4 outputs"):
        train(params, Dataset(X, y, base_margin=y))
    with pytest.raises(DataError, match="'rows' has 1 targets, the training data 2"):
        train({}, Dataset(X, np.c_[y, y]), evals=[(Dataset(X, y), "rows")])
    with pytest.raises(ParameterError, match=r"quantile_alpha=1\.5: expected 0\.\.1"):
        train({"objective": "reg:quantileerror", "quantile_alpha": [0.5, 1.5]}, Dataset(X, y))
    with pytest.raises(ParameterError, match="num_parallel_tree=0"):
        train({"num_parallel_tree": 0}, Dataset(X, y))
    tree = train({"max_depth": 1}, Dataset(X, y), 1).ensemble.trees
    with pytest.raises(ModelFormatError, match="1 trees: expected a multiple of"):
        Ensemble(tree, "reg:squarederror", 28, (0.0, 0.0), (0.0, 0.0), n_outputs=2)


def test_trees_at_a_time_are_no_more_than_work_groups_in_y():
    params = Parameters.from_dict({"objective": "multi:softprob", "num_class": 2**16})
    layout = even_layout(1, 2)
    facts = FitFacts(params, LossFacts(n_outputs=2**16, given=True), n_rows=2)
    policy = tree_sizes(choose_recipe(facts).policy, params, 2)
    parts = assemble(open_device(TEST_DEVICE), facts, policy, FitFeatures(layout))
    parts.rows.own_arrays()
    choose_trees(parts, lambda parts: parts)
    assert parts.nodes.n_trees <= MOST_Y
    assert sum(batch.size for batch in parts.nodes.batches) == 2**16


def test_a_file_without_trees_keeps_those_that_are_none_of_ours():
    params = {"objective": "multi:softprob", "num_class": 2, "num_parallel_tree": 3}
    X, y = np.arange(8, dtype=np.float32)[:, None], np.arange(8) % 2
    none = train({**params, "n_estimators": 0, "device": TEST_DEVICE}, Dataset(X, y)).ensemble
    document = json.loads(to_xgboost_json(none))
    assert not from_xgboost_json(json.dumps(document)).trees
    last = document["learner"]["gradient_booster"]["model"]["trees"][5]
    last["split_conditions"] = [1.5]
    assert len(from_xgboost_json(json.dumps(document)).trees) == 6


def test_a_file_with_too_many_outputs_is_refused():
    params, X, y, _ = problem("targets")
    document = json.loads(bytes_of({**params, "n_estimators": 1}, X, y[:, 0], None))
    document["learner"]["learner_model_param"] |= {"num_class": "1000000", "num_target": "1000000"}
    with pytest.raises(ModelFormatError, match=r"num_class=.1000000.: expected no more outputs"):
        from_xgboost_json(json.dumps(document))


def zero_nodes(n):
    """Fields of so many nodes of a batch, as they are read from the device."""
    return {name: np.zeros((1, n), dtype) for name, dtype in KEPT.items()}


def test_nodes_that_are_their_own_children_are_refused():
    nodes, levels = zero_nodes(3), np.zeros((1, 2), LEVEL)
    nodes["left"][:], nodes["parent"][:] = 1, NO_NODE
    levels["first"], levels["count"] = [[0, 1]], [[1, 2]]
    with pytest.raises(ModelFormatError, match="two parents"):
        decode_trees(nodes, levels, even_layout(1, 2), RATES[:1])


@pytest.mark.parametrize("roots", [1, 2])
@pytest.mark.parametrize("name", ["left", "parent"])
def test_nodes_that_are_not_there_are_refused(roots, name):
    nodes, levels = zero_nodes(roots + 2), np.zeros((1, 2), LEVEL)
    nodes["left"][:] = nodes["parent"][:] = NO_NODE
    nodes["left"][0, 0], nodes["parent"][0, roots:] = roots, 0
    nodes["tree"][0, :roots] = range(roots)
    levels["first"], levels["count"] = [[0, roots]], [[roots, 2]]
    assert len(decode_trees(nodes, levels, even_layout(1, 2), RATES[:roots])) == roots
    for wrong in (roots + 2, 0x80000005):
        nodes[name][0, 1] = wrong
        with pytest.raises(ModelFormatError, match=f"a node's {name} is none of the tree's"):
            decode_trees(nodes, levels, even_layout(1, 2), RATES[:roots])


@pytest.mark.parametrize(
    "objective",
    ["rank:ndcg", "survival:cox", "survival:aft", "dist:normal", "kernel: g = label; h = 1.0f;"],
)
def test_losses_with_kernels_of_their_own_take_one_target(objective):
    rows = Dataset(np.zeros((4, 1)), np.ones((4, 2)), group=[4])
    with pytest.raises(DataError, match="y has 2 columns: expected one for objective"):
        train({"objective": objective, "device": TEST_DEVICE}, rows, 1)


def test_a_file_of_less_than_two_classes_is_refused():
    params, X, y, _ = problem("classes")
    document = json.loads(bytes_of({**params, "n_estimators": 1}, X, y, None))
    learner = document["learner"]
    learner["learner_model_param"] |= {"num_class": "0", "base_score": "[5E-1]"}
    learner["objective"]["softmax_multiclass_param"]["num_class"] = "0"
    learner["gradient_booster"]["model"]["tree_info"] = [0] * 4
    del learner["attributes"]["pyopencl_gbdt.base_margin"]
    with pytest.raises(ModelFormatError, match="num_class='0': expected 2 classes or more"):
        from_xgboost_json(json.dumps(document))
