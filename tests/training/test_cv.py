"""Cross-validation: folds as XGBoost and scikit-learn draw them, and what each round gives."""

import hashlib
import io
from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import (
    LearningRateScheduler,
    ProgressBar,
    TrainingCallback,
    TrainingCheckPoint,
)
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.training import preparing
from pyopencl_gbdt.training.cross_validation import _add_rounds
from pyopencl_gbdt.training.folds import make_folds
from pyopencl_gbdt.training.joined_fits import Joining
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(12)
X = np.rint(RNG.standard_normal((240, 4)) * 3).astype(np.float32)  # few values: equal cuts
Y = (X[:, 0] * X[:, 1] / 9 + RNG.standard_normal(240)).astype(np.float32)
LABEL = (Y > 0.5).astype(np.float32)
WEIGHT = RNG.integers(1, 4, 240).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "max_depth": 3}
BINARY = {**PARAMS, "objective": "binary:logistic"}


def folds(label=LABEL, n=3, *, stratified=False, shuffle=True, seed=0):
    return make_folds(label, n, stratified=stratified, shuffle=shuffle, seed=seed)


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_folds_are_a_partition(stratified, shuffle, n):
    made = folds(n=n, stratified=stratified, shuffle=shuffle)
    assert np.array_equal(np.sort(np.concatenate([test for _, test in made])), np.arange(240))
    for train_rows, test_rows in made:
        assert np.array_equal(np.sort(np.r_[train_rows, test_rows]), np.arange(240))
        if stratified:
            assert abs(LABEL[test_rows].mean() - LABEL.mean()) < 0.02


def test_folds_of_a_seed_never_change():
    rows = np.concatenate([test for s in (0, 1, 2**32 - 1) for _, test in folds(seed=s)])
    digest = hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == "c9902fe264bd6e6b"


@pytest.mark.parametrize("shuffle", [False, True])
def test_stratified_folds_are_those_of_scikit_learn(shuffle):
    selection = pytest.importorskip("sklearn.model_selection", reason="compares with scikit-learn")
    for seed in (0, 7):
        label = np.random.default_rng(seed).integers(0, 4, 101).astype(np.float32)
        theirs = selection.StratifiedKFold(
            4, shuffle=shuffle, random_state=seed if shuffle else None
        )
        ours = folds(label, 4, stratified=True, shuffle=shuffle, seed=seed)
        for mine, other in zip(ours, theirs.split(label, label), strict=True):
            assert np.array_equal(mine[0], other[0])
            assert np.array_equal(mine[1], other[1])


def test_results_are_those_of_the_folds():
    data = Dataset(X, Y, WEIGHT)
    found = cv(PARAMS, data, 4, metrics=["rmse", "mae"], as_pandas=False, seed=3)
    logs = []
    for train_rows, test_rows in folds(Y, seed=3):
        own, test = data.slice(train_rows), data.slice(test_rows)
        evals, metrics = [(own, "train"), (test, "test")], ["rmse", "mae"]
        logs.append(train(PARAMS, own, 4, evals=evals, eval_metric=metrics).history)
    assert list(found) == [
        f"{name}-{metric}-{what}"
        for name in ("train", "test") for metric in ("rmse", "mae") for what in ("mean", "std")
    ]  # fmt: skip
    for name in ("train", "test"):
        for metric in ("rmse", "mae"):
            values = np.array([log[name][metric] for log in logs])
            np.testing.assert_allclose(found[f"{name}-{metric}-mean"], values.mean(0), rtol=1e-14)
            np.testing.assert_allclose(found[f"{name}-{metric}-std"], values.std(0), rtol=1e-12)


@pytest.mark.parametrize("stratified", [False, True])
def test_as_xgboost(stratified):
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    pytest.importorskip("sklearn", reason="XGBoost needs it to stratify")
    ours = cv(BINARY, Dataset(X, LABEL), 6, stratified=stratified, seed=5, as_pandas=False)
    theirs = xgboost.cv(
        {"objective": "binary:logistic", "max_depth": 3, "nthread": 1},
        xgboost.DMatrix(X, LABEL), 6, stratified=stratified, seed=5, as_pandas=False,
    )  # fmt: skip
    assert list(ours) == list(theirs)
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=2e-2, atol=2e-3)
    assert ours["test-logloss-mean"][0] == pytest.approx(theirs["test-logloss-mean"][0], abs=1e-4)


def test_early_stopping():
    data = Dataset(X, LABEL)
    whole = cv(BINARY, data, 60, metrics=("logloss", "auc"), as_pandas=False)
    found = cv(
        BINARY, data, 60, metrics=("logloss", "auc"), early_stopping_rounds=6, as_pandas=False
    )
    best = int(np.argmax(whole["test-auc-mean"][: len(found["test-auc-mean"]) + 6]))
    assert found == {name: values[: best + 1] for name, values in whole.items()}


