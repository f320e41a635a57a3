"""predict_sparse: margins of sparse rows equal those of dense rows with NaN, bit by bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.data.arrays.check_sparse import check_sparse
from pyopencl_gbdt.dtypes import WALK
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.prediction import margins as prediction
from pyopencl_gbdt.prediction import packing, predict_sparse
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference import predict as twin
from tests.steps.test_predict import SPECIAL, check_ids, ensemble

KERNEL = "predict_sparse"


def rows_of(rng, shape, density=0.4):
    """Return sparse rows of special values, some of the rows empty, and the same made dense."""
    there = rng.random(shape) < density * (rng.random(shape[0]) < 0.9)[:, None]
    dense = np.where(there, rng.choice(SPECIAL, shape), np.float32(np.nan)).astype(np.float32)
    row, column = np.nonzero(there)
    return check_sparse(sp.coo_array((dense[there], (row, column)), shape)), dense


@pytest.fixture(params=["gathered", "searched"])
def way(request, monkeypatch):
    """Either way to find the values that trees ask for."""
    monkeypatch.setattr(predict_sparse, "gathers", lambda *_: request.param == "gathered")
    return request.param


@pytest.mark.parametrize("n", [1, 15, 63, 64, 65, 300])
def test_equals_walk_of_dense_rows(device, variant, force, way, rng, n):
    force(variant)
    rows, dense = rows_of(rng, (n, 30))
    model = ensemble(rng, 10, 30, SPECIAL)
    wanted = twin.predict(model, dense)
    assert_same_bits(twin.predict(model, rows), wanted)
    assert_same_bits(prediction.predict_margins(model, rows, device), wanted)
    check_ids(device, model, rows)


def test_pieces_are_of_rows_and_of_entries(device, variant, force, way, rng, monkeypatch):
    force(variant)
    rows, dense = rows_of(rng, (200, 40), density=0.9)
    model = ensemble(rng, 3, 40, SPECIAL, n_splits=3)
    wanted = twin.predict(model, dense)
    for n_bytes in (1, 100, 3000):
        monkeypatch.setattr(prediction, "_PIECE_BYTES", n_bytes)
        assert_same_bits(prediction.predict_margins(model, rows, device), wanted)


def test_no_entries_no_trees_and_lone_leaves(device, variant, force, way, rng):
    force(variant)
    empty = check_sparse(sp.csr_array((20, 7)))
    dense = np.full((20, 7), np.nan, np.float32)
    for model in (
        ensemble(rng, 4, 7, SPECIAL), ensemble(rng, 0, 7, SPECIAL),
        ensemble(rng, 3, 7, SPECIAL, n_splits=0),
    ):  # fmt: skip
        got = prediction.predict_margins(model, empty, device)
        assert_same_bits(got, twin.predict(model, dense))


def test_columns_far_beyond_those_of_the_trees(device, variant, force, way, rng):
    """A work-item leaps over entries that no tree asks for; memory is that of columns in use."""
    force(variant)
    n_columns = 2**31 - 1
    used = np.array([0, 5, 1000, n_columns - 1])
    columns = np.unique(np.concatenate([used, rng.integers(0, n_columns, 3000)]))
    rows = np.repeat(np.arange(4), columns.size)
    values = rng.choice(SPECIAL, rows.size)
    given = sp.coo_matrix((values, (rows, np.tile(columns, 4))), (4, n_columns))
    small = ensemble(rng, 6, 4, SPECIAL)
    model = ensemble(rng, 6, 4, SPECIAL)
    model.trees = [
        type(tree)(**{**vars(tree), "feature": used[tree.feature].astype(np.int32)})
        for tree in small.trees
    ]
    model.n_features = n_columns
    dense = values.reshape(4, -1)[:, np.searchsorted(columns, used)]
    got = prediction.predict_margins(model, check_sparse(given), device)
    assert_same_bits(got, twin.predict(small, dense))
    assert packing.packed(model).used.tolist() == used.tolist()


def test_many_steps_to_few_columns_are_gathered(rng):
    rows, _ = rows_of(rng, (50, 30))
    few, wide = ensemble(rng, 50, 30, SPECIAL), ensemble(rng, 2, 30, SPECIAL, n_splits=9)
    assert predict_sparse.gathers(packing.packed(few), rows, False)
    assert not predict_sparse.gathers(packing.packed(wide), rows, False)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_walk_of_trees_on_the_device(device, variant, force, rng, n_outputs):
    """The launch for evaluation sets adds trees of one or several outputs."""
    force(variant)
    rows, dense = rows_of(rng, (150, 20))
    model = ensemble(rng, 6, 20, SPECIAL)
    packed = packing.packed(model)
    shape = (150,) if n_outputs == 1 else (3, 150)
    margins = device.zeros(shape, np.float32)
    launches = predict_sparse.prepare(
        device, predict_sparse.SparseRows.of(device, rows),
        device.upload(packed.nodes.astype(WALK)), device.upload(packed.begin), margins,
        trees=(0, 6), longest=packed.longest, outputs=(0, n_outputs), most_rows=64,
    )  # fmt: skip
    assert len(launches) > 1
    for launch in launches:
        launch()
    found = margins.get().reshape(n_outputs, 150)
    for output, own in enumerate(np.array_split(np.arange(6), n_outputs)):
        part = ensemble(rng, 0, 20, SPECIAL)
        part.trees, part.base_margin = [model.trees[i] for i in own], 0.0
        assert_same_bits(found[output], twin.predict(part, dense))


@pytest.fixture(scope="module")
def fitted():
    """A model of three classes that was watched on sparse and on dense rows, and the rows."""
    rng = np.random.default_rng(2)
    rows, dense = rows_of(rng, (120, 8))
    label = rng.integers(0, 3, 120)
    evals = [(Dataset(rows, label), "sparse"), (Dataset(dense, label), "dense")]
    params = {"objective": "multi:softprob", "num_class": 3, "max_depth": 3, "device": TEST_DEVICE}
    return train(params, Dataset(dense, label), 4, evals=evals), rows, dense


def test_evaluation_sets_may_be_sparse(fitted):
    history = fitted[0].history
    assert history["sparse"] == history["dense"]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_a_model_predicts_sparse_rows(fitted, kind):
    model, rows, dense = fitted
    given = kind(rows.scipy())
    for options in ({}, {"output_margin": True}, {"iteration_range": (1, 3)}, {"missing": 1.0}):
        wanted = model.predict(dense, device=TEST_DEVICE, **options)
        assert_same_bits(model.predict(given, device=TEST_DEVICE, **options), wanted)
    start = np.ones((120, 3))
    wanted = model.predict(dense, base_margin=start, device=TEST_DEVICE)
    data = Dataset(given, base_margin=start)
    assert_same_bits(model.predict(data, device=TEST_DEVICE), wanted)


def test_xgboost_takes_absent_values_alike(fitted, tmp_path):
    """What is absent is missing there too, and a stored 0 is a value."""
    xgboost = pytest.importorskip("xgboost")
    model, rows, _ = fitted
    model.save_model(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    found = booster.inplace_predict(rows.scipy())
    np.testing.assert_allclose(found, model.predict(rows.scipy(), device=TEST_DEVICE), rtol=1e-6)


def test_what_prediction_refuses(fitted):
    model, rows, _ = fitted
    with pytest.raises(DataError, match="X has 7 features, but the model is expecting 8"):
        model.predict(rows.scipy()[:, :7])
    assert isinstance(model, Model)
