"""split: the twin's choice, its sums and its score, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.dtypes import NO_SCORE
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth import split
from pyopencl_gbdt.growth import split as split_step
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.gain import least_hessian, make_rule, weight_in_units
from tests.reference.gradients import Scale
from tests.reference.histogram import histogram
from tests.reference.split import best_split
from tests.steps.builders import (
    fullest_cells,
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_scale,
)

WG_SIZES, WG_SIZES_CPU = (1, 16, 64, 256), (1, 64)
MIXED = make_layout([9, 1, 70, 16, 300], [True, False, True, False, True])
RULES = [
    {},
    {"reg_lambda": 0},
    {"reg_alpha": 0.4, "reg_lambda": 3},
    {"max_delta_step": 0.02},
    {"reg_alpha": 0.01, "max_delta_step": 0.3, "min_child_weight": 5},
    {"min_child_weight": 1e30},
    {"min_child_weight": 0, "reg_lambda": 1e6},
]
#: Rough scores would overflow.
LARGE_LAMBDA = {"reg_lambda": 1e20}
KINDS = ("random", "ties", "large", "constant", "alike", "unweighted rows")
THOROUGH = {"test_bounds_that_weights_meet": lambda kind, wg: kind not in ("random", "large")}
DEPTH = 4
SCALE = Scale(24, 27, wide=False, weight_shift=2)
#: Of trees that are grown at a time.
SCALES = (SCALE, Scale(20, 25, wide=False, weight_shift=2), Scale(22, 24, wide=True))


@pytest.fixture(autouse=True)
def best_is_asked(monkeypatch):
    """Few candidates would be left to ``grow``, whose tests compare them."""
    monkeypatch.setattr(split_step, "FEW_CANDIDATES", 0)


def random_quanta(rng, n, kind):
    """Gradients and Hessians of so many rows, shape (n, 2)."""
    if kind == "ties":  # few distinct sums, many equal gains
        quanta = np.stack([rng.choice([-1, 1], n), np.ones(n, np.int64)], axis=1) << 22
    elif kind == "large":
        quanta = rng.integers(-(2**45), 2**45, (n, 2))
    else:
        quanta = rng.integers(-(2**25), 2**25, (n, 2))
    quanta[:, 1] = np.abs(quanta[:, 1]) + 1
    if kind == "alike":  # scores that differ in the last bits
        quanta = 2**24 + rng.integers(-3, 4, (n, 2))
    if kind == "constant":
        quanta[:] = 2**20
    if kind == "unweighted rows":
        quanta[rng.random(n) < 0.5] = 0
    return quanta


def node_histograms(rng, layout, counts, kind, codes=None):
    """Codes, histograms and sums of nodes whose rows lie one after the other."""
    n = int(np.sum(counts))
    codes = random_codes(rng, layout, n) if codes is None else codes
    quanta = random_quanta(rng, n, kind)
    ends = np.cumsum(counts)
    rows = [np.arange(end - count, end) for count, end in zip(counts, ends, strict=True)]
    hists = [histogram(codes, quanta, mine, layout) for mine in rows]
    return codes, hists, [quanta[mine].sum(axis=0) for mine in rows]


def run(device, layout, codes, nodes, pool, **params):
    """Search the splits of a level; return ``chosen`` and the pool afterwards."""
    trees = int(nodes["tree"].max()) + 1
    parts = make_parts(device, layout, codes, max_depth=DEPTH + 1, outputs=trees, **params)
    set_scale(parts, *SCALES[:trees])
    depth = parts.nodes.n_levels - 1
    set_level(parts, depth, nodes)
    before = np.zeros(parts.arena["pool"].shape, np.int64)
    before[: len(pool)] = pool
    parts.arena["pool"].set(before)
    step = split.Split(parts.arena, parts.nodes, parts.features, parts.ways)
    found = split.candidates_of(parts, depth)
    for launch in step.level(depth, range(layout.n_features), found):
        launch()
    return parts.arena["chosen"].get()[: len(nodes)], parts.arena["pool"].get()[: len(pool)]


def compare(ws_params, layout, hists, sums, chosen, trees=None, bounds=None, allowed=None):
    monotone = ws_params.get("monotone")
    p = {"reg_lambda": 1, "reg_alpha": 0, "max_delta_step": 0, "min_child_weight": 1, **ws_params}
    found = 0
    for index, (hist, (g, h), got) in enumerate(zip(hists, sums, chosen, strict=True)):
        scale = SCALES[0 if trees is None else trees[index]]
        rule = make_rule(scale, p["reg_lambda"], p["reg_alpha"], p["max_delta_step"])
        least = least_hessian(p["min_child_weight"], scale)
        if bounds is not None:
            rule = replace(rule, lower=bounds[index][0], upper=bounds[index][1])
        want = best_split(
            hist, int(g), int(h), layout, rule, least, monotone=monotone,
            allowed=None if allowed is None else allowed[index],
        )  # fmt: skip
        if want is None:
            assert got["score_hi"] == NO_SCORE, f"node {index}: a split where there is none"
            continue
        found += 1
        facts = (want.feature, 2 * want.bin + want.direction, want.left_g, want.left_h)
        names = ("feature", "bin_direction", "left_g", "left_h")
        assert tuple(int(got[name]) for name in names) == facts, f"node {index}"
        score = np.array([got["score_hi"], got["score_lo"]])
        assert_same_bits(score, np.concatenate(want.score), f"score of node {index}")
    return found


def bounds_at_weights(rng, hists, sums, params):
    """Bounds that are a node's weight or one of its cells', or a last bit beside it, or none."""
    p = {"reg_lambda": 1, "reg_alpha": 0, "max_delta_step": 0, **params}
    rule = make_rule(SCALE, p["reg_lambda"], p["reg_alpha"], p["max_delta_step"])
    largest = np.finfo(np.float32).max
    bounds = []
    for hist, total in zip(hists, sums, strict=True):
        some = rng.choice(hist, 3)
        weights = weight_in_units(*np.array([total, *some]).T, rule)
        near = np.concatenate([weights, weights[:1] * np.float32([1 + 2**-22, 1 - 2**-22])])
        lower, upper = np.sort(rng.choice(near, 2))
        open_side = rng.integers(0, 3)
        bounds.append((-largest if open_side == 1 else lower, largest if open_side == 2 else upper))
    return bounds


def check(device, rng, layout, counts, kind, codes=None, trees=None, bounds=None, **params):
    codes, hists, sums = node_histograms(rng, layout, counts, kind, codes)
    nodes, _ = level_nodes(counts, 64)
    pool = rng.integers(-(2**60), 2**60, (2**DEPTH, layout.n_codes, 2))
    pool = pool[: max(1, min(2**DEPTH, len(codes)))]
    nodes["slot"] = rng.permutation(len(pool))[: len(counts)]
    nodes["sum_g"], nodes["sum_h"] = np.array(sums).T
    nodes["tree"] = 0 if trees is None else trees
    if bounds == "at weights":
        bounds = bounds_at_weights(rng, hists, sums, params)
    if bounds is not None:
        nodes["lower"], nodes["upper"] = np.array(bounds).T
    for node, hist in zip(nodes, hists, strict=True):
        junk = pool[node["slot"], fullest_cells(layout)]  # may be left out, so is not read
        pool[node["slot"]] = hist
        pool[node["slot"], fullest_cells(layout)] = junk
    before = pool.copy()
    chosen, after = run(device, layout, codes, nodes, pool, **params)
    assert_same_bits(after, before, "pool")
    rules = {k: v for k, v in params.items() if k != "work_group_size"}
    return compare(rules, layout, hists, sums, chosen, trees, bounds)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_twin(device, rng, wg, kind):
    found = 0
    for params in (*RULES, LARGE_LAMBDA):
        found += check(
            device, rng, MIXED, [300, 1, 40, 2, 7, 150], kind, work_group_size=wg, **params
        )
    assert found > 10


@pytest.mark.parametrize("groups", [1, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_features_that_share_the_best_rough_score(device, rng, wg, kind, groups, monkeypatch):
    """As with many features: a group searches several nodes, of one tree or of several."""
    monkeypatch.setattr(split, "has_many_features", lambda caps, _: caps.skips_barriers)
    monkeypatch.setattr(split, "GROUPS", groups)
    found = 0
    for params in RULES:
        trees = np.sort(rng.integers(0, 3, 6))
        found += check(
            device, rng, MIXED, [300, 1, 40, 2, 7, 150], kind, trees=trees, work_group_size=wg,
            **params,
        )  # fmt: skip
    assert found > 10


@pytest.mark.parametrize("kind", KINDS)
def test_monotone_constraints_and_bounded_weights(device, rng, wg, kind):
    """Some nodes are at their bounds, whatever the split; some are hardly bounded."""
    counts, found = [300, 40, 90, 150, 60, 120], 0
    for params in RULES:
        low = np.float32(rng.normal(size=6) * [1e-3, 0.1, 0.5, 1, 3, 1e30])
        width = np.float32(rng.random(6) * [1, 1e-3, 1, 0, 2, 1e30])
        found += check(
            device, rng, MIXED, counts, kind, bounds=list(zip(low, low + width, strict=True)),
            monotone=rng.integers(0, 3, 5).astype(np.uint32), work_group_size=wg, **params,
        )  # fmt: skip
    assert found > 2 or kind in ("constant", "ties")


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_that_weights_meet(device, rng, wg, kind):
    found = 0
    for params in RULES:
        for _ in range(2):
            found += check(
                device, rng, MIXED, rng.integers(2, 200, 16), kind, bounds="at weights",
                monotone=rng.integers(0, 3, 5).astype(np.uint32), work_group_size=wg, **params,
            )  # fmt: skip
    assert found > 2 or kind in ("constant", "ties")


def test_several_trees_at_a_time(device, rng, wg):
    """Every node is searched in its own tree's units."""
    counts, trees = [300, 1, 40, 90, 7, 150], [0, 0, 1, 1, 2, 2]
    found = 0
    for params in RULES:
        found += check(
            device, rng, MIXED, counts, "random", trees=trees, work_group_size=wg, **params
        )
    assert found > 10


