"""`compat.lightgbm`: what is refused, and what is told."""

import pickle

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.errors import ParameterError
from tests.compat.lightgbm_data import GRADES, QUIET, THREE, TWO, X, Y, trained


def test_wrong_arguments_of_train(capsys):
    data = lgb.Dataset(X, Y)
    with pytest.raises(TypeError, match="only accepts Dataset object, train_set has type 'list'"):
        lgb.train({}, [])
    with pytest.raises(TypeError, match="Item 0 has type 'int'"):
        lgb.train({}, data, valid_sets=[1])
    with pytest.raises(ValueError, match=r"must be greater than 0. Got -1"):
        lgb.train({}, data, num_boost_round=-1)
    with pytest.raises(TypeError, match="Need at least one training dataset"):
        lgb.Booster()
    with pytest.raises(TypeError, match="met int"):
        lgb.Booster({}, 3)
    with pytest.warns(UserWarning, match="conflicting values for num_iterations"):
        lgb.train({**QUIET, "n_iter": 2, "num_trees": 3}, data)
    lgb.train({"colour": 1}, data, 1)
    assert "[LightGBM] [Warning] Unknown parameter: colour" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "l3"}, "Unknown objective type name: l3"),
        ({"metric": "l3"}, "Unknown metric type name: l3"),
        ({"boosting": "boast"}, "Unknown boosting type boast"),
        ({"objective": "multiclass"}, "greater than 1 for multiclass training: num_class=1"),
        ({"num_class": 3}, "must be 1 for non-multiclass training: num_class=3"),
        ({"boosting": "rf"}, "expected bagging_freq > 0"),
        ({"boosting": "rf", "objective": "l1", "feature_fraction": 0.5}, "not renewed in forests"),
        ({"data_sample_strategy": "half"}, "expected 'bagging' or 'goss'"),
        ({"forcedsplits_filename": "a.json"}, "filename='a.json': there is no such file; give the"),
        ({"reg_sqrt": True}, "train on the square roots of the labels"),
        ({"pos_bagging_fraction": 0.5}, "give bagging_fraction"),
        ({"sigmoid": 2.0}, "scale learning_rate instead"),
        ({"boosting": "dart", "max_drop": 3}, "max_drop=3: .*lower drop_rate"),
        ({"label_gain": [0, 1, 5]}, "gains of labels are"),
        ({"monotone_penalty": 1.0}, "leave it out"),
        ({"feature_contri": [0.5] * 5}, "gains of columns are not weighed"),
        ({"cegb_penalty_split": 0.5}, "raise min_gain_to_split"),
        ({"tree_learner": "all"}, "Unknown tree learner type all: expected one of serial"),
        ({"num_machines": 2}, "large-data.md"),
        ({"monotone_constraints": [1]}, "monotone_constraints has 1 entries: expected 5"),
        ({"monotone_constraints": "1,0,0,0,0,0"}, "has 6 entries: expected 5"),
        (
            {"objective": "binary", "is_unbalance": True, "scale_pos_weight": 2.0},
            "Cannot set is_unbalance and scale_pos_weight at the same time: scale_pos_weight=2",
        ),
        ({"machines": "a:1"}, "large-data.md"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_what_is_refused_by_name(params, message):
    with pytest.raises(ParameterError, match=message):
        trained(params, n=1)


def test_functions_cannot_be_missing():
    with pytest.raises(lgb.LightGBMError, match="expected a function of gradients"):
        trained({"objective": "none"}, n=1)
    with pytest.raises(lgb.LightGBMError, match="communicator"):
        trained(n=1).set_network("a:1")


def test_messages_go_to_a_logger():
    lines = []

    class Log:
        def tell(self, text):
            lines.append(text)

        warn = tell

    with pytest.raises(TypeError, match=r"Logger must provide 'info' and 'warning' method"):
        lgb.register_logger(Log())
    try:
        lgb.register_logger(Log(), "tell", "warn")
        data = lgb.Dataset(X, Y)
        lgb.train({"verbosity": 0, "colour": 1}, data, 1, valid_sets=[data],
                  callbacks=[lgb.log_evaluation()])  # fmt: skip
    finally:
        from pyopencl_gbdt.compat.lightgbm.errors import MESSAGES

        MESSAGES.logger = None
    assert lines[0] == "[LightGBM] [Warning] Unknown parameter: colour"
    assert lines[-1].startswith("[1]\ttraining's l2: ")


def test_parameters_are_kept_in_the_text():
    booster = trained({"objective": "binary", "metric": ["auc", "l2"]}, TWO, 3)
    text = booster.model_to_string()
    for line in ("[objective: binary]", "[num_iterations: 3]", "[metric: auc,l2]"):
        assert line in text
    again = lgb.Booster(model_str=text)
    assert (again.params["objective"], again.params["num_leaves"]) == ("binary", 7)


def test_metrics_that_do_not_fit_the_loss():
    data = lgb.Dataset(X, GRADES, group=[20] * 20)
    params = {**QUIET, "objective": "lambdarank", "metric": "l2"}
    assert set(lgb.cv(params, data, 2, nfold=2)) == {"valid l2-mean", "valid l2-stdv"}
    own = {}
    plain = lgb.Dataset(X, TWO)
    lgb.train({**QUIET, "metric": ["auc", "binary_error"]}, plain, 3, valid_sets=[plain],
              callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    assert own["training"]["auc"][-1] > 0.8


@pytest.mark.parametrize("name", ["metric", "num_class", "boosting"])
def test_what_cannot_change_during_training(name):
    booster = lgb.Booster(QUIET, lgb.Dataset(X, Y))
    with pytest.raises(lgb.LightGBMError, match=f"Cannot change {name} during training"):
        booster.reset_parameter({name: "other"})


def test_folds_are_prepared_by_the_user():
    def add_class(mine, other, params):
        rows = [one.construct().get_data() for one in (mine, other)]
        mine.label[-5:] = other.label[-5:] = 3
        first = lgb.Dataset(rows[0], mine.label)
        params["num_class"] = 4
        return first, lgb.Dataset(rows[1], other.label, reference=first), params

    data = lgb.Dataset(X, THREE, free_raw_data=False)
    params = {**QUIET, "objective": "multiclass", "num_class": 3}
    found = lgb.cv(params, data, 2, nfold=2, fpreproc=add_class, return_cvbooster=True)
    assert found["cvbooster"].num_model_per_iteration() == [4, 4]


def test_a_kept_booster_goes_on():
    data = lgb.Dataset(X, Y)
    booster = trained(n=3, keep_training_booster=True)
    booster.update()
    assert np.array_equal(booster.predict(X), trained(n=4).predict(X))
    part = data.subset(range(300))
    few = data.subset(range(300, 400)).subset(range(50))
    own = {}
    lgb.train(QUIET, part, 3, valid_sets=[part, few], callbacks=[lgb.record_evaluation(own)])
    assert {name: len(one["l2"]) for name, one in own.items()} == {"training": 3, "valid_1": 3}


def test_linear_leaves(tmp_path):
    y = 2 * X[:, 0] + X[:, 1]
    booster = trained({"linear_tree": True}, y, 5)
    plain = trained(y=y, n=5)
    errors = [np.mean((one.predict(X) - y) ** 2) for one in (booster, plain)]
    assert errors[0] < errors[1]
    booster.save_model(tmp_path / "model.txt")
    again = lgb.Booster(model_file=tmp_path / "model.txt")
    assert np.allclose(again.predict(X), booster.predict(X), atol=1e-4)
    assert booster.predict(X, pred_leaf=True).shape == (400, 5)
    leaves, pending = [], [booster.dump_model()["tree_info"][1]["tree_structure"]]
    while pending:
        node = pending.pop()
        pending += [node[side] for side in ("left_child", "right_child") if side in node]
        leaves += [node] if "leaf_value" in node else []
    assert all(len(leaf["leaf_features"]) == len(leaf["leaf_coeff"]) for leaf in leaves)
    assert max(len(leaf["leaf_features"]) for leaf in leaves) > 0
    assert all(
        leaf["leaf_const"] == leaf["leaf_value"] for leaf in leaves if not leaf["leaf_coeff"]
    )
    more = trained({"linear_tree": True}, y, 2, init_model=booster)
    assert more.num_trees() == 7


@pytest.mark.parametrize(
    "callback",
    [
        lgb.log_evaluation(5),
        lgb.record_evaluation({}),
        lgb.reset_parameter(learning_rate=[0.1, 0.2]),
        lgb.early_stopping(3),
    ],
    ids=["log", "record", "reset", "stop"],
)
def test_callbacks_can_be_pickled(callback):
    """LightGBM's can, so that other processes take them."""
    again = pickle.loads(pickle.dumps(callback))
    for name in ("order", "before_iteration"):
        assert getattr(again, name) == getattr(callback, name)
    assert callable(again)