def test_lines_and_frames():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    lines = []
    frame = cv(PARAMS, Dataset(X, Y), 3, verbose=2, report=lines.append)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (3, 4)
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]"]
    mean, std = frame["test-rmse-mean"][2], frame["test-rmse-std"][2]
    assert lines[1].endswith(f"test-rmse:{mean:.5f}+{std:.5f}")


def test_a_frame_is_the_dict_of_as_pandas_false():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    given = {"nfold": 2, "metrics": ["mae", "rmse"], "seed": 3}
    frame, plain = (
        cv(PARAMS, Dataset(X, Y), 4, as_pandas=answer, **given) for answer in (True, False)
    )
    assert isinstance(plain, dict)
    pandas.testing.assert_frame_equal(frame, pandas.DataFrame(plain))
    assert list(frame.index) == [0, 1, 2, 3]


def test_a_line_a_round_by_xgboosts_names(capsys):
    data = Dataset(X, Y)
    frame = cv(PARAMS, data, num_boost_round=3, verbose_eval=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(frame) == 3
    for number, line in enumerate(lines):
        row = frame.iloc[number]
        assert line == (
            f"[{number}]\ttrain-rmse:{row['train-rmse-mean']:.5f}+{row['train-rmse-std']:.5f}"
            f"\ttest-rmse:{row['test-rmse-mean']:.5f}+{row['test-rmse-std']:.5f}"
        )
    cv(PARAMS, data, 3, verbose_eval=2, show_stdv=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]"]
    assert "+" not in lines[0]
    cv(PARAMS, data, 2, verbose=True, verbose_eval=False)
    cv(PARAMS, data, 2, verbose_eval=None)
    assert capsys.readouterr().out == ""


def test_a_bar_over_the_rounds():
    stream = io.StringIO()
    cv(PARAMS, Dataset(X, Y), 4, callbacks=[ProgressBar("cv", file=stream)])
    assert "4" in stream.getvalue()
    assert "test-rmse" in stream.getvalue()


def test_a_loss_of_the_users_own():
    def squared(margins, data):
        return margins - data.label, np.ones_like(margins)

    data = Dataset(X, Y)
    found = cv(PARAMS, data, 2, obj=squared, metrics="mae", as_pandas=False)
    wanted = cv({**PARAMS, "objective": squared}, data, 2, metrics="mae", as_pandas=False)
    assert found == wanted


def test_a_function_prepares_each_fold():
    seen = []

    def prepare(own, test, params):
        seen.append((own.n_rows, test.n_rows, params["n_estimators"]))
        params["max_depth"] = 1
        return own, test, params

    data = Dataset(X, Y)
    found = cv(PARAMS, data, 3, fpreproc=prepare, as_pandas=False)
    assert found == cv({**PARAMS, "max_depth": 1}, data, 3, as_pandas=False)
    assert seen == [(160, 80, 3)] * 3
    forgetful = cv(PARAMS, data, 3, fpreproc=lambda a, b, p: (a, b, dict(PARAMS)), as_pandas=False)
    assert forgetful == cv(PARAMS, data, 3, as_pandas=False)


def test_callbacks_act_on_all_folds():
    rates = [0.5, 0.1, 0.2]
    data = Dataset(X, Y)
    found = cv(PARAMS, data, 3, callbacks=[LearningRateScheduler(rates)], as_pandas=False)
    values = []
    for train_rows, test_rows in folds(Y):
        callbacks, evals = [LearningRateScheduler(rates)], [(data.slice(test_rows), "test")]
        own = data.slice(train_rows)
        log = train(PARAMS, own, 3, evals=evals, callbacks=callbacks).history
        values.append(log["test"]["rmse"])
    np.testing.assert_allclose(found["test-rmse-mean"], np.mean(values, axis=0), rtol=1e-14)


def test_given_folds():
    data = Dataset(X, Y)
    pairs = folds(Y, 4, seed=1)
    expected = cv(PARAMS, data, 2, nfold=4, seed=1, as_pandas=False)
    assert cv(PARAMS, data, 2, folds=pairs, as_pandas=False) == expected
    assert cv(PARAMS, data, 2, folds=iter(pairs), as_pandas=False) == expected

    class Splitter:
        def split(self, values, label):
            return iter(pairs)

    assert cv(PARAMS, data, 2, folds=Splitter(), as_pandas=False) == expected


class Fails(TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        self.model = model
        with pytest.raises(ParameterError, match="cross-validation has no single model"):
            model.current()
        raise ZeroDivisionError


def test_an_error_of_a_callback_frees_the_memory(monkeypatch):
    devices, opens = [], Joining.__call__

    def opened(joining, name):
        devices.append(opens(joining, name))
        return devices[-1]

    monkeypatch.setattr(Joining, "__call__", opened)
    with pytest.raises(ZeroDivisionError) as caught:
        cv(PARAMS, Dataset(X, Y), 3, callbacks=[Fails()])
    assert len(devices) == 3
    assert all(device.peak_bytes > 0 for device in devices)
    assert [device.allocated_bytes for device in devices] == [0, 0, 0]
    assert caught.value.__traceback__ is not None


BAD = [
    ({"nfold": 1}, "nfold=1: expected 2..240, the rows; give 2 at least"),
    ({"nfold": 241}, "nfold=241: expected 2..240, the rows; lower nfold"),
    ({"nfold": 2.5}, "nfold=2.5: expected an integer"),
    ({"seed": -1}, "seed=-1: expected 0..4294967295"),
    ({"stratified": True}, "stratified=True: no label has 3 rows"),
    ({"folds": 5}, "folds=5: expected a list of"),
    ({"folds": []}, r"folds=\[\]: expected a fold or more"),
    ({"folds": [([0, 1], [240])]}, r"folds\[0\]: expected two lists of row numbers, 0..239"),
    ({"folds": [([0, 1], [])]}, r"folds\[0\]"),
    ({"folds": [([0.5, 1], [3])]}, r"folds\[0\]"),
    ({"folds": [[0, 1, 2]]}, r"folds\[0\]"),
    ({"metrics": "nonsense"}, "eval_metric='nonsense'"),
    ({"early_stopping_rounds": 0}, "early_stopping_rounds=0"),
    ({"callbacks": [TrainingCheckPoint(".")]}, "cross-validation has no model to save"),
    ({"fpreproc": lambda own, test, p: own}, "fpreproc returned Dataset: expected .train, test, p"),
    ({"fpreproc": lambda own, test, p: (own, test)}, "fpreproc returned tuple: expected"),
    (
        {"fpreproc": lambda own, test, p: (own, test, {"objective": "count:poisson"})},
        "a fold has the metrics .*poisson-nloglik.*: expected .*rmse",
    ),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_calls_are_refused_before_anything_runs(monkeypatch, options, words):
    monkeypatch.setattr("pyopencl_gbdt.training.joined_fits.open_device", None)
    label = np.linspace(0, 1, 240)
    with pytest.raises(ParameterError, match=words):
        cv(PARAMS, Dataset(X, label), 2, **options)


def test_rows_of_several_targets_are_divided():
    targets = np.stack([Y, -Y], axis=1)
    found = cv(PARAMS, Dataset(X, targets), 2, nfold=3)
    assert len(found["test-rmse-mean"]) == 2
    with pytest.raises(ParameterError, match="stratified=True: expected False with 2 targets"):
        cv(PARAMS, Dataset(X, targets), 2, nfold=3, stratified=True)
    with pytest.raises(ParameterError, match=r"nfold=241: expected 2\.\.240, the rows"):
        cv(PARAMS, Dataset(X, targets), 2, nfold=241)


def test_means_of_all_rounds_have_the_bits_of_each():
    own = np.random.default_rng(3).standard_normal((9, 20))
    own[2, 5] = np.nan
    fits = [SimpleNamespace(history={"test": {"rmse": row.tolist()}}) for row in own]
    log = {"test": {"rmse": []}}
    for some in (range(1), range(1, 20)):
        _add_rounds(log, fits, some)
    wanted = [(float(one.mean()), float(one.std())) for one in np.ascontiguousarray(own.T)]
    np.testing.assert_array_equal(np.array(log["test"]["rmse"]), np.array(wanted))


def test_what_is_not_refused_for_all_rows_is_not_refused_for_folds(monkeypatch):
    """Folds have the parameters of all rows, and fewer rows; those of ``fpreproc`` may differ."""
    seen = []
    monkeypatch.setattr(preparing, "refuse", lambda facts, rows: seen.append(facts.n_rows))
    cv(PARAMS, Dataset(X, Y), 1, nfold=2, as_pandas=False)
    assert seen == [240]
    cv(PARAMS, Dataset(X, Y), 1, folds=[(np.r_[:240, :9], [0])], as_pandas=False)
    assert seen[1:] == [240, 249]
    cv(PARAMS, Dataset(X, Y), 1, nfold=2, as_pandas=False, fpreproc=lambda *given: given)
    assert seen[3:] == [240, 120, 120]


def test_labels_of_all_rows_are_not_checked_again_for_folds(monkeypatch):
    seen, check = [], Objective.check_data

    def counted(self, data):
        seen.append(data.n_rows)
        check(self, data)

    monkeypatch.setattr(Objective, "check_data", counted)
    cv(PARAMS, Dataset(X, Y), 1, nfold=2, as_pandas=False)
    assert seen == [240]
    cv(PARAMS, Dataset(X, Y), 1, nfold=2, as_pandas=False, fpreproc=lambda *given: given)
    assert seen[1:] == [240, 120, 120, 120, 120, 120, 120]
