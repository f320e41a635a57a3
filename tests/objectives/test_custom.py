"""Losses of a user's own: functions of NumPy arrays, of device arrays, and kernel code."""

import json
from functools import partial

import numpy as np
import pytest

from pyopencl_gbdt import (
    Dataset,
    DeviceObjective,
    GBDTClassifier,
    KernelObjective,
    Model,
    train,
)
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.device.variants import REFUSED
from pyopencl_gbdt.errors import KernelBuildError, ParameterError
from pyopencl_gbdt.objectives import custom_objective
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import few_values

X, Y = few_values("reg:squarederror", 0, 900)
WEIGHT = np.random.default_rng(0).integers(0, 4, Y.size).astype(np.float32)
KERNEL = "g = margin - label; h = 1.0f;"


def squared(margins, dataset):
    """As XGBoost's ``obj``: weights are the function's to apply."""
    g, h = margins - dataset.get_label(), np.ones_like(margins)
    weight = dataset.get_weight()
    return (g * weight, h * weight) if weight.size else (g, h)


def on_device(margins, labels, g, h):
    """Through the host, which an enqueued kernel does without: only what is filled matters."""
    g.set(margins.get() - labels.get())
    h.set(np.ones(h.shape))


FORMS = {
    "function": squared,
    "device": DeviceObjective(on_device),
    "kernel": KernelObjective(KERNEL),
    "string": f"kernel: {KERNEL}",
}


def fit(objective, n_rounds=5, data=None, **more):
    params = {"objective": objective, "device": TEST_DEVICE, "max_depth": 4, **more}
    return train(params, Dataset(X, Y) if data is None else data, n_rounds)


def ours(n_rounds=5, **more):
    return fit("reg:squarederror", n_rounds, base_score=0.5, **more).ensemble


@pytest.mark.few(2)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_librarys_own_loss(form):
    model = fit(FORMS[form])
    assert model.ensemble.trees == ours().trees
    assert model.ensemble.base_score == 0.5
    assert fit(FORMS[form], work_group_size=64).ensemble == model.ensemble
    margins = model.predict(X, output_margin=True, device=TEST_DEVICE)
    np.testing.assert_array_equal(model.predict(X, device=TEST_DEVICE), margins)


