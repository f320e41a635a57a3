"""Random ensembles with covers, for tests of contributions."""

from dataclasses import replace

import numpy as np

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import NO_NODE
from tests.steps.test_predict import random_tree, tree_of, with_sets

THRESHOLDS = np.float32([-1, -0.5, 0.0, 0.25, 1.5])


def covered(rng, tree):
    """The tree with random covers that add up."""
    cover = np.where(tree.is_leaf, rng.integers(1, 20, tree.n_nodes), 0).astype(np.float32)
    for node in range(tree.n_nodes - 1, 0, -1):
        cover[tree.parent[node]] += cover[node]
    return replace(tree, sum_hessian=cover)


def chain(depth):
    """The left children of a tree with a leaf on each level."""
    left = np.full(2 * depth + 1, NO_NODE)
    left[0], left[1 : 2 * depth - 1 : 2] = 1, np.arange(3, 2 * depth + 1, 2)
    return left


def ensemble(rng, n_trees=4, n_features=5, n_splits=9, n_outputs=1, n_parallel=1, sets=False,
             deep=0, base=0.25):  # fmt: skip
    trees = []
    for _ in range(n_trees * n_outputs * n_parallel):
        tree = random_tree(rng, n_features, int(rng.integers(0, n_splits + 1)), THRESHOLDS)
        if deep:
            tree = tree_of(rng, chain(deep), n_features, THRESHOLDS)
        trees.append(covered(rng, with_sets(rng, tree, [1, 2]) if sets else tree))
    scores = base if n_outputs == 1 else (base,) * n_outputs
    loss = "reg:squarederror" if n_outputs == 1 else "multi:softprob"
    return Ensemble(
        trees, loss, n_features, base_margin=scores, base_score=scores, n_outputs=n_outputs,
        n_parallel=n_parallel,
    )  # fmt: skip


def rows_of(rng, n, n_features):
    values = rng.normal(size=(n, n_features)).astype(np.float32)
    values[rng.random(values.shape) < 0.2] = np.nan
    return values
