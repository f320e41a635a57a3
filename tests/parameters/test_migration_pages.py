"""The pages for users of other libraries: every name and default on them is right."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import pyopencl_gbdt
from pyopencl_gbdt.metrics import METRICS
from pyopencl_gbdt.parameters import foreign
from pyopencl_gbdt.parameters.parameters import ROWS
from pyopencl_gbdt.parameters.row import meant
from pyopencl_gbdt.parameters.table import IGNORED, OBJECTIVES

DOCS = Path(__file__).resolve().parents[2] / "docs"
LIBRARIES = ("xgboost", "lightgbm", "catboost", "scikit-learn")
ESTIMATORS = ("GBDTClassifier", "GBDTRegressor", "GBDTRanker")

pytestmark = pytest.mark.skipif(not (DOCS / "conf.py").is_file(), reason="needs a checkout")


def rows(library):
    """Return every row of the page's tables of names, as dicts by the words of their heads."""
    lines = (DOCS / f"from-{library}.md").read_text(encoding="utf-8").splitlines()
    found, head = [], []
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = ["there", *cells[1:]]
        elif "---" not in line and "here" in head and "why" not in head:
            found.append(dict(zip(head, cells, strict=False)))
    assert len(found) > 10
    return found


def names(cell):
    """Return names in code, and the value of ``name=value``."""
    return [text.partition("=")[::2] for text in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def signatures():
    pytest.importorskip("sklearn", reason="the estimators need scikit-learn")
    found = dict.fromkeys(ROWS)
    for name in ESTIMATORS:
        cls = getattr(pyopencl_gbdt, name)
        for function in (cls.fit, cls.predict, cls):
            found |= inspect.signature(function).parameters
    return found


def is_ours(name, signatures):
    """Tell whether a name is a parameter, a loss, a metric or a name of a module or class."""
    if (
        name in signatures
        or name in OBJECTIVES
        or name in METRICS
        or name in ("Ordered", ".json", ".ubj")
    ):
        return True
    first, _, rest = name.removeprefix("pyopencl_gbdt.").partition(".")
    if first in ("callbacks", "dask"):
        try:
            module = importlib.import_module(f"pyopencl_gbdt.{first}")
        except Exception:  # Dask is not installed
            return first == "dask"
        return not rest or hasattr(module, rest)
    if first in pyopencl_gbdt.__all__:
        owner = getattr(pyopencl_gbdt, first)
        return not rest or hasattr(owner, rest)
    return any(hasattr(getattr(pyopencl_gbdt, cls), name) for cls in ESTIMATORS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_here_exist(library, signatures):
    for row in rows(library):
        found = names(row["here"])
        assert found or "none" in row["here"] or "same names" in row["here"], row
        for name, value in found:
            assert is_ours(name, signatures) or name == "DataIter", (row, name)
            if value and name in ROWS:
                ROWS[name].convert(value.strip('"'))


@pytest.mark.parametrize("library", LIBRARIES)
def test_defaults_here(library, signatures):
    for row in rows(library):
        if row.get("default here", "default") not in ("", "default"):
            ((name, _), *_) = names(row["here"])
            default = ROWS[name].default if name in ROWS else signatures[name].default
            assert row["default here"] == str(default), row


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_names_that_are_accepted_mean_what_the_page_says(library):
    checked = 0
    for row in rows(library):
        here = [name for name, _ in names(row["here"])]
        for place, (name, value) in enumerate(names(row["there"])):
            own = foreign.OWN_NAMES.get(name) or foreign.CONVERTED.get(name, ("",))[0]
            checked += bool(own)
            assert own in {"", *here} or own in IGNORED, (row, name)
            loss = meant("objective", name)
            if loss in OBJECTIVES and here[0] in OBJECTIVES:
                assert loss == here[min(place, len(here) - 1)], (row, name)
            if value and here:
                asked = names(row["here"])[0][1].strip('"')
                assert meant(here[0], value.strip('"')) in (asked, value.strip('"')), row
    assert checked > 5


def test_names_and_defaults_of_scikit_learn():
    pytest.importorskip("sklearn", "1.9", reason="the page describes 1.9")
    ensemble = importlib.import_module("sklearn.ensemble")
    classes = (
        ensemble.HistGradientBoostingClassifier,
        ensemble.GradientBoostingRegressor,
        ensemble.GradientBoostingClassifier,
    )
    known = [inspect.signature(cls).parameters for cls in classes]
    for row in rows("scikit-learn"):
        if "default there" not in row:
            continue
        for name, _ in names(row["there"]):
            defaults = {str(one[name].default) for one in known if name in one}
            assert row["default there"] in {"", *defaults} if defaults else False, row


def test_names_of_xgboost():
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    for row in rows("xgboost"):
        for name, _ in names(row["there"]):
            if not name.startswith("dask."):
                owner = xgboost
                for part in name.split("."):
                    assert hasattr(owner, part), name
                    owner = getattr(owner, part)


def test_names_and_defaults_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm", "4.7", reason="the page describes 4.7")
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    main = {alias: name for name, several in aliases.items() for alias in (name, *several)}
    X = np.arange(60.0).reshape(-1, 1)
    data = lightgbm.Dataset(X, X[:, 0], params={"verbosity": -1}).construct()
    booster = lightgbm.train({"verbosity": -1}, data, 1)
    set_here = ("num_iterations", "verbosity")
    defaults = dict(re.findall(r"^\[(\w+): (.*)\]$", booster.model_to_string(), re.MULTILINE))
    known = {
        *main, *vars(lightgbm), *inspect.signature(lightgbm.LGBMClassifier).parameters,
        *inspect.signature(lightgbm.LGBMClassifier.fit).parameters,
    }  # fmt: skip
    for row in rows("lightgbm"):
        if "default there" in row:
            for name, _ in names(row["there"]):
                assert name in known, row
                default = defaults.get(main.get(name, ""), "")
                if row["default there"] and main.get(name) not in set_here and default:
                    there = row["default there"].replace("false", "0").replace("true", "1")
                    assert there == default or float(there) == float(default), row
    heres = {row["there"]: names(row["here"]) for row in rows("lightgbm")}
    losses = [cell for cell, here in heres.items() if here and here[0][0] in OBJECTIVES]
    assert len(losses) == 5
    for name, _ in [name for cell in losses for name in names(cell)]:
        binary = name in ("binary", "cross_entropy")
        label = X[:, 0] % 2 if binary else X[:, 0] % 3 + (name != "multiclass")
        params = {"objective": name, "verbosity": -1, "num_class": 3 if name == "multiclass" else 1}
        group = [60] if name == "lambdarank" else None
        lightgbm.train(params, lightgbm.Dataset(X, label, group=group), 1)  # raises if unknown
