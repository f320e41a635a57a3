"""The parameter table: names, defaults, conversions, and a message for every mistake."""

import math
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt import GBDTRegressor
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import IGNORED, IN_COMPAT, TABLE, XGBOOST_ONLY


def test_table_and_attributes_agree():
    assert [field.name for field in fields(Parameters)] == [row.name for row in TABLE]
    annotated = {field.name: str(field.type) for field in fields(Parameters)}
    for row in TABLE:
        optional = " | tuple[float, ...]" if row.several else ""
        optional += " | None" if row.default is None else ""
        assert annotated[row.name] == row.kind.__name__ + optional


def test_spellings_are_distinct():
    spellings = [name for row in TABLE for name in (row.name, *row.aliases)]
    spellings += [*IGNORED, *XGBOOST_ONLY]
    assert len(set(spellings)) == len(spellings)


def test_defaults_pass_their_own_checks():
    defaults = Parameters.from_dict({})
    for row in TABLE:
        value = getattr(defaults, row.name)
        assert value == row.default
        assert row.default is None or type(value) is row.kind
    assert (defaults.n_estimators, defaults.learning_rate, defaults.max_bin) == (100, 0.3, 256)


@pytest.mark.parametrize(
    ("alias", "name"), [(alias, row.name) for row in TABLE for alias in row.aliases]
)
def test_alias_sets_the_parameter(alias, name):
    assert getattr(Parameters.from_dict({alias: 3}), name) == 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_depth": "7"}, {"max_depth": 7}),
        ({"max_depth": " 7.0 "}, {"max_depth": 7}),
        ({"eta": "1e-1"}, {"learning_rate": 0.1}),
        ({"eta": ".25", "seed": "3"}, {"learning_rate": 0.25, "random_state": 3}),
        ({"base_score": "[0.5]"}, {"base_score": 0.5}),
        ({"base_score": ["0.5", 1]}, {"base_score": (0.5, 1.0)}),
        ({"base_score": np.array([0.5, 1], np.float32)}, {"base_score": (0.5, 1.0)}),
        ({"quantile_alpha": "[0.25, 0.5]"}, {"quantile_alpha": (0.25, 0.5)}),
        ({"quantile_alpha": np.array(0.25)}, {"quantile_alpha": 0.25}),
        ({"lambdarank_unbiased": "1"}, {"lambdarank_unbiased": True}),
        ({"lambdarank_unbiased": np.True_}, {"lambdarank_unbiased": True}),
        ({"ndcg_exp_gain": 0}, {"ndcg_exp_gain": False}),
        ({"ndcg_exp_gain": np.int64(0)}, {"ndcg_exp_gain": False}),
        ({"learning_rate": 0}, {"learning_rate": 0.0}),
    ],
)
def test_values_as_xgboost_takes_them(given, expected):
    assert Parameters.from_dict(given) == replace(Parameters.from_dict({}), **expected)


def test_pairs_as_xgboost_takes_them():
    wanted = Parameters.from_dict({"max_depth": 2, "eta": 0.5})
    for pairs in (
        [("max_depth", 2), ("eta", 0.5)],
        (["max_depth", 2], ["eta", 0.5]),
        {"max_depth": 2, "eta": 0.5}.items(),
        iter([("max_depth", 5), ("eta", 0.5), ("max_depth", 2)]),
    ):
        assert Parameters.from_dict(pairs) == wanted
    assert Parameters.from_dict([]) == Parameters.from_dict({})


def test_two_spellings_are_refused():
    with pytest.raises(ParameterError, match="eta and learning_rate are two spellings"):
        Parameters.from_dict({"eta": 0.1, "learning_rate": 0.1})


def test_none_means_not_given():
    assert Parameters.from_dict({"eta": None, "max_depth": None, "learning_rate": 0.5}) == (
        Parameters.from_dict({"learning_rate": 0.5})
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), (7.0, 7), (np.int8(7), 7), (np.uint64(7), 7), (np.float32(7), 7), (Fraction(7), 7)],
)
def test_int_conversions(value, expected):
    depth = Parameters.from_dict({"max_depth": value}).max_depth
    assert depth == expected
    assert type(depth) is int


@pytest.mark.parametrize("value", [2, 2.0, np.float16(2), np.int64(2), np.longdouble(2)])
def test_float_conversions(value):
    penalty = Parameters.from_dict({"reg_lambda": value}).reg_lambda
    assert penalty == 2.0
    assert type(penalty) is float


@pytest.mark.parametrize("name", ["max_depth", "reg_lambda"])
@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        "one",
        "1_0",
        "1e400",
        "nan",
        "0x1",
        "",
        math.nan,
        math.inf,
        [1],
        np.array([1]),
        1j,
        object,
        b"1",
    ],
)
def test_what_is_no_number_is_refused(name, value):
    with pytest.raises(ParameterError, match=f"^{name}=.*expected"):
        Parameters.from_dict({name: value})


