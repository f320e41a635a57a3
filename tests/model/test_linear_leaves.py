"""Trees whose leaves are linear functions: files of LightGBM's and ours, pickles, other formats."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model.explain import dump_text
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText
from pyopencl_gbdt.model.formats.own_binary import OwnBinary
from pyopencl_gbdt.model.formats.own_json import OwnJson
from pyopencl_gbdt.model.formats.registry import FORMATS
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.tree_layout import lay_out
from tests.conftest import TEST_DEVICE
from tests.model.format_kinds import KINDS
from tests.model.kinds import labels, rows
from tests.model.samples import make_ensemble

TEXT, BINARY, JSON = LightGBMText(), OwnBinary(), OwnJson()


def model():
    return KINDS["linear leaves"]()


def test_others_refuse_them_by_name():
    refused = {one.name for one in FORMATS if one.writes and one.lacks(model())}
    assert len(refused) >= 7
    assert not refused & {TEXT.name, BINARY.name, JSON.name}
    for one in FORMATS:
        if one.name in refused:
            assert one.lacks(model()) == "leaves that are linear functions"
            with pytest.raises(ModelFormatError, match="are linear functions"):
                one.write(model())


def shown():
    """Return a model with a tree of a split, a leaf with a function, and a leaf of a number."""
    ensemble = make_ensemble([1], feature_names=["a", "b c", "d", "e"])
    terms = LinearTerms([2, 0], [0.5, 0], [3, 1], [2, -0.25])
    return replace(ensemble, trees=[ensemble.trees[0].with_linear(terms)])


def test_dumps_show_functions():
    one = Model(shown())
    value = f"{one.ensemble.trees[0].value[1, 0]:.9g}"
    (text,) = one.get_dump()
    assert f"\t1:leaf={value},linear=0.5+2*e-0.25*b c\n" in text
    assert text.count("linear=") == 1
    assert ",linear=0.5+2*e-0.25*b c,cover=" in one.get_dump(with_stats=True)[0]
    function, number = json.loads(one.get_dump(dump_format="json", with_stats=True)[0])["children"]
    assert {name: function[name] for name in ("leaf_const", "leaf_features", "leaf_coeff")} == {
        "leaf_const": 0.5, "leaf_features": ["e", "b c"], "leaf_coeff": [2, -0.25],
    }  # fmt: skip
    assert function["leaf"] == float(value)
    assert set(number) == {"nodeid", "leaf", "cover"}
    assert f'1 [ label="leaf={value}\nlinear=0.5+2*e-0.25*b c" ]' in str(one.to_graphviz())
    assert dump_text(one.ensemble).count(", linear 0.5+2*e-0.25*b c  (cover") == 1


def test_tables_and_pictures_show_functions():
    frame = Model(shown()).trees_to_dataframe()
    assert frame["Coefficients"].tolist() == [None, {"e": 2.0, "b c": -0.25}, None]
    np.testing.assert_array_equal(frame["Intercept"], [np.nan, 0.5, np.nan])
    assert frame["Gain"][1] == pytest.approx(float(shown().trees[0].value[1, 0]))
    plain = Model(replace(shown(), trees=[shown().trees[0].with_linear(None)]))
    assert list(plain.trees_to_dataframe()) == list(frame)[:-2]
    boxes = {box.node: box.lines[0] for box in lay_out(shown(), 0, 3, 40).boxes}
    assert boxes[1] == "0.5+2*e-0.25*b c"
    assert boxes[2] == f"{shown().trees[0].value[2, 0]:+.4g}"


def test_shaps_dictionary_does_not_hold_them():
    with pytest.raises(ParameterError, match=r"^to_shap: leaves of tree 0 are linear functions"):
        Model(model()).to_shap()


@pytest.mark.parametrize(
    ("line", "changed", "words"),
    [
        ("num_features=", "num_features=9 9 9 9 9", "num_features has 9: expected whole numbers"),
        ("num_features=", "num_features=0 0 0 0 0", "num_features adds up to 0: expected 4"),
        ("leaf_features=", "leaf_features=0 1 0 77", "leaf_features has 77: expected whole"),
        ("leaf_const=", "leaf_const=1", "leaf_const has 1 numbers: expected 5"),
        ("leaf_coeff=", "leaf_coeff=1 2 3 1e60", "finite numbers in coefficients"),
        ("leaf_coeff=", "leaf_coeff=1 2 3", "leaf_coeff has 3 numbers: expected 4"),
        ("leaf_features=", "leaf_other=", "leaf_features is missing: expected it in every model"),
    ],
)
def test_damaged_text_is_refused(line, changed, words):
    lines = TEXT.write(model()).decode().splitlines()
    place = next(i for i, one in enumerate(lines) if one.startswith(line))
    lines[place] = changed
    with pytest.raises(ModelFormatError, match=rf"^m\.txt.*{words}"):
        TEXT.read("\n".join(lines).encode(), "m.txt")


def test_damaged_arrays_are_refused():
    document = JSON.write(model())
    start = document.index(b'"digest"')
    plain = document[:start] + document[document.index(b"statistics") - 1 :]
    for old, new, words in (
        (b'"sizes":[0,', b'"sizes":[7,', "sizes of 0 or more that add up to"),
        (b'"sizes":[0,', b'"sizes":[', "intercepts"),
        (b'"coefficients":[', b'"coefficients":[null,', "coefficients"),
        (b'"features":[0,', b'"features":[99,', "linear leaves use feature 99"),
    ):
        with pytest.raises(ModelFormatError, match=words):
            JSON.read(plain.replace(old, new, 1), "m.json")


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_lightgbm_reads_what_is_written_and_the_other_way_round(objective):
    lightgbm = pytest.importorskip("lightgbm")
    X = rows().astype(np.float64)
    y = labels(X)
    label = {"regression": y, "binary": y > 0.4, "multiclass": np.digitize(y, [0.2, 0.6])}
    own = {"num_class": 3} if objective == "multiclass" else {}
    given = {"objective": objective, "linear_tree": True, "num_leaves": 9, "verbose": -1, **own}
    data = lightgbm.Dataset(X, label[objective].astype(float))
    theirs = lightgbm.train(given, data, 10)
    read = TEXT.read(theirs.model_to_string().encode(), "m.txt")
    assert read.leaves is LINEAR
    expected = theirs.predict(X, raw_score=True)
    found = Model(read).predict(rows(), output_margin=True, device=TEST_DEVICE)
    bound = 1e-6 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
    again = lightgbm.Booster(model_str=TEXT.write(read).decode())
    np.testing.assert_allclose(again.predict(X, raw_score=True), expected, rtol=0, atol=bound)