@pytest.mark.parametrize("form", FORMS)
def test_weights(form):
    weighted = ours(data=Dataset(X, Y, WEIGHT))
    trees = fit(FORMS[form], data=Dataset(X, Y, WEIGHT)).ensemble.trees
    if form != "function":  # there a row of weight 0 weighs a quantum, and roundings differ
        assert trees == weighted.trees
    for a, b in zip(trees, weighted.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value, b.value, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_trees_that_need_high_words(form):
    label = Y.copy()
    label[7] = 1e9
    data = Dataset(X, label)
    assert fit(FORMS[form], data=data).ensemble.trees == ours(data=data).trees


def test_kernels_have_the_librarys_functions():
    labels = (Y > 0).astype(np.float32)
    code = "const f32 p = portable_sigmoid(margin); g = p - label;\nh = p * (1.0f - p);"
    own = fit(KernelObjective(code), data=Dataset(X, labels), base_score=0.0).ensemble
    assert (
        own.trees == fit("binary:logistic", data=Dataset(X, labels), base_score=0.5).ensemble.trees
    )


# -- what goes wrong -----------------------------------------------------------------------------
def wrong_in_round(number, replace):
    """Return a loss whose result is replaced in one round."""
    rounds = iter(range(100))

    def loss(margins, dataset):
        g, h = squared(margins, dataset)
        return replace(g, h) if next(rounds) == number else (g, h)

    return loss


def put(array, row, value):
    array[row] = value
    return array


@pytest.mark.parametrize(
    ("replace", "message"),
    [
        (lambda g, h: (put(g, 5, np.nan), h), "round 3.* gradients hold nan at row 5"),
        (lambda g, h: (g, put(h, 6, np.inf)), "round 3.* Hessians hold inf at row 6"),
        (lambda g, h: (g, h.astype(float) * 1e300), r"round 3.*: Hessians hold 1e\+300 at row 0"),
        (lambda g, h: (g[1:], h), r"round 3.*: gradients have shape \(899,\): expected \(900,\)"),
        (lambda g, h: (g, 1.0), r"round 3.*: Hessians have shape \(\)"),
        (lambda g, h: (g, h + 0j), "round 3.*: Hessians are of complex.*expected float32"),
        (lambda g, h: (g.astype(str), h), "round 3.*: gradients are of <U"),
        (lambda g, h: g, r"round 3.*: returned ndarray: expected .*return \(g, h\)"),
        (lambda g, h: None, "round 3.*: returned NoneType"),
    ],
)
def test_wrong_results_name_the_round(replace, message):
    data = Dataset(X, Y)
    with (
        pytest.raises(ParameterError, match="objective=loss: " + message),
        np.errstate(all="ignore"),
    ):
        fit(wrong_in_round(3, replace), 6, data)
    assert fit(squared, data=data).ensemble.trees == ours().trees


def test_other_shapes_and_dtypes_that_hold_the_same():
    def column(margins, dataset):
        g, h = squared(margins, dataset)
        return [g.astype(np.float64)[:, None], h.astype(np.int8)]

    assert fit(column).ensemble.trees == ours().trees


def test_margins_are_the_functions_own():
    def careless(margins, dataset):
        g, h = squared(margins.copy(), dataset)
        margins[:] = 7
        return g, h

    assert fit(careless).ensemble.trees == ours().trees


@pytest.mark.parametrize("evaluated", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_wrong_on_the_device(value, evaluated):
    rounds = iter(range(100))

    def loss(margins, labels, g, h):
        on_device(margins, labels, g, h)
        if next(rounds) == 2:
            g.set([value], 5)

    data, params = Dataset(X, Y), {"objective": DeviceObjective(loss), "device": TEST_DEVICE}
    evals = [(data, "train")] if evaluated else []
    with pytest.raises(ParameterError, match="objective=loss: round 2, counted from 0: a gradient"):
        train(params, data, 6, evals=evals)
    assert next(rounds) == 3 if evaluated else next(rounds) <= 6


def test_wrong_in_a_kernel():
    code = "g = margin - label; h = 1.0f; if (margin != 0.5f) g = g / (label - label);"
    with pytest.raises(ParameterError, match=r"kernel: g = .*: round 1, counted from 0"):
        fit(KernelObjective(code))
    with pytest.raises(ParameterError, match=r"round 0.*\(or was not set\)"):
        fit(KernelObjective("g = margin;"))


def test_code_that_does_not_compile():
    refused = set(REFUSED)
    with pytest.raises(KernelBuildError, match="margn") as caught:
        fit(KernelObjective("g = margn - label; h = 1.0f;"))
    assert "error" in str(caught.value)
    assert refused == REFUSED  # the library's own kernels are not to blame
    assert fit(FORMS["kernel"]).ensemble.trees == ours().trees


@pytest.mark.parametrize("form", [squared, on_device])
def test_errors_of_the_function_itself(form):
    def fails(*arrays):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fit(fails if form is squared else DeviceObjective(fails))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KernelObjective(" "), "KernelObjective: code=' ': expected C statements"),
        (lambda: KernelObjective(3), "KernelObjective: code=3"),
        (lambda: fit("kernel:"), "KernelObjective: code=''"),
        (lambda: DeviceObjective(3), "DeviceObjective: function=int: expected a callable"),
        (lambda: fit("custom"), "objective='custom': expected the loss itself"),
        (lambda: fit(3), "objective=3: expected 'reg:squarederror'"),
    ],
)
def test_what_is_no_loss(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


# -- models --------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", FORMS)
def test_files(form, tmp_path):
    model = fit(FORMS[form])
    model.save_model(tmp_path / "own.json")
    read = Model.load_model(tmp_path / "own.json")
    assert read.ensemble == model.ensemble
    name = {"function": "squared", "device": "on_device"}.get(form, f"kernel: {KERNEL}")
    assert read.objective.parameters == {"custom_name": name}
    predicted = read.predict(X, device=TEST_DEVICE)
    np.testing.assert_array_equal(predicted, model.predict(X, device=TEST_DEVICE))
    assert json.loads((tmp_path / "own.json").read_text())["learner"]["objective"] == {
        "name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"},
    }  # fmt: skip
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.Booster(model_file=tmp_path / "own.json")
    np.testing.assert_allclose(booster.predict(xgboost.DMatrix(X)), predicted, atol=3e-6)


