"""Trainings and predictions on rows in batches: the bytes are those of one array."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from pyopencl_gbdt import Dataset, GBDTClassifier, train
from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.limited_device import with_memory
from pyopencl_gbdt.errors import DataError, FileWriteError, MemoryPlanError, ParameterError
from pyopencl_gbdt.fit.choose_turns import choose_turns
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import pages_in_turn
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.conftest import TEST_DEVICE

N = 900
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "n_estimators": 3, "max_bin": 16}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.round(X[:, 3])
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0).astype(np.float32)
    weight = rng.integers(0, 4, N).astype(np.float32)
    return X, y, weight


def cut(*parts, size=250):
    return lambda: (tuple(p[i : i + size] for p in parts) for i in range(0, N, size))


@pytest.fixture(scope="module")
def models(rows):
    """A model of the rows as an array and one of batches, both with an evaluation set."""
    X, y, weight = rows
    whole = train(PARAMS, Dataset(X, y, weight), evals=[(Dataset(X[:90], y[:90]), "e")])
    evals = [(Dataset.from_batches([(X[:50], y[:50]), (X[50:90], y[50:90])]), "e")]
    return whole, train(PARAMS, Dataset.from_batches(cut(X, y, weight)), evals=evals)


def test_the_model_is_that_of_all_rows(models):
    assert to_json(models[0].ensemble) == to_json(models[1].ensemble)
    assert models[0].history == models[1].history


def test_a_set_that_is_read_in_every_round(models, rows, monkeypatch):
    X, y, weight = rows
    monkeypatch.setattr("pyopencl_gbdt.evaluation.watched.MOST_RESIDENT", 0)
    monkeypatch.setattr("pyopencl_gbdt.evaluation.watched.PIECE_BYTES", 4 * 6 * 40)
    evals = [(Dataset.from_batches([(X[:50], y[:50]), (X[50:90], y[50:90])]), "e")]
    model = train(PARAMS, Dataset(X, y, weight), evals=evals)
    assert model.history == models[0].history
    classes = {**PARAMS, "objective": "multi:softprob", "num_class": 3}
    data, kinds = Dataset(X, y + (X[:, 4] > 1)), (y + (X[:, 4] > 1))[:90]
    sets = [Dataset(X[:90], kinds), Dataset.from_batches([(X[:90], kinds)])]
    found = [train(classes, data, evals=[(one, "e")]).history for one in sets]
    assert found[0] == found[1]


def test_predictions_in_batches(models, rows, tmp_path):
    X, y, _ = rows
    model, expected = models[0], models[0].predict(X)
    np.save(tmp_path / "x.npy", X)
    for given in (Dataset.from_batches(cut(X, y)), cut(X), tmp_path / "x.npy", [tmp_path]):
        np.testing.assert_array_equal(model.predict(given), expected)
    margin = np.linspace(-1, 1, N, dtype=np.float32)
    np.testing.assert_array_equal(
        model.predict(cut(X), base_margin=margin), model.predict(X, base_margin=margin)
    )
    with pytest.raises(DataError, match="base_margin has 3 values, X has 250 rows or more"):
        model.predict(cut(X), base_margin=margin[:3])


def test_levels_of_batches(rows):
    X, y, _ = rows
    X = X.copy()
    X[:, 3] = np.abs(np.nan_to_num(X[:, 3])) * 7 % 5
    own = {"categorical_features": [3], "label": y}
    whole = train(PARAMS, Dataset(X, **own))
    model = train(PARAMS, Dataset.from_batches(cut(X), **own))
    assert to_json(whole.ensemble) == to_json(model.ensemble)
    np.testing.assert_array_equal(model.predict(cut(X)), whole.predict(X))


def test_a_continued_training(models, rows):
    X, y, weight = rows
    more = [
        train(PARAMS, data, model=models[0], n_rounds=1)
        for data in (Dataset(X, y, weight), Dataset.from_batches(cut(X, y, weight)))
    ]
    assert to_json(more[0].ensemble) == to_json(more[1].ensemble)


def test_values_of_all_rows_at_once_are_refused(rows):
    X, y, _ = rows
    data = Dataset.from_batches(cut(X, y))
    with pytest.raises(DataError, match="comes in batches, 900 x 6: expected rows that lie in"):
        _ = data.values


def test_batches_that_change_end_the_training(rows):
    X, y, _ = rows
    passes = iter([cut(X, y)] + [cut(X[::-1], y)] * 9)
    data = Dataset.from_batches(lambda: iter(next(passes)()))
    with pytest.raises(DataError, match="batch 0 has other values than in an earlier pass"):
        train(PARAMS, data)
    assert data.kept is None


def test_estimators_take_batches(rows, tmp_path):
    X, y, weight = rows
    labels = np.where(y, "b", "a")
    options = {"n_estimators": 3, "max_depth": 3, "max_bin": 16, "class_weight": "balanced"}
    whole = GBDTClassifier(**options).fit(
        X, y, weight, eval_set=[(X, y)], sample_weight_eval_set=[weight]
    )
    given = cut(X, y, weight)
    own = GBDTClassifier(**options).fit(given, eval_set=[(given, None)])
    assert to_json(whole.model_.ensemble) == to_json(own.model_.ensemble)
    assert whole.evals_result() == own.evals_result()
    np.testing.assert_array_equal(own.predict(cut(X)), whole.predict(X))
    np.save(tmp_path / "x.npy", X)
    named = GBDTClassifier(**options).fit(tmp_path / "x.npy", labels)
    np.testing.assert_array_equal(named.classes_, ["a", "b"])
    with pytest.raises(DataError, match="X has no labels: expected y"):
        GBDTClassifier(**options).fit(cut(X))


class Watch(TrainingCallback):
    """Looks at the files of pages after a round, and does something to them."""

    def __init__(self, folder, act):
        self.folder, self.act = folder, act

    def after_iteration(self, model, epoch, history):
        files = sorted(self.folder.rglob("*.page"))
        assert len(files) == 5
        self.act(files)
        return False


def interrupt(files):
    raise KeyboardInterrupt


def damage(files):
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [(len, None, None), (interrupt, KeyboardInterrupt, None), (damage, DataError, "is damaged")],
)
def test_pages_on_disk(models, rows, tmp_path, monkeypatch, act, error, words):
    def five_pages_in_two_slots(ws, on_paper, bounds=None, n_pages=0, n_slots=0):
        choose_turns(ws, on_paper, bounds, 5, 2)

    monkeypatch.setattr(pages_in_turn, "choose_turns", five_pages_in_two_slots)
    X, y, weight = rows
    data = Dataset.from_batches(cut(X, y, weight))
    own = {**PARAMS, "cache_dir": tmp_path, "page": "streamed"}
    watch = Watch(tmp_path, act)
    if error is None:
        model = train(own, data, callbacks=[watch])
        assert to_json(model.ensemble) == to_json(models[0].ensemble)
        assert model.variants["page"] == "streamed"
    else:
        with pytest.raises(error, match=words):
            train(own, data, callbacks=[watch])
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_refused(rows):
    X, y, _ = rows
    for folder, error in ((3, ParameterError), ([], ParameterError), ("/no/where", FileWriteError)):
        with pytest.raises(error, match="cache_dir="):
            train({**PARAMS, "cache_dir": folder, "page": "streamed"}, Dataset(X, y))


@pytest.mark.parametrize("weighted", [False, True])
def test_summaries_of_few_values_give_the_exact_bins(rows, weighted):
    X, y, weight = rows
    few = np.round(X * 4) / 4
    own = weight if weighted else None
    exact = train(PARAMS, Dataset(few, y, own))
    parts = cut(few, y, weight) if weighted else cut(few, y)
    near = train({**PARAMS, "max_bin_exact": False}, Dataset.from_batches(parts))
    assert to_json(exact.ensemble) == to_json(near.ensemble)


def test_summaries_cut_nearly_equal_bins(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 3)).astype(np.float32)
    X[rng.random(6000) < 0.2, 1] = np.nan
    monkeypatch.setattr("pyopencl_gbdt.pages.budget.SUMMARY_VALUES", 3 * 500)
    device = open_device(TEST_DEVICE)
    quantizer = Quantizer(device, X, None, 10, exact=False)
    cuts = quantizer.cuts()
    assert quantizer.n_passes == 2
    assert cuts.missing.tolist() == [False, True, False]
    assert cuts.n_bins.tolist() == [10] * 3
    for feature, column in enumerate(X.T):
        present = np.sort(column[~np.isnan(column)])
        full = np.diff(np.searchsorted(present, cuts.below[feature], side="right"), prepend=0)
        # twelve pieces are merged in four levels, and pruned to 80 entries at each
        assert np.abs(full - present.size / 10).max() <= 2 * 5 / 80 * present.size
        assert full.sum() == present.size


def test_summaries_need_no_memory_for_a_column(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200_000, 2)).astype(np.float32)
    monkeypatch.setattr("pyopencl_gbdt.pages.budget.SUMMARY_VALUES", 4000)
    monkeypatch.setattr("pyopencl_gbdt.pages.budget.PIECE_BYTES", 4000)
    device = open_device(TEST_DEVICE)
    monkeypatch.setattr(device, "borrows", False)  # as on a GPU
    least = 8 * len(X)  # a column takes half of it, the scratch of its sort the rest and more
    monkeypatch.setattr(device, "caps", with_memory(device.caps, device.allocated_bytes + least))
    with pytest.raises(MemoryPlanError):
        Quantizer(device, X, None, 16, code_bytes=1000)
    before = device.peak_bytes = device.allocated_bytes
    cuts = Quantizer(device, X, None, 16, code_bytes=1000, exact=False).cuts()
    assert cuts.n_bins.tolist() == [16] * 2
    assert device.peak_bytes - before < least / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_the_host_holds_two_batches(weighted):
    n_rows, n_features, batch_rows = 120_000, 12, 40_000

    def batches():
        for first in range(0, n_rows, batch_rows):
            rng = np.random.default_rng(first)
            X = rng.standard_normal((batch_rows, n_features), np.float32)
            yield (X, X[:, 0] > 0, np.ones(batch_rows, np.float32))[: 2 + weighted]

    options = {**PARAMS, "n_estimators": 1}
    few = np.arange(60, dtype=np.float32).reshape(20, 3)
    train(options, Dataset(few, few[:, 0] > 9))  # imports what training imports
    tracemalloc.start()
    try:
        train(options, Dataset.from_batches(batches))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    device, checked = open_device(TEST_DEVICE), Parameters.from_dict(options)
    shape = n_rows, n_features
    found = estimate_memory(device, checked, *shape, weighted=weighted, batch_rows=batch_rows)
    assert abs(found.host_bytes - peak) <= 0.1 * peak


def test_a_source_may_reuse_its_memory(rows):
    X, y, weight = rows
    kept = [np.empty((225, *part.shape[1:]), np.float32) for part in (X, y, weight)]

    def refilled():
        for first in range(0, N, 225):
            for own, part in zip(kept, (X, y, weight), strict=True):
                own[:] = part[first : first + 225]
            yield tuple(kept)

    data = Dataset.from_batches(refilled)
    np.testing.assert_array_equal(data.label, y)
    np.testing.assert_array_equal(data.weight, weight)


def test_other_orders_of_rows_are_noticed_beside_categories(rows):
    """Codes of levels change after the first pass, so the columns of numbers are compared."""
    X, y, _ = rows
    orders = iter([np.arange(N), np.arange(N)[::-1]])

    def shuffled():
        order = next(orders)
        return ((X[k], y[k]) for k in np.array_split(order, 4))

    other = Dataset.from_batches(shuffled, categorical_features=[3])
    params = {**PARAMS, "cat_method": "sets", "device": TEST_DEVICE}
    whole = Dataset(X, y, categorical_features=[3])
    with pytest.raises(DataError, match="has other values than in an earlier pass"):
        train(params, whole, 1, evals=[(other, "other")])


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_complex_rows(form):
    batch = form(np.ones((2, 5), complex)), np.ones(2)
    with pytest.raises(DataError, match=r"batch 0 .*complex128.*, for example X\.astype\("):
        Dataset.from_batches(lambda: iter([batch]))
