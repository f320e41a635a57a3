"""What a fit keeps of its trees, and what members of a team compare; what is left of a fit."""

import gc
import weakref

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device, selection
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.growth import grown_trees
from pyopencl_gbdt.growth.decoded_trees import kept_nodes
from pyopencl_gbdt.growth.grown_trees import GrownTrees
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.training import running_task
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.preparing import prepare, prepared_on
from pyopencl_gbdt.training.running_task import RunningTask
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import GROWTH

N = 300
RNG = np.random.default_rng(5)
X = RNG.random((N, 5), dtype=np.float32)
X[:, 1] = RNG.integers(0, 40, N)
Y = ((X[:, 1] % 3 == 1) + X[:, 0]).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "verbosity": 0, "max_depth": 9, "gamma": 0.2}


def grown():
    """Return a fit of three rounds whose nodes split by sets, too; its trees are not taken."""
    data = Dataset(X, Y, categorical_features=[1])
    task = prepare({**PARAMS, "cat_method": "sets"}, data, (), None, None)
    device = open_device(TEST_DEVICE)
    fit = RunningTask(device, prepared_on(device, task))
    for _ in range(3):
        fit.step()
    return fit


def test_trees_take_the_memory_of_their_nodes():
    fit = grown()
    fit.fit.finished_digest()
    (read,) = fit.fit.grown._read
    trees = fit.fit.finished_trees()
    most = max(tree.n_nodes for tree in trees)
    assert 1 < most < fit.fit.parts.nodes.max_nodes // 2
    assert read.words.shape == (3, len(kept_nodes(read.words)), most)
    assert read.sets.shape[:2] == (3, most // 2 + 1)
    assert read.words.base is read.sets.base is None


def test_other_members_keep_no_trees(monkeypatch):
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)
    kept, original = {0: 0, 1: 0}, GrownTrees.read

    def read(self, at, leaf_rates):
        found = original(self, at, leaf_rates)
        kept[self._parts.rows.team.rank] += len(self._read)
        return found

    monkeypatch.setattr(GrownTrees, "read", read)
    train({**PARAMS, "device": ",".join([f"{TEST_DEVICE}=1"] * 2)}, Dataset(X, Y), 3)
    assert kept[0] > kept[1] == 0


def test_members_compare_sets_by_which_nodes_split():
    parts = grown().fit.parts
    at, rates = np.array([0]), np.ones(1, np.float32)

    def digest():
        trees = GrownTrees(parts)
        trees.read(at, rates)
        return trees.digest

    nodes = kept_nodes(parts.arena["forest_nodes"].get()[:1])
    count = int((nodes["left"] < parts.nodes.max_nodes).sum())
    by_set = np.flatnonzero((nodes["left"][0] < 2 * count + 1) & (nodes["split_kind"][0] != 0))
    sets, before = parts.arena["forest_sets"].get(), digest()
    changed = sets.copy()
    changed[0, -1, 1] ^= 1  # of no node
    parts.arena["forest_sets"].set(changed)
    assert digest() == before
    changed = sets.copy()
    changed[0, nodes["left"][0, by_set[0]] // 2, 1] ^= 1
    parts.arena["forest_sets"].set(changed)
    assert digest() != before


VECTORS = {
    "targets": {},
    "forests": {"num_parallel_tree": 3, "subsample": 0.5, "max_depth": 4},
    "classes": {"objective": "multi:softprob", "num_class": 3, "gamma": 9.0},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 9},
    "sets": {"cat_method": "sets"},
}


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_are_those_of_the_outputs_trees(kind, monkeypatch):
    """Trees of levels are made at once; others of a tree for each output."""
    y = np.stack([Y, -2 * Y, X[:, 2] > 0.5], 1) if kind != "classes" else np.floor(3 * X[:, 0])
    rows = Dataset(X, y, categorical_features=[1] if kind == "sets" else [])
    own = {**PARAMS, "max_depth": 5, **VECTORS[kind], "multi_strategy": "multi_output_tree"}
    task = prepare(own, rows, (), None, None)

    def three_rounds():
        device = open_device(TEST_DEVICE)
        fit = RunningTask(device, prepared_on(device, task)).fit
        for _ in range(3):
            fit.step(Pace(device))
        return fit

    numbers, vectors = three_rounds(), three_rounds()
    n_parallel = own.get("num_parallel_tree", 1)
    wanted = with_vectors(numbers.finished_trees(), 3, n_parallel)
    assert len(wanted) == 3 * n_parallel
    assert max(tree.n_nodes for tree in wanted) > 3
    if kind in ("targets", "forests", "classes"):
        monkeypatch.setattr(grown_trees, "decode_trees", None)
    assert vectors.behind([]) == (wanted, n_parallel)
    monkeypatch.undo()
    assert numbers.behind([]) == (wanted, n_parallel)
    assert with_vectors(vectors.finished_trees(), 3, n_parallel) == wanted


@pytest.mark.few(6)
@pytest.mark.parametrize("growth", [*GROWTH, "exact", "approx"])
def test_a_fit_is_gone_after_training(monkeypatch, growth):
    """Its memory does not wait for Python's collector of cycles."""
    fits = []

    class Noted(Fit):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            fits.append([weakref.ref(one) for one in (self.parts.arena, self.kernels)])

    monkeypatch.setattr(running_task, "Fit", Noted)
    more = GROWTH.get(growth, {"tree_method": growth})
    rows = Dataset(X, Y)
    gc.collect()
    gc.disable()
    try:
        train({"device": TEST_DEVICE, "verbosity": 0, "max_depth": 3, **more}, rows, 3)
        assert [one() for one in fits[0]] == [None, None]
    finally:
        gc.enable()
