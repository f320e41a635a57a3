"""The signatures of ``compat.xgboost`` are those of the installed XGBoost."""

from __future__ import annotations

import importlib
import importlib.util
import inspect

import pytest

from pyopencl_gbdt.compat import xgboost as ours
from pyopencl_gbdt.compat.xgboost import sklearn

theirs = pytest.importorskip("xgboost", "3.2", reason="needs XGBoost 3.2")
if not theirs.__version__.startswith("3.2."):
    pytest.skip("compares with XGBoost 3.2", allow_module_level=True)

#: What is left out, with the reason.
LEFT_OUT = {
    **dict.fromkeys(
        ("core.from_cstr_to_pystr", "core.from_pystr_to_cstr", "core.make_jcargs",
         "core.ctypes2numpy", "core.ctypes2buffer", "core.c_str", "core.c_array"),
        "of its C interface",
    ),
    **dict.fromkeys(
        ("core.require_keyword_args", "config.config_doc", "sklearn.xgboost_model_doc"),
        "its own decorator",
    ),
    **dict.fromkeys(
        ("sklearn.get_model_categories", "sklearn.pick_ref_categories",
         "sklearn.ltr_metric_decorator", "training.groups_to_rows", "training.mkgroupfold",
         "training.mknfold"),
        "a part of its fit or of its cv",
    ),
    "tracker.get_family": "of its tracker's sockets",
    "dask.TrainReturnT": "the type of what train returns",
    "dask.map_worker_partitions": "a part of its train",
}  # fmt: skip
#: Signatures that differ, with the reason.
DIFFERENT = {
    "training.CVPack.eval": "cv reads scores, not lines of text",
    "collective.Config.__init__": "a dataclass, whose __init__ is made",
}
MODULES = (
    "core", "training", "callback", "sklearn", "plotting", "config", "collective", "tracker",
    "dask",
)  # fmt: skip
#: What modules need that may not be here.
NEEDS = {"dask": "distributed"}


def defined(module):
    """Return the public functions and classes that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    }


def pairs():
    """Return the dotted name of every function and method of XGBoost, with the function."""
    found = {}
    for name in MODULES:
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            continue
        module = importlib.import_module(f"xgboost.{name}")
        for own, value in defined(module).items():
            found[f"{name}.{own}"] = value
            methods = vars(value).items() if inspect.isclass(value) else ()
            for method, function in methods:
                if (method == "__init__" or not method.startswith("_")) and inspect.isfunction(
                    inspect.unwrap(function) if callable(function) else function
                ):
                    found[f"{name}.{own}.{method}"] = function
    return found


def shape(function):
    """Return the names, kinds and defaults of a function's parameters.

    Functions and members of enumerations are told by their names.
    """
    return [
        (one.name, one.kind, getattr(one.default, "__name__", str(one.default)))
        for one in inspect.signature(function).parameters.values()
    ]


def of_ours(dotted):
    found = sklearn if dotted.startswith("sklearn.") else ours
    for part in dotted.split(".")[1 if found is sklearn else 0 :]:
        found = getattr(found, part)
    return found


def is_left_out(dotted):
    return any(dotted == name or dotted.startswith(name + ".") for name in LEFT_OUT)


ALL = pairs()


def test_a_function_has_the_signature_of_xgboosts():
    for dotted in (name for name in ALL if not is_left_out(name)):
        found = of_ours(dotted) if dotted not in DIFFERENT else None
        if found is not None and inspect.isfunction(ALL[dotted]):
            assert shape(found) == shape(ALL[dotted]), dotted


def test_every_public_name_is_there():
    assert set(theirs.__all__) <= set(dir(ours))
    for name in theirs.__all__:
        assert getattr(ours, name) is not None


def test_properties_are_there():
    for dotted, value in ALL.items():
        if not inspect.isclass(value) or is_left_out(dotted):
            continue
        for name, one in vars(value).items():
            if isinstance(one, property) and not name.startswith("_"):
                assert hasattr(of_ours(dotted), name), f"{dotted}.{name}"


def test_the_lists_name_what_exists():
    modules = {dotted.split(".")[0] for dotted in ALL}
    gone = [name for name in DIFFERENT if name not in ALL]
    assert gone == []
    unused = [
        n for n in LEFT_OUT
        if n.split(".")[0] in modules and not any(o == n or o.startswith(n + ".") for o in ALL)
    ]  # fmt: skip
    assert unused == []


@pytest.mark.parametrize("kind", ["XGBClassifier", "XGBRegressor", "XGBRanker", "XGBRFClassifier",
                                  "XGBRFRegressor", "XGBModel"])  # fmt: skip
def test_parameters_of_estimators_are_xgboosts(kind):
    found, wanted = (getattr(library, kind)().get_params() for library in (ours, theirs))
    assert {**found, "missing": 0} == {**wanted, "missing": 0}
    own, other = (getattr(library, kind)().get_xgb_params() for library in (ours, theirs))
    assert own == other
