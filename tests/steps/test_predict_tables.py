"""predict_tables: margins equal those of a walk row by row, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tables import Table, table_of, tables_of
from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.prediction import margins as prediction
from pyopencl_gbdt.prediction import packing, predict_sparse
from pyopencl_gbdt.prediction.predict_tables import TableWalk, plan_tables
from tests.compare import assert_same_bits
from tests.reference import predict as twin

from .test_predict import SPECIAL, check, check_ids, codes_of, model_of, tree_of, with_sets
from .test_predict_sparse import rows_of

KERNEL = "predict_tables"
OPTIMISED = True


def table_tree(rng, depth, n_features, thresholds):
    """A tree whose levels have one split each, at random."""
    n_inner = 2**depth - 1
    inner = np.arange(2 * n_inner + 1) < n_inner
    tree = tree_of(
        rng, np.where(inner, 1 + 2 * np.arange(inner.size), NO_NODE), n_features, thresholds
    )
    first = 2 ** np.floor(np.log2(np.arange(n_inner) + 1)).astype(int) - 1
    own = {}
    for name in ("feature", "threshold", "default_left"):
        values = getattr(tree, name).copy()
        values[:n_inner] = values[first]
        own[name] = values
    return replace(tree, **own)


def of_tables(rng, depths, n_features=4, thresholds=SPECIAL):
    trees = [table_tree(rng, depth, n_features, thresholds) for depth in depths]
    return model_of(trees, n_features)


def some_values(rng, n, n_features, thresholds=SPECIAL):
    """Values at and beside thresholds, and missing ones of every kind."""
    nan = np.array([0x7FC00000, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32)
    limits = np.float32([np.inf, -np.inf, 3.4028235e38, -3.4028235e38])
    return rng.choice(np.concatenate([thresholds, nan, limits]), (n, n_features))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 255, 256, 257, 700])
def test_equals_walk(device, variant, force, rng, n):
    force(variant)
    model = of_tables(rng, [2, 0, 3, 8, 1, 5])
    assert packing.pack(model).tables is not None
    check(device, model, some_values(rng, n, 4))


def test_wide_codes_and_deep_tables(device, variant, force, rng):
    """More borders than a byte counts, and more leaves."""
    force(variant)
    thresholds = rng.normal(size=4000).astype(np.float32)
    model = of_tables(rng, [9] * 60, 1, thresholds)
    tables = packing.pack(model).tables
    assert (tables.code, tables.index) == (np.uint16, np.uint16)
    check(device, model, some_values(rng, 300, 1, thresholds))


@pytest.mark.parametrize("n_borders", [1, 2, 3, 4, 254, 255, 256])
def test_any_number_of_borders(device, variant, force, rng, n_borders):
    """255 borders have 256 codes, which a byte holds."""
    force(variant)
    borders = np.arange(n_borders, dtype=np.float32)
    tree = table_tree(rng, 2, 1, borders)
    trees = [replace(tree, threshold=np.where(tree.is_leaf, np.float32(0), b)) for b in borders]
    model = model_of(trees, 1)
    tables = packing.pack(model).tables
    assert tables.code == (np.uint8 if n_borders < 256 else np.uint16)
    values = np.concatenate([borders, borders - np.float32(0.5), np.float32([n_borders, np.nan])])
    check(device, model, np.resize(values, (300, 1)).astype(np.float32))


def sets_of_levels(rng, tree, sizes):
    """The table, with a set of codes at about half of its levels."""
    first = 2 ** np.floor(np.log2(np.arange(tree.n_nodes) + 1)).astype(int) - 1
    some = with_sets(rng, tree, sizes, (rng.random(tree.n_nodes) < 0.6)[first])
    n_inner = int((~tree.is_leaf).sum())
    sets = [some.sets[slice(*some.set_begin[[f, f + 1]])] for f in first[:n_inner]]
    words, begin = joined([*sets, *[np.zeros(0, np.uint32)] * (tree.n_nodes - n_inner)])
    return replace(some, sets=words, set_begin=begin)


@pytest.mark.parametrize(("words", "code"), [(7, np.uint8), (8, np.uint16), (2048, None)])
def test_sets_of_codes(device, variant, force, rng, words, code):
    """A byte counts the codes of 7 words; those of 2048 words, and two more, take over 16 bits."""
    force(variant)
    trees = of_tables(rng, [2, 0, 5, 9, 1], 3, np.float32([0.5, 7, 90])).trees
    model = model_of([sets_of_levels(rng, tree, [1, words]) for tree in trees], 3)
    assert sum(tree.split_kind.any() for tree in model.trees) > 2
    tables = packing.pack(model).tables
    assert tables is None if code is None else tables.code == code
    check(device, model, codes_of(rng, 600, 3, 32 * words + 40))


def test_sets_that_differ_are_no_table(rng):
    tree = sets_of_levels(rng, table_tree(rng, 3, 3, SPECIAL), [2])
    while not tree.set_begin[-1]:
        tree = sets_of_levels(rng, table_tree(rng, 3, 3, SPECIAL), [2])
    assert [words.size for words in table_of(tree).sets] == np.diff(tree.set_begin)[
        [0, 1, 3]
    ].tolist()
    other = tree.sets.copy()
    other[-1] ^= 1
    assert table_of(replace(tree, sets=other)) is None


def test_pieces_launches_and_outputs(device, variant, force, rng, monkeypatch):
    force(variant)
    monkeypatch.setattr(prediction, "rows_a_launch", lambda *_: 1000)
    monkeypatch.setattr(prediction, "_PIECE_BYTES", 4 * 5 * 256)
    trees = [table_tree(rng, 3, 5, SPECIAL) for _ in range(12)]
    two = replace(model_of(trees, 5), n_outputs=2, base_margin=(0.5, -1.0), base_score=(0.5, -1.0))
    check(device, two, some_values(rng, 600, 5))
    check_ids(device, model_of(trees, 5), some_values(rng, 600, 5))  # those of tables walk too


def test_sparse_rows(device, variant, force, rng, monkeypatch):
    """Gathered columns are walked as tables; rows that search their entries walk the trees."""
    force(variant)
    rows, dense = rows_of(rng, (90, 30))
    model = of_tables(rng, [3, 4, 2], 30)
    wanted = twin.predict(model, dense)
    for gathers in (True, False):
        monkeypatch.setattr(predict_sparse, "gathers", lambda *_, way=gathers: way)
        assert_same_bits(prediction.predict_margins(model, rows, device), wanted)


def test_a_table_by_hand(rng):
    tree = table_tree(rng, 2, 3, SPECIAL)
    table = table_of(tree)
    assert table.feature.tolist() == [tree.feature[0], tree.feature[1]]
    assert_same_bits(table.threshold, tree.threshold[:2])
    assert_same_bits(table.values, tree.value[3:, 0])
    packed = packing.pack(model_of([tree], 3)).tables
    assert packed.shapes.tolist() == [[0, 2, 0]]
    assert_same_bits(packed.leaves, table.values)


def test_trees_that_are_no_tables(rng):
    """A node of the last level differs in one thing."""
    tree = table_tree(rng, 3, 3, SPECIAL)
    changes = {
        "feature": (tree.feature[5] + 1) % 3, "threshold": np.float32(0.5),
        "default_left": not tree.default_left[5],
    }  # fmt: skip
    for name, value in changes.items():
        other = getattr(tree, name).copy()
        other[5] = value
        assert table_of(replace(tree, **{name: other})) is None, name
    chain = tree_of(rng, np.array([1, 3, NO_NODE, NO_NODE, NO_NODE]), 3, SPECIAL)
    assert table_of(chain) is None
    assert tables_of([tree, chain]) is None
    assert isinstance(table_of(tree), Table)


def test_few_rows_and_small_devices_walk_the_trees(device, rng):
    tables = packing.pack(of_tables(rng, [3, 4])).tables
    assert isinstance(plan_tables(device, tables, 16, 4, 2**20), TableWalk)
    assert plan_tables(device, tables, 15, 4, 2**20) is None
    assert plan_tables(device, None, 1000, 4, 2**20) is None
