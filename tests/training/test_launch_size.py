"""Launches of limited work: how much a device gets, and the same bytes from tiny pieces."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device import program as launch_size
from pyopencl_gbdt.device.program import LONGEST_SECONDS, Program, bytes_a_launch, rows_a_launch
from pyopencl_gbdt.evaluation.watched import _pieces
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.pages.page import histogram_rows, most_page_bytes, page_bounds
from pyopencl_gbdt.prediction.predict import row_pieces
from pyopencl_gbdt.training import placement
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.device.fakes import BASELINE
from tests.switch_depth import switch_depth

GPU = replace(BASELINE, kind="gpu", max_alloc_bytes=1 << 40)
#: A fiftieth of an H200's memory speed, and an H200 itself.
SLOW, FAST = replace(GPU, copy_speed=80 * 10**9), replace(GPU, copy_speed=4170 * 10**9)
THOROUGH = {
    "test_no_bit_depends_on_the_parts_of_entries": lambda search, switch: (
        search + str(switch) != "exact0"
    )
}
N, N_FEATURES = 3000, 6
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, N_FEATURES)).astype(np.float32)
X[RNG.random(X.shape) < 0.2] = np.nan
Y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]), [-0.5, 0.5]).astype(np.float32)
PARAMS = {"objective": "multi:softprob", "num_class": 3, "max_depth": 4, "n_estimators": 2}


def test_a_gpu_gets_what_it_does_in_time():
    assert bytes_a_launch(SLOW) == LONGEST_SECONDS * launch_size.SHARE * 80e9
    assert rows_a_launch(SLOW, 1000) == 2_000_000
    assert rows_a_launch(SLOW, 1e12) == 1


def test_cpus_are_exempt():
    assert rows_a_launch(replace(SLOW, kind="cpu"), 1e6) > 2**40


def test_a_speed_that_was_not_measured_follows_from_the_compute_units():
    one, many = (bytes_a_launch(replace(GPU, compute_units=n)) for n in (1, 40))
    assert 0 < 39.9 * one < many < 40.1 * one


def test_pages_of_a_slow_gpu_are_histograms_of_a_launch():
    n_rows, row_bytes = 10_000_000, 112  # 100 features
    bounds = page_bounds(n_rows, row_bytes, most_page_bytes(SLOW, row_bytes))
    assert len(bounds) == 2
    assert max(rows for _, rows in bounds) <= histogram_rows(SLOW, row_bytes)
    assert len(page_bounds(n_rows, row_bytes, most_page_bytes(FAST, row_bytes))) == 1


@pytest.mark.parametrize("most", [0, 1, 2, 5, 6, 12, 100])
def test_pieces_of_a_batch_are_its_trees(most):
    """Of 4 outputs, from number 3 on, with 6 trees each."""
    walked = []
    for piece in _pieces((0, 24), (3, 7), most):
        (begin, end), (first, last) = piece["trees"], piece["outputs"]
        each = (end - begin) // (last - first)
        assert each * (last - first) in range(1, max(1, most) + 1)
        for output in range(first, last):
            start = begin + (output - first) * each
            walked += [(output, tree) for tree in range(start, start + each)]
    assert sorted(walked) == walked
    assert walked == [(3 + tree // 6, tree) for tree in range(24)]


@pytest.fixture
def launches(monkeypatch):
    """Names of the kernels that are bound or launched."""
    names: list[str] = []
    for method in ("bind", "prepare"):
        plain = getattr(Program, method)

        def noted(self, name, groups, /, *args, plain=plain, **named):
            names.append(name)
            return plain(self, name, groups, *args, **named)

        monkeypatch.setattr(Program, method, noted)
    return names


def results(given, evaluated):
    """The model's bytes, the metrics of its rounds, and the margins of all rows."""
    found = {}
    params = {**PARAMS, "device": TEST_DEVICE}
    sets = [(Dataset(evaluated, Y), "held back")]
    model = train(params, Dataset(given, Y), evals=sets, evals_result=found)
    margins = model.predict(given, device=TEST_DEVICE, output_margin=True)
    return to_xgboost_json(model.ensemble), found, margins


SEARCHES = {
    "exact": {},
    "approx": {"tree_method": "approx"},
    "local": {"tree_method": "approx", "proposal": "local"},
}
EXACT = {"tree_method": "exact", "objective": "binary:logistic", "max_depth": 4, "n_estimators": 2}


