"""Real models by XGBoost that we do not support, and files that lie: clear errors only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from tests.model.samples import document, make_ensemble, make_rows, saved

Model = dict[str, Any]


def fitted(target: np.ndarray, **parameters: Any) -> bytes:
    data = xgboost.DMatrix(make_rows(len(target)), target)
    return saved(xgboost.train({"nthread": 1} | parameters, data, 2))


LABELS = np.arange(90) % 3
UNSUPPORTED: dict[str, tuple[Callable[[], bytes], str]] = {
    "linear": (
        lambda: fitted(LABELS, booster="gblinear"),
        "name='gblinear': expected a model of the booster gbtree or dart, a linear model without",
    ),
    "objective": (
        lambda: fitted(LABELS).replace(b"reg:squarederror", b"reg:expectileerr0r"),
        "name='reg:expectileerr0r': expected one of binary:hinge, binary:logistic,",
    ),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_is_named(name: str) -> None:
    make, message = UNSUPPORTED[name]
    with pytest.raises(ModelFormatError, match=re.escape(message)) as caught:
        from_xgboost_json(make(), source="model.json")
    assert str(caught.value).startswith("model.json: ")


def set_to(path: str, value: object) -> Callable[[Model], None]:
    """Return a function that changes one place, written like in our messages."""

    def change(model: Model) -> None:
        at: Any = model
        *way, last = [int(k) if k.isdigit() else k for k in re.findall(r"[^.\[\]]+", path)]
        for key in way:
            at = at[key]
        if value is KeyError:
            del at[last]
        else:
            at[last] = value

    return change


TREES = "learner.gradient_booster.model.trees"
MODEL = "learner.gradient_booster.model"
PARAM = "learner.learner_model_param"
# the tree of the fixture: 0 -> 1 2, 1 -> 3 4, 3 -> 5 6 and 2, 4, 5, 6 are leaves
LIES: list[tuple[str, object, str]] = [
    (f"{TREES}[0].left_children[0]", 99, "[0].left_children[0]=99: expected an integer -1..6"),
    (f"{TREES}[0].left_children[0]", 0, "left_children[0]=0: expected a child that is neither"),
    (f"{TREES}[0].left_children[0]", 2, "right_children[0]=2: expected a child that is neither"),
    (f"{TREES}[0].left_children[3]", 1, "left_children[3]=1: expected a child that is neither"),
    (f"{TREES}[0].left_children[0]", -1, "left_children[0]=-1: expected two children or none"),
    (f"{TREES}[0].right_children[2]", 5, "left_children[2]=-1: expected two children or none"),
    (f"{TREES}[0].left_children[1]", 1.0, "left_children[1]=1.0: expected an integer"),
    (f"{TREES}[0].left_children[1]", True, "left_children[1]=True: expected an integer"),
    (f"{TREES}[0].parents[0]", 1, "parents[0]=1: expected 2147483647, as node 0"),
    (f"{TREES}[0].parents[4]", 0, "parents[4]=0: expected 1, whose child"),
    (f"{TREES}[0].split_indices[0]", 4, "split_indices[0]=4: expected a feature 0..3"),
    (f"{TREES}[0].split_indices[0]", -1, "split_indices[0]=-1: expected a feature 0..3"),
    (f"{TREES}[0].split_indices[0]", 2**40, "split_indices[0]=1099511627776: expected an integer"),
    (f"{TREES}[0].split_conditions[0]", float("nan"), "split_conditions[0]=nan: expected a finite"),
    (f"{TREES}[0].split_conditions[0]", float("inf"), "split_conditions[0]=inf: expected a finite"),
    (f"{TREES}[0].split_conditions[6]", float("inf"), "split_conditions[6]=inf: expected a finite"),
    (f"{TREES}[0].split_conditions[6]", -float("inf"), "split_conditions[6]=-inf: expected"),
    (f"{TREES}[0].split_conditions[6]", 1e39, "split_conditions[6]=1e+39: expected a finite"),
    (f"{TREES}[0].split_conditions[6]", 10**400, "expected a number that float32 can hold"),
    (f"{TREES}[0].split_conditions[6]", "1", "split_conditions[6]='1': expected a number"),
    (f"{TREES}[0].default_left[0]", 2, "default_left[0]=2: expected 0 or 1"),
    (f"{TREES}[0].split_type[1]", 1, "split_type[1]=1: expected 0, or categories"),
    (f"{TREES}[0].categories_nodes", [1], "categories_segments has 0 entries: expected 1"),
    (f"{TREES}[0].tree_param.num_nodes", "8", "has 7 entries: expected 8, tree_param.num_nodes"),
    (f"{TREES}[0].tree_param.num_nodes", "0", "num_nodes='0': expected a string that holds"),
    (f"{TREES}[0].tree_param.num_nodes", 7, "num_nodes=7: expected a string"),
    (f"{TREES}[0].tree_param.num_nodes", "9" * 5000, "expected a string that holds an integer"),
    (f"{TREES}[0].tree_param.num_deleted", "1", 'expected num_deleted "0"'),
    (f"{TREES}[0].tree_param.size_leaf_vector", "2", "size_leaf_vector='2': expected \"1\", the"),
    (f"{TREES}[0].sum_hessian", {}, "sum_hessian={}: expected an array"),
    (f"{TREES}[0]", [], "trees[0]=[]: expected an object"),
    (f"{TREES}[0].parents", KeyError, "trees[0].parents is missing"),
    (f"{MODEL}.gbtree_model_param.num_trees", "1", "trees has 2 entries: expected 1"),
    (f"{MODEL}.tree_info", [0], "tree_info has 1 entries: expected 2"),
    (f"{MODEL}.tree_info[1]", 1, "tree_info[1]=1: expected 0"),
    (f"{MODEL}.gbtree_model_param.num_parallel_tree", "3", "num_trees='2': expected a multiple"),
    (f"{PARAM}.num_class", "2", "expected 2 finite float32, as written by float.hex"),
    (f"{MODEL}.iteration_indptr", [0, 1], "expected numbers that rise from 0 to num_trees=2"),
    (f"{MODEL}.iteration_indptr", [0, 2, 1, 2], "expected numbers that rise"),
    (f"{MODEL}.iteration_indptr", [], "expected numbers that rise"),
    (f"{PARAM}.num_feature", "0", "num_feature='0': expected a string that holds an integer"),
    (f"{PARAM}.num_feature", "-4", "num_feature='-4'"),
    ("learner.feature_names", ["a"], "feature_names has 1 entries: expected 4"),
    ("learner.feature_names", [1, 2, 3, 4], "feature_names[0]=1: expected a string"),
    ("learner.objective", KeyError, "learner.objective is missing"),
    ("learner.attributes.k", 1, "learner.attributes.k=1: expected a string"),
    ("learner", KeyError, "learner is missing"),
    ("version", "3.2", "version='3.2': expected an array"),
]


@pytest.fixture
def model() -> Model:
    text = to_xgboost_json(make_ensemble([1, 0]))
    seven = document(text)
    tree = seven["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["left_children"] = [1, 3, -1, 5, -1, -1, -1]
    tree["right_children"] = [2, 4, -1, 6, -1, -1, -1]
    tree["parents"] = [2**31 - 1, 0, 0, 1, 1, 3, 3]
    for name in ("default_left", "split_indices", "split_type"):
        tree[name] = [0] * 7
    for name in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        tree[name] = [0.5] * 7
    tree["tree_param"]["num_nodes"] = "7"
    return seven


@pytest.mark.parametrize(("path", "value", "message"), LIES)
def test_a_lie_is_found_and_named(model: Model, path: str, value: object, message: str) -> None:
    from_xgboost_json(json.dumps(model))
    set_to(path, value)(model)
    with pytest.raises(ModelFormatError, match=re.escape(message)) as caught:
        from_xgboost_json(json.dumps(model), source="x.json")
    assert str(caught.value).startswith("x.json: ")
    assert "; " in str(caught.value)


def test_an_unreachable_cycle_is_found(model: Model) -> None:
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["left_children"][1] = tree["right_children"][1] = -1  # 3 .. 6 hang in the air
    with pytest.raises(ModelFormatError, match=r"split_indices\[3\]=0: expected 2147483647"):
        from_xgboost_json(json.dumps(model))
    tree["split_indices"][3:] = [2**31 - 1] * 4
    with pytest.raises(ModelFormatError, match='expected num_deleted "4"'):
        from_xgboost_json(json.dumps(model))
    tree["tree_param"]["num_deleted"] = "4"
    assert from_xgboost_json(json.dumps(model)).trees[0].n_nodes == 3


OWN = "learner.attributes.pyopencl_gbdt"
OWN_LIES: list[tuple[str, str, str]] = [
    ("format_version", "2", "'2': expected '1'; read it with a newer pyopencl_gbdt"),
    ("base_margin", "0x1.8p+0", "expected the margin of base_score=0.3"),
    ("base_margin", "0x1.0000000000001p+0", "expected a finite float32"),
    ("base_margin", "nan", "expected a finite float32"),
    ("base_margin", "0x1p+999999", "expected a finite float32"),
    ("base_margin", "?", "expected a finite float32"),
    ("objective", "reg:other", "'reg:other': expected one of"),
    ("objective", "binary:logistic", "expected 'binary:logistic', as attribute"),
    ("objective_parameters", "{", "expected a JSON object of parameters"),
    ("objective_parameters", "[1]", "expected an object"),
    ("objective_parameters", '{"fair_c":"0x1.0p+0"}', "expected parameters out of [] for reg:sq"),
]


@pytest.mark.parametrize(("key", "value", "message"), OWN_LIES)
def test_our_own_attributes_are_not_believed(
    model: Model, key: str, value: str, message: str
) -> None:
    model["learner"]["attributes"][f"pyopencl_gbdt.{key}"] = value
    with pytest.raises(ModelFormatError, match=re.escape(message)):
        from_xgboost_json(json.dumps(model))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"1", b"\xff\xfe", b"{L\x00\x00", "[" * 200_000,
        '{"a":' * 200_000, '{"learner":' + "9" * 10_000 + "}", '{"learner":{}} trailing',
        '{"learner":' + "[" * 900 + "]" * 900 + "}",
    ],
)  # fmt: skip
def test_what_is_no_model_at_all(text: str | bytes) -> None:
    with pytest.raises(ModelFormatError, match=r"^junk\.json: "):
        from_xgboost_json(text, source="junk.json")
