"""The least bytes of kernels where rows or columns are drawn, or weighted, or share codes."""

from dataclasses import replace

import numpy as np

from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.profiling.tree_facts import count_tree
from tests.device.fakes import BASELINE
from tests.profiling.test_traffic import (  # noqa: F401 (a fixture)
    ATOMICS,
    FEATURES,
    HISTOGRAM,
    ROW_BYTES,
    ROWS,
    _sizes,
    bytes_of,
    fit,
    tree,
)


def test_factors_of_sampled_rows_are_read_twice():
    counts, parts = count_tree(*tree()), fit(samples_rows=True)
    for kernel in ("gradients", "gradients.quantize_gradients"):
        assert bytes_of(kernel, parts, counts) == ATOMICS[kernel] + 10 * 4
    goss = fit(samples_rows=True, samples_by_gradient=True)
    assert bytes_of("gradients.draw", goss, counts) == 10 * (8 + 4) + 2048 * 4


def test_rows_that_were_drawn_are_listed_for_the_root_and_all_rows_walk():
    """10 of 30 rows are drawn."""
    counts, parts = count_tree(*tree()), fit(samples_rows=True)
    parts.rows.lists_drawn, parts.rows.n_rows = True, 30
    assert bytes_of("gradients.draw", parts, counts) == 30 * 4 + 10 * 4
    for kernel in ("histogram", "partition.move"):
        unlisted = fit(samples_rows=True)
        listed = bytes_of(kernel, parts, counts)
        assert listed == bytes_of(kernel, unlisted, counts) + 10 * 4
    assert (
        bytes_of("update_margins.add_leaves", parts, counts)
        == 3 * ATOMICS["update_margins.add_leaves"]
    )


def test_a_cpu_reads_no_codes_of_rows_that_were_not_drawn():
    """15 rows of the built nodes, of which 2 fifths and 3 tenths are seen."""
    counts = count_tree(*tree())
    by_chance = fit(leaves_out_rows=True, drawn_share=0.4)
    goss = fit(leaves_out_rows=True, sampling_method="goss", top_rate=0.2, other_rate=0.1)
    for parts, seen in ((by_chance, 6), (goss, 4.5)):
        parts.ways.chosen["histogram"].name = "cpu"
        found = bytes_of("histogram", parts, counts)
        assert found == ATOMICS["histogram"] - (15 - seen) * ROW_BYTES
        parts.rows.lists_drawn = True
        assert bytes_of("histogram", parts, counts) == ATOMICS["histogram"] + 10 * 4


def test_features_weights_are_read_by_every_node():
    counts, parts = count_tree(*tree()), fit()
    parts.features.limits.feature_weights = np.ones(FEATURES, np.float32)
    plain = ATOMICS["plan.choose_columns"]
    assert bytes_of("plan.choose_columns", parts, counts) == plain + 5 * FEATURES * 4


def test_trees_of_drawn_columns_read_these_alone():
    """One of two features is drawn: 15 codes less, and half of the histograms."""
    counts, parts = count_tree(*tree()), fit(column_counts=lambda n: (1, 1, 1))
    parts.ways.facts = parts.ways.facts.with_pages(masks_columns=True, n_features=FEATURES)
    found = bytes_of("whole_trees.grow", parts, counts)
    assert found == ATOMICS["whole_trees.grow"] - 15 - 5 * HISTOGRAM // 2
    assert bytes_of("plan.draw_columns", parts, counts) == 4
    assert bytes_of("gather_columns", parts, counts) == 2 * ROWS
    parts.features.limits.feature_weights = np.ones(FEATURES, np.float32)
    assert bytes_of("plan.draw_columns", parts, counts) == 4 + FEATURES * 4


def test_trees_with_joint_codes_read_these():
    """Two features share a code: 15 codes less."""
    counts, parts = count_tree(*tree()), fit()
    caps = PaperDevice(BASELINE).caps
    facts = replace(parts.ways.facts.with_pages(n_joined=1), device=caps)
    parts.ways.facts = facts
    assert bytes_of("whole_trees.grow", parts, counts) == ATOMICS["whole_trees.grow"] - 15


def test_trees_that_draw_columns_join_their_codes():
    """One of two features is drawn, and has a place: it is read, and written."""
    counts, parts = count_tree(*tree()), fit(column_counts=lambda n: (1, 1, 1))
    facts = parts.ways.facts.with_pages(masks_columns=True, n_features=FEATURES, n_joined=1)
    parts.ways.facts = replace(facts, device=PaperDevice(BASELINE).caps)
    assert bytes_of("plan.join_drawn", parts, counts) == ROWS * (1 + 1)
    assert bytes_of("plan.list_places", parts, counts) == FEATURES * (1 + 4 + 4) + 12
    found = bytes_of("whole_trees.grow", parts, counts)
    assert found == ATOMICS["whole_trees.grow"] - 15 - 5 * HISTOGRAM // 2


def test_a_level_reads_what_it_and_those_below_it_draw():
    """Both features at the root, one below it."""
    counts, parts = count_tree(*tree()), fit()
    every = {kernel: bytes_of(kernel, parts, counts) for kernel in ("histogram", "split.find")}
    parts.features.most_at_steps = (FEATURES, 1, 1)
    below = int(counts.built_rows[1:].sum())
    histograms = int(counts.built[1:].sum()) * HISTOGRAM
    saved = -(-below // 2) * parts.rows.codes.row_bytes + histograms // 2
    assert bytes_of("histogram", parts, counts) == every["histogram"] - saved
    assert bytes_of("split.find", parts, counts) < every["split.find"]
