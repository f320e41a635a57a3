"""Files that versions of XGBoost from 1.0 on have written; see ``write_corpus``."""

from __future__ import annotations

import json
import zipfile
from functools import cache

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError
from tests.conftest import TEST_DEVICE
from tests.model.write_corpus import CORPUS, shown

ARCHIVES = sorted(CORPUS.glob("*.zip"))
BY_VERSION = pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)


@cache
def members(archive) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_the_corpus_has_many_versions():
    assert len(ARCHIVES) >= 12


@BY_VERSION
def test_every_model_predicts_as_its_version_did(archive):
    files = members(archive)
    expected = json.loads(files["margins.json"])
    assert {"numeric", "binary", "classes", "dart"} <= expected.keys()
    for name, margins in expected.items():
        model = Model.load_model(files[f"{name}.json"])
        found = model.predict(shown(name), output_margin=True, device=TEST_DEVICE)
        np.testing.assert_allclose(found, margins, rtol=0, atol=1e-6, err_msg=name)
        if f"{name}.ubj" in files:
            assert Model.load_model(bytearray(files[f"{name}.ubj"])).ensemble == model.ensemble
        for raw in ("json", "ubj"):
            assert Model.load_model(model.save_raw(raw)).ensemble == model.ensemble


@BY_VERSION
def test_what_is_no_model_of_trees_is_named(archive, tmp_path):
    for name, data in members(archive).items():
        if name.startswith("linear"):
            with pytest.raises(ModelFormatError, match=r"<memory>: .*'gblinear'.*a linear model"):
                Model.load_model(data)
        if name.startswith("old"):
            path = tmp_path / "old.bin"
            path.write_bytes(data)
            words = r"old binary format.*convert.*pip install.*model_file='.*old\.bin'"
            with pytest.raises(ModelFormatError, match=words):
                Model.load_model(path)


def vectors() -> dict:
    document: dict = json.loads(members(ARCHIVES[-1])["vectors.json"])
    return document


def test_vector_leaves_are_kept():
    document = vectors()
    model = document["learner"]["gradient_booster"]["model"]
    ensemble = Model.load_model(json.dumps(document).encode()).ensemble
    assert len(ensemble.trees) == len(model["trees"])
    first = ensemble.trees[0]
    leaves = np.array(model["trees"][0]["leaf_weights"], np.float32).reshape(-1, 3)
    np.testing.assert_array_equal(first.value[first.is_leaf], leaves)
    numbers = ensemble.with_numbers().trees
    assert len(numbers) == 3 * len(model["trees"])
    assert numbers[0].feature is numbers[2].feature  # only values and weights differ
    np.testing.assert_array_equal(numbers[1].value[first.is_leaf, 0], leaves[:, 1])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("leaf_weights", [0.5], "leaf_weights has 1 entries: expected 12, 3 numbers for each of 4"),
        ("leaf_weights", [1e39] * 12, r"leaf_weights\[0\]=1e\+39: expected a finite float32"),
        ("base_weights", [0.5], "base_weights has 1 entries: expected 21, 3 numbers for each of 7"),
        ("right_children", [2, 4, 6, 0, 1, 2, 4], r"right_children\[6\]=4: expected 0..3"),
        ("right_children", [2, 4, 6, 0, 1, 2, -1], r"right_children\[6\]=-1: expected 0..3"),
        ("left_children", [1, 3, 5, -1, -1, -1], "left_children has 6 entries: expected 7"),
        ("tree_param", {"num_nodes": "7", "size_leaf_vector": "2"}, "='2': expected \"3\", the"),
    ],
)
def test_vectors_that_are_damaged(name, value, words):
    document = vectors()
    document["learner"]["gradient_booster"]["model"]["trees"][1][name] = value
    with pytest.raises(ModelFormatError, match=rf"^<memory>: learner\..*trees\[1\].*{words}"):
        Model.load_model(json.dumps(document).encode())


@pytest.mark.parametrize("archive", ARCHIVES[-2:], ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0] * 3, "weight_drop has 3 entries: expected 4, one for each tree"),
        ([1.0, 1.0, 1e39, 1.0], r"weight_drop\[2\]=1e\+39: expected a weight of 0 or more"),
        ("1", "weight_drop='1': expected an array"),
    ],
)
def test_weights_of_dart_that_are_damaged(archive, weights, words):
    document = json.loads(members(archive)["dart.json"])
    booster = document["learner"]["gradient_booster"]
    holder = booster if booster["name"] == "dart" else booster["model"]
    assert "weight_drop" in holder
    holder["weight_drop"] = weights
    with pytest.raises(ModelFormatError, match=words):
        Model.load_model(json.dumps(document).encode())


def test_a_newer_version_is_named_beside_what_is_not_understood():
    document = json.loads(members(ARCHIVES[-1])["numeric.json"])
    document["version"] = [99, 0, 0]
    assert Model.load_model(json.dumps(document).encode()).num_boosted_rounds() == 2
    document["learner"]["gradient_booster"]["name"] = "forest of the future"
    with pytest.raises(ModelFormatError, match=r"or XGBoost 99\.0\.0 wrote the file, newer than"):
        Model.load_model(json.dumps(document).encode())
