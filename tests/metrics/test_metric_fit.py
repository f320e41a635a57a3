"""Which metric fits which kind of label: every pair of the table is taken or refused at once."""

import re

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, GBDTRegressor, cv, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.metrics import METRICS
from pyopencl_gbdt.metrics.label_kinds import KINDS, kinds_of
from pyopencl_gbdt.training.preparing import prepare
from tests.cli_samples import write_rows
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((120, 3)).astype(np.float32)
SIGNAL = X[:, 0] + RNG.standard_normal(120) / 4
TWO = (SIGNAL > 0).astype(np.float32)
THREE = np.digitize(SIGNAL, [-0.5, 0.5]).astype(np.float32)
NUMBERS = np.append(-2, SIGNAL[1:])
SMALL = {"device": TEST_DEVICE, "n_estimators": 2, "max_depth": 2}
#: Parameters, labels and the kinds that they are of.
CASES = {
    "two classes": ({"objective": "binary:logistic"}, TWO, "0 to 1,0 or more,above -1,numbers,"
                    "relevance,grades"),
    "shares": ({"objective": "reg:logistic"}, TWO * 0.7, "0 to 1,0 or more,above -1,numbers,"
               "grades"),
    "numbers": ({}, NUMBERS, "numbers"),
    "numbers above -1": ({}, np.maximum(SIGNAL, -0.5), "above -1,numbers"),
    "counts": ({"objective": "count:poisson"}, THREE, "0 or more,above -1,numbers,grades,events"),
    "0 and 1 as numbers": ({}, TWO, "0 to 1,0 or more,above -1,numbers,relevance,grades"),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, THREE, "classes"),
    "two classes of several": ({"objective": "multi:softmax", "num_class": 2}, TWO, "classes"),
    "quantiles": ({"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9],
                   "expectile_alpha": [0.1, 0.9]}, NUMBERS, "quantiles"),
    "grades": ({"objective": "rank:ndcg"}, THREE, "grades"),
    "relevance": ({"objective": "rank:map"}, TWO, "relevance,grades"),
    "events": ({"objective": "survival:cox"}, NUMBERS, "events"),
    "known times": ({"objective": "survival:aft"}, THREE + 1, "bounds,0 or more,above -1,numbers,"
                    "grades"),
    "bounds": ({"objective": "survival:aft"}, None, "bounds"),
    "two targets": ({}, np.c_[TWO, THREE], "0 or more,above -1,numbers"),
}  # fmt: skip


def case(name):
    params, label, kinds = CASES[name]
    more = {"group": [20] * 6} if params.get("objective", "").startswith("rank:") else {}
    if label is None:
        more = {"label_lower_bound": THREE + 1, "label_upper_bound": THREE + 2}
    return {**SMALL, **params}, Dataset(X, label, **more), kinds.split(",")


def given(family):
    return f"{family}@1.5" if METRICS[family].default is None else family


def hints(error):
    """Return the metrics that an error names as those that fit."""
    return re.findall(r"'([^']+)'", str(error.value).rpartition("expected ")[2])


def test_every_metric_is_in_the_table():
    assert {kind for entry in METRICS.values() for kind in entry.fits} == KINDS.keys()


@pytest.mark.parametrize("name", CASES)
def test_every_metric_is_taken_or_refused_at_once(name, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    params, data, kinds = case(name)
    assert list(kinds_of(prepare(params, data, (), None, None).objective, [data])) == kinds
    taken = [family for family, entry in METRICS.items() if set(entry.fits) & set(kinds)]
    assert 0 < len(taken) < len(METRICS)
    for family in taken:
        if (name, family) != ("shares", "ndcg"):  # whose grades are whole numbers
            prepare(params, data, [(data, "a")], given(family), None)
    for family in METRICS.keys() - set(taken):
        for evals in ((), [(data, "a")]):
            with pytest.raises(ParameterError, match=f"^eval_metric='{given(family)}': ") as error:
                train(params, data, evals=evals, eval_metric=given(family))
        assert hints(error)
        for hint in hints(error):
            prepare(params, data, [(data, "a")], hint, None)


@pytest.mark.parametrize(
    "name",
    [
        "two classes", "classes", "relevance",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("counts", "two targets")),
    ],
)  # fmt: skip
def test_what_fits_is_a_number(name):
    params, data, kinds = case(name)
    names = [
        given(one)
        for one, entry in METRICS.items()
        if set(entry.fits) & set(kinds) and one != "mape"
    ]
    history = train(params, data, evals=[(data, "a")], eval_metric=names).history["a"]
    assert list(history) == names
    assert all(np.isfinite(values).all() for values in history.values())


