"""LightGBM's text: what each library writes, the other one reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor, Model
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model import Ensemble, read_model
from pyopencl_gbdt.model.formats import lightgbm_reader
from pyopencl_gbdt.model.formats.base import of_used_rounds
from pyopencl_gbdt.model.formats.lightgbm_reader import read_lightgbm
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText, to_lightgbm_text
from tests.conftest import TEST_DEVICE
from tests.model.kinds import KINDS, edge_rows, frame, kind, labels, rows, with_sets

lightgbm = pytest.importorskip("lightgbm")
FORMAT = LightGBMText()
BOUND = 1e-6


def predicted(model: Ensemble, X: Any = None, **given: Any) -> np.ndarray:
    return Model(model).predict(rows() if X is None else X, device=TEST_DEVICE, **given)


def booster_of(model: Ensemble) -> Any:
    return lightgbm.Booster(model_str=to_lightgbm_text(model))


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare within 1e-6 of the largest prediction, or 1: the leaves are float32 here."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=BOUND * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", [name for name in KINDS if name != "hinge"])
def test_lightgbm_reads_what_is_written(name: str) -> None:
    model = kind(name)
    found, expected = booster_of(model).predict(rows()), predicted(model)
    if name == "most probable class":
        found = found.argmax(axis=1)
    assert_near(found, expected)
    again = read_lightgbm(to_lightgbm_text(model).encode(), "m.txt")
    margins = [predicted(one, output_margin=True) for one in (again, model)]
    assert_near(margins[0], margins[1])


@pytest.mark.parametrize("name", ["regression", "huge thresholds"])
def test_decisions_are_the_same_beside_thresholds(name: str) -> None:
    model = kind(name)
    X = edge_rows(model)
    X[np.abs(X) <= 1e-35] = 0  # as LightGBM does
    leaves = booster_of(model).predict(X, pred_leaf=True)
    numbers = np.zeros(leaves.shape)
    ours = predicted(model, X, pred_leaf=True)
    for index, tree in enumerate(model.trees):
        place = np.cumsum(tree.is_leaf) - 1
        numbers[:, index] = place[ours[:, index]]
    np.testing.assert_array_equal(leaves, numbers)
    again = read_lightgbm(to_lightgbm_text(model).encode(), "m.txt")
    np.testing.assert_array_equal(predicted(again, X, pred_leaf=True), ours)


@pytest.mark.parametrize("text", [True, False])
def test_levels(text: bool) -> None:
    model, X = with_sets(text=text), frame(text=text)
    assert {kind for tree in model.trees for kind in tree.default_left[tree.split_kind == 1]} == {
        True, False,
    }  # fmt: skip
    booster = booster_of(model)
    plain = X.assign(town=X["town"].astype(float), size=X["size"].astype(float)) if not text else X
    assert_near(booster.predict(plain), predicted(model, X))
    again = read_lightgbm(to_lightgbm_text(model).encode(), "m.txt")
    assert again.categories == model.categories
    assert_near(predicted(again, X), predicted(model, X))


def train(y: np.ndarray, X: Any = None, n_rounds: int = 6, **given: Any) -> Any:
    usual = {"verbose": -1, "num_threads": 1, "num_leaves": 12, "min_data_per_group": 5}
    columns = given.pop("categorical_feature", "auto")
    data = lightgbm.Dataset(rows() if X is None else X, y, categorical_feature=columns)
    return lightgbm.train(usual | given, data, n_rounds)


def loaded(booster: Any) -> Ensemble:
    return read_lightgbm(booster.model_to_string().encode(), "m.txt")


@pytest.mark.parametrize(
    ("objective", "given"),
    [
        ("regression", {}),
        ("regression", {"boosting": "dart"}),
        ("regression", {"use_missing": False}),
        ("binary", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
        ("multiclass", {"num_class": 3}),
        ("multiclass", {"num_class": 3, "boosting": "rf", "feature_fraction": 0.5}),
        ("quantile", {"alpha": 0.25}),
        ("tweedie", {"tweedie_variance_power": 1.25}),
        ("poisson", {}),
        ("cross_entropy", {}),
        ("lambdarank", {}),
    ],
)
def test_files_of_lightgbm_are_read(objective: str, given: dict[str, Any]) -> None:
    y = labels(rows())
    of_loss = {
        "binary": y > 0.4, "cross_entropy": y > 0.4, "multiclass": np.clip(np.floor(y + 1), 0, 2),
        "tweedie": np.abs(y), "poisson": np.abs(y), "lambdarank": np.clip(np.floor(y + 1), 0, 3),
    }.get(objective, y)  # fmt: skip
    usual: dict[str, Any] = {"verbose": -1, "num_threads": 1, "num_leaves": 12}
    group = np.full(50, 20) if objective == "lambdarank" else None
    data = lightgbm.Dataset(rows(), np.asarray(of_loss, float), group=group)
    booster = lightgbm.train(usual | {"objective": objective} | given, data, 6)
    model = loaded(booster)
    assert_near(predicted(model), booster.predict(rows()))
    if objective == "quantile":
        assert model.objective_parameters == {"quantile_alpha": 0.25}
    if given.get("boosting") == "rf":
        assert (model.n_rounds, model.n_parallel) == (1, 6)


def test_categorical_columns_of_arrays_and_tables() -> None:
    table = frame()
    y = np.sin(table["town"].cat.codes.to_numpy())
    array = np.column_stack([table["a"], 3 * table["town"].cat.codes, table["b"]]).astype(float)
    array[array[:, 1] < 0, 1] = np.nan
    for X, given in ((array, {"categorical_feature": [1]}), (table, {})):
        booster = train(y, X, **given)
        model = loaded(booster)
        assert any(tree.sets.size for tree in model.trees)
        assert_near(predicted(model, X), booster.predict(X))
    order = list(table["town"].cat.categories)[::-1]  # levels that do not ascend
    turned = table.assign(town=table["town"].cat.reorder_categories(order))
    booster = train(y, turned)
    assert_near(predicted(loaded(booster), table), booster.predict(turned))


def test_zeros_that_are_missing_are_refused_unless_they_are_compared() -> None:
    X = np.where(np.isnan(rows()), 0, rows())
    booster = train(labels(rows()) * (X[:, 0] == 0), X, zero_as_missing=True)
    with pytest.raises(ModelFormatError, match=r"m.txt: tree .*zero_as_missing.*=False"):
        loaded(booster)
    away = np.abs(X) + 0.5  # a threshold is not 0, and zeros go where they are compared to
    booster = train(labels(away), away, zero_as_missing=True)
    model = read_lightgbm(_as_compared(booster.model_to_string()).encode(), "m.txt")
    assert_near(predicted(model, away), booster.predict(away))


def _as_compared(text: str) -> str:
    """Return a file whose splits send missing values where 0 belongs."""
    found, borders = [], ""
    for line in text.splitlines():
        borders = line[10:] if line.startswith("threshold=") else borders
        if line.startswith("decision_type="):
            left = ("6" if float(one) >= 0 else "4" for one in borders.split())
            found.append("decision_type=" + " ".join(left))
        else:
            found.append(line)
    return "\n".join(found)


def test_what_is_not_read_is_named() -> None:
    y = labels(rows())
    for given, words in (
        ({"objective": "regression", "reg_sqrt": True}, "sqrt"),
        ({"objective": "cross_entropy_lambda"}, "cross_entropy_lambda"),
        ({"objective": "binary", "sigmoid": 2.0}, "sigmoid=1"),
    ):
        label = y > 0.4 if "objective" in given and "sqrt" not in words else y
        with pytest.raises(ModelFormatError, match=f"m.txt.*{words}"):
            loaded(train(np.asarray(label, float), np.nan_to_num(rows()), n_rounds=2, **given))


def test_what_the_format_lacks_is_named() -> None:
    assert "binary:hinge" in FORMAT.lacks(kind("hinge"))
    sets = with_sets()
    assert not FORMAT.lacks(sets)
    assert "unknown levels" in FORMAT.lacks(replace(sets, categories={}))
    numeric = replace(kind("regression"), categories={0: Levels(np.arange(3))})
    assert "thresholds of categorical" in FORMAT.lacks(numeric)
    targets = replace(kind("targets"), objective="count:poisson")
    assert "several outputs" in FORMAT.lacks(targets)


def test_names_and_the_best_round() -> None:
    model = replace(kind("regression"), feature_names=["a b", "c", "d", "e", "é"])
    again = read_lightgbm(to_lightgbm_text(model).encode(), "m.txt")
    assert again.feature_names == ["a_b", "c", "d", "e", "é"]
    assert booster_of(model).feature_name() == again.feature_names
    twice = replace(model, feature_names=["a b", "a_b", "d", "e", "f"])
    with pytest.raises(ModelFormatError, match="rename"):
        to_lightgbm_text(twice)
    stopped = kind("stopped early")
    assert booster_of(stopped).num_trees() == 4 == of_used_rounds(stopped).n_rounds


def test_contributions_of_lightgbm_add_up() -> None:
    """Covers become counts, which LightGBM's contributions are computed from."""
    model = kind("regression")
    found = booster_of(model).predict(rows()[:50], pred_contrib=True)
    assert_near(found.sum(axis=1), predicted(model, rows()[:50]))
    assert np.isfinite(found).all()


