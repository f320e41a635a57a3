"""Small files that ask for much, and attributes that say what cannot be."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import DataError, ModelFormatError
from pyopencl_gbdt.model import (
    Ensemble,
    feature_importances,
    from_xgboost_json,
    to_raw,
    to_xgboost_json,
)
from pyopencl_gbdt.model.formats.registry import FORMATS
from pyopencl_gbdt.model.frames import feature_number
from tests.conftest import TEST_DEVICE
from tests.model.samples import document, make_ensemble, make_rows

X = make_rows(5)


def sample(splits: list[int] | None = None) -> dict[str, Any]:
    return document(to_xgboost_json(make_ensemble([2, 1, 1] if splits is None else splits)))


def model_of(found: dict[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = found["learner"]["gradient_booster"]["model"]
    return model


def without_trees(n_classes: int = 0, n_targets: int = 1, n_parallel: int = 1) -> dict[str, Any]:
    found = sample()
    learner, model = found["learner"], model_of(found)
    learner["attributes"] = {}
    learner["learner_model_param"] |= {"num_class": str(n_classes), "num_target": str(n_targets)}
    if n_classes:
        param = {"num_class": str(n_classes)}
        learner["objective"] = {"name": "multi:softprob", "softmax_multiclass_param": param}
    model |= {"trees": [], "tree_info": [], "iteration_indptr": [0]}
    model["gbtree_model_param"] = {"num_trees": "0", "num_parallel_tree": str(n_parallel)}
    return found


def read(found: dict[str, Any] | str) -> Ensemble:
    text = found if isinstance(found, str) else json.dumps(found)
    return from_xgboost_json(text, source="m.json")


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"n_classes": 2**20}, "num_class='1048576': expected no more outputs than the file has"),
        ({"n_targets": 2**20}, "num_target='1048576': expected no more outputs than the file has"),
        ({"n_targets": 2**31 - 1}, "num_target='2147483647'"),
        ({"n_classes": 2**10, "n_targets": 2**10}, "num_target='1024'"),
        ({"n_parallel": 2**31 - 1}, "num_parallel_tree='2147483647': expected rounds of no more"),
        ({"n_parallel": 2**8, "n_classes": 2**8}, "num_parallel_tree='256'"),
    ],
)
def test_sizes_that_no_tree_bears_out(sizes: dict[str, int], words: str) -> None:
    text = json.dumps(without_trees(**sizes))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError, match=words):
            read(text)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2**20


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_classes": 500},
        {"n_targets": 3},
        {"n_parallel": 1000},
        pytest.param({"n_targets": 4096}, marks=pytest.mark.thorough),
    ],
)
def test_models_without_trees_stay(sizes: dict[str, int]) -> None:
    """XGBoost writes those after no round."""
    ensemble = read(without_trees(**sizes))
    assert ensemble.round_trees == max(sizes.values())
    assert read(to_xgboost_json(ensemble)) == ensemble


BAD_ROUNDS = ["x", "", "-1", "1.5", "1e3", "0x1", "nan", "9" * 400, "\u0663", "1_0", "1\x1b[2J"]
BAD_SCORES = ["x", "", "1_0", "0x1", "1,5", "[1]", "1" * 10_000, "--1", "nano"]


@pytest.mark.parametrize(
    ("name", "text"),
    [*(("best_iteration", t) for t in BAD_ROUNDS), *(("best_score", t) for t in BAD_SCORES)],
)
def test_a_best_round_that_is_none(name: str, text: str) -> None:
    found = sample()
    found["learner"]["attributes"][name] = text
    with pytest.raises(ModelFormatError, match=rf"^m\.json: .*{name}=.*expected.*remove it") as got:
        read(found)
    assert "\x1b" not in str(got.value)
    model = Model(make_ensemble([1], attributes={"best_iteration": "0", name: text}))
    with pytest.raises(ModelFormatError, match=name):
        getattr(model, name)
    if name == "best_iteration":
        with pytest.raises(ModelFormatError, match=name):
            model.predict(X, device=TEST_DEVICE)


@pytest.mark.parametrize(
    ("number", "score"), [("0", "0.5"), ("1", "-1e-05"), ("2", "nan"), ("7", "inf"), ("2", "-3")]
)
def test_a_best_round(number: str, score: str) -> None:
    found = sample()
    found["learner"]["attributes"] |= {"best_iteration": number, "best_score": score}
    model = Model(read(found))
    assert model.best_iteration == int(number)
    np.testing.assert_equal(model.best_score, float(score))
    first = Model(make_ensemble([2, 1, 1])).predict(
        X, device=TEST_DEVICE, iteration_range=(0, min(int(number) + 1, 3))
    )
    np.testing.assert_array_equal(model.predict(X, device=TEST_DEVICE), first)


@pytest.mark.parametrize("other", [0, 2, -1, 1.0, True, "1", None, 10**400, []])
def test_a_tree_that_is_not_in_its_place(other: object) -> None:
    found = sample()
    model_of(found)["trees"][1]["id"] = other
    with pytest.raises(ModelFormatError, match=r"trees\[1\]\.id=.*: expected 1, the tree's place"):
        read(found)
    del model_of(found)["trees"][1]["id"]
    assert len(read(found).trees) == 3


def test_members_twice() -> None:
    text = json.dumps(sample())
    for place in ('"learner": {', '"attributes": {', '"tree_param": {'):
        twice = text.replace(place, f'{place}"a": 1, "a": 2, ', 1)
        with pytest.raises(ModelFormatError, match=r"^m\.json: .*two members 'a'"):
            read(twice)


def test_names_of_members_are_shown_safely() -> None:
    found = sample()
    found["learner"]["attributes"]["\x1b[2J" + "x" * 10_000] = 3
    with pytest.raises(ModelFormatError, match="attributes") as caught:
        read(found)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("wrong", ["a\x01", "\x1b[2J", "\ud800"])
@pytest.mark.parametrize("place", ["name", "value", "feature", "target"])
def test_text_that_could_not_be_written_again(place: str, wrong: str) -> None:
    found = sample()
    learner = found["learner"]
    if place == "name":
        learner["attributes"][wrong] = "1"
    elif place == "value":
        learner["attributes"]["note"] = wrong
    elif place == "feature":
        learner["feature_names"] = ["b", "c", "d", wrong]
    else:
        learner["objective"]["name"] = wrong
    words = r"^m\.json: learner\..*expected a (name|string) without control characters"
    with pytest.raises(ModelFormatError, match=words) as caught:
        read(found)
    assert wrong not in str(caught.value)


def test_links_of_losses_of_a_users_own() -> None:
    given = {"custom_name": "mine", "custom_link": "logit"}
    found = document(
        to_xgboost_json(make_ensemble([1], objective="custom", objective_parameters=given))
    )
    attributes = found["learner"]["attributes"]
    key = "pyopencl_gbdt.objective_parameters"
    attributes[key] = attributes[key].replace("logit", "other")
    with pytest.raises(ModelFormatError, match=r"expected one of \['identity', 'logit'\]"):
        read(found)


def test_parameters_that_a_loss_of_a_users_own_does_not_have() -> None:
    found = document(to_xgboost_json(make_ensemble([1], objective="custom")))
    found["learner"]["objective"]["reg_loss_param"]["scale_pos_weight"] = "2"
    model = Model(read(found))
    assert model.predict(X, device=TEST_DEVICE).shape == (5,)


def nested(opening: str) -> str:
    return json.dumps(sample())[:-1] + ', "z": ' + opening


COSTLY = {
    "arrays": lambda: nested("[" * 10**6),
    "objects": lambda: nested('{"a":' * 10**5),
    "digits": lambda: nested("1" * 10**6 + "}"),
    "decimals": lambda: nested("0." + "1" * 10**6 + "}"),
    "same name": lambda: nested("{" + '"a":1,' * 10**5 + '"a":1}}'),
    "empty objects": lambda: nested("[" + "{}," * 10**5 + "0]}"),
    "wide text": lambda: nested("[" + '{"":0},' * 10**5 + '"\U0001f600"]}'),
}


@pytest.mark.parametrize("name", COSTLY)
def test_memory_is_bounded(name: str) -> None:
    build: Callable[[], str] = COSTLY[name]
    data = build().encode()
    tracemalloc.start()
    message = ""
    try:
        from_xgboost_json(data)
    except ModelFormatError as error:
        message = str(error)
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(message) < 1000
    assert most < 40 * len(data)


@pytest.mark.parametrize("plain", [True, False])
def test_sets_of_many_trees_that_take_much(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set takes as many bits as its highest code, so a few digits ask for 2 MB."""
    monkeypatch.setattr("pyopencl_gbdt.model.formats.xgboost_sets.MOST_WORDS", 2**20)
    found = sample([1] * 5)
    for tree in model_of(found)["trees"]:
        tree |= {"split_type": [1, 0, 0], "categories": [2**24 - 1], "categories_nodes": [0]}
        tree |= {"categories_segments": [0], "categories_sizes": [1]}
        if not plain:
            tree["categories"].append(0)  # which belongs to no set
    with pytest.raises(ModelFormatError, match=r"expected sets of \d+ codes in all at most"):
        read(found)


