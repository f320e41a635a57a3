"""Sets of levels and statistics of one column side by side: the better split wins."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.cards.trainings import digest
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics
from pyopencl_gbdt.device import devices, open_device
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT
from pyopencl_gbdt.parameters.category_offers import Offer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction import with_statistics
from tests.categories.test_statistics import columns_of
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

N_COLUMNS, LEVELS = 4, [1, 2]
PARAMS = {
    "objective": "binary:logistic", "cat_method": "both", "max_depth": 3, "n_estimators": 6,
}  # fmt: skip
WAYS = {
    "level by level": {},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 7},
    "symmetric": {"grow_policy": "symmetric"},
}
#: SHA-256 of model files, of the rows of `cards.trainings`.
DIGESTS = {
    "level by level": "0b520787ef25e94cecff959eb074573f9956340953b0f4d0dd58536e13705a7b",
    "leaf by leaf": "e7b19189219afd5044d0c85f72a91459e82221c5063fbc9771bc7cca0cb97f3d",
    "symmetric": "5fda0a0f76e62e22314f57d778bc075b0fa0c6751169800b6a27b928fd1bebde",
}


def rows():
    return Dataset(*columns_of("binary"), categorical_features=LEVELS)


def fitted(**more):
    params = {**PARAMS, "device": TEST_DEVICE, **more}
    return train(params, rows(), evals=[(rows(), "held out")])


@pytest.fixture(scope="module")
def model():
    return fitted()


def splits(ensemble):
    """Return the feature, the kind and the gain of every split."""
    inner = [(tree, ~tree.is_leaf) for tree in ensemble.trees]
    return [
        np.concatenate([getattr(tree, name)[kept] for tree, kept in inner])
        for name in ("feature", "split_kind", "gain")
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("way", WAYS)
def test_the_twin_takes_the_better_split(way):
    more = {"permutation_count": 1, "max_ctr_complexity": 1, "base_score": 0.5, **WAYS[way]}
    found = fitted(n_estimators=3, **more).ensemble
    params = Parameters.from_dict({**PARAMS, "n_estimators": 3, **more})
    own = dict.fromkeys(LEVELS, Offer(sets=True, statistics=True))
    made = replace_by_statistics(params, rows(), own, open_device(TEST_DEVICE))
    assert made.replaced == set()
    twin = train_reference(params, made.data.values, made.data.label, categorical_features=LEVELS)
    for tree, wanted in zip(found.trees, twin.trees, strict=True):
        for name in ("feature", "threshold", "split_kind", "sets", "value", "gain"):
            assert_same_bits(getattr(tree, name), getattr(wanted, name), name)
    feature, kind, _ = splits(found)
    assert (kind == CATEGORY_SPLIT).any()
    assert (feature >= N_COLUMNS).any()


def test_of_equal_splits_that_by_a_set_wins():
    """Two levels part the rows alike, by a set and by their count: the user's column is lower."""
    level = np.arange(60) % 3 == 0
    data = Dataset(level[:, None].astype(np.float32), level, categorical_features=[0])
    params = {**PARAMS, "n_estimators": 1, "max_depth": 1, "device": TEST_DEVICE}
    (tree,) = train(params, data).ensemble.trees
    assert tree.feature[0] == 0
    assert tree.split_kind[0] == CATEGORY_SPLIT


def test_files_keep_both(model, tmp_path, monkeypatch):
    X, _ = columns_of("binary", seed=4)
    X[:5, 2], X[5:9, 1] = 77, np.nan  # levels never seen, and missing ones
    wanted = model.predict(X)
    for name in ("m.json", "m.gbdt"):
        model.save_model(tmp_path / name)
        read = Model.load_model(tmp_path / name)
        assert_same_bits(read.predict(X), wanted)
        assert to_json(read.ensemble) == to_json(model.ensemble)
    monkeypatch.setattr(with_statistics, "_FEW_LOOK_UPS", 0)  # looks up on the device
    assert_same_bits(read.predict(X), wanted)


def test_rows_of_evaluation_walk_sets_and_statistics(model):
    data = rows()
    p = model.predict(data).astype(np.float64)
    loss = -np.mean(np.where(data.label == 1, np.log(p), np.log(1 - p)))
    assert model.history["held out"]["logloss"][-1] == pytest.approx(loss, rel=1e-5)


def test_a_column_gets_the_gains_of_both(model):
    feature, _, gain = splits(model.ensemble)
    wanted = np.zeros(N_COLUMNS)
    for number, own in zip(feature.tolist(), gain.tolist(), strict=True):
        columns = model.ensemble.sources(number)
        wanted[list(columns)] += own / len(columns)
    found = model.feature_importances("total_gain")
    assert found == pytest.approx(wanted / wanted.sum(), rel=1e-5)


def test_contributions_add_up_to_margins(model):
    X, _ = columns_of("binary", seed=4)
    X[:5, 2] = 77
    found = model.predict(X, pred_contribs=True)
    assert found.shape == (len(X), N_COLUMNS + 1)
    margins = model.predict(X, output_margin=True)
    assert found.sum(axis=1) == pytest.approx(margins, abs=1e-5)


@pytest.mark.parametrize("way", DIGESTS)
def test_known_digests(way):
    assert digest("statistics", TEST_DEVICE, cat_method="both", **WAYS[way]) == DIGESTS[way]


@pytest.mark.intel
@pytest.mark.parametrize("way", DIGESTS)
def test_known_digests_on_intels_runtime(way):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    assert digest("statistics", "intel(r) opencl", cat_method="both", **WAYS[way]) == DIGESTS[way]
