"""Orders of rows, and the models of ordered boosting: none gives a gradient to what it has seen."""

import numpy as np
import pytest

from pyopencl_gbdt.numerics import random_numbers as row_orders
from pyopencl_gbdt.numerics.random_numbers import FIRST_PREFIX, PrefixModels, drawn_order
from tests.reference.ordered_leaves import learns_from


@pytest.mark.parametrize("n", [1, FIRST_PREFIX, FIRST_PREFIX + 1, 100, 1000])
@pytest.mark.parametrize("n_orders", [1, 3])
def test_models(n, n_orders):
    models = PrefixModels.drawn(n, n_orders, 5, in_time=False)
    begin, n_learnt, n_known = models.table.T.astype(np.int64)
    assert begin.tolist() == [0, *np.cumsum(n_known)[:-1]]
    assert models.rows.size == row_orders.n_entries(n, n_orders) <= n * (1 + 3 * n_orders)
    assert len(models.table) == row_orders.n_models(n, n_orders)
    assert (n_learnt[-1], n_known[-1]) == (n, n)
    assert models.rows[-n:].tolist() == list(range(n))
    assert learns_from(models).sum() == n_learnt.sum()
    each = (len(models.table) - 1) // n_orders
    for number in range(n_orders):
        order = drawn_order(n, 5, number)
        assert sorted(order.tolist()) == list(range(n))
        entries = models.entry_of[number].astype(np.int64)
        assert models.rows[entries].tolist() == list(range(n))  # of each row, its own margin
        for model in range(number * each, (number + 1) * each):
            own = models.rows[begin[model] : begin[model] + n_known[model]]
            assert own.tolist() == order[: n_known[model]].tolist()
        if not each:
            continue
        unseen = np.ones(n, np.bool_)
        unseen[order[:FIRST_PREFIX]] = False
        assert (~learns_from(models)[entries] == unseen).all()
        from_model = np.searchsorted(begin, entries, side="right") - 1
        place = np.argsort(order)
        learnt = n_learnt[from_model]  # the largest model: it has learnt from half of the way
        assert ((learnt <= place) & (place < 2 * learnt))[unseen].all()


def test_rows_in_time_have_their_own_order():
    models = PrefixModels.drawn(70, 5, 0, in_time=True)
    assert models.entry_of.shape == (1, 70)
    assert models.rows.tolist() == [*range(70), *range(70)]