EDGES = [(row, row.low, -1) for row in TABLE if row.low is not None]
EDGES += [(row, row.high, +1) for row in TABLE if row.high is not None]


def check_bound(row, bound, outwards):
    if row.unlimited and outwards < 0:
        outwards = -2  # -1 is no limit
    outside = bound + outwards if row.kind is int else math.nextafter(bound, outwards * math.inf)
    inside = math.nextafter(bound, math.inf) if row.low_open and outwards < 0 else bound
    if row.high_open and outwards > 0:
        inside = float(np.nextafter(np.float32(bound), np.float32(0)))
    objective = "multi:softprob" if row.name == "num_class" and inside else "binary:logistic"
    # takes every parameter
    given = {"objective": objective, "max_leaves": 4, row.name: inside}
    assert getattr(Parameters.from_dict(given), row.name) == inside
    word = "raise" if outwards < 0 else "lower"
    with pytest.raises(ParameterError, match=f"^{row.name}=.*expected .*; {word} {row.name}$"):
        Parameters.from_dict({row.name: outside})


def test_bounds():
    for row, bound, outwards in EDGES:
        check_bound(row, bound, outwards)


def test_open_bound():
    words = r"subsample=0.0: expected a number, 0 < number <= 1; raise subsample"
    with pytest.raises(ParameterError, match=words):
        Parameters.from_dict({"subsample": 0})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_bin": 70000}, "max_bin=70000: expected 2..65535; lower max_bin"),
        (
            {"max_depth": 6.5},
            "max_depth=6.5: expected 0..32, or -1 for no limit; give a whole number",
        ),
        ({"max_depth": 10**5000}, "max_depth=<integer of 16610 bits>: expected 0..32"),
        ({"gamma": 10**400}, "gamma=<integer of 1329 bits>: expected .*float32"),
        ({"gamma": 3.5e38}, "float32 can hold"),
        ({"reg_lambda": np.float64(-1)}, "reg_lambda=-1.0: expected"),
        ({"work_group_size": 48}, "expected one of 0, 1, 8, .*, 1024; try 32"),
        ({"work_group_size": 2}, "work_group_size=2: expected one of 0, 1, 8, .*; try 1"),
        ({"work_group_size": 4}, "work_group_size=4: expected one of 0, 1, 8, .*; try 1"),
        ({"work_group_size": 7}, "work_group_size=7: expected one of 0, 1, 8, .*; try 8"),
        ({"work_group_size": 2048}, "lower work_group_size"),
        ({"objective": "reg:squarederorr"}, "did you mean 'reg:squarederror'"),
        ({"objective": "rank:nothing"}, "expected 'reg:squarederror' or 'reg:squaredlogerror' or"),
        (
            {"tweedie_variance_power": 2},
            "=2.0: expected a number, 1 <= number < 2; lower tweedie_variance_power",
        ),
        ({"tweedie_variance_power": 2 - 1e-9}, "expected a number, 1 <= number < 2"),
        ({"huber_slope": 0}, "huber_slope=0.0: expected 1e-06..1000000.0; raise huber_slope"),
        ({"fair_c": -1}, "fair_c=-1.0: expected 1e-06..1000000.0; raise fair_c"),
        ({"huber_alpha": 0}, "huber_alpha=0.0: expected a finite number > 0; raise huber_alpha"),
        ({"quantile_alpha": []}, r"quantile_alpha=\[\]: expected 0..1; give a number"),
        ({"quantile_alpha": 1.5}, "quantile_alpha=1.5: expected 0..1; lower quantile_alpha"),
        (
            {"scale_pos_weight": 2.0},
            "expected 1 for objective='reg:squarederror'; give row weights",
        ),
        ({"objective": 1}, "objective=1: expected"),
        ({"device": ""}, "device='': expected a string that is not empty"),
        ({"max_dept": 3}, "unknown parameter 'max_dept'; did you mean 'max_depth'"),
        ({"Max_Depth": 3}, "did you mean 'max_depth'"),
        ({"sub_sample": 3}, "did you mean 'subsample'"),
        ({"zzz": 3}, r"unknown parameter 'zzz': none is named like it; docs/parameters.md lists"),
        ({"nonsense" * 9: 3}, r"unknown parameter '.*: none is named like it; docs/parameters.md"),
        ({5: 3}, "unknown parameter 5"),
        ([("max_depth", 3, 4)], "params: .*expected a dict of names to values, or a list of such"),
        ("max_depth", "params: str: expected a dict"),
        (np.zeros((3, 2)), "params: ndarray: expected a dict"),
        ({"base_score": []}, r"base_score=\[\]: expected a finite number; give a number"),
        ({"base_score": [0.5, "x"]}, "base_score='x': expected a finite number; give a number"),
        ({"base_score": [[0.5]]}, r"base_score=\[0.5\]: expected a finite number; give a number"),
    ],
)
def test_messages(given, message):
    with pytest.raises(ParameterError, match=message):
        Parameters.from_dict(given)


