"""UBJSON as XGBoost writes it, and documents that are damaged or ask for much."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import xgboost

from pyopencl_gbdt import GBDTClassifier, Model
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson, render_ubjson
from tests.conftest import TEST_DEVICE
from tests.model.format_kinds import KINDS
from tests.model.samples import make_ensemble, make_rows, train

X = make_rows(20)


def long(size: int) -> bytes:
    return b"L" + size.to_bytes(8, "big")


@pytest.mark.parametrize(
    "parameters",
    [{}, {"objective": "binary:logistic"}, {"n_rounds": 200, "max_depth": 2}],
    ids=["numbers", "logistic", "many trees"],
)
def test_bytes_are_those_of_xgboost(parameters):
    theirs = train(**parameters)
    model = Model.load_model(theirs.save_raw("ubj"))
    ours = model.save_raw()
    again = xgboost.Booster(model_file=ours)
    assert again.save_raw("ubj") == ours
    np.testing.assert_array_equal(
        again.predict(xgboost.DMatrix(X)), theirs.predict(xgboost.DMatrix(X))
    )
    assert Model.load_model(theirs.save_raw("json")).ensemble == model.ensemble


def test_levels_and_sets_pass_through_ubjson():
    rng = np.random.default_rng(3)
    town = rng.choice(["bern", "ulm", "köln", "rom"], 200)
    frame = pd.DataFrame({"town": pd.Categorical(town), "n": rng.normal(size=200)})
    rows = xgboost.DMatrix(frame, np.isin(town, ["ulm", "rom"]) + 0.1, enable_categorical=True)
    theirs = xgboost.train({"nthread": 1, "max_cat_to_onehot": 2}, rows, 3)
    model = Model.load_model(theirs.save_raw("ubj"))
    assert model.ensemble == Model.load_model(theirs.save_raw("json")).ensemble
    again = xgboost.Booster(model_file=model.save_raw("ubj"))
    assert again.save_raw("ubj") == model.save_raw("ubj")
    np.testing.assert_allclose(again.predict(rows), theirs.predict(rows), rtol=1e-6)


def test_files_and_memory_hold_the_same(tmp_path):
    model = Model(make_ensemble([3, 2]))
    model.save_model(tmp_path / "m.ubj")
    assert (tmp_path / "m.ubj").read_bytes() == model.save_raw() == model.save_raw("ubj")
    for source in (tmp_path / "m.ubj", model.save_raw(), bytes(model.save_raw("json"))):
        assert Model.load_model(source).ensemble == model.ensemble
    kept = Model(make_ensemble([1]))
    kept.load_model(memoryview(model.save_raw()))
    assert kept.ensemble == model.ensemble
    with pytest.raises(ParameterError, match=r"raw_format='deprecated': expected one of .*ubj"):
        model.save_raw("deprecated")
    with pytest.raises(ModelFormatError, match=r"<memory>: byte 73 is .*a length 0\.\.27"):
        Model.load_model(model.save_raw()[:100])


def test_an_estimator_takes_the_content_of_a_file(tmp_path):
    labels = np.where(np.nan_to_num(X[:, 0]) > 0, "yes", "no")
    fitted = GBDTClassifier(n_estimators=2, max_depth=2, device=TEST_DEVICE).fit(X, labels)
    fitted.save_model(tmp_path / "m.ubj")
    read = GBDTClassifier(device=TEST_DEVICE).load_model((tmp_path / "m.ubj").read_bytes())
    assert read.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(read.predict_proba(X), fitted.predict_proba(X))


def test_every_kind_of_value():
    made = {"a": [1, -5, 300, 70000, 2**40, "x", []], "b": {}, "c": np.arange(3, dtype=np.float32)}
    found = parse_ubjson(render_ubjson(made), "m")
    assert isinstance(found, dict)
    assert found["a"] == made["a"]
    np.testing.assert_array_equal(found["c"], made["c"])
    odd = b"N{U\1a[ZTFi\x05NI\x01\x00d\x3f\x80\0\0D\x3f\xf0\0\0\0\0\0\0]U\1b{#U\1U\1kU\xff}"
    assert parse_ubjson(odd, "m") == {"a": [None, True, False, 5, 256, 1.0, 1.0], "b": {"k": 255}}


DAMAGED = {
    "nothing": (b"", "the end of the file: expected a value"),
    "no value": (b"{U\1a", "the end of the file: expected a value"),
    "no end": (b"{", "the end of the file: expected a value"),
    "more": (b"{}}", "expected the end of the document"),
    "twice": (b"{U\1aZU\1aZ}", "each member once, not 'a' twice"),
    "utf-8": (b"{U\1\xffZ}", "UTF-8"),
    "letter": (b"{U\1aH}", "a value of a type"),
    "negative": (b"[#i\xff", r"a length 0\.\.2"),
    "long": (b"[#" + long(2**62), "the bytes that are left"),
    "long text": (b"S" + long(9) + b"x", "the bytes that are left"),
    "long numbers": (b"[$d#" + long(4) + bytes(8), "16 bytes from here on"),
    "type of length": (b"[#d\0\0\0\0", "the type of a length"),
    "typed texts": (b"[$S#U\1U\0", "an array of numbers of one type"),
    "typed arrays": (b"[$[#U\1]", "an array of numbers of one type"),
    "typed nothing": (b"[$Z#L" + b"\x7f" * 8, "an array of numbers of one type"),
    "typed without length": (b"[$iU\1", "# and a length"),
    "deep": (b"[" * 1000, "64 levels at most"),
    "deep objects": (b"{U\1a" * 1000, "64 levels at most"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_its_place(name):
    data, words = DAMAGED[name]
    with pytest.raises(ModelFormatError, match=rf"^m\.ubj: byte \d+ is .*{words}"):
        parse_ubjson(data, "m.ubj")


COSTLY = {
    "empty arrays": b"[" + b"[]" * 10**4 + b"]",
    "empty objects": b"[" + b"{}" * 10**4 + b"]",
    "small objects": b"[" + b"{U\0Z}" * 10**4 + b"]",
    "arrays of numbers": b"[" + b"[$i#U\0" * 10**4 + b"]",
    "nulls": b"[#l" + (10**5).to_bytes(4, "big") + b"Z" * 10**5,
    "numbers": b"[" + b"I\x7f\x01" * 10**4 + b"]",
    "members": b"{" + b"".join(b"U\3%cAAZ" % (i % 256) for i in range(128)) + b"}",
    "bytes": b"{U\1a[$i#l" + (10**5).to_bytes(4, "big") + bytes(10**5) + b"}",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", COSTLY)
def test_memory_is_at_most_40_times_the_file(name):
    data = COSTLY[name]
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError):
            Model.load_model(data if data[:1] == b"{" else b"{U\1a" + data + b"}")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 40 * len(data) + 2**16


def test_the_same_document_as_json():
    """All checks of JSON hold for UBJSON: a fault is told in the same words."""
    for path, value in (
        ("left_children", np.array([9, 3, 5, -1, -1, -1, -1], np.int32)),
        ("split_conditions", np.full(7, np.nan, np.float32)),
        ("default_left", np.full(7, 2, np.uint8)),
        ("sum_hessian", np.zeros(6, np.float32)),
        ("categories_nodes", np.array([1], np.int32)),
        ("split_type", np.array([0, 1, 0, 0, 0, 0, 0], np.uint8)),
    ):
        messages = []
        document = json.loads(Model(make_ensemble([3])).save_raw("json"))
        tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
        for data in (json.dumps, render):
            tree[path] = value.tolist() if data is json.dumps else value
            with pytest.raises(ModelFormatError) as caught:
                Model.load_model(data(document).encode() if data is json.dumps else data(document))
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("value", [[], [15, 15]])
def test_a_type_of_levels_that_is_an_array(value):
    document = json.loads(Model(KINDS["categories by sets"]()).save_raw("json"))
    cats = document["learner"]["gradient_booster"]["model"]["cats"]
    cats["enc"][1]["type"] = np.array(value, np.int32)
    with pytest.raises(ModelFormatError, match=r"enc\[1\]\.type=.*expected one of \(9, 10"):
        Model.load_model(render(document))


def render(document: dict) -> bytes:
    """Return JSON as UBJSON with arrays of one type."""

    def typed(value, name=""):
        if isinstance(value, dict):
            return {key: typed(one, key) for key, one in value.items()}
        if name == "trees":
            return [typed(one) for one in value]
        if isinstance(value, list) and value and not isinstance(value[0], (dict, str)):
            floats = name in ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
            return np.array(value, np.float32 if floats else np.int32)
        if isinstance(value, list) and name != "trees" and not value:
            return np.zeros(0, np.int32)
        return value

    return render_ubjson(typed(document))