@pytest.mark.parametrize(
    ("estimator", "label", "metric", "move"),
    [
        (GBDTClassifier, THREE, "logloss", "mlogloss"),
        (GBDTClassifier, THREE, "error@0.7", "merror"),
        (GBDTClassifier, THREE, ["mlogloss", "rmse"], "mlogloss"),
        (GBDTClassifier, TWO, "merror", "error"),
        (GBDTClassifier, TWO, "mlogloss", "logloss"),
        (GBDTClassifier, np.c_[TWO, 1 - TWO], "map", "logloss"),
        (GBDTRegressor, NUMBERS, "auc", "rmse"),
        (GBDTRanker, THREE, "logloss", "ndcg@32"),
    ],
)
def test_estimators_refuse_it(estimator, label, metric, move):
    """Each of these trained, with early stopping a single tree, or ended in a foreign error."""
    own = estimator(eval_metric=metric, early_stopping_rounds=3, **SMALL)
    more = {"group": [20] * 6, "eval_group": [[20] * 6]} if estimator is GBDTRanker else {}
    with pytest.raises(ParameterError, match=f"; try '{move}'$"):
        own.fit(X, label, eval_set=[(X, label)], **more)
    assert not hasattr(own, "model_")


def test_an_evaluation_set_counts_too():
    data, other = Dataset(X, TWO), Dataset(X, TWO * 3)
    with pytest.raises(ParameterError, match="labels are numbers of 0 or more: expected 'rmse'"):
        train(SMALL, data, evals=[(data, "a"), (other, "b")], eval_metric="auc")


def test_quantiles_without_their_outputs():
    params = {**SMALL, "quantile_alpha": [0.1, 0.9]}
    with pytest.raises(ParameterError, match="expected one number for objective='reg:squarede"):
        train(params, Dataset(X, NUMBERS), eval_metric="quantile")
    two = {**SMALL, "objective": "reg:expectileerror", "expectile_alpha": [0.1, 0.9]}
    with pytest.raises(ParameterError, match=r"quantile_alpha=0\.5: expected 2 numbers for obj"):
        train(two, Dataset(X, NUMBERS), eval_metric="quantile")
    with pytest.raises(
        ParameterError, match="expected 'rmse', 'mae', 'mape', 'mphe', 'expectile', or a"
    ):
        train(params, Dataset(X, NUMBERS), eval_metric="auc")


def test_cross_validation_and_the_command_line_refuse_it(tmp_path, capsys):
    with pytest.raises(ParameterError, match="try 'mlogloss'"):
        cv({**SMALL, **CASES["classes"][0]}, Dataset(X, THREE), metrics="mae")
    data = write_rows(tmp_path / "a.csv")
    words = ["--model", str(tmp_path / "m.json"), "--objective", "binary:logistic"]
    assert main(["train", str(data), *words, "--eval-metric", "merror"]) == 2
    assert "try 'error'" in capsys.readouterr().err
    assert not (tmp_path / "m.json").exists()


def test_losses_and_metrics_of_users_fit_everything():
    def mine(prediction, rows):
        return "mine", 1.0

    def squared(margin, rows):
        return margin - rows.label, np.ones_like(margin)

    params, data, _ = case("classes")
    assert train(params, data, evals=[(data, "a")], eval_metric=mine).history["a"]["mine"]
    own = {**SMALL, "objective": squared}
    for label, metric in ((TWO, "logloss"), (THREE, "cox-nloglik"), (NUMBERS, "rmse")):
        prepare(own, Dataset(X, label), (), metric, None)