def test_importances_of_very_many_features() -> None:
    """Memory that nothing fills is not taken."""
    many = make_ensemble([3, 2], n_features=2**27)
    few = make_ensemble([3, 2])
    for kind in ("gain", "cover", "weight", "total_gain"):
        found, expected = feature_importances(many, kind), feature_importances(few, kind)
        assert found.shape == (2**27,)
        np.testing.assert_array_equal(found[:4], expected)


def test_columns_without_names_are_not_written_out():
    """A file of few bytes may claim 2^31 columns; names of all would take 100 GB."""
    found = sample([1])
    found["learner"]["learner_model_param"]["num_feature"] = str(2**31 - 1)
    for tree in model_of(found)["trees"]:
        tree["tree_param"]["num_feature"] = str(2**31 - 1)
    ensemble = read(found)
    tracemalloc.start()
    for one in FORMATS:
        if one.name.startswith(("XGBoost", "this library")):
            assert not one.lacks(ensemble)
            assert len(one.write(ensemble)) < 10_000
        else:
            assert one.lacks(ensemble) == "more than 4194304 columns without names"
    with pytest.raises(ModelFormatError, match="lacks more than 4194304 columns without names"):
        to_raw(ensemble, "py")
    assert feature_number(ensemble, "f2147483646") == 2**31 - 2
    for name in ("f2147483647", "f01", "g0", "f", "f-1", "f\u0661"):
        with pytest.raises(DataError, match="expected a name such as 'f0', 'f1'"):
            feature_number(ensemble, name)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
