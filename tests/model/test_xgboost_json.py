from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import (
    Ensemble,
    from_xgboost_json,
    margin_from_base_score,
    to_xgboost_json,
)
from tests.model.samples import (
    assert_same_margins,
    document,
    loaded,
    make_ensemble,
    make_rows,
    saved,
    train,
)

NAMES = ["age", "größe, in m", 'tab\t and "quotes"', "back\\slash"]
LOGISTIC = {
    "objective": "binary:logistic",
    "base_score": 0.3,
    "base_margin": float(np.float32(math.log(0.3 / 0.7))),
}
OURS = {
    "no tree": make_ensemble([]),
    "no tree, logistic": make_ensemble([], **LOGISTIC),
    "one leaf": make_ensemble([0]),
    "leaves and stumps": make_ensemble([0, 1, 0, 2]),
    "large": make_ensemble([60, 33, 60]),
    "logistic": make_ensemble([5, 0, 7], **LOGISTIC),
    "named": make_ensemble(
        [3, 4], feature_names=NAMES, attributes={"pyopencl_gbdt.cuts": "[]", "best": "3", "é": ""}
    ),
}
GROWN = {
    "hist": {"tree_method": "hist"},
    "exact": {"tree_method": "exact"},
    "approx": {"tree_method": "approx"},
    "pruned exact": {"tree_method": "exact", "gamma": 4.0},
    "pruned to a leaf": {"tree_method": "exact", "gamma": 1e6},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0},
    "lossguide exact": {"grow_policy": "lossguide", "max_leaves": 20, "gamma": 2.0},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5},
}


def unversioned(data: bytes) -> bytes:
    """Leave out the version of the XGBoost that wrote it."""
    return re.sub(rb'"version":\[[0-9,]*\]', b"", data)


@pytest.mark.parametrize("name", OURS)
def test_xgboost_reads_ours_and_writes_the_same_bytes(name: str) -> None:
    ensemble = OURS[name]
    text = to_xgboost_json(ensemble)
    booster = loaded(text)
    assert unversioned(saved(booster)) == unversioned(text.encode())
    assert from_xgboost_json(saved(booster)) == ensemble
    assert booster.feature_names == ensemble.feature_names
    assert_same_margins(ensemble, booster, make_rows(200))


@pytest.mark.few(6)
@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize("name", GROWN)
def test_we_read_xgboost(name: str, objective: str) -> None:
    booster = train(objective=objective, **GROWN[name])
    ensemble = from_xgboost_json(saved(booster))
    assert ensemble.objective == objective
    assert_same_margins(ensemble, booster, make_rows(1000))
    again = loaded(to_xgboost_json(ensemble))
    assert_same_margins(ensemble, again, make_rows(1000))
    assert from_xgboost_json(saved(again)) == ensemble
    if name.startswith("pruned"):
        counts = [t["tree_param"] for t in trees_of(document(saved(booster)))]
        deleted = sum(int(c["num_deleted"]) for c in counts)
        assert deleted > 0
        assert sum(t.n_nodes for t in ensemble.trees) == (
            sum(int(c["num_nodes"]) for c in counts) - deleted
        )
    if name == "lossguide":
        lefts = [t["left_children"] for t in trees_of(document(saved(booster)))]
        assert any(left != t.left.tolist() for left, t in zip(lefts, ensemble.trees, strict=True))


def trees_of(model: dict) -> list[dict]:
    return model["learner"]["gradient_booster"]["model"]["trees"]


@pytest.mark.parametrize("default_left", [0, 1])
def test_a_split_of_missing_values_alone(default_left: int) -> None:
    """XGBoost since 3.3 writes -infinity where nothing but missing values may go left."""
    model = document(saved(train(2, max_depth=2)))
    root = trees_of(model)[0]
    root["split_conditions"][0], root["default_left"][0] = -math.inf, default_left
    text = json.dumps(model)
    ensemble = from_xgboost_json(text)
    X = np.vstack([make_rows(200), np.full((1, 4), np.finfo(np.float32).min)]).astype(np.float32)
    assert_same_margins(ensemble, loaded(text), X)
    assert_same_margins(ensemble, loaded(to_xgboost_json(ensemble)), X)


def test_training_goes_on_in_xgboost() -> None:
    ensemble = OURS["no tree, logistic"]
    X = make_rows(300)
    data = xgboost.DMatrix(X, np.nan_to_num(X[:, 0]) > 0)
    start = loaded(to_xgboost_json(ensemble))
    booster = xgboost.train({"objective": "binary:logistic"}, data, 3, xgb_model=start)
    longer = from_xgboost_json(saved(booster))
    assert len(longer.trees) == 3  # the placeholder of the model without trees is gone
    assert longer.base_margin == ensemble.base_margin
    assert_same_margins(longer, booster, X)


@pytest.mark.parametrize("positives", [0.0, 0.01, 0.5, 0.99, 0.9995, 1.0])
def test_starting_margin_is_what_xgboost_computes(positives: float) -> None:
    X = make_rows(2000)
    y = np.arange(2000) < positives * 2000
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, xgboost.DMatrix(X, y), 1
    )
    assert_same_margins(from_xgboost_json(saved(booster)), booster, X[:300])


