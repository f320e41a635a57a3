"""Training with dropped trees: the twin's model in every way, and what can be done with it."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xgboost

import pyopencl_gbdt as gbdt
from pyopencl_gbdt import Dataset, Model
from pyopencl_gbdt.callbacks import EarlyStopping, TrainingCheckPoint
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.errors import DataError, MemoryPlanError, ParameterError
from pyopencl_gbdt.evaluation.evaluation import plan_evaluation
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.fit import parts
from pyopencl_gbdt.growth.coded_trees import coded_trees, plan_earlier
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import DROPPING, TABLE
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.running_task import start_of
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE

rng = np.random.default_rng(11)
X = rng.normal(size=(120, 4)).astype(np.float32)
X[rng.random(X.shape) < 0.15] = np.nan
Y = (np.nan_to_num(X[:, 0]) * 2 - np.nan_to_num(X[:, 1]) ** 2).astype(np.float32)
TEST = rng.normal(size=(50, 4)).astype(np.float32)
TEST_Y = (TEST[:, 0] * 2 - TEST[:, 1] ** 2).astype(np.float32)
PARAMS = {
    "booster": "dart", "rate_drop": 0.4, "max_depth": 3, "max_bin": 16, "device": TEST_DEVICE,
    "verbosity": 0, "random_state": 5,
}  # fmt: skip
VECTORS = {  # rows walk a tree for four outputs, then for the fifth
    "objective": "multi:softprob", "num_class": 5, "multi_strategy": "multi_output_tree",
}  # fmt: skip
KINDS = {
    "plain": {},
    "one drop": {"rate_drop": 0.0, "one_drop": True},
    "all": {"rate_drop": 1.0, "skip_drop": 0.5},
    "by weight as a forest": {"sample_type": "weighted", "normalize_type": "forest"},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "forest": {"num_parallel_tree": 3, "subsample": 0.6, "colsample_bynode": 0.5},
    "leaf-wise": {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
    "symmetric": {"grow_policy": "symmetric"},
    "quantiles": {"objective": "reg:absoluteerror"},
    "goss": {"sampling_method": "goss"},
    "vectors": {**VECTORS, "num_parallel_tree": 2, "subsample": 0.6},
    "sketches": {**VECTORS, "sketch": 1, "grow_policy": "lossguide", "max_leaves": 6},
    "sets": {"cat_method": "sets", "num_parallel_tree": 2, "subsample": 0.7},
    "sets, leaf-wise": {"cat_method": "sets", "grow_policy": "lossguide", "max_leaves": 6},
    "sets, symmetric": {"cat_method": "sets", "grow_policy": "symmetric"},
    "sets, vectors": {**VECTORS, "cat_method": "sets"},
}
#: Two columns of numbers and two of levels, for kinds with sets.
LEVELS = np.column_stack([X[:, :2], np.arange(120) * 7 % 33, np.arange(120) * 5 % 7]).astype("f4")
LABELS = (np.arange(len(X)) * 7 % 3).astype(np.float32)


def label_of(kind):
    return LABELS if "num_class" in KINDS[kind] else Y


def columns_of(kind):
    """Return the values of a kind, and which columns are levels."""
    return (LEVELS, (2, 3)) if kind.startswith("sets") else (X, ())


def rows_of(kind, values):
    """Return rows with labels of a kind, again and again."""
    label, categorical = np.resize(label_of(kind), len(values)), list(columns_of(kind)[1])
    return Dataset(values, label, categorical_features=categorical or None)


def data(kind="plain"):
    return rows_of(kind, columns_of(kind)[0])


def held_out(kind):
    return rows_of(kind, LEVELS[50:100] if kind.startswith("sets") else TEST)


def bytes_of(model):
    return bytes(model.save_raw("json"))


def trained(kind="plain", n_rounds=7, **more):
    arguments = {"evals": more.pop("evals", ()), "model": more.pop("model", None)}
    return gbdt.train({**PARAMS, **KINDS[kind], **more}, data(kind), n_rounds, **arguments)


@pytest.mark.few(2)
@pytest.mark.more(4)
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_the_twins(kind):
    values, categorical = columns_of(kind)
    own = {"categorical_features": list(categorical)} if categorical else {}
    params = {**PARAMS, **KINDS[kind], "n_estimators": 7}
    found = trained_as_twin(params, values, label_of(kind), **own).ensemble
    assert any(tree.sets.size for tree in found.trees) == bool(categorical)


@pytest.mark.few(3)
@pytest.mark.more(4)
@pytest.mark.parametrize("kind", KINDS)
def test_metrics_are_those_of_the_models_predictions(kind):
    sets = [(data(kind), "train"), (held_out(kind), "test")]
    for n_rounds in (1, 6):
        model = trained(kind, n_rounds, evals=sets)
        for rows, name in sets:
            (values,) = model.history[name].values()
            again = trained(kind, 0, model=model, evals=[(rows, name)])
            assert len(values) == n_rounds
            assert again.history[name]
            theirs = xgboost.Booster(model_file=model.save_raw("json"))
            if kind in ("plain", "classes", "forest", "vectors"):
                matrix = xgboost.DMatrix(rows.values, rows.label, nthread=1)
                said = float(theirs.eval(matrix).split(":")[-1])
                assert abs(values[-1] - said) < 1e-5


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["plain", "classes", "forest", "vectors", "sets"])
def test_a_continued_model_is_that_of_all_rounds(kind):
    sets = [(held_out(kind), "test")]
    whole = trained(kind, 9, evals=sets)
    first = trained(kind, 4)
    rest = trained(kind, 5, model=first, evals=sets)
    assert bytes_of(rest) == bytes_of(whole)
    for name, values in whole.history["test"].items():
        assert rest.history["test"][name] == values[4:]
    own = "ubj" if first.ensemble.tree_outputs == 1 else "gbdt"  # XGBoost has no weights of vectors
    again = trained(kind, 5, model=Model.load_model(first.save_raw(own)))
    assert bytes_of(again) == bytes_of(whole)


def test_a_model_without_weights_is_continued():
    plain = trained(booster="gbtree", n_rounds=3)
    found = trained(n_rounds=4, model=plain)
    assert len(found.ensemble.tree_weights) == 7
    assert found.ensemble.trees[:3] == plain.ensemble.trees


@pytest.mark.parametrize("kind", ["classes", "forest", "sets"])
def test_several_pages_and_a_few_trees_at_a_time(monkeypatch, kind):
    params = Parameters.from_dict({**PARAMS, **KINDS[kind], "n_estimators": 5})
    objective, rows = get_objective(params.objective, params), data(kind)
    start = start_of(trained(kind, 0).ensemble.base_margin)
    expected = trained(kind, 5).ensemble.trees

    def trees(n_pages):
        fit = Fit(open_device(TEST_DEVICE), params, objective, rows, start, n_pages=n_pages)
        return fit.run(5)

    assert trees(1) == trees(3) == expected
    monkeypatch.setattr(parts, "trees_fit", lambda fit, on_paper: fit.nodes.n_trees <= 2)
    assert trees(1) == trees(3) == expected


def test_a_model_of_other_data_is_refused():
    other = gbdt.train(PARAMS, Dataset(TEST, TEST_Y), 2)
    with pytest.raises(DataError, match=r"model: tree 0 splits column .* train all rounds on"):
        trained(model=other)


def test_training_resumes_from_a_checkpoint(tmp_path):
    whole = trained(n_rounds=8)
    for n_rounds in (3, 8):
        saver = TrainingCheckPoint(tmp_path, interval=1)
        model = gbdt.train({**PARAMS, **KINDS["plain"]}, data(), n_rounds, callbacks=[saver])
    assert bytes_of(model) == bytes_of(whole)


def test_an_open_fit_gives_the_same_bytes():
    with gbdt.open_fit(PARAMS, data(), 7) as fit:
        for number in range(1, 8):
            fit.update()
            assert bytes_of(fit.model()) == bytes_of(trained(n_rounds=number))


def test_stopping_early_keeps_all_trees_with_their_last_weights():
    sets = [(Dataset(TEST, rng.normal(size=len(TEST))), "test")]
    model = gbdt.train(PARAMS, data(), 30, evals=sets, early_stopping_rounds=3)
    n_rounds = model.num_boosted_rounds()
    assert model.best_iteration + 4 == n_rounds < 30
    assert bytes_of(model[:]) == bytes_of(trained(n_rounds=n_rounds))
    used = model.predict(TEST, device=TEST_DEVICE)
    assert np.array_equal(used, model[: model.best_iteration + 1].predict(TEST))


def test_the_best_model_has_the_weights_of_its_round():
    sets = [(Dataset(TEST, rng.normal(size=len(TEST))), "test")]
    stop = EarlyStopping(3, save_best=True)
    model = gbdt.train(PARAMS, data(), 30, evals=sets, callbacks=[stop])
    best = model.num_boosted_rounds()
    assert model.ensemble.trees == trained(n_rounds=best).ensemble.trees
    assert model.ensemble.tree_weights == trained(n_rounds=best).ensemble.tree_weights


@pytest.mark.parametrize("given", ["sparse", "batches", "several"])
def test_evaluation_sets_of_every_kind(given):
    from scipy.sparse import csr_matrix

    dense = [(Dataset(TEST, TEST_Y), "test")]
    expected = trained("forest", evals=dense).history
    if given == "sparse":
        sets = [(Dataset(csr_matrix(TEST), TEST_Y), "test")]
    elif given == "batches":
        sets = [(Dataset.from_batches([TEST[:20], TEST[20:]], label=TEST_Y), "test")]
    else:
        sets = [(data(), "train"), *dense]
    found = trained("forest", evals=sets).history
    assert found["test"] == expected["test"]


@pytest.mark.parametrize("kind", ["plain", "classes"])
def test_what_an_evaluation_set_takes_is_planned(kind):
    device = open_device(TEST_DEVICE)
    params = Parameters.from_dict({**PARAMS, **KINDS[kind], "n_estimators": 3})
    objective, rows = get_objective(params.objective, params), data(kind)
    test = held_out(kind)
    plan = plan_evaluation(device, objective, {}, [(test, "test")], rows, weighted=True)
    fit, before = Fit(device, params, objective, rows, 0.0), device.allocated_bytes
    fit.watch(EvaluationSet.of(fit.parts.rows, test.values, 0.0))
    assert device.allocated_bytes - before == plan.total_bytes


@pytest.mark.parametrize("kind", ["plain", "sets"])
def test_what_earlier_trees_take_is_planned(kind):
    model, plan = trained(kind).ensemble, MemoryPlan()
    params = Parameters.from_dict({**PARAMS, **KINDS[kind]})
    objective = get_objective(params.objective, params)
    fit = Fit(open_device(TEST_DEVICE), params, objective, data(kind), 0.0).parts
    layout, codes = fit.features.layout, SimpleNamespace(block_features=16, block_codes=16)
    plan_earlier(plan, model.trees, fit.nodes.set_words)
    found = coded_trees(model.trees, layout, codes, fit.nodes.set_words)
    arrays = [found.steps, found.walk, found.begin, *([found.sets] if kind == "sets" else [])]
    assert plan.total_bytes == sum(one.nbytes for one in arrays)
    leaves = found.walk["left"] == 0
    assert np.array_equal(found.walk["number"][leaves], found.steps["value"][leaves])
    assert found.longest == 4


def test_too_many_rounds_for_the_memory_are_named():
    with pytest.raises(MemoryPlanError, match=r"or lower n_estimators, as booster='dart' keeps"):
        trained(n_rounds=2_000_000, device_memory=20_000_000)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"rate_drop": 1.5}, r"rate_drop=1.5: expected"),
        ({"rate_drop": -0.1}, r"rate_drop=-0.1: expected"),
        ({"skip_drop": 2}, r"skip_drop=2.0: expected 0..1; lower skip_drop"),
        ({"sample_type": "some"}, r"sample_type='some': expected 'uniform' or 'weighted'"),
        ({"normalize_type": "trees"}, r"normalize_type='trees': expected 'tree' or 'forest'"),
        ({"booster": "gblinear"}, r"booster='gblinear': linear models are not here yet; give"),
    ],
)
def test_what_is_wrong_is_named(params, words):
    with pytest.raises(ParameterError, match=words):
        trained(**params)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rate_drop": 0.5, "one_drop": True},
         "rate_drop=0.5 and one_drop=True have no effect: expected booster='dart'; give it, or "
         "leave them out"),
        ({"sample_type": "weighted"},
         "sample_type='weighted' has no effect: expected booster='dart'; give it, or leave it out"),
        ({"rate_drop": 0.0, "normalize_type": "tree"}, None),
        ({"booster": "dart", "rate_drop": 0.5}, None),
    ],
)  # fmt: skip
def test_parameters_of_another_booster_are_told(given, text):
    params = {"max_depth": 2, "device": TEST_DEVICE, "verbosity": 0, **given}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = gbdt.train(params, Dataset(X, Y), 2)
    told = [one for one in seen if "no effect" in str(one.message)]
    assert [str(one.message) for one in told] == ([] if text is None else [text])
    assert all(one.filename == __file__ for one in told)
    assert (model.ensemble.tree_weights is None) == ("booster" not in given)


def test_the_parameters_of_dart_follow_the_booster_in_the_table():
    rows = {row.name: row.doc for row in TABLE}
    assert [name for name, text in rows.items() if text.startswith("dart: ")] == list(DROPPING)


def test_labels_that_are_too_large_are_named_before_the_first_round():
    largest = f"{np.abs(Y * np.float32(2.0**31)).max():g}"
    words = (
        f"y: its largest absolute value is {re.escape(largest)}, and labels are .* in the mean: "
    )
    with pytest.raises(
        DataError, match=words + r"expected less than 2\^30 .*; divide the labels, y"
    ):
        gbdt.train(PARAMS, Dataset(X, Y * 2.0**31), 3)


@pytest.mark.parametrize("kind", ["plain", "forest", "classes"])
def test_the_largest_leaves_are_those_of_the_trees(kind):
    params = {**PARAMS, **KINDS[kind]}
    with gbdt.open_fit(params, data(kind), 4) as fit:
        while fit.update():
            pass
        trees = fit.model().ensemble.trees
        found = fit._task.fit.grown.largest
    assert found.tolist() == [np.abs(tree.value).max() for tree in trees]


def test_sums_that_become_too_large_end_the_training_early():
    """Rows beside each other have labels far apart, which the mean distance does not show."""
    y, done = np.where(np.arange(len(X)) % 6 == 0, 2.0**32, 0.0), []
    params = {**PARAMS, "learning_rate": 1.0, "rate_drop": 0.0, "base_score": 0.0}

    def fit():
        with gbdt.open_fit(params, Dataset(X, y), 100) as opened:
            while opened.update():
                done.append(0)

    with pytest.raises(DataError, match=r"y: .* is 4.29497e\+09, and the trees of 16 rounds add"):
        fit()
    assert 31 <= len(done) <= 33  # the first 16 rounds are read when 16 more are enqueued


def test_labels_around_a_large_mean_train():
    y = np.float32(3e9) * (1 + Y / 1000)
    assert gbdt.train(PARAMS, Dataset(X, y), 20).ensemble.tree_weights is not None


def test_large_labels_of_rows_without_weight_train():
    y = np.where(np.arange(len(X)) % 2, Y, 2.0**35)
    rows = Dataset(X, y, weight=np.arange(len(X)) % 2)
    assert gbdt.train(PARAMS, rows, 2).ensemble.tree_weights is not None
