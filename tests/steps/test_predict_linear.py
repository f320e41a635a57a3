"""predict_linear: margins of linear leaves equal those of a walk row by row, everywhere."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.linear_leaves import LinearTerms, no_terms
from pyopencl_gbdt.prediction import margins as prediction
from pyopencl_gbdt.prediction import walk_rows
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.walk_rows import HostRows, host_rows
from tests.compare import assert_same_bits
from tests.reference import predict as twin
from tests.steps.test_predict import SPECIAL, codes_of, ensemble, with_sets

KERNEL = "predict_linear"


def with_terms(rng, tree, n_features):
    """A tree with a random function of 0 to 4 features in every leaf."""
    n_leaves = int(tree.is_leaf.sum())
    sizes = rng.integers(0, 5, n_leaves)
    intercepts = np.where(sizes > 0, rng.normal(size=n_leaves), 0)
    n_terms = int(sizes.sum())
    features, coefficients = rng.integers(0, n_features, n_terms), rng.normal(size=n_terms)
    return replace(tree, linear=LinearTerms(sizes, intercepts, features, coefficients))


def linear(rng, trees, n_features=5, **changes):
    own = [with_terms(rng, tree, n_features) for tree in trees]
    own[0] = replace(own[0], linear=None)  # the first tree of LightGBM's has none
    return Ensemble(own, "reg:squarederror", n_features, 0.5, 0.5, **changes)


def rows_of(rng, n, n_features=5):
    values = rng.choice(SPECIAL, (n, n_features)).astype(np.float32)
    values = np.where(np.abs(values) > 1e9, 3, values).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


@pytest.mark.parametrize("n", [1, 64, 65, 300])
def test_margins(device, variant, force, rng, n):
    force(variant)
    model = linear(rng, ensemble(rng, 6, 3, SPECIAL).trees)
    assert model.leaves is LINEAR
    values = rows_of(rng, n)
    wanted = twin.predict(model, values)
    assert_same_bits(prediction.predict_margins(model, values, device), wanted)
    rows = HostRows(model, values, packed(model).host_walk)
    start = np.full((1, n), 0.5, np.float32)
    assert_same_bits(rows.margins(start, (0, model.n_rounds))[0], wanted)
    ids = walk_rows.walk_to_leaves(model, values, device, (0, model.n_rounds))
    assert_same_bits(ids, twin.leaf_ids(model, values))


def test_rounds_outputs_and_sets(device, rng):
    trees = [with_sets(rng, tree, [1, 2, 40]) for tree in ensemble(rng, 8, 3, SPECIAL).trees]
    model = linear(rng, trees, 3)
    model = replace(model, n_outputs=2, base_margin=(0.5, 1.0), base_score=(0.5, 1.0), n_parallel=2)
    values = codes_of(rng, 130, 3, 1400)
    values = np.where(np.isinf(values), 7, values).astype(np.float32)
    wanted = twin.predict(model, values)
    assert_same_bits(prediction.predict_margins(model, values, device), wanted)
    start = np.repeat(np.float32([[0.5], [1.0]]), 130, axis=1)
    stages = prediction.staged_margins(model, values, device, start, (0, model.n_rounds))
    assert_same_bits(stages[-1], wanted)


def test_sparse_rows_walk_on_the_host(device, rng):
    model = linear(rng, ensemble(rng, 6, 3, SPECIAL).trees)
    dense = rows_of(rng, 5000)
    there = ~np.isnan(dense)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    columns = np.nonzero(there)[1].astype(np.int32)
    sparse = SparseMatrix(dense.shape, starts, columns, dense[there])
    rows = host_rows(model, sparse, device, (0, model.n_rounds))
    start = np.full((1, 5000), 0.5, np.float32)
    end = starts[50]
    first = SparseMatrix((50, dense.shape[1]), starts[:51], columns[:end], dense[there][:end])
    assert_same_bits(rows.margins(start, (0, model.n_rounds))[0][:50], twin.predict(model, first))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": [2, -1]}, "sizes of 0 or more that add up to 1"),
        ({"intercepts": [1.0]}, "2 intercepts"),
        ({"intercepts": [1.0, 2.0]}, "intercepts of 0 in leaves that are numbers"),
        ({"features": [-3]}, "a feature, 0 or more"),
        ({"coefficients": [1e39]}, "finite numbers in coefficients"),
    ],
)
def test_functions_that_are_none(changes, words):
    given = {"sizes": [1, 0], "intercepts": [1.0, 0.0], "features": [3], "coefficients": [2.0]}
    assert LinearTerms(**given) == LinearTerms(**given)
    with pytest.raises(ModelFormatError, match=words):
        LinearTerms(**given | changes)


def test_models_that_are_refused(rng):
    model = linear(rng, ensemble(rng, 3, 3, SPECIAL).trees)
    tree = model.trees[1]
    with pytest.raises(ModelFormatError, match=r"tree\.linear has 99 leaves of 1 outputs"):
        replace(tree, linear=no_terms(99))
    with pytest.raises(ModelFormatError, match="linear leaves use feature 4: expected features 0"):
        replace(model, n_features=4)
    with pytest.raises(ModelFormatError, match="expected None where leaves are linear functions"):
        replace(model, tree_weights=(1.0, 1.0, 1.0))
    with pytest.raises(ModelFormatError, match="the model are linear functions: expected"):
        model.with_numbers()
