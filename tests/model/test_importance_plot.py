"""``plot_importance``: XGBoost's bars, on the user's axes, and what it refuses."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import pyopencl_gbdt
from pyopencl_gbdt import GBDTClassifier, GBDTRandomForestRegressor, GBDTRegressor, Model
from pyopencl_gbdt.errors import NotFittedError, ParameterError
from pyopencl_gbdt.model import feature_importances, plot_importances
from pyopencl_gbdt.model.importance_plot import importance_scores
from tests.conftest import TEST_DEVICE
from tests.model.samples import make_ensemble

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
plot_importance, plot_tree = pyopencl_gbdt.plot_importance, pyopencl_gbdt.plot_tree
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.standard_normal((200, 4)), columns=["a", "b", "$c", "d"])
Y = FRAME["a"] * 2 + FRAME["$c"]
SMALL = {"n_estimators": 4, "max_depth": 3, "device": TEST_DEVICE}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def bars(axes):
    """Return label and width of every bar, the top one first."""
    labels = [label.get_text() for label in axes.get_yticklabels()]
    widths = [patch.get_width() for patch in axes.patches]
    return list(zip(labels, widths, strict=True))[::-1]


@pytest.mark.parametrize("kind", ["gain", "weight", "cover", "total_gain", "total_cover"])
def test_bars_are_xgboosts(kind, tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    model = GBDTRegressor(**SMALL).fit(FRAME, Y)
    model.save_model(tmp_path / "m.json")
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    theirs = bars(xgboost.plot_importance(booster, importance_type=kind))
    ours = bars(plot_importance(model, importance_type=kind))
    assert sorted(name for name, _ in ours) == sorted(name for name, _ in theirs)
    np.testing.assert_allclose([w for _, w in ours], [w for _, w in theirs], rtol=1e-5)


def test_estimators_models_and_trees():
    fitted = GBDTRegressor(**SMALL, importance_type="weight").fit(FRAME, Y)
    by_count = bars(plot_importance(fitted))
    assert by_count == bars(plot_importance(fitted, importance_type="split"))
    assert sum(width for _, width in by_count) == sum(
        (~tree.is_leaf).sum() for tree in fitted.model_.ensemble.trees
    )
    by_gain = bars(plot_importance(fitted.model_))
    assert by_gain == bars(plot_importance(fitted.model_.ensemble, importance_type="gain"))
    assert by_gain != by_count
    assert by_gain == bars(plot_importance(importance_scores(fitted, "gain")))
    for other in (
        GBDTClassifier(**SMALL).fit(FRAME, Y > 0),
        GBDTRandomForestRegressor(**SMALL).fit(FRAME, Y),
    ):
        assert bars(plot_importance(other))[0][0] in ("a", "$c")


def test_the_users_axes_and_wishes():
    ensemble = make_ensemble([12], feature_names=["a", "b", "c", "d"])
    figure, (left, right) = plt.subplots(1, 2)
    found = plot_importance(
        ensemble, right, height=0.5, xlim=(0, 99), ylim=(-2, 7), title="T", xlabel="x", ylabel="y",
        max_num_features=2, grid=False, show_values=False, color="red",
    )  # fmt: skip
    assert found is right
    assert not left.patches
    assert len(bars(right)) == 2
    assert bars(right)[0][1] >= bars(right)[1][1]
    assert {patch.get_height() for patch in right.patches} == {0.5}
    assert {patch.get_facecolor() for patch in right.patches} == {(1.0, 0.0, 0.0, 1.0)}
    assert (right.get_xlim(), right.get_ylim()) == ((0, 99), (-2, 7))
    assert (right.get_title(), right.get_xlabel(), right.get_ylabel()) == ("T", "x", "y")
    assert not right.texts
    assert not any(line.get_visible() for line in right.get_xgridlines())
    figure.savefig("/dev/null", format="png")
    shown = plot_importance(ensemble, ax=left, values_format="<{v:.1f}>")
    assert [text.get_text().strip() for text in shown.texts][::-1] == [
        f"<{width:.1f}>" for _, width in bars(shown)
    ]
    assert shown.get_xlabel() == "Importance score: gain"


def test_without_axes_there_is_a_figure_of_pyplot():
    axes = plot_importance(make_ensemble([12]))
    assert axes.figure is plt.gcf()
    axes.figure.savefig("/dev/null", format="png")


@pytest.mark.thorough
def test_a_new_figure_is_as_large_as_its_bars_need():
    """Bars have room, every name is inside the picture, and long names are cut."""
    few = plot_importance({"a": 1.0, "b" * 90: 2.0})
    many = plot_importance({f"feature {i}": float(i) for i in range(80)})
    assert few.figure.get_figheight() < 2.5
    assert many.figure.get_figheight() > 80 * 0.25
    for axes in (few, many):
        axes.figure.canvas.draw()
        inside = axes.figure.bbox
        for label in (*axes.get_yticklabels(), *axes.texts):
            extent = label.get_window_extent()
            assert inside.x0 <= extent.x0
            assert extent.x1 <= inside.x1
    assert bars(few)[0][0] == "b" * 33 + "…"
    middles = [label.get_window_extent().y0 for label in many.get_yticklabels()]
    assert np.diff(middles).min() > many.get_yticklabels()[0].get_window_extent().height


def test_what_is_not_drawn_is_said():
    four = {"a": 6.0, "b": 2.0, "c": 1.0, "d": 1.0}
    assert plot_importance(four).get_xlabel() == "Importance score"
    assert plot_importance(four, max_num_features=2).get_xlabel() == (
        "Importance score\nnot drawn: 2 features of 4, 20.0% of the sum"
    )
    (axes,) = plot_importances(make_ensemble([12]), top=3).axes
    assert axes.get_xlabel().startswith("not drawn: 1 feature of 4, ")
    share = np.sort(feature_importances(make_ensemble([12])))[::-1][:3]
    np.testing.assert_allclose([width for _, width in bars(axes)], share)
    (empty,) = plot_importances(make_ensemble([0])).axes
    assert empty.get_xlabel() == "the model has no splits"


def test_pictures_of_estimators():
    fitted = GBDTRegressor(**SMALL).fit(FRAME, Y)
    for model in (fitted, fitted.model_, fitted.model_.ensemble):
        assert plot_tree(model, 1).patches
        assert plot_importances(model).axes[0].patches


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_num_features": 0}, "max_num_features=0: expected a whole number, 1 or more"),
        ({"max_num_features": 1.5}, r"max_num_features=1\.5"),
        ({"xlim": 5}, "xlim=5: expected two numbers"),
        ({"ylim": (1, 2, 3)}, r"ylim=\(1, 2, 3\): expected two numbers"),
        ({"importance_type": "gini"}, "importance_type='gini': expected one of gain, weight"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ParameterError, match=words):
        plot_importance(make_ensemble([3]), **options)
    assert not plt.get_fignums()


def test_models_that_cannot_be_drawn(monkeypatch):
    with pytest.raises(ParameterError, match="the model has no splits"):
        plot_importance(make_ensemble([0]))
    with pytest.raises(NotFittedError, match="not fitted"):
        plot_importance(GBDTRegressor())
    for draw in (plot_importance, plot_tree, plot_importances):
        with pytest.raises(ParameterError, match="model=int: expected an estimator, a Model"):
            draw(3)
    model = Model(make_ensemble([3]))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plots need matplotlib"):
        plot_importance(model)