@pytest.mark.parametrize("switch", [0, 2])
@pytest.mark.parametrize("search", ["exact", "approx", "local"])
def test_no_bit_depends_on_the_parts_of_entries(search, switch, launches, monkeypatch):
    """Entries are moved at every level, or stay in the data's order for two."""
    monkeypatch.setattr(recipe, "MOST_WALKED_ROWS", 0)  # else CPUs walk whole columns
    device = open_device(TEST_DEVICE)
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", lambda spec, **options: device)

    def model():
        with switch_depth(device.caps, switch, 64):
            return train({**EXACT, **SEARCHES[search]}, Dataset(X, Y > 0))

    wanted = model()
    whole, launches[:] = Counter(launches), []
    monkeypatch.setattr(launch_size, "bytes_a_launch", lambda caps: 200_000)
    assert to_xgboost_json(model().ensemble) == to_xgboost_json(wanted.ensemble)
    parts = {name: count // whole[name] for name, count in Counter(launches).items()}
    n_parts = 3  # 14,400 entries of 32 bytes
    moves = ("rank_entries", "sort_entries") if switch and search != "local" else ("move_entries",)
    assert {parts[name] for name in ("gather", "sum_pieces", "find", *moves)} == {n_parts}
    assert parts["carry"] == parts["best_piece"] == 1


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["dense", "on the device", "sparse"])
def test_no_bit_depends_on_the_pieces(kind, launches, monkeypatch):
    rows = X
    if kind == "sparse":
        there = ~np.isnan(X)
        rows = sp.csr_array((X[there], np.nonzero(there)), X.shape)
    given = open_device(TEST_DEVICE).upload(X) if kind == "on the device" else rows
    wanted = results(given, rows)
    whole, launches[:] = Counter(launches), []
    monkeypatch.setattr(launch_size, "bytes_a_launch", lambda caps: 20_000)
    device = open_device(TEST_DEVICE)
    device.caps = replace(device.caps, copy_speed=1)
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", lambda spec, **options: device)
    trees = []
    fit = placement.choose_trees
    monkeypatch.setattr(
        placement,
        "choose_trees",
        lambda parts, *a: (fit(parts, *a), trees.append(parts.nodes.n_trees)),
    )
    found = results(given, rows)
    assert found[:2] == wanted[:2]
    assert_same_bits(found[2], wanted[2], kind)
    more = {name for name, count in Counter(launches).items() if count > whole[name]}
    assert more & {"predict", "predict_blocks", "predict_sparse", "predict_codes"}
    assert kind == "sparse" or {"histogram", "encode", "columns", "find"} <= more
    assert trees == [3 if kind == "sparse" else 1]  # of three classes, at a time


def test_rows_of_a_tree_are_walked_in_pieces():
    assert list(row_pieces(1000, 64, None)) == [(0, 16)]
    assert list(row_pieces(1000, 64, 400)) == [(0, 6), (384, 6), (768, 4)]
    assert list(row_pieces(100, 64, 1)) == [(0, 1), (64, 1)]


@pytest.mark.parametrize("method", ["topk", "mean"])
def test_no_bit_depends_on_the_parts_of_queries(method, launches, monkeypatch):
    params = {
        "objective": "rank:ndcg", "lambdarank_pair_method": method, "lambdarank_unbiased": True,
        "n_estimators": 2, "max_depth": 3, "device": TEST_DEVICE,
    }  # fmt: skip
    data = Dataset(X, Y, group=[1500, 20, 1000, 480])
    wanted = to_xgboost_json(train(params, data).ensemble)
    whole, launches[:] = Counter(launches), []
    pair_bytes = 16 * 3000 * 1500
    monkeypatch.setattr(launch_size, "bytes_a_launch", lambda caps: pair_bytes // 3 + 1)
    assert to_xgboost_json(train(params, data).ensemble) == wanted
    parts = {name: count // whole[name] for name, count in Counter(launches).items()}
    assert {parts[name] for name in ("rank_documents", "lambdas", "scale_lambdas")} == {3}


@pytest.mark.parametrize("continued", [False, True])
def test_no_bit_depends_on_the_parts_in_which_rows_walk_dropped_trees(
    continued, launches, monkeypatch
):
    dart = {**PARAMS, "booster": "dart", "rate_drop": 0.5, "one_drop": True, "device": TEST_DEVICE}

    def model():
        first = train(dart, Dataset(X, Y)) if continued else None
        return to_xgboost_json(train(dart, Dataset(X, Y), model=first).ensemble)

    wanted = model()
    whole, launches[:] = Counter(launches), []
    monkeypatch.setattr(launch_size, "bytes_a_launch", lambda caps: 3000 * 20 * 4)
    assert model() == wanted
    assert Counter(launches)["change"] > whole["change"]
