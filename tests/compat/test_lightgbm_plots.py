"""Pictures of `compat.lightgbm`."""

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
RNG = np.random.default_rng(2)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + 0.1 * X[:, 1]


@pytest.fixture(scope="module")
def model():
    fitted = lgb.LGBMRegressor(n_estimators=3, num_leaves=5, verbose=-1)
    return fitted.fit(X, Y, eval_X=(X, X[:50]), eval_y=(Y, Y[:50]), eval_metric="l1")


def test_importances(model):
    axes = lgb.plot_importance(model, importance_type="gain", precision=1, title="t")
    assert axes.get_title() == "t"
    bars = [bar.get_width() for bar in axes.patches]
    gains = model.booster_.feature_importance("gain")
    assert sorted(bars) == sorted(gains[gains > 0])
    assert len(lgb.plot_importance(model.booster_, max_num_features=1).patches) == 1
    with pytest.raises(TypeError, match="must be Booster or LGBMModel"):
        lgb.plot_importance(3)
    with pytest.raises(TypeError, match="xlim must be a tuple of 2 elements"):
        lgb.plot_importance(model, xlim="wide")
    flat = lgb.LGBMRegressor(n_estimators=1, verbose=-1).fit(X, np.ones(200))
    with pytest.raises(ValueError, match="No non-zero feature importances"):
        lgb.plot_importance(flat)


def test_split_values(model):
    axes = lgb.plot_split_value_histogram(model, 0, bins=4)
    assert axes.get_title() == "Split value histogram for feature with index 0"
    counts = model.booster_.get_split_value_histogram(0, bins=4)[0]
    assert [bar.get_height() for bar in axes.patches] == counts.tolist()
    with pytest.raises(ValueError, match="was not used in splitting"):
        lgb.plot_split_value_histogram(model, 2)


def test_metrics(model):
    axes = lgb.plot_metric(model, metric="l2", dataset_names=["valid_1"])
    assert axes.lines[0].get_ydata().tolist() == model.evals_result_["valid_1"]["l2"]
    assert axes.get_ylabel() == "l2"
    with pytest.warns(UserWarning, match="More than one metric available"):
        assert len(lgb.plot_metric(model.evals_result_).lines) == 2
    with pytest.raises(TypeError, match="first record the metrics"):
        lgb.plot_metric(model.booster_)
    with pytest.raises(TypeError, match="must be dict or LGBMModel"):
        lgb.plot_metric(3)
    with pytest.raises(ValueError, match="eval results cannot be empty"):
        lgb.plot_metric({})
    with pytest.raises(ValueError, match="should be iterable and cannot be empty"):
        lgb.plot_metric(model, dataset_names=[])
    with pytest.raises(KeyError, match="No given metric"):
        lgb.plot_metric(model, metric="auc")


def test_trees(model):
    assert lgb.plot_tree(model, tree_index=1).texts
    with pytest.raises(IndexError, match="out of range"):
        lgb.plot_tree(model, tree_index=3)
    for wrong, message in ((X[0], "2-D array"), (X[:2], "a single row")):
        with pytest.raises(ValueError, match=message):
            lgb.create_tree_digraph(model, example_case=wrong)
    pytest.importorskip("graphviz", reason="graphs need the package graphviz")
    graph = lgb.create_tree_digraph(model, show_info=["split_gain", "data_percentage"],
                                    example_case=X[:1])  # fmt: skip
    assert "split0" in graph.source
    assert "% of data" in graph.source
    assert "color=blue" in graph.source


def test_what_is_not_here():
    with pytest.raises(AttributeError, match=r"use those of pyopencl_gbdt\.dask"):
        _ = lgb.DaskLGBMRegressor
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = lgb.colour
