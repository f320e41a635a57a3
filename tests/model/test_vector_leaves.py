"""Trees whose leaves are vectors: files, dumps, tables, pictures, slices, and other formats."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText
from pyopencl_gbdt.model.formats.own_binary import OwnBinary
from pyopencl_gbdt.model.formats.registry import FORMATS
from pyopencl_gbdt.model.leaf_kinds import LeafKind, with_vectors
from pyopencl_gbdt.model.tree_layout import lay_out
from tests.conftest import TEST_DEVICE
from tests.model.samples import make_ensemble, make_rows, saved

X = make_rows(300, 4, seed=1)
FILLED = np.nan_to_num(X)
TARGETS = np.stack([FILLED[:, 0], FILLED[:, 1] * FILLED[:, 2], FILLED[:, 3]], 1)
CLASSES = np.digitize(FILLED[:, 0], [-0.5, 0.5])
KINDS = {
    "targets": ({}, TARGETS),
    "forests": ({"num_parallel_tree": 3, "subsample": 0.5}, TARGETS),
    "pruned": ({"gamma": 20.0}, TARGETS),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, CLASSES),
}


@cache
def booster(kind: str) -> xgboost.Booster:
    given, y = KINDS[kind]
    usual = {"multi_strategy": "multi_output_tree", "max_depth": 3, "nthread": 1}
    return xgboost.train(usual | given, xgboost.DMatrix(X, y, nthread=1), 4)


def model(kind: str = "targets") -> Model:
    return Model.load_model(saved(booster(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_xgboost_has_the_same_bytes_and_predictions(kind):
    own, theirs = model(kind), booster(kind)
    assert own.ensemble.leaves.name == "vectors"
    assert own.ensemble.round_trees == own.ensemble.n_parallel
    data = xgboost.DMatrix(X, nthread=1)
    wanted = theirs.predict(data, output_margin=True)
    found = own.predict(X, output_margin=True, device=TEST_DEVICE)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(
        own.predict(X, pred_leaf=True, device=TEST_DEVICE), theirs.predict(data, pred_leaf=True)
    )
    for raw in ("json", "ubj"):
        again = xgboost.Booster(model_file=own.save_raw(raw))
        np.testing.assert_array_equal(again.predict(data, output_margin=True), wanted)
        assert again.save_raw(raw) == own.save_raw(raw)


def test_weights_of_trees():
    weighted = replace(model().ensemble, tree_weights=(1.0, 0.5, 0.25, 0.125))
    assert OwnBinary().read(OwnBinary().write(weighted), "m") == weighted
    numbers = weighted.with_numbers()
    assert numbers.tree_weights == tuple(np.repeat(weighted.tree_weights, 3))
    assert Model.load_model(Model(weighted).save_raw("json")).ensemble == numbers  # as XGBoost has
    one, other = (Model(own).predict(X, device=TEST_DEVICE) for own in (weighted, numbers))
    np.testing.assert_array_equal(one, other)


def test_sizes_that_lie():
    data = OwnBinary().write(model().ensemble)
    ensemble = model().ensemble
    n_nodes = sum(tree.n_nodes for tree in ensemble.trees)
    n_leaves = sum(int(tree.is_leaf.sum()) for tree in ensemble.trees)
    at = len(data) - 32 - 8 * (n_nodes + n_leaves) - 8
    for place, byte, words in (
        (at, 1, "leaves of 1 values, 0 trees with weights: expected 2 values or more, 0 or 4"),
        (at + 4, 2, "leaves of 3 values, 2 trees with weights"),
        (at, 4, "the file ends early: expected 180 weights of outputs"),
        (at, 2, "arrays end"),
    ):
        wrong = bytearray(data)
        wrong[place] = byte
        wrong[-32:] = hashlib.sha256(wrong[:-32]).digest()
        with pytest.raises(ModelFormatError, match=words):
            OwnBinary().read(bytes(wrong), "m")


def test_dumps_are_those_of_xgboost():
    for form in ("text", "json", "dot"):
        assert model().get_dump(dump_format=form) == booster("targets").get_dump(dump_format=form)
    line = model().get_dump(with_stats=True)[0].splitlines()[-1]
    assert line.strip().split("leaf=")[1].startswith("[")
    assert "cover=" in line
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        found, wanted = (m.get_score(importance_type=kind) for m in (model(), booster("targets")))
        assert found.keys() == wanted.keys()
        np.testing.assert_allclose([*found.values()], [*wanted.values()], rtol=1e-6)


def test_a_table_has_a_column_for_each_value():
    own = model()
    frame, first = own.trees_to_dataframe(), own.ensemble.trees[0]
    mine = frame[frame.Tree == 0]
    values = mine[["Leaf 0", "Leaf 1", "Leaf 2"]].to_numpy()
    np.testing.assert_array_equal(values[first.is_leaf], first.value[first.is_leaf])
    assert np.isnan(values[~first.is_leaf]).all()
    assert mine.Gain[first.is_leaf].isna().all()
    assert "Leaf 0" not in Model(own.ensemble.with_numbers()).trees_to_dataframe()


def test_pictures_and_descriptions():
    ensemble = model().ensemble
    boxes = [box for box in lay_out(ensemble, 0, 9, 40).boxes if box.is_leaf]
    values = [f"{value:+.4g}" for value in ensemble.trees[0].value[boxes[0].node]]
    assert boxes[0].lines[0] == ", ".join(values)
    assert boxes[0].value == 0
    assert "each is a vector of 3 numbers" in str(model().describe())
    assert "each is a vector" not in str(Model(ensemble.with_numbers()).describe())


def test_slices_and_stages():
    own = model("forests")
    assert own.num_boosted_rounds() == 4
    part = own[1:3]
    assert part.ensemble.trees == own.ensemble.trees[3:9]
    numbers = Model(own.ensemble.with_numbers())
    for mine, theirs in (
        (own.predict(X, iteration_range=(1, 3)), numbers.predict(X, iteration_range=(1, 3))),
        (own.predict(X[:3]), numbers.predict(X[:3])),
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", ["pred_contribs", "pred_interactions", "approx_contribs"])
def test_contributions_are_those_of_a_tree_for_each_output(kind):
    own = model("classes")
    asked = {"pred_contribs": True} if kind == "approx_contribs" else {}
    found, wanted = (
        one.predict(X[:40], **asked, **{kind: True}, device=TEST_DEVICE)
        for one in (own, Model(own.ensemble.with_numbers()))
    )
    np.testing.assert_array_equal(found, wanted)


def test_other_formats_take_a_tree_for_each_output():
    ensemble = model().ensemble
    for one in FORMATS:
        lack = one.lacks(ensemble)
        assert lack == one.lacks(ensemble.with_numbers())
        keeps = "XGBoost" in one.name or "this library" in one.name
        keeps |= one.suffixes[0] == ".txt"  # gains are shared, see below
        if not lack and not keeps and "onnx" not in one.suffixes[0]:
            assert one.write(ensemble) == one.write(ensemble.with_numbers())


@pytest.mark.parametrize("kind", ["targets", "classes"])
def test_lightgbm_gets_gains_and_hessians_once(kind):
    """The trees of the outputs share those of a tree of vectors."""
    ensemble = model(kind).ensemble
    again = LightGBMText().read(LightGBMText().write(ensemble), "m.txt")
    assert again.leaves.name == "numbers"
    joined = with_vectors(again.trees, ensemble.n_outputs, 1)
    for own, wanted in zip(joined, ensemble.trees, strict=True):
        inner = ~own.is_leaf
        np.testing.assert_allclose(np.sort(own.gain[inner]), np.sort(wanted.gain[~wanted.is_leaf]),
                                   rtol=1e-6)  # fmt: skip
        np.testing.assert_allclose(np.sort(own.sum_hessian), np.sort(wanted.sum_hessian), rtol=1e-6)
    scores = [Model(one).get_score(importance_type="total_gain") for one in (ensemble, again)]
    for name, gain in scores[0].items():
        assert scores[1][name] == pytest.approx(gain, rel=1e-5)
    margins = [Model(one).predict(X, output_margin=True, device=TEST_DEVICE)
               for one in (ensemble, again)]  # fmt: skip
    np.testing.assert_allclose(*margins, rtol=0, atol=1e-6)


def test_leaves_that_are_no_numbers_are_named(monkeypatch):
    """What a format says of leaves for which there is no tree for each output."""

    class Others(LeafKind):
        name = "clouds"

        def tree_outputs(self, n_outputs: int) -> int:
            return 1

        def as_numbers(self, *_: object) -> None:
            return None

    monkeypatch.setattr(Ensemble, "leaves", property(lambda _: Others()))
    ensemble = make_ensemble([2])
    with pytest.raises(ModelFormatError, match="leaves of the model are clouds: expected numbers"):
        ensemble.with_numbers()
    lacking = [one.lacks(ensemble) for one in FORMATS]
    assert lacking.count("leaves that are clouds") == 6


def test_trees_that_do_not_fit_each_other():
    own = model().ensemble
    mixed = [*own.trees[:2], *own.with_numbers().trees[:2]]
    with pytest.raises(
        ModelFormatError, match=r"trees\[2\].* has 1 outputs: .* and 3 outputs; keep"
    ):
        replace(own, trees=mixed)
    with pytest.raises(ModelFormatError, match=r"and has 3 outputs: .* and 1 output; keep trees"):
        replace(own, trees=own.with_numbers().trees[:2] + own.trees[:1])


def test_training_goes_on_with_a_tree_for_each_output():
    y = TARGETS.astype(np.float32)
    own = model()
    longer = train({"max_depth": 2, "device": TEST_DEVICE}, Dataset(X, y), 2, model=own)
    assert longer.num_boosted_rounds() == 6
    assert longer.ensemble.leaves.name == "numbers"
    np.testing.assert_array_equal(
        longer.predict(X, iteration_range=(0, 4)), own.predict(X, device=TEST_DEVICE)
    )


def test_a_document_of_a_tree_alone_is_read():
    """A root that is a leaf, as XGBoost writes it where nothing splits."""
    given = {"multi_strategy": "multi_output_tree", "gamma": 1e9, "nthread": 1}
    stump = xgboost.train(given, xgboost.DMatrix(X, TARGETS, nthread=1), 1)
    own = Model.load_model(saved(stump))
    assert own.ensemble.trees[0].n_nodes == 1
    tree = json.loads(own.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["leaf_weights"] == tree["base_weights"]