def test_edges(device, rng, wg):
    one_bin, no_bin = make_layout([1], [False]), make_layout([0, 0], [True, True])
    for layout in (one_bin, no_bin):
        assert check(device, rng, layout, [50, 1], "random", work_group_size=wg) == 0
    assert check(device, rng, make_layout([1], [True]), [50], "random", work_group_size=wg) == 1
    assert check(device, rng, make_layout([2], [False]), [1], "random", work_group_size=wg) == 0
    bins = wg * wg + 1 if wg <= 16 else wg + 1
    for n_bins in (max(1, wg - 1), wg, wg + 1, bins):
        layout = make_layout([n_bins, 3], [True, False])
        check(device, rng, layout, [400, 3], "random", work_group_size=wg)


def test_equal_features_take_the_lowest(device, rng, wg):
    layout = make_layout([12] * 5, [True] * 5)
    codes = np.repeat(random_codes(rng, make_layout([12], [True]), 300), 5, axis=1)
    codes[:, 0] = 3  # no split there
    codes, hists, sums = node_histograms(rng, layout, [300], "random", codes)
    nodes, _ = level_nodes([300], 64)
    nodes["sum_g"], nodes["sum_h"] = sums[0]
    pool = np.zeros((2**DEPTH, layout.n_codes, 2), np.int64)
    pool[0] = hists[0]
    chosen, _ = run(device, layout, codes, nodes, pool, work_group_size=wg)
    assert chosen["feature"][0] == 1
    assert compare({}, layout, hists, sums, chosen) == 1