def test_files_through_the_doors(tmp_path: Any) -> None:
    model = Model(kind("logistic"))
    model.save_model(tmp_path / "m.txt")
    booster = lightgbm.Booster(model_file=str(tmp_path / "m.txt"))
    assert_near(booster.predict(rows()), model.predict(rows(), device=TEST_DEVICE))
    booster.save_model(tmp_path / "again.txt")
    assert read_model(tmp_path / "again.txt").objective == "binary:logistic"
    table = pd.DataFrame(rows(), columns=list("abcde"))
    assert_near(booster.predict(table), model.predict(rows(), device=TEST_DEVICE))


def test_estimators_read_and_write_the_text(tmp_path: Any) -> None:
    y = labels(rows())
    for kind_of, label, parameters in (
        (GBDTClassifier, y > 0.4, {"objective": "binary"}),
        (GBDTClassifier, np.clip(np.floor(y + 1), 0, 2), {"objective": "multiclass",
                                                           "num_class": 3}),
        (GBDTRegressor, y, {}),
    ):  # fmt: skip
        booster = train(np.asarray(label, float), n_rounds=3, **parameters)
        booster.save_model(tmp_path / "m.txt")
        own = kind_of(device=TEST_DEVICE)
        own.load_model(tmp_path / "m.txt")
        if kind_of is GBDTClassifier:
            shares = own.predict_proba(rows())
            expected = booster.predict(rows())
            assert_near(shares if expected.ndim > 1 else shares[:, 1], expected)
        else:
            assert_near(own.predict(rows()), booster.predict(rows()))
        own.save_model(tmp_path / "again", format="txt")
        again = lightgbm.Booster(model_file=str(tmp_path / "again"))
        assert_near(again.predict(rows()), booster.predict(rows()))
        with pytest.raises(ParameterError, match=r"format='nonsense': expected one of"):
            own.save_model(tmp_path / "m", format="nonsense")


