"""XGBoost's names for Dask train the models of one process."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb

array = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.normal(size=300) / 4).astype(np.float32)
CLASSES = np.digitize(Y, [-0.5, 0.5]).astype(np.float32)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as it,
        distributed.Client(it) as client,
    ):
        yield client


def parts(values):
    return array.from_array(values, chunks=(120, *values.shape[1:]))


def test_a_booster_is_that_of_one_process(client):
    params = {"max_depth": 3, "eval_metric": "mae"}
    rows = xgb.dask.DaskDMatrix(client, parts(X), parts(Y), weight=parts(np.abs(Y)))
    found = xgb.dask.train(client, params, rows, 4, evals=[(rows, "a")], verbose_eval=False)
    alone = xgb.DMatrix(X, Y, weight=np.abs(Y))
    history: dict = {}
    wanted = xgb.train(params, alone, 4, evals=[(alone, "a")], evals_result=history,
                       verbose_eval=False)  # fmt: skip
    assert found["booster"].get_dump() == wanted.get_dump()
    assert found["history"]["a"]["mae"] == history["a"]["mae"]
    for how in ({}, {"output_margin": True}, {"pred_contribs": True}, {"iteration_range": (0, 2)}):
        own = xgb.dask.predict(client, found, parts(X), **how).compute()
        np.testing.assert_allclose(own, wanted.predict(xgb.DMatrix(X), **how), atol=1e-6)
    own = xgb.dask.inplace_predict(client, found["booster"], parts(X), predict_type="margin")
    assert np.array_equal(own.compute(), wanted.predict(xgb.DMatrix(X), output_margin=True))
    bins = xgb.dask.DaskQuantileDMatrix(client, parts(X), parts(Y), max_bin=8)
    assert bins.num_col() == 4
    few = xgb.dask.train(client, {"max_depth": 3}, bins, 2)["booster"]
    wanted = xgb.train({"max_depth": 3, "max_bin": 8}, xgb.DMatrix(X, Y), 2)
    assert few.get_dump() == wanted.get_dump()


@pytest.mark.thorough
def test_estimators(client):
    given = {"n_estimators": 3, "max_depth": 3}
    own = xgb.dask.DaskXGBRegressor(**given)
    own.client = client
    own.fit(parts(X), parts(Y), eval_set=[(parts(X), parts(Y))], verbose=False)
    wanted = xgb.XGBRegressor(**given).fit(X, Y)
    assert np.array_equal(own.predict(parts(X)).compute(), wanted.predict(X))
    assert len(own.evals_result()["validation_0"]["rmse"]) == 3
    for label in (CLASSES, (Y > 0).astype(np.float32)):
        own = xgb.dask.DaskXGBClassifier(**given).fit(parts(X), parts(label), verbose=False)
        wanted = xgb.XGBClassifier(**given).fit(X, label)
        found = own.predict_proba(parts(X)).compute()
        np.testing.assert_allclose(found, wanted.predict_proba(X), atol=1e-6)
        assert np.array_equal(own.predict(parts(X)).compute(), wanted.predict(X))
    qid = np.arange(300) // 20
    own = xgb.dask.DaskXGBRanker(**given).fit(parts(X), parts(CLASSES), qid=parts(qid))
    wanted = xgb.XGBRanker(**given).fit(X, CLASSES, qid=qid)
    np.testing.assert_allclose(own.predict(parts(X)).compute(), wanted.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="qid=None"):
        xgb.dask.DaskXGBRanker().fit(parts(X), parts(CLASSES))


@pytest.mark.parametrize("kind", ["XGBRFRegressor", "XGBRFClassifier"])
def test_forests(client, kind):
    label = Y if kind == "XGBRFRegressor" else (Y > 0).astype(np.float32)
    given = {"n_estimators": 3, "max_depth": 3}
    own = getattr(xgb.dask, f"Dask{kind}")(**given).fit(parts(X), parts(label), verbose=False)
    wanted = getattr(xgb, kind)(**given).fit(X, label)
    assert own.get_booster().num_boosted_rounds() == 1
    assert own.get_booster().get_dump() == wanted.get_booster().get_dump()
    assert np.array_equal(own.predict(parts(X)).compute(), wanted.predict(X))


def softmax(margins, data):
    """Return gradients and Hessians of three classes."""
    assert xgb.collective.allreduce(np.array([data.num_row()]), xgb.collective.Op.SUM) == [300]
    shares = np.exp(margins - margins.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    own = np.eye(3)[data.get_label().astype(int)]
    return shares - own, np.maximum(2 * shares * (1 - shares), 1e-6)


def measured(prediction, data):
    """Return two results of one metric."""
    label = data.get_label().astype(int)
    return [
        ("first", float(prediction[:, 0].mean())),
        ("hits", float((prediction.argmax(1) == label).mean())),
    ]


class Deeper(xgb.callback.TrainingCallback):
    """Changes what cannot change."""

    def after_iteration(self, model, epoch, evals_log):
        model.set_param("max_depth", 5)
        return False


class Notes(xgb.callback.TrainingCallback):
    """Writes into the booster what hooks see, and ends the training after the fourth round."""

    def after_iteration(self, model, epoch, evals_log):
        last = evals_log["b"]["hits"][-1]
        model.set_attr(seen=f"{model.num_boosted_rounds()} {last} {len(model.get_dump())}")
        return epoch == 3


class Ranks(xgb.callback.TrainingCallback):
    """Writes into the booster what all workers have in the middle of a training."""

    def after_iteration(self, model, epoch, evals_log):
        own = np.array([1, xgb.collective.get_rank(), len(model.get_dump())])
        total = xgb.collective.allreduce(own, xgb.collective.Op.SUM).tolist()
        model.set_attr(**{f"round {epoch}": f"{total} of {xgb.collective.get_world_size()}"})
        return False


def of_worker(args, rank, X, Y):
    """Train with a worker's rows; return the model and what ``collective`` knows."""
    with xgb.dask.CommunicatorContext(**args):
        booster = xgb.train({"max_depth": 3}, xgb.DMatrix(X, Y), 2)
        return booster.get_dump(), xgb.collective.get_rank(), xgb.collective.broadcast(rank, 1)


