"""Members of a team add up histograms of the columns that a tree draws alone."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.fit import ways
from pyopencl_gbdt.growth import level_sums
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.train import opened_fit
from tests.conftest import TEST_DEVICE
from tests.steps.test_drawn_columns import gathering
from tests.teams import members
from tests.training.test_own_features import exchanged  # noqa: F401 (a fixture)
from tests.training.test_team import TWO, in_pages, listed

N, FEATURES, DRAWN = 1200, 40, 4
RNG = np.random.default_rng(7)
X = RNG.standard_normal((N, FEATURES)).astype(np.float32)
SIGNAL = X @ RNG.standard_normal(FEATURES) + X[:, 0] * X[:, 1]
LABELS = {"number": SIGNAL.astype(np.float32), "classes": np.digitize(SIGNAL, [-3, 3])}
PARAMS = {"colsample_bytree": DRAWN / FEATURES, "max_depth": 4, "max_bin": 16, "n_estimators": 3}
LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 12, "colsample_bynode": 0.8}
CLASSES = {"objective": "multi:softprob", "num_class": 3}
#: Parameters, and columns with other numbers of codes.
WAYS = {
    "level by level": {},
    "leaf by leaf": LEAF_WISE,
    "classes": CLASSES,
    "columns of levels": {"colsample_bytree": 1.0, "colsample_bylevel": 0.1},
    "rows and levels": {"subsample": 0.6, "colsample_bylevel": 0.7, "colsample_bytree": 0.3},
}
#: Kernels of the device, and those of GPUs.
KERNELS = ["", "gpu"]
THOROUGH = {
    "test_trees_are_those_of_one_device": lambda kernels, way: (
        kernels == "gpu" and way != "level by level"
    )
}
pytestmark = pytest.mark.usefixtures("devices_named_twice")


@pytest.fixture(autouse=True)
def kernels(request, monkeypatch):
    if getattr(request, "param", ""):
        monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", request.param)


def rows(first=0, end=N, label="number"):
    return Dataset(X[first:end], LABELS[label][first:end])


def bytes_of_sums(percent):
    """Return the bytes that a member of two adds up in three rounds, and the model's text."""
    with gathering(percent):
        task = prepare({**PARAMS, "device": listed(TWO)}, rows(), (), None, None)
        with opened_fit(task) as fit:
            for _ in range(3):
                fit.step()
            model = fit.model()
            return fit.team.buffers.n_bytes, model


@pytest.mark.parametrize("kernels", KERNELS, indirect=True)
def test_bytes_of_sums_shrink_with_the_columns_drawn():
    """A tenth of the columns has a tenth of all codes; roots and exponents take some bytes."""
    of_all, masked = bytes_of_sums(0)
    of_drawn, gathered = bytes_of_sums(100)
    assert to_json(gathered.ensemble) == to_json(masked.ensemble)
    assert "gather_columns" in gathered.variants
    splits = [int(np.count_nonzero(tree.left[:7] >= 0)) for tree in gathered.ensemble.trees]
    cells = 2 * 8 * 16 * sum(1 + of_tree for of_tree in splits)  # of nodes built from rows
    assert of_all - of_drawn == cells * (FEATURES - DRAWN)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernels", KERNELS, indirect=True)
def test_trees_are_those_of_one_device(request, way):
    label = "classes" if way == "classes" else "number"
    params, data = {**PARAMS, **WAYS[way]}, rows(label=label)
    with gathering(100):
        alone, team = (
            train({**params, "device": device}, data) for device in (TEST_DEVICE, listed(TWO))
        )
    assert "gather_columns" in team.variants
    assert to_json(team.ensemble) == to_json(alone.ensemble)


def test_processes_that_keep_own_features(monkeypatch, exchanged):  # noqa: F811
    """Of four columns, three members have one or two each."""
    monkeypatch.setattr(level_sums, "OWN_BYTES", 0)
    params = {**PARAMS, "device": TEST_DEVICE}
    bounds = [(0, 500), (500, 700), (700, N)]
    alone = train(params, rows())
    assert not exchanged
    found = members(3, lambda team, rank: train(params, rows(*bounds[rank]), communicator=team))
    for model in found:
        assert to_json(model.ensemble) == to_json(alone.ensemble)
        assert "gather_columns" in model.variants
    assert len(exchanged) > 3


def test_no_member_gathers_where_one_does_not(monkeypatch):
    """Its device gathers fewer columns, or its rows lie in two pages."""
    shares = iter([100, 1] * 20)
    alone = train({**PARAMS, "device": TEST_DEVICE}, rows())
    monkeypatch.setattr(ways, "percent_gathered", lambda facts, caps: next(shares))
    team = train({**PARAMS, "device": listed(TWO)}, rows())
    assert "gather_columns" not in team.variants
    assert to_json(team.ensemble) == to_json(alone.ensemble)
    monkeypatch.undo()
    text, _ = in_pages(monkeypatch, TWO, PARAMS, rows(), [(0, 500), (500, N)], 2)
    assert text == to_json(alone.ensemble)
