"""Files of many small trees: read at once, each as if it were alone, with a fault that is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.model.samples import document, make_ensemble, saved, train

Document = dict[str, Any]


def trees_of(model: Document) -> list[Document]:
    found: list[Document] = model["learner"]["gradient_booster"]["model"]["trees"]
    return found


def with_trees(model: Document, trees: list[Document]) -> str:
    """Return a document with these trees in place of the model's."""
    count = len(trees)
    inner = model["learner"]["gradient_booster"]["model"]
    inner |= {"trees": [tree | {"id": index} for index, tree in enumerate(trees)]}
    inner |= {"tree_info": [0] * count, "iteration_indptr": list(range(count + 1))}
    inner["gbtree_model_param"]["num_trees"] = str(count)
    return json.dumps(model)


def calls(action: Callable[[], object]) -> int:
    """Return how many Python functions an action calls."""
    found = 0

    def count(frame: object, event: str, value: object) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return found


def test_a_tree_more_is_few_calls_more() -> None:
    """Reading called Python functions for each node of each tree, 500 calls a tree."""
    model = document(saved(train(20, max_depth=2)))
    few, many = (with_trees(model, trees_of(model) * times) for times in (2, 22))
    more = calls(lambda: from_xgboost_json(many)) - calls(lambda: from_xgboost_json(few))
    assert more / 400 < 25


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 3},
        {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
        {"tree_method": "exact", "gamma": 1.0, "max_depth": 5},
    ],
    ids=["levels", "best first", "pruned"],
)
def test_trees_read_together_are_those_read_alone(parameters: dict[str, Any]) -> None:
    model = document(saved(train(6, **parameters)))
    trees = trees_of(model)
    alone = [from_xgboost_json(with_trees(model, [tree])).trees[0] for tree in trees]
    together = from_xgboost_json(with_trees(model, trees)).trees
    assert together == alone
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.file_numbers, other.file_numbers)


def test_leaves_keep_the_numbers_of_the_file_where_levels_are_sorted() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    town = pd.Categorical.from_codes(rng.integers(0, 6, 300), list("fdbeca"))
    frame = pd.DataFrame({"town": town, "age": rng.normal(size=300)})
    rows = xgboost.DMatrix(frame, town.codes + frame["age"], enable_categorical=True)
    own = {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0, "max_cat_to_onehot": 1}
    text = saved(xgboost.train(own, rows, 3))
    model = Model(from_xgboost_json(text))
    assert any(tree.file_numbers is not None for tree in model.ensemble.trees)
    theirs = xgboost.Booster(model_file=bytearray(text)).predict(rows, pred_leaf=True)
    found = model.predict(frame, pred_leaf=True, device=TEST_DEVICE)
    np.testing.assert_array_equal(found, theirs)


@pytest.mark.parametrize(
    ("name", "entry", "value", "words"),
    [
        ("left_children", 0, 3, "expected a child|expected an integer"),
        ("parents", 1, 2, "expected 0, whose child this node is"),
        ("default_left", 0, 2, "expected 0 or 1"),
        ("split_indices", 0, 4, r"expected a feature 0\.\.3"),
        ("sum_hessian", 2, float("inf"), "expected a finite float32"),
        ("base_weights", 2, True, "expected a number that float32 can hold"),
        ("left_children", 1, False, "expected an integer"),
    ],
)
def test_the_tree_and_the_node_of_a_fault_are_named(
    name: str, entry: int, value: object, words: str
) -> None:
    model = document(to_xgboost_json(make_ensemble([1] * 9)))
    trees_of(model)[7][name][entry] = value
    place = rf"trees\[7\]\.{name}\[{entry}\]={value}: "
    with pytest.raises(ModelFormatError, match=place + f"({words})"):
        from_xgboost_json(json.dumps(model))


def test_a_claim_of_billions_of_nodes_is_refused_at_once() -> None:
    model = document(to_xgboost_json(make_ensemble([1, 1])))
    trees_of(model)[1]["tree_param"]["num_nodes"] = str(2**31 - 1)
    with pytest.raises(ModelFormatError, match=r"trees\[1\].* has 3 entries: expected 2147483647"):
        from_xgboost_json(json.dumps(model))
