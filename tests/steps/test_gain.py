"""gain: the twin against exact rational arithmetic. (test_split, test_level: the kernels.)"""

import re
from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.dtypes import BOUNDS, NODE
from pyopencl_gbdt.numerics.portable_math import df_add, df_neg
from pyopencl_gbdt.parameters.constraints import FALLING, RISING
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.reference.gain import (
    breaks_order,
    least_hessian,
    make_rule,
    may_split,
    node_weight,
    score,
)
from tests.reference.gradients import Scale
from tests.reference.grow import Grower, Node
from tests.reference.split import Candidate
from tests.steps.builders import make_layout

N = 2000
SCALE = Scale(24, 29, wide=False, weight_shift=3)


def exact_weight_and_score(g, h, reg_lambda, alpha, max_delta):
    """XGBoost's formulas, without rounding, in real units."""
    big_g = Fraction(g) / 2**SCALE.sum_g
    d = Fraction(h) / 2**SCALE.sum_h + Fraction(float(np.float32(reg_lambda)))
    a = Fraction(float(np.float32(alpha)))
    t = big_g - a if big_g > a else (big_g + a if big_g < -a else Fraction(0))
    w = -t / d
    limit = Fraction(float(np.float32(max_delta)))
    if max_delta and abs(w) > limit:
        w = limit if w > 0 else -limit
    return w, -w * (2 * t + d * w)


def sums(rng):
    g = rng.integers(-(2**55), 2**55, N) >> rng.integers(0, 50, N)
    h = rng.integers(2, 2**57, N) >> rng.integers(0, 55, N)
    return g, np.maximum(h, 1)


@pytest.mark.parametrize("alpha", [0, 0.3, 100])
@pytest.mark.parametrize("max_delta", [0, 0.01, 5])
@pytest.mark.parametrize("reg_lambda", [0, 1, 1000])
def test_score_and_weight_equal_the_formulas(rng, reg_lambda, alpha, max_delta):
    rule = make_rule(SCALE, reg_lambda, alpha, max_delta)
    g, h = sums(rng)
    hi, lo = score(g, h, rule)
    weight = node_weight(g, h, rule)
    for i in range(0, N, 7):
        w, s = exact_weight_and_score(int(g[i]), int(h[i]), reg_lambda, alpha, max_delta)
        got = (Fraction(float(hi[i])) + Fraction(float(lo[i]))) * Fraction(2) ** rule.gain_power
        # near alpha the shrunk gradient keeps the absolute error of the gradient
        near = abs(Fraction(int(g[i])) / 2**SCALE.sum_g) + Fraction(alpha)
        assert abs(got - s) <= s / 2**42 + 2 * abs(w) * near / 2**44
        slack = near / (Fraction(int(h[i])) / 2**SCALE.sum_h + Fraction(reg_lambda)) / 2**43
        assert abs(Fraction(float(weight[i])) - w) <= abs(w) / 2**23 + slack


def test_loss_reduction_keeps_its_digits_under_cancellation(rng):
    """A gain a millionth of the scores, as at the root of many million rows."""
    rule = make_rule(Scale(0, 0, wide=False), 0, 0, 0)
    left_h = rng.integers(2**40, 2**41, N)
    right_h = rng.integers(2**40, 2**41, N)
    left_g = left_h // 3 + rng.integers(0, 2**31, N)
    right_g = right_h // 3 - rng.integers(0, 2**31, N)
    both = df_add(score(left_g, left_h, rule), score(right_g, right_h, rule))
    loss = df_add(both, df_neg(score(left_g + right_g, left_h + right_h, rule)))
    for i in range(0, N, 13):
        a, b, c, d = (int(x[i]) for x in (left_g, left_h, right_g, right_h))
        truth = Fraction(a * a, b) + Fraction(c * c, d) - Fraction((a + c) ** 2, b + d)
        got = Fraction(float(loss[0][i])) * Fraction(2) ** rule.gain_power
        assert abs(got - truth) <= truth / 2**16


