"""Behaviours of XGBoost that programs rely on, beside the installed one."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3.2", reason="needs XGBoost")


def test_quantiles_may_cross_as_in_xgboost(theirs):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    params = {"objective": "reg:quantileerror", "quantile_alpha": [0.5, 0.45, 0.55], "eta": 1.0}
    matrix, result = xgb.DMatrix(x, y), {}
    booster = xgb.train(params, matrix, 4, evals=[(matrix, "a")], evals_result=result,
                        verbose_eval=False)  # fmt: skip
    found = booster.predict(matrix)
    assert np.array_equal(found, booster.predict(matrix, output_margin=True))
    back = theirs.Booster(model_file=booster.save_raw())
    np.testing.assert_allclose(back.predict(theirs.DMatrix(x)), found, rtol=1e-6)
    error = y[:, None] - found
    losses = np.maximum(error * params["quantile_alpha"], error * (np.array([0.5, 0.45, 0.55]) - 1))
    assert result["a"]["quantile"][-1] == pytest.approx(losses.mean(), rel=1e-6)


def test_no_histogram_of_splits_by_levels(theirs):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"c": pd.Categorical(list("abcabcab")), "x": np.arange(8.0)})
    for library in (xgb, theirs):
        rows = library.DMatrix(table, [1.0, 5, 9, 1, 5, 9, 1, 5], enable_categorical=True)
        booster = library.train({"min_child_weight": 0}, rows, 2)
        with pytest.raises(ValueError, match="doesn't support"):
            booster.get_split_value_histogram("c")


def test_cut_points_are_those_of_the_training_rows(theirs):
    x = np.random.default_rng(0).normal(size=(90, 2))
    for library in (xgb, theirs):
        first = library.QuantileDMatrix(x[:50], x[:50, 0])
        found = library.QuantileDMatrix(x[50:], x[50:, 0], ref=first).get_quantile_cut()
        for own, wanted in zip(found, first.get_quantile_cut(), strict=True):
            assert np.array_equal(own, wanted)


def test_bins_are_of_one_tree_method(theirs):
    x = np.random.default_rng(0).normal(size=(60, 2))
    for library in (xgb, theirs):
        matrix = library.QuantileDMatrix(x, x[:, 0])
        for method in ("exact", "approx"):
            with pytest.raises(ValueError, match=r"[Oo]nly the `hist`|Only `hist`"):
                library.train({"tree_method": method}, matrix, 1)


def test_the_ending_of_a_file_tells_its_format(theirs, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2))
    for library in (xgb, theirs):
        booster = library.train({}, library.DMatrix(x, x[:, 0]), 1)
        for right, wrong in (("ubj", "json"), ("json", "ubj")):
            path = tmp_path / f"model.{right}"
            booster.save_model(path)
            assert library.Booster(model_file=path).num_boosted_rounds() == 1
            with pytest.raises(ValueError, match=r"\{"):
                library.Booster(model_file=path.rename(tmp_path / f"model.{wrong}"))


def test_a_column_is_a_matrix(theirs):
    pd = pytest.importorskip("pandas")
    for column in (pd.Series([1.0, 2], name="a"), pd.Series([1.0, 2])):
        own, wanted = (library.DMatrix(column) for library in (xgb, theirs))
        assert (own.num_col(), own.feature_names) == (wanted.num_col(), wanted.feature_names)


def test_approximate_interactions_are_contributions(theirs):
    x = np.random.default_rng(0).integers(0, 6, (90, 3)).astype(np.float32)
    how = {"pred_interactions": True, "approx_contribs": True}
    found = [
        library.train({"max_depth": 3}, rows, 3).predict(rows, **how)
        for library in (xgb, theirs)
        for rows in [library.DMatrix(x, x[:, 0] * x[:, 1])]
    ]
    np.testing.assert_allclose(*found, atol=1e-5)


def test_an_unknown_loss_is_told_beside_a_base_score(theirs):
    for library in (xgb, theirs):
        with pytest.raises(library.core.XGBoostError, match="reg:foo"):
            library.train(
                {"objective": "reg:foo", "base_score": 0.5}, library.DMatrix([[1.0]], [1])
            )


def test_thresholds_of_whole_numbers_are_whole(theirs):
    has_graphviz = find_spec("graphviz") is not None  # XGBoost draws no graph without it
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    params = {"max_depth": 2, "min_child_weight": 0, "base_score": 0.0, "max_bin": 16}
    found = []
    for library in (xgb, theirs):
        rows = library.DMatrix(x, [1, 9, 20, 60], feature_types=["int", "i"])
        booster = library.train(params, rows, 1)
        dump = booster.get_dump()[0].replace("\t", "")  # of indicators theirs has none
        found.append((dump, str(library.to_graphviz(booster)) if has_graphviz else ""))
    assert found[0] == found[1]
    assert "[f0<1]" in found[0][0]
    assert "[f1] " in found[0][0]


def test_directions_by_names_are_told_by_columns(theirs):
    x = np.random.default_rng(0).normal(size=(60, 3))
    found = []
    for library in (xgb, theirs):
        rows = library.DMatrix(x, x[:, 0], feature_names=["a", "b", "c"])
        booster = library.train({"monotone_constraints": {"c": -1, "a": 1}}, rows, 1)
        learner = json.loads(booster.save_config())["learner"]
        found.append(learner["gradient_booster"]["tree_train_param"]["monotone_constraints"])
    assert found == ["(1,0,-1)"] * 2


@pytest.mark.parametrize("name", ["polars", "pyarrow"])
def test_nulls_leave_the_types_of_columns(theirs, name):
    package = pytest.importorskip(name)
    pytest.importorskip("pyarrow")  # XGBoost reads polars through it
    table = {"polars": "DataFrame", "pyarrow": "table"}[name]
    columns = {"a": [1, 2, None], "b": [True, None, False], "c": [0.5, None, 1.0]}
    rows = getattr(package, table)(columns)
    for library in (xgb, theirs):
        assert library.DMatrix(rows).feature_types == ["int", "i", "float"]
        if name == "polars":
            with pytest.warns(UserWarning, match=r"LazyFrame\.collect"):
                assert library.DMatrix(rows.lazy()).feature_types == ["int", "i", "float"]


@pytest.mark.thorough
def test_trees_of_one_leaf_and_exact_search_without_limit(theirs):
    x = np.random.default_rng(0).normal(size=(100, 3))
    y = x[:, 0] * x[:, 1] + 1
    for method, leaves in (("hist", 1), ("approx", 1), ("exact", 1), ("exact", 4)):
        found = []
        for library in (xgb, theirs):
            rows = library.DMatrix(x, y)
            booster = library.train({"tree_method": method, "max_leaves": leaves}, rows, 2)
            found.append((len(booster.trees_to_dataframe()), booster.predict(rows)))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_metrics_of_queries_and_histograms_of_no_column(theirs):
    def error(label, scores):
        return float(np.abs(label - scores).mean())

    rng = np.random.default_rng(1)
    x, y, qid = (
        rng.normal(size=(60, 2)),
        rng.integers(0, 3, 60),
        np.repeat([0, 1, 2, 3], [1, 9, 20, 30]),
    )
    found = []
    for library in (xgb, theirs):
        ranker = library.XGBRanker(
            n_estimators=3, eval_metric=error, lambdarank_num_pair_per_sample=9
        )
        weight = [1.0, 2.0, 1.0, 3.0]
        ranker.fit(x, y, qid=qid, sample_weight=weight, eval_set=[(x, y)], eval_qid=[qid],
                   sample_weight_eval_set=[weight], verbose=False)  # fmt: skip
        found.append(ranker.evals_result()["validation_0"]["error"])
        booster = ranker.get_booster()
        assert booster.get_split_value_histogram("none", as_pandas=False).shape == (0, 2)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)