@pytest.mark.parametrize("form", FORMS)
def test_going_on(form, tmp_path):
    whole = fit(FORMS[form], 6).ensemble
    fit(FORMS[form], 3).save_model(tmp_path / "half.json")
    params = {"objective": FORMS[form], "device": TEST_DEVICE, "max_depth": 4}
    data = Dataset(X, Y)
    assert train(params, data, 3, model=tmp_path / "half.json").ensemble == whole
    other = DeviceObjective(on_device, custom_name="other")
    with pytest.raises(ParameterError, match=r"objective=custom custom_name=other: the model to"):
        train({**params, "objective": other}, data, 3, model=tmp_path / "half.json")
    with pytest.raises(ParameterError, match="objective=reg:squarederror: the model to continue"):
        train({"max_depth": 4}, data, 3, model=tmp_path / "half.json")


def test_checkpoints(tmp_path):
    params = {"objective": squared, "device": TEST_DEVICE, "max_depth": 4}
    data = Dataset(X, Y)
    train(params, data, 4, callbacks=[TrainingCheckPoint(tmp_path, interval=2)])
    saver = TrainingCheckPoint(tmp_path, interval=2)
    assert train(params, data, 6, callbacks=[saver]).ensemble == fit(squared, 6).ensemble

    def other(margins, dataset):
        return squared(margins, dataset)

    with pytest.raises(ParameterError, match=r"objective.* 'other'.* was .*'squared'"):
        train({**params, "objective": other}, data, 8, callbacks=[saver])


def test_a_file_alone_cannot_train(tmp_path):
    fit(squared).save_model(tmp_path / "own.json")
    loss = Model.load_model(tmp_path / "own.json").objective
    with pytest.raises(ParameterError, match="objective='squared': expected the loss itself"):
        fit(loss)
    with pytest.raises(ParameterError, match="a model file stores only the name of a custom loss"):
        loss.gradient(Y, Y)


def test_names():
    class Slope:
        def __call__(self, margins, dataset):
            return squared(margins, dataset)

    assert custom_objective(Slope()).custom_name == "Slope"
    assert custom_objective(partial(squared)).custom_name == "squared"
    assert custom_objective("reg:gamma") is custom_objective(3) is custom_objective(None) is None


def test_metrics_of_a_classifier_take_probabilities():
    kernel = "const f32 p = portable_sigmoid(margin); const f32 q = 1.0f - p; g = p - label; "
    classes = (np.median(Y) < Y).astype(int)
    model = GBDTClassifier(
        n_estimators=2, max_depth=2, device=TEST_DEVICE, eval_metric="logloss",
        objective=KernelObjective(f"{kernel}h = p * q;"),
    ).fit(X, classes, eval_set=[(X, classes)], verbose=False)  # fmt: skip
    own = model.predict_proba(X)[np.arange(Y.size), classes]
    ((losses,),) = (found.values() for found in model.evals_result().values())
    assert losses[-1] == pytest.approx(-np.log(own.astype(np.float64)).mean(), rel=1e-6)