def _name(dask_worker):
    return dask_worker.name


def test_workers_know_their_ranks(client):
    rows = xgb.dask.DaskDMatrix(client, parts(X), parts(Y))
    found = xgb.dask.train(client, {"max_depth": 3}, rows, 2, callbacks=[Ranks()])["booster"]
    assert found.attributes() == {"round 0": "[2, 1, 2] of 2", "round 1": "[2, 1, 4] of 2"}
    tracker = xgb.RabitTracker(2, "127.0.0.1", sortby="task")
    tracker.start()
    known = client.run(_name)
    running = [
        client.submit(of_worker, tracker.worker_args(), rank, X[part], Y[part], workers=[worker])
        for rank, (worker, part) in enumerate(
            zip(
                sorted(known, key=known.get),
                (slice(0, 99), slice(99, 300)),
                strict=True,
            )
        )
    ]
    told = client.gather(running)
    tracker.wait_for(30)
    tracker.free()
    assert [(rank, seen) for _, rank, seen in told] == [(0, 1), (1, 1)]
    assert told[0][0] == told[1][0] == found.get_dump()


def test_functions_and_callbacks_are_those_of_one_process(client):
    """A loss of several classes, several results of a metric, rates, a model that is continued."""
    params = {"max_depth": 3, "objective": "multi:softprob", "num_class": 3}
    held = X[:90], CLASSES[:90]
    rows = xgb.dask.DaskDMatrix(client, parts(X), parts(CLASSES))
    other = xgb.dask.DaskDMatrix(client, *map(parts, held))
    alone, test = xgb.DMatrix(X, CLASSES), xgb.DMatrix(*held)
    before = xgb.train(params, alone, 2)
    history: dict = {}

    def options():
        rates = xgb.callback.LearningRateScheduler([0.3, 0.2, 0.1, 0.05, 0.02])
        return {"obj": softmax, "custom_metric": measured, "callbacks": [rates, Notes()],
                "xgb_model": before, "verbose_eval": False}  # fmt: skip

    found = xgb.dask.train(client, params, rows, 5, evals=[(rows, "a"), (other, "b")], **options())
    wanted = xgb.train(params, alone, 5, evals=[(alone, "a"), (test, "b")], evals_result=history,
                       **options())  # fmt: skip
    booster = found["booster"]
    assert booster.num_boosted_rounds() == 6
    assert booster.get_dump() == wanted.get_dump()
    assert booster.attributes() == wanted.attributes()
    assert found["history"] == history
    assert list(history["b"]) == ["mlogloss", "first", "hits"]


