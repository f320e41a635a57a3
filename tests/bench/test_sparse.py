"""Sparse lines and other tasks of ``bench pages``: their rows, and the systems that train them."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from bench import page_lines
from bench.page_lines import LINES, quick, sized
from bench.pages import _has
from bench.system import Settings
from bench.turns import Player, Work
from tests.conftest import TEST_DEVICE

EVERY = {line.name: line for line in LINES}
TINY = replace(EVERY["classes"], n_rows=200, n_features=300, per_row=12, n_classes=3, n_rounds=3)


def test_rows_depend_on_the_seed_alone(monkeypatch):
    monkeypatch.setattr(page_lines, "_PIECE_ENTRIES", 1000)  # several pieces
    values, label = TINY.make(3)
    others, _ = TINY.make(3, 50, held_out=True)
    again, same = TINY.make(3)
    assert values.shape == (200, 300)
    assert others.shape == (50, 300)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(values, name), getattr(again, name))
    np.testing.assert_array_equal(label, same)
    assert set(label) == {0, 1, 2}
    assert values.has_canonical_format
    assert 8 < values.nnz / 200 < 12.5
    per_column = np.bincount(values.indices, minlength=300)
    assert per_column[0] > 20 * per_column[150:].mean()
    assert not np.array_equal(values[:50].toarray(), others.toarray())
    assert not np.array_equal(TINY.make(4)[1], label)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["ours", "xgboost", "lightgbm"])
def test_a_system_trains_classes(name):
    if name != "ours":
        pytest.importorskip(name)
    player = Player(name, TEST_DEVICE if name == "ours" else "cpu", 1)
    work = Work(player, TINY, (TINY.make(0), TINY.make(0, 50, held_out=True)))
    work.begin()
    seconds = {**work.turn(0), **work.predict(0)}
    assert set(seconds) == {"setup", "first", "round", "predict", "one"}
    assert min(seconds.values()) > 0
    work.player = Player("a peer", player.device, 1)  # whose kernels are not profiled
    record = work.finish()
    assert record["quality"]["mlogloss"] < np.log(3)
    assert record["host_peak_bytes"] > 2**26
    if name == "ours":
        assert record["peak_bytes"] > 8 * 200 * 12


def test_exact_search_of_xgboost_is_on_the_processor():
    pytest.importorskip("xgboost")
    from bench.peers import XGBoost

    line = quick(EVERY["exact-d6"])
    system = XGBoost(line, Settings("cuda", 1))
    assert (system.device, system.params["tree_method"]) == ("cpu", "exact")
    assert "max_bin" not in system.params
    system.setup(*line.make(0, 200))
    system.rounds(1)


def test_sizes_and_who_takes_part():
    assert sized(EVERY["wide"]).n_rows == 16_000
    assert sized(EVERY["exact-d8"], 0.5, 7).n_rounds == 7
    assert sized(EVERY["exact-d8"], 0.5).n_rows == 500_000
    peers = ("ours", "xgboost", "lightgbm", "catboost")
    takes = {name: [peer for peer in peers if _has(Player(peer, "cpu", 1), EVERY[name])]
             for name in ("classes", "exact-d6", "columns", "goss", "higgs")}  # fmt: skip
    own = {"classes": 3, "exact-d6": 2, "columns": 2, "goss": 1, "higgs": 4}
    assert takes == {name: list(peers[:n]) for name, n in own.items()}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ranks", "monotone", "goss", "absolute"])
def test_other_tasks_beside_xgboost(name):
    line, quality = quick(EVERY[name]), {}
    data = line.make(0), line.make(0, 500, held_out=True)
    for player in (Player("ours", TEST_DEVICE, 1), Player("xgboost", "cpu", 1)):
        if player.name != "ours" and (line.ours_alone or not find_spec("xgboost")):
            continue
        work = Work(player, line, data)
        work.begin()
        work.predict(0)
        work.player = Player("a peer", player.device, 1)
        ((metric, quality[player.name]),) = work.finish()["quality"].items()
    assert metric == {"ranks": "ndcg@10", "absolute": "mae"}.get(name, "rmse")
    assert quality == pytest.approx(dict.fromkeys(quality, quality["ours"]), rel=0.05)


def test_queries_have_5_to_43_rows():
    sizes = EVERY["ranks"].queries(2000)
    assert sizes.sum() == 2000
    assert set(sizes[:-1]) <= set(range(5, 44))
    assert EVERY["plain"].queries(2000) is None
