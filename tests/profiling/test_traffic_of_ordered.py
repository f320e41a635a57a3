"""Least bytes of ordered boosting and of walked leaves, by hand for the tree of `test_traffic`."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.dtypes import NODE
from pyopencl_gbdt.parameters.facts import LossFacts
from pyopencl_gbdt.profiling import traffic
from pyopencl_gbdt.profiling.tree_facts import count_tree
from tests.profiling.test_traffic import LEFT_OUT, _sizes, bytes_of, fit, tree  # noqa: F401 (a fixture)

#: 160 rows in 2 orders: each has models that learn from 64 and 128 rows, and know 128 and 160.
ROWS, ORDERS = 160, 2
LEARNT, ENTRIES, MODELS = 160 + 2 * (64 + 128), 160 + 2 * (128 + 160), 5
#: Leaves are b, e, f and g.
ORDERED = {
    "take_margins": ROWS * (4 + 4 + 4),  # the entry's number and margin in, the margin out
    # a code for every split on the way: 21 for 10 rows
    "find_leaves": ROWS * 4 + ROWS // 10 * 21,
    "count_entries": LEARNT * 8,  # margin and label
    "sum_entries": LEARNT * (8 + 4) + ROWS * 4,  # the entry's row; its leaf
    "value_leaves": MODELS * 4 * (16 + 16 + 4),  # sums in and cleared, a value out
    "set_leaves": 4 * (4 + 3 * 4),  # to nodes and both forms that rows walk
    "add_entries": ENTRIES * (4 + 8) + ROWS * 4,  # row, margin in and out; leaf
}
#: Of 10 rows.
WALKED = {
    "sum_leaves": 10 * (8 + 4) + 21,  # quanta in, the leaf out; codes as above
    "value_leaves": 4 * (16 + 16 + 4 * 4),  # sums in and cleared; weight, and value in three places
    "add_leaves": 10 * (4 + 8),  # the leaf; margin in and out
}
#: Of two further steps for 4 leaves and 10 rows.
STEPS = {
    "begin_steps": 4 * (4 + 4 + 8),  # the weight in and out, its bounds
    "find_leaves": 10 * 4 + 21,  # the leaf out; codes as above
    "count_rows": 2 * 10 * (8 + 4),  # margin, label and leaf
    "sum_rows": 2 * 10 * (8 + 4),
    # sums in and cleared, bounds and weight in and out; weight, and value in three places
    "step_leaves": 4 * 2 * (16 + 16 + 2 * (8 + 4) + 4 * 4),
}
#: Of 7 nodes and 10 rows.
DROPPED = {
    "keep_trees": 7 * 2 * (16 + 16),  # both forms that rows walk, in and out
    "change": 10 * (4 + 16 + 4) + 21,  # base margin; sum in and out; margin; codes as above
}
#: Of 7 nodes and 10 rows; leaves have a feature each, so 5 sums of 8 bytes and 3 words of extremes.
LINEAR = {
    "list_features": 7 * (NODE.itemsize + 4) + 4 * (4 + 40 + 12),  # cleared sums
    "bound_values": 10 * (4 + 4 + 4) + 4 * 12,  # id, value and Hessian
    "sum_products": 10 * (4 + 4 + 8) + 4 * 40,  # id, value and quanta
    "solve": 4 * (40 + 12 + 16),  # size, intercept, feature and coefficient out
    "list_terms": 7 * 12 + 4 * 3 * 16,  # these in, and out for walks and for the host
}


def parts_of(**given):
    parts = fit(n_orders=ORDERS, **given)
    parts.rows.n_rows = ROWS
    return parts


@pytest.mark.parametrize("function", ORDERED)
def test_hand_count_of_ordered_boosting(function):
    assert (
        bytes_of(f"ordered_leaves.{function}", parts_of(), count_tree(*tree())) == ORDERED[function]
    )


@pytest.mark.parametrize("function", WALKED)
def test_hand_count_of_leaves_by_next_order(function):
    assert (
        bytes_of(f"leaves_by_next_order.{function}", fit(), count_tree(*tree())) == WALKED[function]
    )


@pytest.mark.parametrize("function", STEPS)
def test_hand_count_of_newton_steps(function):
    found = bytes_of(f"newton_leaves.{function}", fit(), count_tree(*tree()))
    assert found == STEPS[function]


@pytest.mark.parametrize("function", DROPPED)
def test_hand_count_of_dropped_trees(function):
    found = bytes_of(f"dropout.{function}", fit(), count_tree(*tree()))
    assert found == DROPPED[function]


@pytest.mark.parametrize("function", LINEAR)
def test_hand_count_of_linear_leaves(function):
    found = bytes_of(f"linear_leaves.{function}", fit(), count_tree(*tree()))
    assert found == LINEAR[function]


def test_margins_of_linear_leaves_take_a_value_of_every_row():
    kernel, counts = "update_margins.add_leaves", count_tree(*tree())
    more = bytes_of(kernel, fit(linear_tree=True), counts) - bytes_of(kernel, fit(), counts)
    assert more == 10 * 4


def test_codes_of_orders_change_once_a_round_and_between_batches():
    parts, kernel = fit(), "order_codes.replace_codes"
    parts.nodes.batches = (0, 1)
    assert bytes_of(kernel, parts, count_tree(*tree())) == 10 * 3 * 3 // 2
    loss = LossFacts(renews=True)  # leaves are not walked
    parts.ways.facts = replace(parts.ways.facts, loss=loss)
    assert bytes_of(kernel, parts, count_tree(*tree())) == 10 * 3 // 2
    parts.rows.codes.code_bytes = 2  # other columns have many bins; those of orders have few
    assert bytes_of(kernel, parts, count_tree(*tree())) == 10 * (1 + 2 + 2) // 2
    parts.rows.n_orders = 1
    assert bytes_of(kernel, parts, count_tree(*tree())) == 0


def test_weights_are_read_by_row():
    more = bytes_of("ordered_leaves.count_entries", parts_of(weighted=True), count_tree(*tree()))
    assert more == ORDERED["count_entries"] + LEARNT * 4 + ROWS * 4


def test_plain_boosting_counts_none():
    tally = traffic.Tally(fit(), LEFT_OUT)
    tally.add_tree(*tree())
    assert tally.n_bytes("ordered_leaves.add_entries", weighted=False) is None