def test_nothing_to_gain():
    rule = make_rule(SCALE, 1, 2, 0)
    nothing = np.array([0, 1, -1, 2**20], np.int64)  # all within alpha
    h = np.full(4, 2**30, np.int64)
    assert not any(part.any() for part in score(nothing, h, rule))
    assert not node_weight(nothing, h, rule).any()


def test_a_border_may_split_where_both_children_have_enough_rows():
    scale = Scale(24, 10, wide=False, weight_shift=3)
    assert least_hessian(0, scale) == least_hessian(1e-9, scale) == 1
    least = least_hessian(0.5, scale)
    assert least == 2**9 >> 3
    for left, right in ((least, least), (least - 1, least), (least, least - 1), (0, least)):
        enough = min(left, right) >= 0.5 * 2.0**scale.sum_h
        rule = make_rule(scale, 1, 0, 0)
        sides = ((np.zeros(1, np.int64), np.array([h])) for h in (left, right))
        assert may_split(*sides, least, rule) == [enough]


def test_weights_of_a_constrained_feature_are_in_order():
    left, right = np.float32([1, 2, 1, 2, 1, 2, 1]), np.float32([2, 1, 2, 1, 2, 1, 1])
    constraint = np.array([RISING, RISING, FALLING, FALLING, 0, 0, RISING], np.uint32)
    assert breaks_order(constraint, left, right).tolist() == [0, 1, 1, 0, 0, 0, 0]


def test_a_node_carries_a_pair_for_each_output():
    """Outputs do not see each other, but in what a split gains: there, their scores add up."""
    left, right = np.array([[-(2**30), 2**31], [2**28, 2**30]]), np.array([[7, 2**30], [2**29, 9]])
    params = Parameters.from_dict({"reg_lambda": 0.5})
    grower = Grower(
        np.zeros((2, 1), np.uint8),
        np.stack([left, right]),
        SCALE,
        make_layout([2], [False]),
        params,
    )
    node, rows = Node(np.arange(2, dtype=np.uint32), left + right), ([0], [1])
    grower._finish(node)
    gains = []
    for output in (slice(0, 1), slice(1, 2), slice(0, 2)):
        scores = [score(*own[output].T, grower.rule) for own in (left, right)]
        sides = df_add(*scores)
        both = df_add(*((n[:1], n[1:]) for n in np.array(sides).T)) if len(sides[0]) > 1 else sides
        best = Candidate(both, left[output, 0], left[output, 1], 0, 0, 0)
        own = Node(node.rows, node.sums[output])
        grower._finish(own)
        assert_same_bits(own.weights, node.weights[output])
        assert_same_bits(own.values, node.values[output])
        gains.append(float(grower.gain(own, best)))
        children = grower._children(own, 0, best, rows)
        assert_same_bits(children[0].sums + children[1].sums, own.sums)
        assert_same_bits(children[0].sums, left[output])
    assert gains[2] == pytest.approx(gains[0] + gains[1], rel=1e-6)


def test_nodes_do_not_hold_what_lies_beside_them():
    carried = {"sum_g", "sum_h", "weight", "value", "hessian", *BOUNDS.names}
    assert not carried & set(NODE.names)


def test_headers_alone_tell_whether_a_border_may_be_a_split():
    """No template compares a child's Hessian or the weights of two children."""
    written = re.compile(
        r"to_quanta\(min_child_weight|\b(?:right|other)_h (?:>=?|<) |_h - h (?:>=?|<) "
    )
    for file in sorted(source_folder("templates").glob("growth/*.mako")):
        assert not written.search(file.read_text(encoding="utf-8")), file.name


def test_borders_are_scored_in_one_place():
    """``candidates`` scores both sides of a border, ``rough_scores`` those of many at a time."""
    both = re.compile(r"\brough_scores\(|\brough\(node_g - g|\bscore\(right_g")
    found = {
        file.name.partition(".")[0]: len(both.findall(file.read_text(encoding="utf-8")))
        for file in source_folder("templates").glob("growth/*.mako")
    }
    places = {name: n for name, n in found.items() if n}
    # the last two: bits of near borders, and sums over the nodes of a level
    expected = {"candidates": 3, "rough_scores": 2, "borders": 1, "level_scores": 2}
    assert places == {**expected, "scores_of_places": 1}
