"""A seeded sample of the cases, beside XGBoost; ``python -m tests.conformance`` runs all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("xgboost")

import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import from_xgboost_json
from tests.conformance import run as runner
from tests.conformance.__main__ import main
from tests.conformance.choice import choose
from tests.conformance.judge import Result, Verdict, judge_cases, judge_values
from tests.conformance.table import AXES, refused_values
from tests.conftest import TEST_DEVICE
from tests.xgboost_versions import PENALISES_BOUNDED_LEAVES

pytestmark = pytest.mark.thorough
CASES, SEEDS = 20, 2
SAMPLE = choose(CASES)
PLACES = [(axis, value.name) for axis, values in AXES.items() for value in values]


@dataclass
class Outcome:
    results: dict[str, Result]
    verdicts: dict[str, Verdict]
    refused: dict[str, str]


@pytest.fixture(scope="module")
def outcome():
    """What came of the whole sample: verdicts need the spread of all."""
    results, refused = runner.run_all(SAMPLE, TEST_DEVICE, SEEDS)
    verdicts = {v.name: v for v in [*judge_cases(results), *judge_values(results)]}
    return Outcome({result.case.name: result for result in results}, verdicts, refused)


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_case(case, outcome):
    if case.name in outcome.refused:
        pytest.skip(f"XGBoost: {outcome.refused[case.name]}")
    result = outcome.results[case.name]
    assert result.same_trees, result.trees
    assert outcome.verdicts[case.name].ok, outcome.verdicts[case.name]


@pytest.mark.parametrize("place", PLACES, ids=": ".join)
def test_value(place, outcome):
    """No harm to what its cases have in common; a value that is not taken yet is skipped."""
    if place in refused_values():
        pytest.skip(f"not taken yet: {refused_values()[place]}")
    name = ": ".join(place)
    if name not in outcome.verdicts:
        pytest.skip("XGBoost refuses every case of the sample")
    assert outcome.verdicts[name].ok, outcome.verdicts[name]


def test_most_trees_are_equal_and_something_is_learnt(outcome):
    comparable = [r.trees for r in outcome.results.values() if not r.case.differs]
    assert comparable.count("equal") > 0.6 * len(comparable)
    assert np.median([r.learnt for r in outcome.results.values()]) > 2


def test_what_trains_otherwise_is_noticed(monkeypatch):
    """A penalty shows in the trees, unless leaves are medians; fewer rounds show in the quality."""
    medians = ("reg:absoluteerror", "reg:quantileerror")
    small = ("symmetric", "small steps")  # of which fewer are not that much worse
    cases = [
        case for case in choose(200)
        if not (case.differs or case.name.startswith(medians) or case["growth"].name in small)
    ][:8]  # fmt: skip
    honest, _ = runner.run_all(cases, TEST_DEVICE, 3)
    assert all(v.ok for v in judge_cases(honest))
    heavy = {"reg_lambda": 4.0}
    monkeypatch.setattr(runner, "train", lambda p, data, n: train({**p, **heavy}, data, n))
    results, _ = runner.run_all(cases[:4], TEST_DEVICE, 2)
    assert not any(result.same_trees for result in results)
    monkeypatch.setattr(runner, "train", lambda p, data, n: train(p, data, n // 3))
    results, _ = runner.run_all(cases, TEST_DEVICE, 3)
    assert any(not v.ok for v in judge_cases(results))
    assert any(not v.ok for v in judge_values(results))


def test_the_command(capsys, monkeypatch):
    words = ["--cases", "2", "--seeds", "2", "--device", TEST_DEVICE]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert all(case.name in text for case in choose(2))
    assert "2 cases, 0 failures" in text
    monkeypatch.setattr(runner, "train", lambda p, data, n: train({**p, "max_depth": 2}, data, n))
    assert main(words) == 1
    assert "FAILED" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])


def test_gain_of_bounded_leaves_under_an_l1_penalty():
    """Part of the rule of ``Case.differs``: ours is the true decrease; XGBoost's, since 3.4.

    One split with the gradient G and Hessian H on each side, w = -shrink(G) / (H + lambda).
    """
    X = np.repeat([0.0, 1.0], 50)[:, None].astype(np.float32)
    y = np.repeat([-1.0, 2.0], 50).astype(np.float32)
    params = {"max_depth": 1, "reg_alpha": 3.0, "max_delta_step": 0.5, "base_score": 0.0}
    booster = xgboost.train({**params, "tree_method": "hist"}, xgboost.DMatrix(X, y), 1)
    theirs = from_xgboost_json(bytes(booster.save_raw("json"))).trees[0]
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 1).ensemble.trees[0]

    def score(g, h, penalty):
        t = np.sign(g) * max(abs(g) - 3, 0)
        w = np.clip(-t / (h + 1), -0.5, 0.5)
        return -(2 * g * w + (h + 1) * w * w) - 2 * penalty * abs(w)

    for tree, penalty in ((ours, 3), (theirs, 3 if PENALISES_BOUNDED_LEAVES else 0)):
        gain = score(50, 50, penalty) + score(-100, 50, penalty) - score(-50, 100, penalty)
        assert tree.gain[0] == pytest.approx(gain, rel=1e-5)
