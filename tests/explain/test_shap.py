"""The package shap explains our models, by our contributions, and all others as before."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.explain import explain, to_shap
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, model_of, numbers, rows_of, table

ON = {"device": TEST_DEVICE}
NUMERIC = ("numbers", "binary", "classes of forests", "symmetric", "leaf-wise")


@pytest.fixture(scope="module")
def shap():
    found = pytest.importorskip("shap")
    import pyopencl_gbdt.explain.shap  # noqa: F401

    return found


def outputs_last(values):
    """Return what shap's own code gives; before 0.45, outputs were a list."""
    return np.stack(values, axis=-1) if isinstance(values, list) else values


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_our_contributions(shap, kind):
    model, rows = model_of(kind), rows_of(kind)[:40]
    for explainer in (shap.TreeExplainer(model), shap.Explainer(model)):
        assert isinstance(explainer, shap.TreeExplainer)
        found, own = explainer(rows), explain(model, rows)
        several = own.values.ndim == 3
        assert_same_bits(found.values, np.moveaxis(own.values, 1, -1) if several else own.values)
        assert_same_bits(found.base_values, own.base)
        assert found.feature_names == own.feature_names == list(rows.columns)
        margins = model.predict(rows, output_margin=True, **ON)
        np.testing.assert_array_equal(found.values.sum(axis=1) + found.base_values, margins)
        pairs = explainer.shap_interaction_values(rows)
        np.testing.assert_array_equal(pairs.sum(axis=2), found.values)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", NUMERIC)
def test_equals_shaps_own_code(shap, kind):
    """Of the dictionary of trees, with the shares of training rows and with a background."""
    model, rows = model_of(kind), numbers().to_numpy()[:30]
    for background in (None, rows[:7]):
        ours = shap.TreeExplainer(model, background)
        theirs = shap.TreeExplainer(to_shap(model), background)
        wanted = outputs_last(theirs.shap_values(rows))
        np.testing.assert_allclose(ours.shap_values(rows), wanted, atol=2e-5)
        np.testing.assert_allclose(ours.expected_value, theirs.expected_value, atol=2e-5)
    assert shap.Explainer(model, rows[:7]).data.shape == (7, 4)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["binary", "classes of forests"])
def test_equals_shaps_brute_force(shap, kind):
    model, rows = model_of(kind), numbers().fillna(50).to_numpy()
    brute = shap.explainers.Exact(lambda X: model.predict(X, output_margin=True, **ON), rows[:10])
    wanted = brute(rows[20:25]).values
    for explainer in (
        shap.TreeExplainer(model, rows[:10]),
        shap.TreeExplainer(to_shap(model), rows[:10]),
    ):
        found = outputs_last(explainer.shap_values(rows[20:25]))
        np.testing.assert_allclose(found, wanted, atol=2e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", NUMERIC)
def test_shap_predicts_our_margins(shap, kind):
    """Also where values are missing, and at thresholds."""
    model, rows = model_of(kind), numbers().to_numpy()
    thresholds = np.concatenate([tree.threshold for tree in model.ensemble.trees])
    rows[:, 0] = np.random.default_rng(0).choice(thresholds, len(rows))
    rows[::9, 0] = np.nan
    found = shap.TreeExplainer(to_shap(model)).model.predict(rows)
    np.testing.assert_allclose(found, model.predict(rows, output_margin=True, **ON), atol=1e-5)


def test_estimators_with_strings_and_their_plots(shap, monkeypatch):
    plt = pytest.importorskip("matplotlib").pyplot
    plt.switch_backend("Agg")
    X = table()
    X["town"] = X["town"].astype("category")
    model = GBDTRegressor(n_estimators=4, max_depth=3, **ON).fit(X, X["age"] + X["floor"])
    found = shap.Explainer(model)(X[:60])
    assert set(found.data[:, 1]) == {"Bern", "Lyon", "Oslo", "Ulm"}
    shap.plots.waterfall(found[0], show=False)
    assert "town" in " ".join(one.get_text() for one in plt.gca().get_yticklabels())
    for draw in (shap.plots.bar, shap.plots.beeswarm):
        plt.figure()
        draw(found, show=False)
    plt.close("all")
    classes = GBDTClassifier(n_estimators=3, max_depth=2, **ON).fit(X, X["floor"] % 3)
    assert shap.TreeExplainer(classes).shap_values(X).shape == (len(X), 4, 3)


def test_other_models_are_explained_as_before(shap):
    tree = pytest.importorskip("sklearn.tree")
    X = numbers().fillna(0).to_numpy()
    other = tree.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    explainer = shap.TreeExplainer(other)
    assert type(explainer) is shap.TreeExplainer
    found = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(found, other.predict(X), rtol=1e-5)
    kernel = shap.Explainer(model_of("numbers").predict, X[:5])
    assert not isinstance(kernel, shap.TreeExplainer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model_output": "probability"}, r"model_output='probability': expected 'raw'.*to_shap"),
        ({"feature_perturbation": "observational"}, "expected one of auto, interventional"),
        ({"feature_perturbation": "interventional"}, "expected background rows in data"),
        ({"link": "logit"}, r"link='logit': expected shap\.links\.identity"),
    ],
)
def test_options_that_are_refused(shap, options, message):
    with pytest.raises(ParameterError, match=message):
        shap.TreeExplainer(model_of("numbers"), **options)


def test_options_without_effect(shap):
    model, rows = model_of("numbers"), numbers()[:9]
    given = {"link": shap.links.identity, "seed": 3, "linearize_link": True}
    explainer = shap.Explainer(model, **given)
    assert type(explainer) is type(shap.TreeExplainer(model))
    assert_same_bits(explainer(rows).values, explain(model, rows).values)
    with pytest.raises(ParameterError, match="link='logit': expected"):
        shap.Explainer(model, link=shap.links.logit)


def test_rows_that_are_refused(shap):
    model, rows = model_of("numbers"), numbers()
    with pytest.raises(DataError, match="background has 0 sample"):
        shap.TreeExplainer(model, rows[:0])
    with pytest.raises(ParameterError, match="tree_limit=3: expected None"):
        shap.TreeExplainer(model).shap_values(rows, tree_limit=3)
    with pytest.raises(ParameterError, match=r"masker=Partition: expected shap\.maskers\.Indep"):
        shap.Explainer(model, shap.maskers.Partition(rows.fillna(0).to_numpy()))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("sets", "tree 0 splits by a set of levels of 'town': expected splits of numbers"),
        ("statistics", "splits by a statistic of '.*town"),
    ],
)
def test_what_shaps_dictionary_cannot_hold(kind, message):
    with pytest.raises(ParameterError, match=message):
        to_shap(model_of(kind))


def test_the_dictionary_needs_covers():
    model = model_of("numbers").copy()
    model.ensemble.trees = [
        replace(tree, sum_hessian=np.zeros_like(tree.sum_hessian)) for tree in model.ensemble.trees
    ]
    with pytest.raises(ParameterError, match=r"sum of Hessians of tree 0 is 0\.0: expected"):
        to_shap(model)


def test_the_dictionary_has_the_trees_that_predict_uses():
    found = model_of("numbers").to_shap()
    assert len(found["trees"]) == 5
    assert (found["objective"], found["tree_output"]) == ("squared_error", "raw_value")
    assert to_shap(model_of("binary"))["tree_output"] == "log_odds"
