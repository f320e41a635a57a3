"""Every kind of model in every format; other libraries read what is written."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import xgboost

from pyopencl_gbdt import Model
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.registry import FORMATS
from tests.conftest import TEST_DEVICE
from tests.model.format_kinds import KINDS, outcome

#: Kinds of models that XGBoost does not have.
NOT_XGBOOSTS = (
    "categories by statistics", "linear leaves", "distributions", "calibrated probabilities",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_some_format_holds_every_model(kind):
    found = {one.suffixes[0]: outcome(one, KINDS[kind]()) for one in FORMATS}
    assert found[".gbdt"] == found[".gbdt.json"] == "yes"
    if kind not in NOT_XGBOOSTS:
        assert found[".json"] == found[".ubj"] == "yes"


def rows(ensemble: Ensemble) -> pd.DataFrame:
    """Return 1000 rows, a fifth of whose values are missing."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(1000, ensemble.n_features)).astype(np.float32))
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    for column, levels in ensemble.categories.items():
        codes = rng.integers(-1, levels.n_levels, len(frame))
        frame[column] = pd.Categorical.from_codes(codes, levels.values)
    if ensemble.feature_names is not None:
        frame.columns = pd.Index(ensemble.feature_names)
    return frame if ensemble.categories or ensemble.feature_names else frame.to_numpy()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in NOT_XGBOOSTS])
@pytest.mark.parametrize("raw", ["json", "ubj"])
def test_xgboost_reads_what_is_written(kind, raw):
    if kind == "several expectiles":
        pytest.importorskip("xgboost", "3.4", reason="needs XGBoost 3.4")
    ensemble = KINDS[kind]()
    model, X = Model(ensemble), rows(ensemble)
    booster = xgboost.Booster(model_file=model.save_raw(raw))
    data = xgboost.DMatrix(X, enable_categorical=True, nthread=1)
    found = model.predict(X, output_margin=True, device=TEST_DEVICE)
    sizes = sum(np.abs(tree.value).max() for tree in ensemble.trees)
    expected = booster.predict(data, output_margin=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * max(1, sizes))


@pytest.mark.parametrize("n_weights", [1, 100], ids=["reduced", "whole"])
def test_memory_of_vector_leaves(n_weights):
    """A tree of one leaf has a value and a weight for each output, whatever the file has."""
    n_trees, n_outputs = 40, 100
    document = json.loads(Model(KINDS["vector leaves"]()).save_raw("json"))
    learner = document["learner"]
    learner["attributes"] = {}
    learner["learner_model_param"] |= {"num_target": str(n_outputs), "base_score": "0"}
    model = learner["gradient_booster"]["model"]
    model["gbtree_model_param"]["num_trees"] = str(n_trees)
    tree = {
        "left_children": [-1], "right_children": [0], "parents": [-1], "split_indices": [0],
        "split_conditions": [0], "default_left": [0], "leaf_weights": [0] * n_outputs,
        "base_weights": [0] * n_weights,
        "tree_param": {"num_nodes": "1", "size_leaf_vector": str(n_outputs)},
    }  # fmt: skip
    model |= {"trees": [tree] * n_trees, "tree_info": [0] * n_trees}
    del model["iteration_indptr"]
    data = json.dumps(document, separators=(",", ":")).encode()
    tracemalloc.start()
    try:
        ensemble = Model.load_model(data).ensemble
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(ensemble.trees) == n_trees
    assert ensemble.tree_outputs == n_outputs
    assert most < 150 * len(data)
