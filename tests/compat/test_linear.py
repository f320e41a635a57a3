"""``booster="gblinear"`` of ``compat.xgboost``, beside XGBoost."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse

from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost.linear_rounds import total

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.2] = np.nan
Y = 3 + np.nan_to_num(X) @ [2.0, -1.0, 0.0, 0.5, 0.0] + RNG.normal(size=80) / 4
WEIGHT = RNG.integers(1, 4, 80).astype(np.float32)
CLASSES = np.digitize(Y, [2.0, 4.0])
LABELS = {
    "reg:squarederror": (Y, {}),
    "binary:logistic": ((Y > 3) * 1.0, {"scale_pos_weight": 2}),
    "multi:softprob": (CLASSES, {"num_class": 3}),
    "multi:softmax": (CLASSES, {"num_class": 3}),
    "count:poisson": (np.rint(np.abs(Y)), {"max_delta_step": 0.5}),
    "survival:cox": (np.abs(Y), {}),
    "reg:quantileerror": (Y, {"quantile_alpha": 0.3}),
    "targets": (np.stack([Y, -Y], axis=1), {}),
}
SERIAL = {"booster": "gblinear", "updater": "coord_descent", "nthread": 1}


@pytest.fixture(scope="module", autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3.2", reason="needs XGBoost")


def both(theirs, params, label, n_rounds=4, **given):
    """Return the booster and the matrix of either library."""
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, label, weight=WEIGHT)
        found.append((library.train({**SERIAL, **params}, matrix, n_rounds, **given), matrix))
    return found


def agree(found):
    (own, rows), (other, same_rows) = found
    for how in ({}, {"output_margin": True}, {"pred_contribs": True}, {"strict_shape": True}):
        mine, wanted = own.predict(rows, **how), other.predict(same_rows, **how)
        assert mine.shape == wanted.shape, how
        assert mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-4, err_msg=str(how))


@pytest.mark.parametrize("objective", LABELS)
def test_losses(theirs, objective):
    label, more = LABELS[objective]
    params = {} if objective == "targets" else {"objective": objective}
    found = both(theirs, {**params, **more}, label)
    agree(found)
    (own, rows), (other, _) = found
    assert own.eval(rows).split(":")[0] == other.eval(found[1][1]).split(":")[0]


@pytest.mark.parametrize(
    "params",
    [
        {"lambda": 0.01, "alpha": 0.02, "eta": 0.3},
        {"feature_selector": "greedy"},
        {"feature_selector": "greedy", "top_k": 2},
        {"feature_selector": "thrifty", "alpha": 0.01},
        {"feature_selector": "thrifty", "top_k": 3},
        {"updater": "shotgun"},
        {"tolerance": 0.2},
        {"base_score": 2.0},
    ],
    ids=str,
)
def test_parameters(theirs, params):
    agree(both(theirs, params, Y, 6))


@pytest.mark.parametrize("selector", ["shuffle", "random"])
def test_random_orders_find_the_same_model(theirs, selector):
    params = {"feature_selector": selector, "lambda": 0.01}
    agree(both(theirs, params, Y, 150))
    matrix = xgb.DMatrix(X, Y)
    first, again, other = (
        xgb.train({**SERIAL, **params, "seed": seed}, matrix, 3).save_raw() for seed in (1, 1, 2)
    )
    assert first == again != other


def test_files_go_both_ways(theirs):
    label, more = LABELS["multi:softprob"]
    (own, rows), (other, same_rows) = both(theirs, {"objective": "multi:softprob", **more}, label)
    for kind in ("json", "ubj"):
        back = theirs.Booster(model_file=own.save_raw(kind))
        np.testing.assert_allclose(back.predict(same_rows), own.predict(rows), atol=1e-6)
        assert json.loads(back.save_config())["learner"]["learner_train_param"]["booster"] == (
            "gblinear"
        )
        here = xgb.Booster(model_file=other.save_raw(kind))
        np.testing.assert_allclose(here.predict(rows), other.predict(same_rows), atol=1e-6)
        assert here.num_boosted_rounds() == 4
        assert xgb.Booster(model_file=here.save_raw(kind)).save_raw() == here.save_raw()
    assert pickle.loads(pickle.dumps(own)).save_raw() == own.save_raw()


def test_what_it_tells(theirs, tmp_path):
    found = both(theirs, {}, LABELS["targets"][0])
    for (own, _), (other, _) in [found, both(theirs, {}, Y)]:
        assert list(own.get_score()) == list(other.get_score())
        for name, values in own.get_score().items():
            np.testing.assert_allclose(values, other.get_score()[name], rtol=1e-3, atol=1e-5)
        for kind in ("text", "json"):
            mine, wanted = own.get_dump(dump_format=kind), other.get_dump(dump_format=kind)
            assert [text.count("\n") for text in mine] == [text.count("\n") for text in wanted]
            paths = [tmp_path / f"{name}.{kind}" for name in ("mine", "wanted")]
            own.dump_model(paths[0], dump_format=kind)
            other.dump_model(paths[1], dump_format=kind)
            lines = [path.read_text().splitlines() for path in paths]
            assert [line[:9] for line in lines[0]] == [line[:9] for line in lines[1]]
        assert json.loads(own.get_dump(dump_format="json")[0]).keys() == {"bias", "weight"}


def test_a_model_is_continued(theirs):
    matrix = xgb.DMatrix(X, Y)
    whole = xgb.train(SERIAL, matrix, 5)
    first = xgb.train(SERIAL, matrix, 2)
    assert xgb.train(SERIAL, matrix, 3, xgb_model=first).save_raw() == whole.save_raw()
    step = xgb.Booster(SERIAL, [matrix])
    for number in range(5):
        step.update(matrix, number)
    assert step.save_raw() == whole.save_raw()

    def squared(margins, rows):
        return margins - rows.get_label(), np.ones_like(margins)

    agree(both(theirs, {}, Y, obj=squared))


def test_sparse_rows_are_dense_rows_with_missing_values():
    rows = np.nan_to_num(X)
    dense = xgb.train(SERIAL, xgb.DMatrix(rows, Y, missing=0.0), 3)
    sparse = xgb.DMatrix(scipy.sparse.csr_matrix(rows), Y)
    found = xgb.train(SERIAL, sparse, 3)
    assert found.save_raw() == dense.save_raw()
    assert np.array_equal(found.predict(sparse), dense.predict(xgb.DMatrix(X)))


def test_estimators(theirs):
    models = {"XGBRegressor": Y, "XGBClassifier": CLASSES}
    for name, label in models.items():
        given = {"booster": "gblinear", "n_estimators": 5, "n_jobs": 1, "updater": "coord_descent"}
        own, other = (getattr(one, name)(**given).fit(X, label) for one in (xgb, theirs))
        for fact in ("coef_", "intercept_", "feature_importances_"):
            mine, wanted = getattr(own, fact), getattr(other, fact)
            assert mine.shape == wanted.shape, fact
            np.testing.assert_allclose(mine, wanted, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-4)
    with pytest.raises(AttributeError, match="Coefficients are not defined"):
        xgb.XGBRegressor(n_estimators=1).fit(X, Y).coef_  # noqa: B018


def test_early_stopping_and_evaluation(theirs):
    found = []
    for library in (xgb, theirs):
        rows, test = library.DMatrix(X[:50], Y[:50]), library.DMatrix(X[50:], Y[50:])
        result: dict = {}
        booster = library.train(
            {**SERIAL, "eval_metric": ["mae", "rmse"]}, rows, 60, evals=[(test, "test")],
            early_stopping_rounds=2, evals_result=result, verbose_eval=False,
        )  # fmt: skip
        found.append((booster.best_iteration, result["test"]["rmse"]))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4)


REFUSED = {
    "leaves": (lambda b, d: b.predict(d, pred_leaf=True), "leaf index"),
    "interactions": (lambda b, d: b.predict(d, pred_interactions=True), "interactions"),
    "slices": (lambda b, d: b[0:1], "Slice is not supported"),
    "rows in place": (lambda b, d: b.inplace_predict(X), "Inplace predict is not supported"),
    "tables": (lambda b, d: b.trees_to_dataframe(), "not defined for Booster type gblinear"),
    "gain": (lambda b, d: b.get_score(importance_type="gain"), "only has `weight` defined"),
    "dot": (lambda b, d: b.get_dump(dump_format="dot"), "`dot` is not supported"),
    "trees": (lambda b, d: xgb.train(SERIAL, d, 1, xgb_model=xgb.train({}, d, 1)), "to continue"),
    "linear": (
        lambda b, d: xgb.train({"booster": "gbtree"}, d, 1, xgb_model=b.save_raw()),
        "to continue",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    matrix = xgb.DMatrix(X, Y)
    call, text = REFUSED[name]
    with pytest.raises(xgb.XGBoostError, match=text):
        call(xgb.train(SERIAL, matrix, 1), matrix)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"updater": "foo"}, "Unknown linear updater foo"),
        ({"feature_selector": "foo"}, "valid values are: {'cyclic', 'greedy'"),
        ({"updater": "shotgun", "feature_selector": "greedy"}, "Unsupported feature selector"),
        ({"top_k": -1}, "top_k should be greater equal to 0"),
        ({"top_k": "x"}, "Invalid Parameter format for top_k"),
        ({"tolerance": -1}, "tolerance should be greater equal to 0"),
        ({"objective": "rank:pairwise"}, "expected a loss that is a sum over rows"),
    ],
    ids=str,
)
def test_refused_parameters(params, text):
    with pytest.raises(xgb.XGBoostError, match=text):
        xgb.train({**SERIAL, **params}, xgb.DMatrix(X, Y > 3), 1)


def test_categories_are_refused():
    rows = xgb.DMatrix(CLASSES[:, None], Y, feature_types=["c"], enable_categorical=True)
    with pytest.raises(xgb.XGBoostError, match="`gblinear` doesn't support categorical features"):
        xgb.train(SERIAL, rows, 1)


def test_damaged_files():
    document = json.loads(xgb.train(SERIAL, xgb.DMatrix(X, Y), 1).save_raw("json"))
    model = document["learner"]["gradient_booster"]["model"]
    for name, value in (("weights", [1.0]), ("weights", [1e99] * 6), ("boosted_rounds", -1)):
        kept, model[name] = model[name], value
        with pytest.raises(xgb.XGBoostError, match=name):
            xgb.Booster(model_file=json.dumps(document).encode())
        model[name] = kept


def test_unused_parameters(theirs):
    from tests.compat.test_settings import unused

    for params in (
        {"max_depth": 3, "subsample": 0.5, "rate_drop": 0.1, "process_type": "update"},
        {"top_k": 1},
        {"top_k": 1, "updater": "coord_descent"},
        {"multi_strategy": "multi_output_tree", "seed": 3, "tolerance": 0.1, "base_score": 0.5},
    ):
        given = {"booster": "gblinear", **params}
        assert unused(xgb, given) == unused(theirs, given)


def test_configurations():
    params = {**SERIAL, "feature_selector": "thrifty", "top_k": 3, "lambda": 0.5, "tolerance": 0.1}
    matrix = xgb.DMatrix(X, Y)
    own = xgb.Booster(params, [matrix])
    twin = xgb.Booster({}, [matrix])
    twin.load_config(own.save_config())
    assert twin.save_config() == own.save_config()


def test_sums_run_from_the_first_to_the_last():
    numbers = np.array([1.0, 2.0**-53, 2.0**-53, -1.0])
    assert total(numbers) == 0.0
    assert total(np.zeros(0)) == 0.0
