"""CatBoost's JSON: what each library writes, the other one reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble, Tree
from pyopencl_gbdt.model.formats.catboost_json import (
    CatBoostJson,
    to_catboost_json,
)
from pyopencl_gbdt.model.formats.catboost_reader import read_catboost
from tests.conftest import TEST_DEVICE
from tests.model.kinds import kind, labels, rows, with_sets
from tests.model.samples import make_ensemble

catboost = pytest.importorskip("catboost")
FORMAT = CatBoostJson()
EDGES = [np.finfo(np.float32).min, 0.0, -0.0, 1e-40, 0.1]


def symmetric_tree(rng: np.random.Generator, depth: int, edges: bool = False) -> Tree:
    """Return a symmetric tree on 5 columns."""
    width = 2 ** np.arange(depth)
    leaf = np.arange(2 ** (depth + 1) - 1) >= 2**depth - 1
    n = leaf.size
    threshold = rng.choice(EDGES, depth) if edges else rng.normal(size=depth)

    def of_levels(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.repeat(values, width), np.zeros(2**depth)])

    left = np.where(leaf, -1, np.arange(n) * 2 + 1).astype(np.int32)
    return Tree(
        left=left,
        right=np.where(leaf, -1, left + 1).astype(np.int32),
        parent=np.array([-1, *np.repeat(np.arange(2**depth - 1), 2)], np.int32),
        feature=of_levels(rng.integers(0, 5, depth)).astype(np.int32),
        threshold=of_levels(threshold).astype(np.float32),
        default_left=of_levels(rng.random(depth) < 0.5).astype(bool),
        split_kind=np.zeros(n, np.uint8),
        value=np.where(leaf, rng.normal(size=n), 0).astype(np.float32)[:, None],
        weight=np.zeros((n, 1), np.float32),
        gain=np.zeros(n, np.float32),
        sum_hessian=np.ones(n, np.float32),
    )


def symmetric(depths: list[int], *, edges: bool = False, **facts: Any) -> Ensemble:
    rng = np.random.default_rng(4)
    trees = [symmetric_tree(rng, depth, edges) for depth in depths]
    return make_ensemble([], trees=trees, n_features=5, **facts)


CLASSES = {
    "objective": "multi:softprob", "n_outputs": 3, "base_margin": (0.0, 0.5, 1.0),
    "base_score": (0.0, 0.5, 1.0), "objective_parameters": {"num_class": 3.0},
}  # fmt: skip
KINDS = {
    "regression": symmetric([3, 1, 4, 0]),
    "edges": symmetric([3] * 6, edges=True),
    "logistic": symmetric([3, 2], objective="binary:logistic", base_margin=0.0, base_score=0.5),
    "classes": symmetric([3, 2, 1, 2, 2, 2], **CLASSES),
    "forests of classes": symmetric([3, 2, 1, 2, 2, 2], n_parallel=2, **CLASSES),
    "counts": symmetric([2, 2], objective="count:poisson", base_margin=0.0, base_score=1.0),
    "targets": symmetric(
        [2, 2, 3, 1], n_outputs=2, base_margin=(0.5, 0.0), base_score=(0.5, 0.0)
    ),
    "tweedie": symmetric([2], objective="reg:tweedie", base_margin=0.0, base_score=1.0,
                         objective_parameters={"tweedie_variance_power": 1.25}),
    "no trees": symmetric([]),
}  # fmt: skip


def predicted(model: Ensemble, X: Any = None, **given: Any) -> np.ndarray:
    return Model(model).predict(rows() if X is None else X, device=TEST_DEVICE, **given)


def loaded(model: Ensemble, folder: Path, kind_of: Any = None) -> Any:
    path = folder / "m.json"
    path.write_text(to_catboost_json(model))
    own = catboost.CatBoost() if kind_of is None else kind_of()
    return own.load_model(str(path), format="json")


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    atol = 1e-6 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", KINDS)
def test_catboost_reads_what_is_written(name: str, tmp_path: Path) -> None:
    model, X = KINDS[name], rows()
    if name == "edges":
        X = np.random.default_rng(1).choice([*EDGES, np.nan, 0.09999999], X.shape)
        X = X.astype(np.float32)
    found = loaded(model, tmp_path).predict(X, prediction_type="RawFormulaVal")
    expected = predicted(model, X, output_margin=True)
    assert_near(found, expected)
    again = read_catboost(to_catboost_json(model).encode(), "m.json")
    assert_near(predicted(again, X), predicted(model, X))
    assert again.objective == model.objective
    assert again.objective_parameters == model.objective_parameters
    if model.n_parallel == 1 and name != "edges":
        used = [tree for tree in again.trees if tree.value.any()]
        for one, other in zip(used, model.trees, strict=True):
            np.testing.assert_array_equal(one.threshold, other.threshold)
            np.testing.assert_array_equal(one.value, other.value)
            np.testing.assert_array_equal(one.default_left, other.default_left)


def test_probabilities_and_classes(tmp_path: Path) -> None:
    names = {"logistic": ["no", "yes"], "classes": [3, 5, 8]}
    for name, classes in names.items():
        attributes = {"pyopencl_gbdt.classes": json.dumps(classes)}
        model = replace(KINDS[name], attributes=attributes)
        own = loaded(model, tmp_path, catboost.CatBoostClassifier)
        expected = predicted(model)
        shares = own.predict_proba(rows())
        assert_near(shares[:, 1] if name == "logistic" else shares, expected)
        assert list(own.classes_) == classes
        again = read_catboost(to_catboost_json(model).encode(), "m.json")
        assert again.attributes == attributes


def test_weights_of_leaves_are_the_sums_of_hessians(tmp_path: Path) -> None:
    covers = np.random.default_rng(1).random((2, 15), np.float32)
    trees = symmetric([2, 3]).trees
    trees = [
        replace(tree, sum_hessian=cover[: tree.n_nodes])
        for tree, cover in zip(trees, covers, strict=True)
    ]
    model = replace(symmetric([2, 3]), trees=trees)
    own, again = loaded(model, tmp_path), read_catboost(to_catboost_json(model).encode(), "m.json")
    for tree, other in zip(model.trees, again.trees, strict=True):
        assert np.array_equal(tree.sum_hessian[tree.is_leaf], other.sum_hessian[other.is_leaf])
    leaves = [tree.sum_hessian[tree.is_leaf] for tree in model.trees]
    weights = own.get_leaf_weights()
    assert sorted(weights.tolist()) == pytest.approx(sorted(np.concatenate(leaves).tolist()))


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("RMSE", {}),
        ("RMSE", {"nan_mode": "Max"}),
        ("Logloss", {}),
        ("MultiClass", {}),
        ("Poisson", {}),
        ("Quantile:alpha=0.25", {}),
        ("MultiRMSE", {}),
        ("Huber:delta=0.5", {}),
    ],
)
def test_files_of_catboost_are_read(loss: str, given: dict[str, Any], tmp_path: Path) -> None:
    y: Any = labels(rows())
    y = {
        "Logloss": np.where(y > 0.4, "yes", "no"), "Poisson": np.floor(np.abs(y)),
        "MultiClass": np.clip(np.floor(y + 1), 0, 2), "MultiRMSE": np.stack([y, -2 * y], 1),
    }.get(loss, y)  # fmt: skip
    usual = {"iterations": 8, "depth": 3, "verbose": 0, "thread_count": 1, "loss_function": loss}
    own = catboost.CatBoost(usual | {"allow_writing_files": False} | given).fit(rows(), y)
    own.save_model(str(tmp_path / "m.json"), format="json")
    model = Model.load_model(tmp_path / "m.json")
    raw = own.predict(rows(), prediction_type="RawFormulaVal")
    assert_near(model.predict(rows(), output_margin=True, device=TEST_DEVICE), raw)
    if loss in ("Logloss", "MultiClass"):
        shares = own.predict(rows(), prediction_type="Probability")
        found = model.predict(rows(), device=TEST_DEVICE)
        assert_near(found, shares[:, 1] if loss == "Logloss" else shares)
    if loss == "Logloss":
        assert model.ensemble.attributes == {"pyopencl_gbdt.classes": '["no", "yes"]'}
    if loss.startswith("Quantile"):
        assert model.ensemble.objective_parameters == {"quantile_alpha": 0.25}


def test_names(tmp_path: Path) -> None:
    model = replace(KINDS["regression"], feature_names=["a b", "c", "d", "e", "é"])
    own = loaded(model, tmp_path)
    table = pd.DataFrame(rows(), columns=model.feature_names)
    assert_near(own.predict(table), predicted(model))
    assert read_catboost(to_catboost_json(model).encode(), "m").feature_names == model.feature_names


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": rows()[:, 0], "b": np.arange(1000) % 3, "c": np.arange(1000) % 40})
    y = labels(rows())
    usual = {"iterations": 2, "depth": 2, "verbose": 0, "thread_count": 1}
    path = tmp_path / "m.json"
    for given, words in (
        ({"cat_features": ["b"], "one_hot_max_size": 4}, "hashes of levels"),
        ({"cat_features": ["c"]}, "hashes of levels"),
        ({"grow_policy": "Lossguide"}, "SymmetricTree"),
        ({"loss_function": "LogCosh"}, "LogCosh"),
    ):
        own = catboost.CatBoost(usual | {"allow_writing_files": False} | given).fit(table, y)
        own.save_model(str(path), format="json", pool=catboost.Pool(
            table, y, cat_features=given.get("cat_features")))  # fmt: skip
        with pytest.raises(ModelFormatError, match=rf"m\.json: .*{words}"):
            Model.load_model(path)


def test_what_the_format_lacks_is_named() -> None:
    assert "not symmetric" in FORMAT.lacks(kind("regression"))
    assert "sets of levels" in FORMAT.lacks(with_sets())
    assert "binary:hinge" in FORMAT.lacks(replace(KINDS["regression"], objective="binary:hinge"))
    assert not FORMAT.lacks(KINDS["edges"])


def test_a_file_of_many_outputs_is_bounded() -> None:
    document = json.loads(to_catboost_json(symmetric([0])))
    document["scale_and_bias"] = [1, [0] * 200_000]
    document["oblivious_trees"][0]["leaf_values"] = [1] * 200_000
    with pytest.raises(ModelFormatError, match="at most"):
        read_catboost(json.dumps(document).encode(), "m.json")


@pytest.mark.thorough
def test_a_trained_model(tmp_path: Path) -> None:
    given = {"grow_policy": "symmetric", "max_depth": 4, "device": TEST_DEVICE}
    model = train(given, Dataset(rows(), labels(rows())), 5)
    model.save_model(tmp_path / "m.catboost.json")
    own = catboost.CatBoost().load_model(str(tmp_path / "m.catboost.json"), format="json")
    assert_near(own.predict(rows()), model.predict(rows(), device=TEST_DEVICE))
