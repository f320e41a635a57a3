"""Pictures of contributions, of partial dependence and of thresholds."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import pyopencl_gbdt
from pyopencl_gbdt import Dataset, GBDTRegressor, train
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.explain import Explanation, PartialDependence, explain, partial_dependence
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, rows_of, target_of

mpl.use("Agg")
plot_contributions = pyopencl_gbdt.plot_contributions
plot_partial_dependence = pyopencl_gbdt.plot_partial_dependence
plot_split_histogram = pyopencl_gbdt.plot_split_histogram
SMALL = {"max_depth": 3, "device": TEST_DEVICE, "verbosity": 0}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sets():
    rows = rows_of("sets")
    model = train({**SMALL, **KINDS["sets"]}, Dataset(rows, target_of("sets")), 5)
    return model, rows, explain(model, rows, device=TEST_DEVICE)


@pytest.fixture(scope="module")
def classes():
    kind = "classes of forests"
    rows = rows_of(kind)
    model = train({**SMALL, **KINDS[kind]}, Dataset(rows, target_of(kind)), 3)
    return model, rows, explain(model, rows, device=TEST_DEVICE)


def drawn(axes):
    """Draw the whole figure: a text or colour that matplotlib refuses raises here."""
    axes.figure.savefig("/dev/null", format="png")
    return axes


def labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_a_waterfall_goes_from_the_base_to_the_margin(sets):
    model, rows, explanation = sets
    axes = drawn(plot_contributions(explanation, "waterfall", row=7))
    bars = axes.patches
    assert len(bars) == 4
    own = explanation.values[7]
    order = np.argsort(-np.abs(own), kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in bars], own[order], atol=1e-12)
    begin = explanation.base[7]
    for bar in bars:
        np.testing.assert_allclose(bar.get_x(), begin)
        begin += bar.get_width()
    margin = model.predict(rows, output_margin=True, device=TEST_DEVICE)[7]
    np.testing.assert_allclose(begin, margin, rtol=1e-6)
    town = labels(axes)[[explanation.feature_names[i] for i in order].index("town")]
    assert town == f"town = {rows['town'][7]}"
    texts = {text.get_text() for text in axes.texts}
    assert {f"base {explanation.base[7]:.5g}", f"margin {begin:.5g}"} <= texts
    assert axes.get_title() == "Row 7"
    low, high = axes.get_xlim()
    assert low < explanation.base[7] < high


def test_a_waterfall_adds_up_the_rest(sets):
    _, _, explanation = sets
    axes = drawn(plot_contributions(explanation, "waterfall", max_num_features=1))
    assert labels(axes)[1] == "3 other features"
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(sum(widths), explanation.values[0].sum(), atol=1e-12)


def test_a_swarm_has_a_point_for_each_row_and_feature(sets):
    _, rows, explanation = sets
    axes = drawn(plot_contributions(explanation))
    order = np.argsort(-np.abs(explanation.values).mean(axis=0), kind="stable")
    assert labels(axes) == [explanation.feature_names[column] for column in order]
    points = np.concatenate([np.asarray(own.get_offsets()) for own in axes.collections])
    assert len(points) == explanation.values.size
    for place, column in enumerate(order.tolist()):
        own = points[np.abs(points[:, 1] - place) < 0.45]
        np.testing.assert_allclose(np.sort(own[:, 0]), np.sort(explanation.values[:, column]))
    shaded = sum(len(own.get_offsets()) for own in axes.collections if own.get_array() is not None)
    n_numbers = int(rows[["area", "floor", "age"]].notna().to_numpy().sum())
    assert shaded == n_numbers  # levels and missing values are gray
    assert "2 features not drawn" in plot_contributions(explanation, max_num_features=2).get_title()


def test_many_rows_are_thinned():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5000, 2))
    many = Explanation(values, np.zeros(5000), ["$a", "b" * 99], values.astype(np.float32))
    axes = drawn(plot_contributions(many))
    assert all(len(own.get_offsets()) <= 2000 for own in axes.collections)
    assert all(len(name) < 40 for name in labels(axes))
    nothing = Explanation(values[:2] * 0, np.zeros(2), ["a", "b"], values[:2] * np.nan)
    drawn(plot_contributions(nothing))
    drawn(plot_contributions(nothing, "waterfall"))


def test_outputs_have_to_be_chosen(classes):
    _, _, explanation = classes
    with pytest.raises(ParameterError, match=r"output=None: expected 0\.\.2, as the model has 3"):
        plot_contributions(explanation)
    axes = drawn(plot_contributions(explanation, "waterfall", output=2, row=1))
    assert axes.get_title() == "Row 1, output 2"
    np.testing.assert_allclose(
        sum(bar.get_width() for bar in axes.patches), explanation.values[1, 2].sum(), atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "bar"}, "kind='bar': expected beeswarm or waterfall"),
        ({"kind": "waterfall", "row": 220}, r"row=220: expected a whole number, 0\.\.219"),
        ({"max_num_features": 0}, "max_num_features=0: expected a whole number, 1 or more"),
        ({"output": 1}, r"output=1: expected a whole number, 0\.\.0"),
    ],
)
def test_wrong_contributions(sets, options, words):
    with pytest.raises(ParameterError, match=words):
        plot_contributions(sets[2], **options)
    with pytest.raises(ParameterError, match="explanation=ndarray: expected an Explanation"):
        plot_contributions(np.zeros((3, 2)))


def test_curves_of_a_number(sets):
    model, rows, _ = sets
    found = partial_dependence(model, rows, "age", device=TEST_DEVICE, kind="both")
    axes = drawn(plot_partial_dependence(found))
    assert axes.get_xlabel() == "age"
    thick = [line for line in axes.lines if line.get_linewidth() == 2]
    assert len(axes.lines) == 1 + 200  # of 220 rows
    np.testing.assert_array_equal(thick[0].get_ydata(), found.average[0])
    np.testing.assert_array_equal(thick[0].get_xdata(), found.grid[0])
    again = plot_partial_dependence(model, rows, "age", device=TEST_DEVICE)
    np.testing.assert_array_equal(again.lines[0].get_ydata(), found.average[0])
    missing = {"grid": [10.0, np.nan, 40.0], "device": TEST_DEVICE}
    axes = drawn(plot_partial_dependence(model, rows, "age", **missing))
    assert [text.get_text() for text in axes.texts] == ["missing"]
    assert len(axes.lines[0].get_xdata()) == 2


def test_bars_of_levels_and_maps_of_two(sets):
    model, rows, _ = sets
    here = {"device": TEST_DEVICE}
    axes = drawn(plot_partial_dependence(model, rows, "town", **here))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Bern", "Lyon", "Oslo", "Ulm"]
    found = partial_dependence(model, rows, "town", **here)
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], found.average[0])
    pair = partial_dependence(model, rows, ("age", "town"), grid_resolution=5, **here)
    axes = drawn(plot_partial_dependence(pair))
    (mesh,) = axes.collections
    np.testing.assert_array_equal(np.ravel(mesh.get_array()), pair.average[0].T.ravel())
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Bern", "Lyon", "Oslo", "Ulm"]
    single = partial_dependence(model, rows, "town", kind="individual", **here)
    drawn(plot_partial_dependence(single))


def test_a_curve_for_each_output(classes):
    model, rows, _ = classes
    found = partial_dependence(model, rows, "area", device=TEST_DEVICE)
    axes = drawn(plot_partial_dependence(found))
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["output 0", "output 1", "output 2"]
    assert len(plot_partial_dependence(found, output=1).lines) == 1
    pair = partial_dependence(model, rows, ("area", "age"), grid_resolution=3, device=TEST_DEVICE)
    with pytest.raises(ParameterError, match=r"output=None: expected 0\.\.2, as one picture"):
        plot_partial_dependence(pair)
    assert plot_partial_dependence(pair, output=2).get_title() == "Partial dependence, output 2"


def test_wrong_dependence(sets):
    model, rows, _ = sets
    found = PartialDependence([np.zeros(2)], np.zeros((1, 2)), None, ["a"])
    with pytest.raises(ParameterError, match="expected none beside a PartialDependence"):
        plot_partial_dependence(found, rows)
    with pytest.raises(ParameterError, match="features=None: expected rows and features"):
        plot_partial_dependence(model, rows)
    with pytest.raises(ParameterError, match=r"output=1: expected a whole number, 0\.\.0"):
        plot_partial_dependence(found, output=1)
    pair = {"features": ("age", "floor"), "kind": "individual", "grid_resolution": 2}
    with pytest.raises(ParameterError, match='kind="individual": expected means of two features'):
        plot_partial_dependence(model, rows, **pair, device=TEST_DEVICE)
    assert plt.get_fignums() == []


def test_a_histogram_of_thresholds(sets):
    model, _, _ = sets
    axes = drawn(plot_split_histogram(model, "area", bins=4))
    table = model.get_split_value_histogram("area", bins=4, as_pandas=False)
    heights = [bar.get_height() for bar in axes.patches]
    assert [one for one in heights if one] == table[:, 1].tolist()
    assert sum(heights) == model.get_fscore()["area"]
    assert axes.get_title() == "Splits of area"
    with pytest.raises(DataError, match="feature='town': expected a feature whose splits are by"):
        plot_split_histogram(model, "town")
    unused = train(SMALL, Dataset(rows_of("numbers"), np.ones(220)), 1)
    assert drawn(plot_split_histogram(unused, 0)).get_title() == "The model has no split of area"


def test_the_users_axes_and_style(sets):
    model, rows, explanation = sets
    with plt.style.context("dark_background"):
        axes = Figure().subplots(2, 2).ravel()
        assert plot_contributions(explanation, ax=axes[0], title="$t", xlabel="x") is axes[0]
        plot_contributions(explanation, "waterfall", ax=axes[1])
        here = {"device": TEST_DEVICE}
        plot_partial_dependence(model, rows, "age", ax=axes[2], ylabel="rent", **here)
        plot_split_histogram(model, 0, ax=axes[3], title="", grid=False)
        drawn(axes[0])
        own = plot_contributions(explanation, "waterfall")
        assert own.figure.get_facecolor()[:3] == (0, 0, 0)
        assert all(text.get_color() in ("white", "w") for text in own.texts)
    assert plt.get_fignums()
    assert (axes[0].get_title(), axes[2].get_ylabel()) == ("$t", "rent")


def test_without_matplotlib(sets, monkeypatch):
    model, rows, explanation = sets
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plot_contributions(explanation),
        lambda: plot_partial_dependence(model, rows, "age", device=TEST_DEVICE),
        lambda: plot_split_histogram(model, "area"),
    ):
        with pytest.raises(ImportError, match="plots need matplotlib: pip install"):
            draw()


def test_estimators_are_drawn_too():
    rows = rows_of("numbers")
    estimator = GBDTRegressor(n_estimators=2, **SMALL).fit(rows, target_of("numbers"))
    drawn(plot_partial_dependence(estimator, rows, "area"))
    drawn(plot_split_histogram(estimator, "area"))
