"""What ``analyze`` tells of a model on labelled rows."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, analyze, train
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.explain.scores import labelled_rows
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, WITH_LEVELS, rows_of, target_of

SMALL = {"max_depth": 3, "device": TEST_DEVICE, "verbosity": 0}


def trained(kind, n_rounds=4):
    data = Dataset(rows_of(kind), target_of(kind))
    return train({**SMALL, **KINDS[kind]}, data, n_rounds), data


def labelled(model, data, **options):
    given = {"weight": None, "qid": None, "missing": None, "device": TEST_DEVICE, **options}
    return labelled_rows(model, data, None, **given)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["numbers", "binary", "counts", "classes of forests", "sets"])
def test_metrics_are_those_of_training(kind):
    data = Dataset(rows_of(kind), target_of(kind))
    model = train({**SMALL, **KINDS[kind]}, data, 4, evals=[(data, "rows")])
    found = model.analyze(data, device=TEST_DEVICE)
    ((metric, history),) = model.history["rows"].items()
    assert next(iter(found.metrics)) == metric
    assert found.metrics[metric] == pytest.approx(history[-1], rel=1e-6)
    own = labelled(model, data)
    assert dict(own.stages()) == pytest.approx(dict(enumerate(history)), rel=1e-6)
    assert own.mean(own.losses()) == pytest.approx(history[-1], rel=1e-6)
    assert found.n_rows == data.n_rows
    names = rows_of(kind).columns.tolist()
    assert set(found.importances) <= set(names)
    assert sum(found.importances.values()) == pytest.approx(1.0)
    assert [one.feature_names[0] for one in found.dependence] == list(found.importances)[:3]


def test_segments_are_rows_whose_losses_are_larger():
    rows, labels = rows_of("sets"), target_of("sets")
    model, _ = trained("sets")
    worse = ((rows["town"] == "Ulm") & (rows["age"] > 40)).to_numpy()
    wrong = labels + 500.0 * worse
    found = analyze(model, rows, wrong, device=TEST_DEVICE, n_segments=2)
    first = found.segments[0]
    assert "town in {Ulm}" in first.text
    assert "age >= " in first.text
    assert first.n_rows == pytest.approx(worse.sum(), abs=6)
    assert first.ratio > 2
    losses = (model.predict(rows, device=TEST_DEVICE) - wrong) ** 2
    assert found.metrics["rmse"] == pytest.approx(np.sqrt(losses.mean()), rel=1e-6)
    assert first.score > 2 * found.metrics["rmse"]
    assert len(found.segments) <= 2
    assert found.segments == sorted(found.segments, key=lambda one: -one.ratio)


def test_segments_name_missing_values():
    rows, labels = rows_of("numbers"), target_of("numbers")
    rows["area"] = np.where(np.arange(len(rows)) % 4 == 0, np.nan, rows["area"])
    model = train(SMALL, Dataset(rows, labels), 3)
    wrong = labels + 900.0 * rows["area"].isna().to_numpy()
    found = analyze(model, rows, wrong, device=TEST_DEVICE)
    assert "missing" in found.segments[0].text


def test_the_text_tells_all():
    model, data = trained("sets")
    text = str(model.analyze(data, n_features=2, device=TEST_DEVICE))
    assert text.startswith("220 rows: rmse ")
    assert "features, by total gain\n" in text
    assert text.count("mean prediction by ") == 2
    assert " at Bern" in text
    assert "where it errs most\n" in text
    assert "times the mean loss" in text.replace("\n    ", " ")
    assert max(map(len, text.splitlines())) <= 100


def test_labels_of_an_estimator_are_its_own():
    rows, codes = rows_of("binary"), target_of("binary").astype(int)
    names = np.array(["no", "yes"])[codes]
    estimator = GBDTClassifier(n_estimators=3, **SMALL).fit(rows, names)
    found = analyze(estimator, rows, names)
    assert found.metrics == estimator.model_.analyze(rows, codes, device=TEST_DEVICE).metrics
    assert found.metrics["error"] == pytest.approx(1 - estimator.score(rows, names))
    with pytest.raises(DataError, match="y holds 'perhaps' at row 0"):
        analyze(estimator, rows, np.where(np.arange(len(names)) == 0, "perhaps", names))


def test_ranking_has_no_segments():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(120, 3)), np.repeat(np.arange(12), 10)
    y = (X[:, 0] > 0.5).astype(int)
    ranker = GBDTRanker(n_estimators=3, **SMALL).fit(X, y, qid=qid)
    found = analyze(ranker, X, y, qid=qid)
    (name, value), *_ = found.metrics.items()
    assert name.startswith("ndcg")
    assert value > 0.9
    assert found.segments == []


def test_weights_count():
    rows, labels = rows_of("numbers"), target_of("numbers")
    model, _ = trained("numbers")
    chosen = np.arange(len(labels)) < 100
    found = analyze(model, rows, labels, weight=chosen.astype(float), device=TEST_DEVICE)
    alone = analyze(model, rows[:100], labels[:100], device=TEST_DEVICE)
    assert found.metrics["rmse"] == pytest.approx(alone.metrics["rmse"], rel=1e-6)


def test_wrong_input():
    model, data = trained("numbers")
    rows = rows_of("numbers")
    with pytest.raises(DataError, match="y is None: expected a label for each row"):
        model.analyze(rows)
    with pytest.raises(DataError, match="X has no labels"):
        model.analyze(Dataset(rows))
    with pytest.raises(DataError, match="as in training"):
        model.analyze(rows[rows.columns[::-1]], target_of("numbers"))
    for name in ("n_features", "n_segments"):
        with pytest.raises(ParameterError, match=f"{name}=-1: expected a whole number, 0 or more"):
            model.analyze(data, **{name: -1})
    with pytest.raises(ParameterError, match="model=str: expected a Model or a fitted estimator"):
        analyze("m.json", rows, target_of("numbers"))


@pytest.mark.thorough
def test_all_kinds_can_be_analyzed():
    for kind in (*WITH_LEVELS, "symmetric", "leaf-wise", "picked classes"):
        model, data = trained(kind, 2)
        assert model.analyze(data, device=TEST_DEVICE).metrics, kind


def test_columns_that_are_mostly_zero_or_all_missing():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(400, 3)).astype(np.float32)
    values[:, 1] = np.where(rng.random(400) < 0.97, 0, rng.normal(size=400))
    label = values[:, 0] + 5 * values[:, 1] + values[:, 2]
    params = {"max_depth": 3, "n_estimators": 5, "device": TEST_DEVICE}
    model = train(params, Dataset(values, label))
    found = analyze(model, values, label, device=TEST_DEVICE)
    assert sorted(one.feature_names for one in found.dependence) == [["f0"], ["f1"], ["f2"]]
    values[:, 2] = np.nan
    found = analyze(model, values, label, device=TEST_DEVICE)
    assert sorted(one.feature_names for one in found.dependence) == [["f0"], ["f1"]]
