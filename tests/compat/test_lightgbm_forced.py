"""`compat.lightgbm`: splits that a file forces; beside LightGBM where it is installed."""

import json

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.errors import ParameterError
from tests.compat.lightgbm_data import QUIET, TWO, X, Y, trained

FORCED = {
    "feature": 3, "threshold": 0.2,
    "left": {"feature": 4, "threshold": -0.1},
    "right": {"feature": 3, "threshold": 0.9, "left": {"feature": 1, "threshold": 0.0}},
}  # fmt: skip


def splits(node):
    """Return feature, threshold, gain of the splits of a dumped tree, breadth first."""
    found, waiting = [], [node]
    for one in waiting:  # grows meanwhile
        if "split_feature" in one:
            found.append([one[name] for name in ("split_feature", "threshold", "split_gain")])
            waiting += [one["left_child"], one["right_child"]]
    return found


@pytest.mark.parametrize(
    "params",
    [{}, {"num_leaves": 5}, {"feature_fraction": 0.6}, {"max_depth": 3}, {"lambda_l2": 5.0}],
    ids=str,
)
def test_trees_are_those_of_lightgbm(params, tmp_path):
    theirs = pytest.importorskip("lightgbm", minversion="4.7", reason="compares with LightGBM 4.7")
    path = tmp_path / "forced.json"
    path.write_text(json.dumps(FORCED))
    given = {**QUIET, "forcedsplits_filename": str(path), "max_bin": 63, **params}
    given = {"objective": "regression", **given}
    found = []
    for library in (lgb, theirs):
        booster = library.train(given, library.Dataset(X, Y), 3)
        first = booster.dump_model()["tree_info"][0]["tree_structure"]
        drawn = "feature_fraction" in params  # other columns are drawn there
        found.append(np.array(splits(first)[: 3 if drawn else None]))
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-4)


@pytest.mark.thorough
def test_every_tree_has_them(tmp_path):
    path = tmp_path / "forced.json"
    path.write_text(json.dumps(FORCED))
    booster = trained({"objective": "binary", "forced_splits": path, "boosting": "dart"}, TWO)
    trees = [one["tree_structure"] for one in booster.dump_model()["tree_info"]]
    assert [[tree[side]["split_feature"] for side in ("left_child", "right_child")]
            for tree in trees] == [[4, 3]] * 5  # fmt: skip
    assert {tree["split_feature"] for tree in trees} == {3}


def test_an_empty_file_forces_nothing(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("")
    same = trained({"forcedsplits_filename": path}).predict(X)
    np.testing.assert_array_equal(same, trained().predict(X))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"forcedsplits_filename=.*: expected JSON such as \{"),
        ("[1]", r"forcedsplits_filename=.*: expected a split such as \{"),
        ('{"feature": 1}', "give both of the first two"),
        (
            '{"feature": 0, "threshold": 1, "right": {"feature": 5, "threshold": 1}}',
            "file includes feature index 5, but maximum feature index in dataset is 4",
        ),
    ],
)
def test_wrong_files(text, message, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        trained({"forcedsplits_filename": str(path)})
