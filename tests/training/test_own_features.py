"""Members that get the sums of their own features alone grow the trees of one process."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import find
from pyopencl_gbdt.device.team import sliced_sums
from pyopencl_gbdt.device.team.sliced_sums import packed, unpacked
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.growth import level_sums
from pyopencl_gbdt.growth.level_sums import best_of
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import GROWTH
from tests.teams import members
from tests.training.test_hosts import N, bytes_of, rows, together

#: Parameters, members, and levels whose best splits are exchanged, of two trees.
WAYS = {
    "level by level": ({}, 2, 8),
    "leaf by leaf": (GROWTH["leaf by leaf"], 3, 16),
    "columns": (GROWTH["columns"], 3, 8),
    "few leaves and order": ({"max_leaves": 7, "monotone_constraints": [1, 0, 0, -1, 0]}, 2, 8),
    "pages in turn": ({"page": "streamed", "subsample": 0.5}, 2, 8),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, 2, 8),
    "symmetric trees": (GROWTH["symmetric"], 2, 0),
}
THOROUGH = {
    "test_models_are_those_of_one_process": lambda way: (
        way not in ("level by level", "leaf by leaf", "columns")
    )
}


@pytest.fixture
def exchanged(monkeypatch):
    """Return a list that has an entry for each exchange of best splits."""
    seen = []
    monkeypatch.setattr(level_sums, "best_of", lambda every: seen.append(1) or best_of(every))
    return seen


@pytest.mark.parametrize("way", WAYS)
def test_models_are_those_of_one_process(monkeypatch, exchanged, way):
    monkeypatch.setattr(level_sums, "OWN_BYTES", 0)
    more, size, most = WAYS[way]
    params = {"device": TEST_DEVICE, "objective": "binary:logistic", "max_depth": 4, **more}
    label = "classes" if way == "classes" else "two classes"
    alone = train(params, rows(0, N, label), 2)
    assert not exchanged
    bounds = [(i * N // size, (i + 1) * N // size) for i in range(size)]
    for model in together(bounds, params, 2, label):
        assert bytes_of(model) == bytes_of(alone)
    several = way == "leaf by leaf" and find(TEST_DEVICE).caps.kind == "gpu"  # leaves a step
    assert size * (1 if several else most - 2) <= len(exchanged) <= size * most


def test_more_members_than_features_from_a_level_on(monkeypatch, exchanged):
    """The first levels are added up for all features, the last two for own ones, packed."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(300, 2)).round(1)
    values[rng.random((300, 2)) < 0.1] = np.nan
    label = np.nansum(values, axis=1) + rng.normal(size=300)
    params = {"device": TEST_DEVICE, "max_depth": 4, "max_bin": 16}

    def part(rank):
        return Dataset(values[100 * rank : 100 * (rank + 1)], label[100 * rank : 100 * (rank + 1)])

    alone = train(params, Dataset(values, label), 2)
    monkeypatch.setattr(level_sums, "OWN_BYTES", 300)  # 544 bytes a node
    monkeypatch.setattr(sliced_sums, "PACKED_BYTES", 0)
    monkeypatch.setattr(sliced_sums, "SLOW_LINK", np.inf)
    for model in members(3, lambda team, rank: train(params, part(rank), 2, communicator=team)):
        assert bytes_of(model) == bytes_of(alone)
    assert len(exchanged) == 3 * 2 * 2


@pytest.mark.parametrize("drawn", ["colsample_bylevel", "colsample_bynode"])
@pytest.mark.parametrize("bounds", [[(0, N)], [(0, 0), (0, N), (N, N)]])
def test_one_member_with_rows_exchanges_no_splits(monkeypatch, exchanged, bounds, drawn):
    monkeypatch.setattr(level_sums, "OWN_BYTES", 0)
    params = {"device": TEST_DEVICE, "objective": "binary:logistic", "max_depth": 4, drawn: 0.5}
    alone = train(params, rows(0, N), 2)
    for model in together(bounds, params, 2):
        assert bytes_of(model) == bytes_of(alone)
    assert not exchanged


def test_the_best_split_of_all_features():
    """The higher score in two floats; of equal ones the first member's; no split at all."""
    none = np.float32(-3.40282347e38)
    every = np.zeros((3, 4), CANDIDATE)
    every["feature"] = np.array([0, 5, 9])[:, None]
    every["score_hi"] = [[1, 2, none, none], [1, 3, 1, none], [1, 3, none, none]]
    every["score_lo"] = [[0, 0, 0.5, 0], [0.25, -0.5, 0, 0], [0.25, -0.25, 0.5, 0]]
    found = best_of(list(every))
    assert found["feature"][:3].tolist() == [5, 9, 5]
    assert found["score_hi"][3] == none


@pytest.mark.parametrize("bits", [0, 31, 32, 39, 40, 47, 48, 63])
def test_integers_keep_their_bits_in_fewer_bytes(bits):
    """The largest and smallest integers of a width, and those beyond it."""
    values = np.array([[-(2**bits), 2**bits - 1, 0, -1, 5, -7]], np.int64)
    message = bytes(packed(values))
    assert len(message) == 6 * next(w for w in (4, 5, 6, 8) if bits < 8 * w)
    np.testing.assert_array_equal(unpacked(message, np.int64, 6), values[0])
    words = np.arange(3, dtype=np.uint32)
    np.testing.assert_array_equal(unpacked(bytes(packed(words)), np.uint32, 3), words)
    assert bytes(packed(values[:, :0])) == b""