def test_stopping_early_and_types_of_columns(client):
    levels = np.column_stack([X[:, 0], 2 * (np.arange(300) * 7 % 5)]).astype(np.float32)
    label = (levels[:, 1] % 3 + X[:, 0] / 9).astype(np.float32)
    types, history = ["float", "c"], {}
    given = {"early_stopping_rounds": 2, "verbose_eval": False}
    noise = np.resize(RNG.normal(size=50), 300).astype(np.float32)
    rows, test = (
        xgb.dask.DaskDMatrix(client, parts(levels), parts(y), feature_types=types)
        for y in (label, noise)
    )
    own = xgb.dask.train(client, {}, rows, 9, evals=[(test, "t")], **given)
    rows, test = (xgb.DMatrix(levels, y, feature_types=types) for y in (label, noise))
    wanted = xgb.train({}, rows, 9, evals=[(test, "t")], evals_result=history, **given)
    booster = own["booster"]
    assert booster.get_dump() == wanted.get_dump()
    assert booster.feature_types == types
    assert booster.best_iteration == wanted.best_iteration
    assert own["history"] == history
    assert np.array_equal(
        xgb.dask.predict(client, booster, parts(levels)).compute(), wanted.predict(rows)
    )


def test_what_is_refused(client):
    rows = xgb.dask.DaskDMatrix(client, parts(X), parts(Y))
    booster = xgb.dask.train(client, {}, rows, 1)
    calls = {
        "returned NoneType": lambda: xgb.dask.train(client, {}, rows, 1, obj=lambda m, data: None),
        "a callback changed a parameter": lambda: xgb.dask.train(
            client, {}, rows, 2, callbacks=[Deeper()]
        ),
        "must be an instance": lambda: xgb.dask.train(client, {}, rows, 2, callbacks=[3]),
        "booster='gblinear'": lambda: xgb.dask.train(client, {"booster": "gblinear"}, rows, 1),
        "group=": lambda: xgb.dask.DaskDMatrix(client, parts(X), group=[1]),
        "feature_types must be": lambda: xgb.dask.DaskDMatrix(
            client, parts(X), feature_types=["x"] * 4
        ),
        "data is of type": lambda: xgb.dask.DaskDMatrix(client, X),
        "strict_shape=": lambda: xgb.dask.predict(client, booster, rows, strict_shape=True),
        "base_margin=": lambda: xgb.dask.inplace_predict(client, booster, X, base_margin=Y),
        "predict_type=": lambda: xgb.dask.inplace_predict(client, booster, X, predict_type="x"),
        "model is of type": lambda: xgb.dask.predict(client, 3, rows),
    }
    linear = xgb.train({"booster": "gblinear"}, xgb.DMatrix(X, Y), 1)
    calls["model is linear"] = lambda: xgb.dask.predict(client, linear, rows)
    for text, call in calls.items():
        with pytest.raises(xgb.XGBoostError, match=text):
            call()
