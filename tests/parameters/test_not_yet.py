"""The README's table of what XGBoost has and this has not: complete, and true."""

import inspect
from pathlib import Path

import pytest

from pyopencl_gbdt import Dataset, Model
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import XGBOOST_ONLY

README = Path(__file__).resolve().parents[2] / "README.md"
#: What the table names, and values of XGBoost's parameters that ask for it.
REFUSED = {
    "gblinear": {"booster": "gblinear"},
    "process_type": {"process_type": "update"},
    "refresh": {"updater": "refresh"},
    "prune": {"updater": "prune"},
    "reg:expectileerror": {"objective": "reg:expectileerror"},
    "seed_per_iteration": {"seed_per_iteration": True},
    "disable_default_eval_metric": {"disable_default_eval_metric": True},
}
PREDICTION = ("strict_shape", "validate_features")
METHODS = (
    "update", "boost", "eval", "set_param", "reset", "save_config",
)  # fmt: skip
DATA = ("save_binary", "get_quantile_cut", "get_data", "set_info", "get_float_info")
#: Refused with one of the features above, or without a meaning of their own.
PARTS = {
    "gblinear": ("feature_selector", "top_k"),
    "refresh": ("refresh_leaf",),
    "reg:expectileerror": ("expectile_alpha",),
    "ExtMemQuantileDMatrix": ("extmem_single_page",),
}
#: Known elsewhere (to ``fit``, ``train`` or ``Dataset``), or found by itself.
ELSEWHERE = {
    "callbacks", "early_stopping_rounds", "enable_categorical", "eval_metric", "feature_types",
    "feature_weights", "importance_type", "max_cached_hist_node", "max_cat_to_onehot",
    "max_cat_threshold", "missing", "num_target", "validate_parameters",
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


def test_every_parameter_that_is_not_taken_belongs_to_a_listed_feature(table):
    assert all(word in table for word in PARTS)
    covered = {name for parameters in REFUSED.values() for name in parameters}
    covered |= {name for names in PARTS.values() for name in names}
    assert set(XGBOOST_ONLY) - covered - ELSEWHERE == set()


def test_what_models_lack_is_listed(table):
    taken = inspect.signature(Model.predict).parameters
    for name in PREDICTION:
        assert f"`{name}`" in table or f"`{name}=" in table
        assert name not in taken
    for name in METHODS:
        assert name in table
        assert not hasattr(Model, name)
    for name in DATA:
        assert f"`{name}`" in table
        assert not hasattr(Dataset, name)
