"""Trains both on a case."""

from __future__ import annotations

import numpy as np
import xgboost

from pyopencl_gbdt import train
from pyopencl_gbdt.model import from_xgboost_json
from tests.conformance.compare import compare_trees
from tests.conformance.judge import Result
from tests.conformance.losses import held_out_loss
from tests.conformance.samples import Rows, draw
from tests.conformance.table import Case
from tests.objectives.quantile_leaves import train_xgboost as train_with_quantile_leaves

ROWS, ROUNDS, ROUNDS_ALIKE = 1000, 12, 5


def run(case: Case, device: str, n_seeds: int) -> Result:
    """Compare trees on small integers, then quality on other data of ``n_seeds`` seeds."""
    differs = case.differs
    same, trees = (True, differs) if differs else _trees(case, device)
    pairs = [_quality(case, device, seed) for seed in range(n_seeds)]
    worse, learnt = np.array(pairs).T
    return Result(case, trees, same, float(learnt.mean()), worse)


def run_all(cases: list[Case], device: str, n_seeds: int) -> tuple[list[Result], dict[str, str]]:
    """Run cases; return the results, and what XGBoost says of those that it refuses."""
    results, refused = [], {}
    for case in cases:
        try:
            results.append(run(case, device, n_seeds))
        except xgboost.core.XGBoostError as error:
            refused[case.name] = str(error).splitlines()[0]
    return results, refused


def train_xgboost(case: Case, rows: Rows, n_rounds: int, seed: int) -> xgboost.Booster:
    """Train what ours is compared with."""
    params = {**case.params, "seed": seed}
    if "interaction_constraints" in params:  # a list has to hold names there
        params["interaction_constraints"] = str(params["interaction_constraints"])
    return train_with_quantile_leaves(params, rows.theirs(), n_rounds)


def losses(case: Case, held_out: Rows, booster: xgboost.Booster) -> tuple[np.ndarray, np.ndarray]:
    """Return XGBoost's losses on held-out rows, and those of a constant margin."""
    margin = booster.predict(held_out.theirs(), output_margin=True)
    constant = np.zeros_like(margin) + np.median(margin, axis=0)
    objective = str(case.params["objective"])
    other, none = (held_out_loss(objective, case.params, m, held_out) for m in (margin, constant))
    return other, none


def _trees(case: Case, device: str) -> tuple[bool, str]:
    rows, _ = draw(case, 0, ROWS, 0, few=True)
    booster = train_xgboost(case, rows, ROUNDS_ALIKE, 0)
    ours = train({**case.ours, "device": device}, rows.ours(), ROUNDS_ALIKE)
    read = from_xgboost_json(bytes(booster.save_raw("json")))
    seen = rows.X if rows.weight is None else rows.X[rows.weight > 0]
    return compare_trees(ours.ensemble.trees, read.trees, seen, case.params)


def _quality(case: Case, device: str, seed: int) -> tuple[float, float]:
    """Return how much worse ours is than XGBoost, and how much better XGBoost is than a constant.

    Both in standard errors of XGBoost's loss on the held-out rows.
    """
    rows, held_out = draw(case, seed, ROWS, ROWS, few=False)
    other, constant = losses(case, held_out, train_xgboost(case, rows, ROUNDS, seed))
    ours = train({**case.ours, "seed": seed, "device": device}, rows.ours(), ROUNDS)
    margin = ours.predict(held_out.X, output_margin=True, device=device)
    mine = held_out_loss(str(case.params["objective"]), case.params, margin, held_out)
    unit = other.std() / np.sqrt(other.size)
    return (mine.mean() - other.mean()) / unit, (constant.mean() - other.mean()) / unit
