"""predict_vectors: margins equal those of a walk row by row, of a tree or one for each output."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction import margins as prediction
from pyopencl_gbdt.prediction import walk_rows
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.walk_rows import HostRows
from tests.compare import assert_same_bits
from tests.reference import predict as twin
from tests.steps.test_predict import SPECIAL, codes_of, ensemble, with_sets

KERNEL = "predict_vectors"


def with_vectors(rng, trees, n_outputs, **changes):
    """A model of these trees, whose leaves are random vectors."""
    of_trees = []
    for tree in trees:
        value = rng.normal(size=(tree.n_nodes, n_outputs)).astype(np.float32)
        value[~tree.is_leaf] = 0
        of_trees.append(replace(tree, value=value, weight=np.zeros_like(value)))
    base = tuple(np.linspace(-1, 1, n_outputs).astype(np.float32).tolist())
    return Ensemble(of_trees, "reg:squarederror", 3, base, base, n_outputs=n_outputs, **changes)


@pytest.mark.parametrize("n_outputs", [2, 3, 17])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_margins(device, variant, force, rng, n, n_outputs):
    force(variant)
    model = with_vectors(rng, ensemble(rng, 6, 3, SPECIAL).trees, n_outputs)
    values = rng.choice(SPECIAL, (n, 3)).astype(np.float32)
    values[rng.random((n, 3)) < 0.2] = np.nan
    found = prediction.predict_margins(model, values, device)
    assert_same_bits(found, twin.predict(model, values))
    assert_same_bits(found, twin.predict(model.with_numbers(), values))
    rows = HostRows(model, values, packed(model).host_walk)
    start = np.repeat(np.float32(model.base_margin)[:, None], n, axis=1)
    assert_same_bits(rows.margins(start, (0, model.n_rounds)), found)


def test_pieces_of_rows_and_of_trees_with_sets(device, variant, force, rng, monkeypatch):
    """And the margins after each round of two trees, on a device and on the host."""
    force(variant)
    trees = [with_sets(rng, tree, [1, 2, 40]) for tree in ensemble(rng, 8, 3, SPECIAL).trees]
    model = with_vectors(rng, trees, 4, n_parallel=2)
    values = codes_of(rng, 130, 3, 1400)
    monkeypatch.setattr(prediction, "_PIECE_BYTES", 40 * 4 * 4)
    monkeypatch.setattr(prediction, "rows_a_launch", lambda *_: 100)
    assert_same_bits(prediction.predict_margins(model, values, device), twin.predict(model, values))
    rounds = (0, model.n_rounds)
    start = np.zeros((4, 130), np.float32)
    stages = prediction.staged_margins(model, values, device, start, rounds)
    on_host = np.empty_like(stages)
    rows = HostRows(model, values, packed(model).host_walk)
    assert_same_bits(rows.margins(start, rounds, on_host), stages[-1])
    assert_same_bits(on_host, stages)
    ids = walk_rows.walk_to_leaves(model, values, device, rounds)
    assert_same_bits(ids, twin.leaf_ids(model, values))


def test_trees_with_weights(device, rng):
    trees = ensemble(rng, 5, 3, SPECIAL).trees
    model = with_vectors(rng, trees, 3, tree_weights=(1.0, 0.5, 0.25, 2.0, 0.125))
    values = rng.choice(SPECIAL, (70, 3)).astype(np.float32)
    wanted = twin.predict(model, values)
    assert_same_bits(prediction.predict_margins(model, values, device), wanted)
    assert_same_bits(twin.predict(model.with_numbers(), values), wanted)
