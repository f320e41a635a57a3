"""``plot_metric``: learning curves of models, estimators and histories."""

import pickle

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import pyopencl_gbdt
from pyopencl_gbdt import Dataset, GBDTRegressor, Model, train
from pyopencl_gbdt.callbacks import EarlyStopping
from pyopencl_gbdt.errors import NotFittedError, ParameterError
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE
from tests.conftest import TEST_DEVICE
from tests.model.samples import make_ensemble

mpl.use("Agg")
plot_metric = pyopencl_gbdt.plot_metric
HISTORY = {
    "train": {"rmse": [3.0, 2.0, 1.0], "mae": [2.5, 1.5, 0.5]},
    "$test": {"rmse": [3.5, 2.5, 2.0], "mae": [2.0, 1.0, 1.5]},
    "other": {"auc": [0.5]},
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curves(axes):
    """Return the values of every curve by its name in the legend."""
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    return dict(zip(names, (line.get_ydata() for line in axes.lines), strict=True))


def test_every_set_is_a_curve():
    axes = plot_metric(HISTORY, "rmse")
    assert axes.figure is plt.gcf()
    drawn = curves(axes)
    assert list(drawn) == ["train", "$test"]
    for name, values in drawn.items():
        np.testing.assert_array_equal(values, HISTORY[name]["rmse"])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0, 1, 2])
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("rmse", "Round")
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len({color for color, _ in looks}) == len({style for _, style in looks}) == 2
    axes.figure.savefig("/dev/null", format="png")


def test_the_last_metric_unless_asked():
    assert plot_metric(HISTORY, dataset_names="train").get_ylabel() == "mae"
    assert list(curves(plot_metric(HISTORY))) == ["other"]
    assert list(curves(plot_metric(HISTORY, "mae", dataset_names=["$test"]))) == ["$test"]


def test_the_users_axes_and_wishes():
    left, right = Figure().subplots(1, 2)
    found = plot_metric(
        HISTORY, "mae", ax=right, xlim=(0, 9), ylim=(-1, 4), title="T", xlabel="x", ylabel="y",
        grid=False,
    )  # fmt: skip
    assert found is right
    assert not left.lines
    assert (right.get_xlim(), right.get_ylim()) == ((0, 9), (-1, 4))
    assert (right.get_title(), right.get_xlabel(), right.get_ylabel()) == ("T", "x", "y")
    assert not any(line.get_visible() for line in right.get_xgridlines())


def test_the_best_round_is_marked():
    ensemble = make_ensemble([3], attributes={BEST_ITERATION: "1", BEST_SCORE: "2.5"})
    axes = plot_metric(Model(ensemble, HISTORY), "rmse")
    drawn = curves(axes)
    assert list(drawn) == ["train", "$test", "best round: 1"]
    assert axes.lines[-1].get_xdata() == [1, 1]


def test_estimators():
    X = np.arange(40, dtype=np.float32).reshape(20, 2)
    fitted = GBDTRegressor(n_estimators=2, max_depth=2, device=TEST_DEVICE)
    with pytest.raises(NotFittedError, match="not fitted"):
        plot_metric(fitted)
    fitted.fit(X, X[:, 0], eval_set=[(X, X[:, 0])], verbose=False)
    for model in (fitted, fitted.model_, fitted.evals_result()):
        (values,) = curves(plot_metric(model)).values()
        np.testing.assert_array_equal(values, fitted.evals_result()["validation_0"]["rmse"])


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (HISTORY, {"metric": "logloss"}, "metric='logloss': expected 'rmse', 'mae', 'auc'"),
        (HISTORY, {"dataset_names": ["valid"]}, "dataset_names='valid': expected 'train'"),
        (HISTORY, {"xlim": 5}, "xlim=5: expected two numbers"),
        (Model(make_ensemble([1])), {}, "the model has no history"),
        ({"test": {}}, {}, "metric=None: expected at least one in the history"),
        ({"rmse": [1.0]}, {}, r"model\['rmse'\]=\[1.0\]: expected a dict of metrics"),
        (3, {}, "model=int: expected an estimator, a Model or a history"),
    ],
)
def test_refusals(model, options, words):
    with pytest.raises(ParameterError, match=words):
        plot_metric(model, **options)
    assert not plt.get_fignums()


def test_the_rounds_of_a_continued_model_begin_behind_the_others():
    model = Model(make_ensemble([2] * 5), {"test": {"rmse": [3.0, 1.0, 2.0]}})
    model.set_attr(**{BEST_ITERATION: 3, BEST_SCORE: 1.0})
    curve, best = plot_metric(model).lines
    np.testing.assert_array_equal(curve.get_xdata(), [2, 3, 4])
    assert best.get_xdata()[0] == 3
    assert curve.get_ydata()[1] == 1.0


def test_rounds_that_were_dropped_after_the_best_one_move_no_curve():
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(100, 3)), rng.normal(size=(200, 3))
    params = {"max_depth": 4, "device": TEST_DEVICE}
    first = train(params, Dataset(X, X[:, 0] * X[:, 1]), 5)
    noisy = Dataset(V, V[:, 0] * V[:, 1] + rng.normal(size=200))
    model = train(
        params, Dataset(X, X[:, 0] * X[:, 1]), 60, evals=[(noisy, "noisy")], model=first,
        callbacks=[EarlyStopping(3, save_best=True)],
    )  # fmt: skip
    for again in (model, model.copy(), pickle.loads(pickle.dumps(model))):
        curve = plot_metric(again).lines[0]
        assert curve.get_xdata()[0] == 5
        assert curve.get_xdata()[np.argmin(curve.get_ydata())] == model.best_iteration
        best = min(model.history["noisy"]["rmse"])
        assert f"noisy: rmse {best:.6g}" in again.describe()