def test_losses_without_a_name_and_strange_names() -> None:
    y = kind("regression")
    names = ["a=b", 'c"d', "[e]:{f},", "g,h", "Column_0"]
    for given in (
        {"objective": "custom"},
        {"objective": "custom", "objective_parameters": {"custom_link": "logit"}},
        {"feature_names": names},
    ):  # fmt: skip
        model = replace(y, **given)
        booster = booster_of(model)
        assert_near(booster.predict(rows()), predicted(model))
        again = read_lightgbm(to_lightgbm_text(model).encode(), "m.txt")
        assert again.feature_names == given.get("feature_names")
        assert again.objective == model.objective


def test_levels_that_no_set_of_lightgbm_can_number() -> None:
    """Negative and huge numbers are listed as those of a table."""
    model, X = with_sets(text=False), frame(text=False)
    for change in (lambda v: v - 60, lambda v: v * 10**9):
        own = {**model.categories, 1: Levels(change(model.categories[1].values))}
        moved = replace(model, categories=own)
        table = X.assign(town=X["town"].cat.rename_categories(change))
        assert len(to_lightgbm_text(moved)) < 100_000
        assert_near(booster_of(moved).predict(table), predicted(moved, table))
        again = read_lightgbm(to_lightgbm_text(moved).encode(), "m.txt")
        assert again.categories == moved.categories


@pytest.mark.thorough
def test_training_goes_on_from_a_file_of_lightgbm(tmp_path: Any) -> None:
    y = labels(rows())
    train(y, n_rounds=4).save_model(tmp_path / "m.txt")
    own = GBDTRegressor(n_estimators=3, device=TEST_DEVICE)
    own.fit(rows(), y, init_model=tmp_path / "m.txt")
    assert own.model_.num_boosted_rounds() == 7
    first = read_model(tmp_path / "m.txt").trees
    assert own.model_.ensemble.trees[:4] == first


def test_short_sets_cannot_become_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of LightGBM's levels may be the last one here."""
    model = with_sets()
    text = to_lightgbm_text(model)
    levels = text.splitlines()[-1]
    assert levels.startswith("pandas_categorical:[[")
    n_words = sum(tree.sets.size for tree in read_lightgbm(text.encode(), "m").trees)
    for spare, refused in ((0, False), (-1, True)):
        budget = n_words - 8 * len(text.encode()) + spare
        monkeypatch.setattr(lightgbm_reader, "_MOST_WORDS", budget)
        if refused:
            with pytest.raises(ModelFormatError, match=r"m: tree .*too many levels"):
                read_lightgbm(text.encode(), "m")
        else:
            read_lightgbm(text.encode(), "m")