@pytest.mark.parametrize("score", [0.0, 1e-30, 1e-7, 1e-6, 0.2, 0.5, 0.999, 1 - 1e-6, 1.0])
def test_margin_of_a_score(score: float) -> None:
    model = document(to_xgboost_json(make_ensemble([0], **LOGISTIC)))
    model["learner"]["attributes"] = {}
    model["learner"]["learner_model_param"]["base_score"] = f"[{score!r}]"
    tree = trees_of(model)[0]
    tree["split_conditions"] = [0.0]
    booster = loaded(json.dumps(model))
    theirs = booster.predict(xgboost.DMatrix(np.zeros((1, 4))), output_margin=True)[0]
    ours = margin_from_base_score("binary:logistic", score)
    assert ours == np.float32(ours)
    assert ours == pytest.approx(theirs, rel=2e-7, abs=1e-7)
    exact = math.log(score / (1 - score)) if 1e-6 <= score <= 0.999 else None
    assert exact is None or ours == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("text", ["5E-1", "0.5", "[5E-1]", "[0.5]", " [ 5e-1 ] ", "[500e-3]"])
def test_base_score_of_all_versions(text: str) -> None:
    model = document(to_xgboost_json(make_ensemble([1], base_margin=0.5, base_score=0.5)))
    model["learner"]["learner_model_param"]["base_score"] = text
    del model["learner"]["attributes"]
    ensemble = from_xgboost_json(json.dumps(model))
    assert ensemble.base_score == ensemble.base_margin == 0.5


@pytest.mark.parametrize(
    "text", ["", "[]", "[1,2]", "x", "nan", "[NaN]", "inf", "1e39", "1_0", "[[1]]", "٣", "0x1"]
)
def test_base_score_that_is_no_number(text: str) -> None:
    model = document(to_xgboost_json(make_ensemble([1])))
    model["learner"]["learner_model_param"]["base_score"] = text
    with pytest.raises(ModelFormatError, match=r"learner_model_param\.base_score="):
        from_xgboost_json(json.dumps(model))


def test_floats_keep_every_bit() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    bits = bits[np.isfinite(bits)]
    edges = [0.0, 1.0, 1e-45, 1.1754944e-38, 3.4028235e38, 16777216.0, 123456792.0, 0.1]
    odd = np.concatenate([bits, np.array(edges, np.float32)])
    for start in range(0, odd.size, 500):
        part = odd[start : start + 500]
        score = float(part[0])
        ensemble = make_ensemble([len(part)], base_margin=score, base_score=score)
        tree = ensemble.trees[0]
        values = np.zeros(tree.n_nodes, np.float32)
        values[tree.is_leaf] = np.resize(part, tree.is_leaf.sum())  # each of them in a leaf
        ensemble.trees[0] = dataclasses.replace(tree, value=values[:, None])
        text = to_xgboost_json(ensemble)
        read = from_xgboost_json(text).trees[0].value
        assert read.tobytes() == ensemble.trees[0].value.tobytes()
        assert unversioned(saved(loaded(text))) == unversioned(text.encode())
        for name in ("base_weights", "split_conditions", "loss_changes", "sum_hessian"):
            numbers = re.search(rf'"{name}":\[(.*?)\]', text).group(1).split(",")
            assert all("E" in number for number in numbers)


def test_attributes() -> None:
    mine = {"best_iteration": "3", "pyopencl_gbdt.cuts": "x", "pyopencl_gbdt.objective": "stale"}
    ensemble = make_ensemble([1], attributes=mine)
    attributes = document(to_xgboost_json(ensemble))["learner"]["attributes"]
    assert attributes == {
        "best_iteration": "3",
        "pyopencl_gbdt.base_margin": float(np.float32(0.3)).hex(),
        "pyopencl_gbdt.cuts": "x",
        "pyopencl_gbdt.format_version": "1",
        "pyopencl_gbdt.objective": "reg:squarederror",
    }
    kept = from_xgboost_json(to_xgboost_json(ensemble)).attributes
    assert kept == {"best_iteration": "3", "pyopencl_gbdt.cuts": "x"}
    assert mine["pyopencl_gbdt.objective"] == "stale"  # the caller's dictionary is untouched


def test_the_same_bytes_for_equal_models() -> None:
    names = ["b", "a", "c", "d"]
    one = make_ensemble([5], feature_names=names, attributes={"a": "1", "b": "2"})
    two = make_ensemble([5], feature_names=names, attributes={"b": "2", "a": "1"})
    assert to_xgboost_json(one) == to_xgboost_json(two)
    assert to_xgboost_json(one) == to_xgboost_json(one)


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [
        (
            make_ensemble([], objective="rank:nothing"),
            "'rank:nothing': expected one of binary:hinge",
        ),
        (make_ensemble([1], base_score=0.4), "base_score=0.4.*expected 0.3"),
        (make_ensemble([1], **(LOGISTIC | {"base_score": 0.5})), "base_score=0.5"),
        (make_ensemble([1], feature_names=["a", "b", "c", "\x08"]), "without control"),
        (make_ensemble([1], attributes={"a": "\ud800"}), "without control"),
        (make_ensemble([1], attributes={"a": 1}), "expected a string"),
    ],
)
def test_models_that_the_format_cannot_hold(ensemble: Ensemble, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        to_xgboost_json(ensemble)


def test_extreme_margins_are_kept_though_xgboost_clamps_them() -> None:
    for margin in (-200.0, -20.0, 17.0, 100.0):
        score = 1 / (1 + math.exp(-margin)) if margin > 0 else math.exp(margin)
        ensemble = make_ensemble(
            [1], objective="binary:logistic", base_margin=margin, base_score=score
        )
        assert from_xgboost_json(to_xgboost_json(ensemble)).base_margin == margin
        loaded(to_xgboost_json(ensemble)).predict(xgboost.DMatrix(make_rows(5)))
