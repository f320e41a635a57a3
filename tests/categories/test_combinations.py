"""Combinations of columns: keys, codes on the device, and their twins."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, cv, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.callbacks.checkpoint_files import sealed
from pyopencl_gbdt.categories.combination_codes import CombinationCodes, CombinationKeys
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.pair_scores import ChosenCombinations
from pyopencl_gbdt.categories.statistic_columns import targets_of
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Tree, dump_text, to_json
from pyopencl_gbdt.model.combinations import MISSING, UNSEEN, Part, combined, combined_keys
from pyopencl_gbdt.training.preparing import prepare, prepared_on
from pyopencl_gbdt.training.running_task import RunningTask
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.combination import combination_codes, level_table


def data_of(n, seed=2):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), rng.integers(0, 900, n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return Dataset(X, categorical_features=[1, 2])


def n_levels(data):
    return {column: levels.n_levels for column, levels in data.categories.items()}


@pytest.mark.parametrize(
    "parts", [(Part(1), Part(2)), (Part(0, 0.25), Part(2)), (Part(0, -1.0), Part(0, 1.0), Part(1))]
)
@pytest.mark.parametrize("n", [1, 3000])
def test_codes_on_the_device_are_their_twin(device, n, parts):
    data = data_of(n)
    made, codes = CombinationCodes(device, data, n_levels(data)), device.empty((n,), np.uint32)
    sizes = tuple(2 if p.threshold is not None else n_levels(data)[p.column] for p in parts)
    for _ in range(2):
        made.of(parts, codes)
        assert_same_bits(codes.get(), combination_codes(data, parts, sizes))
    keys = combined_keys(data, parts, sizes)
    few = dict.fromkeys(n_levels(data), 2)  # training has seen fewer levels
    there = CombinationKeys(device, data, few)
    there.write(parts)
    own = combined_keys(data, parts, (2,) * len(parts))
    assert there.keys.get().astype(np.int64).tolist() == own.tolist()
    assert made.keys().get().tolist() == np.unique(keys[keys >= 0]).tolist()


def test_keys_are_numbers_of_two_digits():
    X = np.array([[0, 2], [1, 0], [np.nan, 1], [1, 2]])
    rows = Dataset(X, categorical_features=[0, 1])
    pair = (Part(0), Part(1))
    assert combined_keys(rows, pair, (2, 3)).tolist() == [2, 3, MISSING, 5]
    assert combined_keys(rows, pair, (2, 2)).tolist() == [UNSEEN, 2, MISSING, UNSEEN]


def test_parts_are_sorted_and_each_comes_once():
    one, other = (Part(2), Part(3, 0.5)), (Part(0), Part(2), Part(3))
    assert combined(one, other) == (Part(0), Part(2), Part(3), Part(3, 0.5))


PARAMS = {
    "objective": "binary:logistic",
    "cat_method": "statistics",
    "max_ctr_complexity": 3,
    "max_depth": 3,
    "device": TEST_DEVICE,
}


def crossed(n=800, seed=4):
    """Rows whose label depends on two columns together, and on the sign of a number."""
    rng = np.random.default_rng(seed)
    first, other, third = (rng.integers(0, 6, n) for _ in range(3))
    X = np.column_stack([first, rng.normal(size=n), other, third])
    X[rng.random(n) < 0.03, 2] = np.nan
    y = ((first + other) % 2 == 0) ^ (X[:, 1] > 1)
    return X, y.astype(np.float32)


def rows_of(X, y):
    return Dataset(X, y, categorical_features=[0, 2, 3])


@pytest.fixture(scope="module")
def model():
    return train(PARAMS, rows_of(*crossed()), 14)


def test_combinations_that_matter_are_found(model, tmp_path):
    X, y = crossed(seed=5)
    parts = [table.parts for table in model.ensemble.statistics.tables]
    assert (Part(0), Part(2)) in parts[3:]
    assert np.mean((model.predict(X) > 0.5) == y) > 0.85
    model.save_model(tmp_path / "m.json")
    read = Model.load_model(tmp_path / "m.json")
    assert_same_bits(read.predict(X), model.predict(X))
    assert to_json(read.ensemble) == to_json(model.ensemble)
    assert model.feature_importances().shape == (4,)
    shown = dump_text(model.ensemble)
    assert "mean(f0 & f2, > 0.5)" in shown


def test_a_split_on_a_number_joins_a_category(tmp_path):
    rng = np.random.default_rng(1)
    level, number = rng.integers(0, 30, 900), rng.normal(size=900)
    hit = rng.random(30)[level] < 0.5  # a level says which side of 0 is hit
    y = (hit ^ (number > 0)).astype(np.float32)
    X = np.column_stack([level, number])
    params = {**PARAMS, "max_ctr_complexity": 2}
    found = train(params, Dataset(X, y, categorical_features=[0]), 10)
    joined = [table.parts for table in found.ensemble.statistics.tables[1:]]
    assert joined
    assert all(one == Part(0) and other.column == 1 for one, other in joined)
    assert min(abs(other.threshold) for _, other in joined) < 0.2
    assert np.mean((found.predict(X) > 0.5) == y) > 0.9
    found.save_model(tmp_path / "m.json")
    assert_same_bits(Model.load_model(tmp_path / "m.json").predict(X), found.predict(X))
    alone = train({**params, "max_ctr_complexity": 1}, Dataset(X, y, categorical_features=[0]), 10)
    assert np.mean((alone.predict(X) > 0.5) == y) < np.mean((found.predict(X) > 0.5) == y)


def test_tables_count_the_rows_that_have_weight():
    X, y = crossed()
    weight = np.where(np.arange(y.size) % 3 == 0, 0, 1)
    data = Dataset(X, y, weight, categorical_features=[0, 2, 3])
    ensemble = train({**PARAMS, "ctr_priors": (0.25, 0.5)}, data, 10).ensemble
    targets = targets_of([data.label], data.weight)
    assert len(ensemble.statistics.tables) > 3
    for table in ensemble.statistics.tables:
        assert table == level_table(data, table.parts, table.sizes, targets)


def test_rows_of_evaluation_get_the_means_of_prediction(device, model):
    statistics, rows = model.ensemble.statistics, rows_of(*crossed(seed=6))
    X, y = crossed()
    targets = targets_of([y], None)
    made = OrderedStatistics(
        device, targets.hits, targets.counted, statistics.priors, statistics.weight, seed=0
    )
    table = next(table for table in statistics.tables if table.keys is not None)
    keys = CombinationKeys(device, rows, n_levels(rows_of(X, y)))
    keys.write(table.parts)
    out = device.zeros((rows.n_rows, 3), np.float32)
    totals = device.upload(np.stack([table.counts, *table.hits]).astype(np.uint32))
    made.level_means.look_up(keys.keys, device.upload(table.keys.astype(np.uint64)), totals, out, 1)
    wanted = replace(statistics, tables=(table,)).of_rows(rows)
    assert_same_bits(out.get()[:, 1:2], wanted)
    assert np.isnan(wanted).any()
    assert not out.get()[:, [0, 2]].any()


def test_rows_to_predict_have_the_same_values_on_the_device(device, model, monkeypatch):
    X, _ = crossed(seed=6)
    X[::7, 2] = 10**6  # a level that training has not seen
    X[::5, 0] = np.nan
    values = model.tree_values(X)
    assert values.on(device) is None  # they are few
    wanted, p = values.host(), model.predict(X)
    monkeypatch.setattr("pyopencl_gbdt.prediction.with_statistics._FEW_LOOK_UPS", 0)
    assert np.isnan(wanted).any(axis=0).sum() > 1
    assert_same_bits(values.on(device).get(), wanted)
    assert_same_bits(model.predict(X), p)
    little = replace(device.caps, global_bytes=device.allocated_bytes + 1000)
    monkeypatch.setattr(device, "caps", little)
    assert values.on(device) is None


def test_values_on_the_host_train_the_same(model, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.categories.statistic_values.fits_on", lambda *_: False)
    found = train(PARAMS, rows_of(*crossed()), 14)
    assert to_json(found.ensemble) == to_json(model.ensemble)


def test_evaluation_sets_have_the_features_of_combinations(model):
    unseen = crossed(seed=6)
    seen = train(PARAMS, rows_of(*crossed()), 14, evals=[(rows_of(*unseen), "unseen")])
    assert to_json(seen.ensemble) == to_json(model.ensemble)
    p = seen.predict(unseen[0]).astype(np.float64)
    loss = -np.mean(np.log(np.where(unseen[1] > 0, p, 1 - p)))
    assert seen.history["unseen"]["logloss"][-1] == pytest.approx(loss, rel=1e-5)


def test_a_training_resumes_to_the_same_bytes(model, tmp_path):
    evals = [(rows_of(*crossed(seed=6)), "unseen")]
    whole = train(PARAMS, rows_of(*crossed()), 14, evals=evals)
    for n_rounds in (6, 14):
        resumed = train(
            PARAMS, rows_of(*crossed()), n_rounds, evals=evals,
            callbacks=[TrainingCheckPoint(tmp_path, interval=3)],
        )  # fmt: skip
    assert to_json(resumed.ensemble) == to_json(model.ensemble)
    assert resumed.history == whole.history


def test_a_training_resumes_where_pairs_are_scored(model, tmp_path):
    for n_rounds in (4, 14):
        resumed = train(
            PARAMS, rows_of(*crossed()), n_rounds,
            callbacks=[TrainingCheckPoint(tmp_path, interval=4)],
        )  # fmt: skip
    assert to_json(resumed.ensemble) == to_json(model.ensemble)


def test_batches_of_trees_do_not_change_which_pairs_are_scored(monkeypatch):
    X, y = crossed()
    data = Dataset(X, y + (X[:, 0] > 2), categorical_features=[0, 2, 3])
    params = {**PARAMS, "objective": "multi:softprob", "num_class": 3}
    whole = train(params, data, 6)
    monkeypatch.setattr("pyopencl_gbdt.fit.parts.trees_fit", lambda *_: False)
    found = train(params, rows_of(X, data.label), 6)
    assert whole.ensemble.attributes["scored_pairs"] != "{}"
    assert to_json(found.ensemble) == to_json(whole.ensemble)


OTHER_PAIR = [{"column": 0, "levels": 6}, {"column": 1, "threshold": 99.0}]


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        (0, {"hits": [[0] * 6]}, "other statistics of categories"),
        (3, {"parts": OTHER_PAIR, "keys": [1], "counts": [1], "hits": [[0]]}, "did not find"),
    ],
)
def test_checkpoints_with_other_tables_are_refused(tmp_path, table, change, message):
    saved = {"callbacks": [TrainingCheckPoint(tmp_path, interval=6)]}
    train(PARAMS, rows_of(*crossed()), 6, **saved)
    (path,) = tmp_path.iterdir()
    document = json.loads(path.read_text())
    document["statistics"]["tables"][table].update(change)
    path.write_bytes(sealed(json.dumps(document).encode()))
    with pytest.raises(ModelFormatError, match=message):
        train(PARAMS, rows_of(*crossed()), 8, **saved)


def test_a_training_that_begins_anew_finds_the_same(model):
    task = prepare({**PARAMS, "n_estimators": 14}, rows_of(*crossed()), (), None, None)
    device = open_device(TEST_DEVICE)
    fit = RunningTask(device, prepared_on(device, task))
    for _ in range(10):
        fit.step()
    fit.fit.finished_trees()
    fit.fit._start_over()
    for _ in range(14):
        fit.fit.step(fit.pace)
    assert to_json(fit.model().ensemble) == to_json(model.ensemble)


def test_candidates_are_ancestors_and_descendants():
    greedy = ChosenCombinations(
        n_slots=2, n_new=1, most_found=1, most_parts=2, n_levels={0: 3, 2: 4}
    )
    names = [(Part(0),), (Part(1, 0.5),), (Part(2),)]
    no = np.full(5, -1, np.int32)
    tree = Tree(
        left=np.array([1, 3, -1, -1, -1], np.int32),
        right=np.array([2, 4, -1, -1, -1], np.int32),
        parent=np.array([-1, 0, 0, 1, 1], np.int32),
        feature=np.array([2, 0, 0, 0, 0], np.int32),
        threshold=np.array([1, 1, 0, 0, 0], np.float32),
        default_left=no == 0,
        split_kind=np.zeros(5, np.uint8),
        value=np.zeros((5, 1), np.float32),
        weight=np.zeros((5, 1), np.float32),
        gain=np.array([9, 3, 0, 0, 0], np.float32),
        sum_hessian=np.ones(5, np.float32),
    )
    assert greedy.update([tree], lambda feature, _: names[feature]) == [0]
    assert greedy.found == [(Part(0), Part(2))]
    assert greedy.slots == [0, None]
    assert greedy.update([tree], lambda feature, _: names[feature]) == []


def test_folds_have_statistics_of_their_own():
    X, y = crossed()
    rows = np.arange(y.size)
    folds = [(rows[200:], rows[:200])]
    found = cv(PARAMS, rows_of(X, y), 6, folds=folds, as_pandas=False)
    data = rows_of(X, y)
    evals = [(data.slice(rows[:200]), "test")]
    one = train(PARAMS, data.slice(rows[200:]), 6, evals=evals)
    assert found["test-logloss-mean"] == one.history["test"]["logloss"]
