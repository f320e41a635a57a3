"""walk_cells: margins equal those of rows in which a few features are replaced, bit by bit."""

import numpy as np
import pytest

from pyopencl_gbdt.prediction import walk_cells as walks
from tests.compare import assert_same_bits
from tests.reference import walk_cells as twin
from tests.steps.test_predict import SPECIAL, codes_of, ensemble, model_of, tree_of, with_sets

KERNEL = "walk_cells"
#: A tree of depth 6, whose every split has a leaf.
CHAIN = np.array([1, 3, -1, 5, -1, 7, -1, 9, -1, 11, -1, -1, -1])


def check(device, model, values, features, cells, **options):
    rounds = options.pop("rounds", (0, model.n_rounds))
    pieces = walks.margins_of_cells(device, model, values, features, cells, rounds, **options)
    found = np.concatenate([margins for _, margins in pieces], axis=2)
    assert_same_bits(found, twin.walk_cells(model, values, features, cells))
    return found


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_a_feature(device, variant, force, rng, n):
    """At borders of splits, beyond them, and missing."""
    force(variant)
    model = ensemble(rng, 6, 3, SPECIAL)
    model = model_of([*model.trees, tree_of(rng, CHAIN, 3, SPECIAL)], 3)
    values = rng.choice(SPECIAL, (n, 3)).astype(np.float32)
    values[rng.random((n, 3)) < 0.2] = np.nan
    cells = np.append(SPECIAL, np.float32([np.nan, np.inf, -np.inf]))[:, None]
    check(device, model, values, [1], cells)


@pytest.mark.parametrize("n_cells", [1, 32, 33, 100])
def test_two_features_in_chunks_of_cells(device, variant, force, rng, n_cells):
    force(variant)
    model = ensemble(rng, 9, 4, rng.normal(size=20).astype(np.float32))
    cells = rng.normal(size=(n_cells, 2)).astype(np.float32)
    check(device, model, rng.normal(size=(70, 4)).astype(np.float32), [3, 0], cells)


def test_sets_of_levels(device, variant, force, rng):
    """Cells and rows hold codes, seen and unseen, and what are none."""
    force(variant)
    model = ensemble(rng, 12, 3, np.float32([0.5, 7, 90]))
    model = model_of([with_sets(rng, tree, [1, 2, 40]) for tree in model.trees], 3)
    check(device, model, codes_of(rng, 90, 3, 1400), [0, 2], codes_of(rng, 45, 2, 1400))


def test_outputs_and_rounds_in_pieces(device, rng, monkeypatch):
    """Of rows, cells and trees: as much as memory and the time of a launch allow."""
    monkeypatch.setattr(walks, "ALIGNED_ROWS", 16)
    monkeypatch.setattr(walks, "_PIECE_BYTES", 4 * 32 * 2 * 16 * 2)
    monkeypatch.setattr(walks, "rows_a_launch", lambda *_: 100)
    trees = ensemble(rng, 8, 3, SPECIAL).trees
    model = model_of(trees, 3)
    model.n_outputs, model.base_margin, model.base_score = 2, (0.25, -1.0), (0.25, -1.0)
    values, cells = rng.choice(SPECIAL, (50, 3)), rng.choice(SPECIAL, (130, 1))
    found = check(device, model, values, [2], cells)
    part = model_of(trees[2:6], 3)
    part.n_outputs, part.base_margin, part.base_score = 2, (0.25, -1.0), (0.25, -1.0)
    wanted = check(device, part, values, [2], cells)
    assert not np.array_equal(found, wanted)
    pieces = list(walks.margins_of_cells(device, model, values, [2], cells, (1, 3)))
    assert [rows.start for rows, _ in pieces] == [0, 16, 32, 48]
    assert_same_bits(np.concatenate([own for _, own in pieces], axis=2), wanted)
