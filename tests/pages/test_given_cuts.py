"""Cut points that are given with a data set, in place of those of ``max_bin``."""

from __future__ import annotations

import numpy as np

import pyopencl_gbdt as gbdt

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(500, 3)).astype(np.float32)
X[::7, 1] = np.nan
Y = (X[:, 0] > 0.25) + 0.1 * X[:, 2]
POINTS = np.array([-1.0, 0.25, 0.5], np.float32)


def trained(points, **how):
    data = gbdt.Dataset(X, Y)
    data.cut_points = points
    return gbdt.train({"max_depth": 3, "max_bin": 16, **how}, data, 5)


def test_splits_are_at_the_given_points():
    model = trained({0: POINTS, 1: POINTS})
    table = model.trees_to_dataframe()
    found = {f: table.loc[table.Feature == f, "Split"] for f in ("f0", "f1", "f2")}
    assert set(found["f0"]) <= set(POINTS)
    assert 0.25 in set(found["f0"])
    assert len(set(found["f2"]) - set(POINTS)) > 1


def test_points_of_the_rule_itself_change_no_byte():
    few = (X > 0.1).astype(np.float32)
    data = gbdt.Dataset(few, Y)
    expected = gbdt.train({"max_depth": 3}, data, 3).predict(few)
    given = gbdt.Dataset(few, Y)
    given.cut_points = {c: np.array([0.5], np.float32) for c in range(3)}
    assert np.array_equal(gbdt.train({"max_depth": 3}, given, 3).predict(few), expected)


def test_more_points_than_max_bin():
    many = np.linspace(-2, 2, 300, dtype=np.float32)
    model = trained({0: many}, max_bin=4)
    table = model.trees_to_dataframe()
    splits = table.loc[table.Feature == "f0", "Split"].to_numpy(np.float32)
    assert splits.size
    assert np.isin(splits, many).all()


def test_digests_tell_points_apart():
    data, other = gbdt.Dataset(X, Y), gbdt.Dataset(X, Y)
    other.cut_points = {0: POINTS}
    assert "cut_points" not in data.digests()
    assert other.digests()["cut_points"] != data.digests().get("cut_points")
