"""Systematic and random damage: a ``ModelFormatError`` or a usable model, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble, from_xgboost_json, to_xgboost_json
from tests.model.samples import document, make_ensemble, make_rows, saved, train, walk

STRANGE = [
    None, True, False, -1, 0, 1, 3, 2**31 - 1, 2**31, 2**64, -(2**40), 10**400, 0.5, -0.0, 1e39,
    float("nan"), float("-inf"), "", "x", "1", "-1", "2", "99999999", "[1E0]", "nan",
    [], [0], [[]], {}, {"a": 1},
]  # fmt: skip


@pytest.fixture(scope="module", params=["ours", pytest.param("pruned", marks=pytest.mark.thorough)])
def valid(request: pytest.FixtureRequest) -> bytes:
    if request.param == "ours":
        ensemble = make_ensemble([3, 0, 2], feature_names=["a", "b", "c", "d"])
        return to_xgboost_json(ensemble).encode()
    pruned = train(2, tree_method="exact", gamma=4.0, max_depth=3, objective="binary:logistic")
    return saved(pruned)


def read_or_refuse(text: str | bytes) -> bool:
    """Return whether the text was accepted; what is accepted must be usable."""
    try:
        ensemble = from_xgboost_json(text, source="fuzz.json")
    except ModelFormatError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert message.startswith("fuzz.json: ")
        assert len(message) < 1000
        return False
    assert isinstance(ensemble, Ensemble)
    if ensemble.n_features < 100:
        walk(ensemble, make_rows(3, ensemble.n_features))
    assert from_xgboost_json(to_xgboost_json(ensemble)) == ensemble
    return True


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@pytest.mark.parametrize("each", [12, pytest.param(3, marks=pytest.mark.thorough)])
def test_fuzz_every_value_replaced_by_strange_ones(valid: bytes, each: int) -> None:
    """Every place gets each ``each``-th value, beginning with another one at every place."""
    model = document(valid)
    accepted = refused = 0
    for place, (container, key) in enumerate(list(places(model))):
        before = container[key]
        for strange in STRANGE[place % each :: each]:
            container[key] = strange
            if read_or_refuse(json.dumps(model)):
                accepted += 1
            else:
                refused += 1
        container[key] = before
    assert document(valid) == model
    assert refused > accepted > 0


@pytest.mark.thorough
def test_fuzz_every_member_removed_and_array_resized(valid: bytes) -> None:
    model = document(valid)
    for container, key in list(places(model)):
        before = container[key]
        if isinstance(container, dict):
            del container[key]
            read_or_refuse(json.dumps(model))
        if isinstance(before, list):
            resized = [before[:-1], before[1:], before[:1], before + before[-1:], before * 2]
            for array in resized:
                container[key] = array
                if read_or_refuse(json.dumps(model)):
                    assert array == before or key in ("enc", "feature_segments", "sorted_idx")
        container[key] = before


def test_fuzz_every_child_and_parent_points_elsewhere(valid: bytes) -> None:
    model = document(valid)
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        n_nodes = len(tree["parents"])
        for name in ("left_children", "right_children", "parents"):
            for node in range(n_nodes):
                before = tree[name][node]
                for other in [*range(-2, n_nodes + 2), 2**31 - 1, -(2**31)]:
                    tree[name][node] = other
                    read_or_refuse(json.dumps(model))
                tree[name][node] = before


def test_fuzz_truncated_and_overwritten_bytes(valid: bytes) -> None:
    rng = np.random.default_rng(0)
    for end in rng.integers(0, len(valid), 200).tolist():
        assert not read_or_refuse(valid[:end])
    for _ in range(400):
        damaged = bytearray(valid)
        for position in rng.integers(0, len(valid), rng.integers(1, 4)):
            damaged[position] = rng.integers(0, 256)
        read_or_refuse(bytes(damaged))
    for _ in range(200):
        start, end = sorted(rng.integers(0, len(valid), 2).tolist())
        read_or_refuse(valid[:start] + valid[end:])


def test_fuzz_leaves_the_sample_as_it_was(valid: bytes) -> None:
    """Test the helper: it accepts what is right, and says so when a model is wrong."""
    assert read_or_refuse(valid)
    model = document(valid)
    model["learner"]["objective"]["name"] = "other"
    assert not read_or_refuse(json.dumps(model))