@pytest.mark.parametrize("size", [0, 1, *(2**i for i in range(3, 11))])
def test_work_group_sizes(size):
    assert Parameters.from_dict({"work_group_size": size}).work_group_size == size


@pytest.mark.parametrize("score", [0, 1, -0.5, 1 - 1e-9, 1e-50])
def test_base_score_of_logistic_is_a_probability_in_float32(score):
    assert Parameters.from_dict({"base_score": score}).base_score == score
    with pytest.raises(ParameterError, match=r"0 < base_score < 1 .* give a probability"):
        Parameters.from_dict({"base_score": score, "objective": "binary:logistic"})


def test_logistic_base_score():
    given = {"base_score": 0.25, "objective": "binary:logistic"}
    assert Parameters.from_dict(given).base_score == 0.25


@pytest.mark.parametrize("objective", ["count:poisson", "reg:gamma", "reg:tweedie"])
@pytest.mark.parametrize("score", [0, -1.0, 1e-50])
def test_base_score_of_a_mean_is_above_0_in_float32(objective, score):
    with pytest.raises(ParameterError, match=r"expected base_score > 0 for .* give a mean above 0"):
        Parameters.from_dict({"base_score": score, "objective": objective})
    assert Parameters.from_dict({"base_score": 2.5, "objective": objective}).base_score == 2.5


def test_max_delta_step_of_poisson():
    for given, wanted in (({}, 0.7), ({"max_delta_step": None}, 0.7), ({"max_delta_step": 0}, 0)):
        p = Parameters.from_dict({"objective": "count:poisson", **given})
        assert p.max_delta_step == wanted
    assert Parameters.from_dict({"objective": "reg:gamma"}).max_delta_step == 0


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:logitraw", "reg:logistic"])
def test_weight_of_positives(objective):
    p = Parameters.from_dict({"objective": objective, "scale_pos_weight": 2})
    assert p.scale_pos_weight == 2.0
    with pytest.raises(ParameterError, match="for objective='binary:hinge'; give row weights"):
        replace(p, objective="binary:hinge")


@pytest.mark.parametrize("name", XGBOOST_ONLY)
def test_neutral_values_of_xgboost_are_accepted(name):
    defaults = Parameters.from_dict({})
    for value in (*XGBOOST_ONLY[name], None):
        assert Parameters.from_dict({name: value}) == defaults


@pytest.mark.parametrize("name", XGBOOST_ONLY)
def test_other_values_of_xgboost_are_refused(name):
    move = ", or train by pyopencl_gbdt.compat.xgboost" if name in IN_COMPAT else ""
    message = f"^{name}='else': known from XGBoost, not supported yet; leave it out{move}$"
    with pytest.raises(ParameterError, match=message):
        Parameters.from_dict({name: "else"})


@pytest.mark.parametrize(
    "given",
    [
        {"subsample": 1.0},
        {"subsample": np.float32(1)},
        {"missing": np.float64("nan")},
        {"monotone_constraints": {}},
        {"interaction_constraints": []},
        {"feature_types": np.array([])},
        {"n_jobs": -1},
        {"nthread": "4"},
        {"n_jobs": np.int64(2)},
        {"n_jobs": None},
        {"enable_categorical": np.False_},
    ],
)
def test_neutral_values_in_other_types(given):
    assert Parameters.from_dict(given) == Parameters.from_dict({})


@pytest.mark.parametrize(
    "given",
    [
        {"missing": 0.0},
        {"process_type": "update"},
        {"eval_metric": np.array(["auc"])},
    ],
)
def test_values_that_would_matter(given):
    with pytest.raises(ParameterError, match="known from XGBoost, not supported yet"):
        Parameters.from_dict(given)


@pytest.mark.parametrize("value", ["all", 2.5, True, [1]])
def test_what_is_no_number_of_threads(value):
    words = r"expected a number of threads, -1 for all, or None; it has no effect"
    with pytest.raises(ParameterError, match=words):
        Parameters.from_dict({"nthread": value})
    with pytest.raises(ParameterError, match=f"^n_jobs=.*{words}"):
        GBDTRegressor(n_jobs=value).fit([[0.0], [1.0]], [0, 1])


def test_parameters_are_frozen_and_replace_checks():
    parameters = Parameters.from_dict({"max_depth": 3})
    with pytest.raises(FrozenInstanceError):
        parameters.max_depth = 4
    assert replace(parameters, max_depth=4.0).max_depth == 4
    with pytest.raises(ParameterError, match=r"max_depth=33: expected 0..32"):
        replace(parameters, max_depth=33)
    assert hash(parameters) == hash(Parameters.from_dict({"max_depth": 3}))
