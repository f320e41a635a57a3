"""The README's table of what XGBoost has and this has not: complete, and true."""

import inspect
from pathlib import Path

import pytest

from pyopencl_gbdt import Dataset, Model
from pyopencl_gbdt.compat import xgboost
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import IN_COMPAT, XGBOOST_ONLY

README = Path(__file__).resolve().parents[2] / "README.md"
#: What the table names, and values of XGBoost's parameters that ask for it.
REFUSED = {
    "gblinear": {"booster": "gblinear"},
    "seed_per_iteration": {"seed_per_iteration": True},
}
#: What only `compat.xgboost` has.
ASKED = (
    {"process_type": "update"}, {"updater": "refresh"}, {"updater": "prune"},
    {"disable_default_eval_metric": True}, {"refresh_leaf": 0},
)  # fmt: skip
OPTIONS = ("strict_shape", "validate_features")
BOOSTER = ("update", "boost", "eval", "set_param", "reset", "save_config")
MATRIX = ("save_binary", "get_quantile_cut", "get_data", "set_info", "get_float_info")
#: Refused with one of the features above, or without a meaning of their own.
PARTS = {
    "gblinear": ("feature_selector", "top_k"),
}
#: Known elsewhere (to ``fit``, ``train`` or ``Dataset``), or found by itself.
ELSEWHERE = {
    "callbacks", "early_stopping_rounds", "enable_categorical", "eval_metric",
    "extmem_single_page", "feature_types", "feature_weights", "importance_type",
    "max_cached_hist_node", "max_cat_threshold", "max_cat_to_onehot", "missing", "num_target",
    "validate_parameters",
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    text = README.read_text(encoding="utf-8")
    return text.split("| of XGBoost | missing here |")[1].split("\n\n")[0]


@pytest.mark.parametrize("word", REFUSED)
def test_refused_parameters_are_listed(table, word):
    assert word in table
    with pytest.raises(ParameterError):
        Parameters.from_dict(REFUSED[word])


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_parameters_of_the_interface_are_refused_elsewhere(asked):
    with pytest.raises(ParameterError, match=r"or train by pyopencl_gbdt\.compat\.xgboost$"):
        Parameters.from_dict(asked)


def test_every_parameter_that_is_not_taken_belongs_to_a_listed_feature(table):
    assert all(word in table for word in PARTS)
    covered = {name for parameters in (*REFUSED.values(), *ASKED) for name in parameters}
    covered |= {name for names in PARTS.values() for name in names}
    assert {name for parameters in ASKED for name in parameters} == set(IN_COMPAT)
    assert set(XGBOOST_ONLY) - covered - ELSEWHERE == set()


def test_what_only_the_interface_has():
    assert not set(OPTIONS) & set(inspect.signature(Model.predict).parameters)
    assert set(OPTIONS) <= set(inspect.signature(xgboost.Booster.predict).parameters)
    for name in BOOSTER:
        assert hasattr(xgboost.Booster, name)
        assert not hasattr(Model, name)
    for name in MATRIX:
        assert hasattr(xgboost.DMatrix, name)
        assert not hasattr(Dataset, name)
