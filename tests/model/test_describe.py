"""Models in words, and their cards in notebooks."""

import numpy as np
import pandas as pd
import pytest
import sklearn

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, Model, train
from pyopencl_gbdt.prediction.description import summarize
from tests.conftest import TEST_DEVICE
from tests.html_pages import browser, check_page, opened
from tests.model.samples import make_ensemble

LONG = "a name of a column that does not end but goes on and on and on " * 3
EVIL = "<script>alert('x')</script>"
SMALL = {"max_depth": 3, "device": TEST_DEVICE}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    towns = ["Bern", "Lyon", EVIL, "Ulm", "Oslo", "Rome", LONG]
    table = pd.DataFrame(
        {
            "area": rng.gamma(9, 9, 300),
            "town": pd.Categorical(rng.choice(towns, 300)),
            EVIL: rng.normal(size=300),
            LONG: rng.normal(size=300),
        }
    )
    rent = table["area"] * np.where(table["town"] == "Bern", 19, 11) + 50 * table[EVIL]
    rent += 50 * table[LONG]
    model = GBDTRegressor(preset="xgboost", n_estimators=30, early_stopping_rounds=3, **SMALL)
    return model.fit(table[:200], rent[:200], eval_set=[(table[200:], rent[200:])])


def test_a_description_has_all_facts(fitted):
    model = fitted.model_
    text = model.describe()
    lines = dict(line.split(None, 1) for line in text.splitlines() if line[0] != " ")
    assert lines["kind"] == "regression, by boosted trees"
    assert lines["objective"].startswith("reg:squarederror, starts from ")
    n_rounds = model.num_boosted_rounds()
    assert lines["rounds"] == str(n_rounds)
    assert lines["trees"] == f"{n_rounds}, 1 a round"
    assert lines["depth"] == "3" if n_rounds > 1 else lines["depth"]
    assert "4 of 4 used: area, town, " in text
    assert "Ulm" in text.replace("\n", " ") or "more levels" in text
    assert f"best round  {model.best_iteration}, counted from 0; its score is" in text
    assert f"validation_0: rmse {model.best_score:.6g}" in text
    assert model.training_device in text.replace("\n            ", " ")
    assert lines["variants"].startswith("kernels by variant: ")
    assert max(map(len, text.splitlines())) <= 100


def test_descriptions_of_other_models(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    model = train(
        {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, **SMALL},
        Dataset(X, y), 2,
    )  # fmt: skip
    text = model.describe()
    assert "several classes, 3 outputs, by boosted random forests of 2 trees" in text
    assert "trees       12, 6 a round" in text
    model.save_model(tmp_path / "m.json")
    read = Model.load_model(tmp_path / "m.json").describe()
    assert "device      not known: the model was read from a file" in read
    assert "variants" not in read
    forest = Model(make_ensemble([3, 2], n_parallel=2)).describe()
    assert "regression, by a random forest of 2 trees" in forest
    symmetric = train({"grow_policy": "symmetric", **SMALL}, Dataset(X, X[:, 0]), 2)
    assert "by boosted symmetric trees" in symmetric.describe()
    stumps = Model(make_ensemble([0, 0]))
    assert "features    0 of 4 used\n" in stumps.describe()
    assert "by total gain" not in stumps._repr_html_()
    empty = Model(make_ensemble([]))
    assert "depth       none" in empty.describe()
    deep = summarize(make_ensemble([40]))
    assert deep.depths == [int(deep.ensemble.trees[0].depth.max())]
    assert deep.leaves == [41]


@pytest.mark.parametrize("what", ["estimator", "model"])
def test_a_card_is_small_and_runs_nothing(fitted, what):
    page = check_page((fitted if what == "estimator" else fitted.model_)._repr_html_(), 8000)
    assert EVIL in page.text
    assert "features by total gain, 4 of 4" in page.text
    assert ("GBDTRegressor(" in page.text) == (what == "estimator")
    assert LONG not in page.text  # names are cut


def test_cards_in_notebooks(fitted):
    shown = fitted._repr_mimebundle_()
    assert shown["text/html"] == fitted._repr_html_()
    assert shown["text/plain"] == repr(fitted)
    assert "sk-" in GBDTClassifier()._repr_html_()  # scikit-learn's picture
    with sklearn.config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


@pytest.mark.thorough
@pytest.mark.skipif(browser() is None, reason="no headless browser, such as chromium, is installed")
def test_a_browser_shows_a_card(fitted, tmp_path):
    card = fitted._repr_html_().replace("<details>", "<details open>")
    page = f'<!doctype html><html><head><meta charset="utf-8"></head><body>{card}</body></html>'
    for dark in (False, True):
        desktop, phone = opened(page, tmp_path, dark=dark)
        assert (desktop.window, phone.window) == (1280, 390)
        assert phone.content <= 390
        assert desktop.wide == phone.wide == ""
