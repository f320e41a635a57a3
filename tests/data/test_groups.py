"""Queries: ids and sizes, weights, slices, and a message for every mistake."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.data.groups import rows_of_groups
from pyopencl_gbdt.errors import DataError

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.float32([0, 1, 2, 0, 1, 0])


def made(**options):
    return Dataset(X, Y, **options)


@pytest.mark.parametrize(
    "given",
    [
        {"qid": [3, 3, 5, 5, 5, 9]},
        {"qid": np.uint64([1, 1, 2**63, 2**63, 2**63, 2**64 - 1])},
        {"qid": [-1.0, -1.0, 0.0, 0.0, 0.0, 2.0]},
        {"group": [2, 3, 1]},
        {"group": np.uint8([2, 3, 1])},
    ],
)
def test_ids_and_sizes_are_offsets(given):
    offsets = made(**given).group_offsets
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [0, 2, 5, 6]


def test_without_queries():
    assert made().group_offsets is None
    assert "groups" not in made().digests()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"qid": [0, 0, 2, 1, 1, 1]}, "qid is not sorted: 1 in row 3 follows 2"),
        ({"qid": [0, 0, 2]}, "qid has 3 values, X has 6 rows: expected one value per row"),
        ({"qid": list("aabbbc")}, "qid has dtype .*: expected integers; number the queries"),
        ({"qid": [0, 0, 0.5, 1, 1, 1]}, "qid has dtype float64: expected integers"),
        ({"qid": [1e30] * 6}, "qid has dtype float64: expected integers"),
        ({"group": [2, 3]}, "group adds up to 5 rows, X has 6"),
        ({"group": [2, 5]}, "group adds up to 7 rows, X has 6"),
        ({"group": [2, 0, 4]}, r"group\[1\]=0: expected 1 row or more in a query"),
        ({"group": [7, -1]}, r"group\[1\]=-1: expected 1 row or more"),
        ({"group": [6], "qid": [0] * 6}, "give one of them"),
        ({"group": [2, 4], "weight": [1, 2, 3]}, "weight has 3 values: expected one for each of"),
        ({"group": [2, 4], "weight": [1, -1]}, "weight holds 1 negative value"),
        ({"group": [2, 4], "weight": [1, 1, 2, 2, 3, 2]}, "row 4, .*of the other rows of its"),
    ],
)
def test_messages(given, message):
    with pytest.raises(DataError, match=message):
        made(**given)


def test_weights_of_queries_become_weights_of_rows():
    wanted = [1, 1, 2, 2, 2, 2]
    assert made(group=[2, 4], weight=[1, 2]).weight.tolist() == wanted
    assert made(group=[2, 4], weight=wanted).weight.tolist() == wanted


def test_slices_keep_queries():
    data = made(group=[2, 3, 1], weight=[1, 2, 3])
    part = data.slice([2, 3, 4, 0, 1])
    assert part.group_offsets.tolist() == [0, 3, 5]
    assert part.weight.tolist() == [2, 2, 2, 1, 1]
    assert data.slice([4, 2, 5]).group_offsets.tolist() == [0, 2, 3]
    assert data.slice([-1, 0]).group_offsets.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="slice: query 0 occurs again at place 2"):
        data.slice([0, 2, 1])


def test_rows_of_some_queries():
    offsets = made(group=[2, 3, 1]).group_offsets
    assert rows_of_groups(offsets, np.array([2, 0])).tolist() == [5, 0, 1]


def test_digests_know_queries():
    assert made(group=[2, 4]).digests() == made(qid=[0, 0, 1, 1, 1, 1]).digests()
    assert made(group=[2, 4]).digests() != made(group=[3, 3]).digests()