def test_sibling_is_parent_minus_the_one_built(device, rng, wg, monkeypatch):
    monkeypatch.setattr(split, "MOST_Y", 3)  # fewer work-groups than nodes
    counts = [200, 10, 64, 64, 5, 90, 30, 1]
    codes, hists, sums = node_histograms(rng, MIXED, counts, "random")
    nodes, _ = level_nodes(counts, 64)
    nodes["sum_g"], nodes["sum_h"] = np.array(sums).T
    nodes["slot"] = [0, 8, 9, 1, 2, 10, 11, 3]
    nodes["sibling_slot"] = [8, -1, -1, 9, 10, -1, -1, 11]
    pool = np.zeros((2**DEPTH, MIXED.n_codes, 2), np.int64)
    expected = pool.copy()
    for index, node in enumerate(nodes):
        derived = node["sibling_slot"] >= 0
        pool[node["slot"]] = hists[index] + (hists[index ^ 1] if derived else 0)
        expected[node["slot"]] = hists[index]
    chosen, after = run(device, MIXED, codes, nodes, pool, work_group_size=wg)
    assert_same_bits(after, expected, "pool")
    assert compare({}, MIXED, hists, sums, chosen) >= 6


def test_law_the_choice_is_the_best_by_exact_arithmetic(rng):
    from fractions import Fraction

    layout = make_layout([20, 20], [True, False])
    for _ in range(5):
        _, hists, sums = node_histograms(rng, layout, [400], "random")
        (g, h), hist = (int(x) for x in sums[0]), hists[0].tolist()
        rule = make_rule(Scale(24, 24, wide=False), 0, 0, 0)
        got = best_split(hists[0], g, h, layout, rule, 1)
        best = []
        for feature in range(2):
            begin = int(layout.feature_offset[feature])
            missing = hist[begin + 20] if feature == 0 else [0, 0]
            for direction in (0, 1) if feature == 0 else (0,):
                left = [direction * missing[0], direction * missing[1]]
                for bin_ in range(20):
                    left = [left[0] + hist[begin + bin_][0], left[1] + hist[begin + bin_][1]]
                    if 0 < left[1] < h:
                        score = Fraction(left[0] ** 2, left[1])
                        score += Fraction((g - left[0]) ** 2, h - left[1])
                        best.append((-score, feature, bin_, direction))
        assert (got.feature, got.bin, got.direction) == min(best)[1:]


def test_groups_far_below_the_best_of_many_features(monkeypatch):
    """Such groups stay for all barriers on PoCL 3, which loses others' candidates if they leave."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (2000, 400)).astype(np.float32)
    data = Dataset(X, X[:, :9].sum(axis=1))
    params = {"max_depth": 2, "device": TEST_DEVICE}
    expected = to_xgboost_json(train(params, data, 1).ensemble)
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "baseline")
    assert to_xgboost_json(train(params, data, 1).ensemble) == expected


@pytest.mark.parametrize(
    ("most_codes", "asked", "name", "size"),
    [
        (5, 0, "warps", 32), (32, 0, "warps", 32), (33, 0, "warps", 64), (5, 128, "warps", 128),
        (5, 0, "portable", 64),
    ],
)  # fmt: skip
def test_groups_shrink_where_features_have_few_codes(device, most_codes, asked, name, size):
    facts = FitFacts(Parameters.from_dict({"work_group_size": asked}))
    variant = next(one for one in KERNELS["split"].variants if one.name == name)
    assert split.group_size(Ways(device, facts), variant, most_codes) == size
