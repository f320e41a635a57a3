"""Is the difference in quality noise? Paired differences against their own spread over seeds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tests.conformance.table import Case

#: Chance that anything at all fails if nothing is wrong, shared out among all that is judged.
FALSE_ALARM = 1e-3


@dataclass(frozen=True)
class Result:
    """What both made of a case.

    Attributes
    ----------
    trees : str
        ``equal``, or where the first difference is; why trees were not compared.
    same_trees : bool
        False is a failure.
    learnt : float
        How much better XGBoost is than a constant. In units, as the next ones: the standard error
        of XGBoost's loss on the held-out rows.
    worse : float array, shape (n_seeds,)
        Our loss on held-out rows minus XGBoost's; a pair of models a seed.
    """

    case: Case
    trees: str
    same_trees: bool
    learnt: float
    worse: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """A mean difference beside what noise allows; ``ok`` is whether it is within."""

    name: str
    difference: float
    tolerance: float
    ok: bool


def judge_cases(results: list[Result]) -> list[Verdict]:
    """Compare each case's mean with the spread over its seeds, in either direction.

    A few seeds say little about the spread, so it is at least that of all cases together whose
    trees have to be the same; for those that are left to chance, of all of these. And at least
    that of those among them with the same loss, as losses have tails of their own.
    """
    pools = defaultdict(list)
    for result in results:
        for key in _pools(result.case):
            pools[key].append(result.worse - result.worse.mean())
    spreads = {key: _spread(parts) for key, parts in pools.items()}
    verdicts = []
    for result in results:
        (pooled, free), (of_loss, _) = (spreads[key] for key in _pools(result.case))
        sigmas = stats.t.isf(FALSE_ALARM / 2 / len(results), free)
        spread = max(result.worse.std(ddof=1), pooled, of_loss)
        tolerance = sigmas * spread / np.sqrt(result.worse.size)
        mean = result.worse.mean()
        verdicts.append(Verdict(result.case.name, mean, tolerance, bool(abs(mean) <= tolerance)))
    return verdicts


def judge_values(results: list[Result]) -> list[Verdict]:
    """Compare the mean over all cases that share a value: small harm done everywhere shows here.

    To be better is no failure.
    """
    shared = defaultdict(list)
    for result in results:
        for place in result.case.places:
            shared[place].append(result.worse)
    verdicts = []
    for (axis, name), parts in shared.items():
        worse = np.concatenate(parts)
        sigmas = stats.t.isf(FALSE_ALARM / len(shared), worse.size - 1)
        tolerance = sigmas * worse.std(ddof=1) / np.sqrt(worse.size)
        mean = worse.mean()
        verdicts.append(Verdict(f"{axis}: {name}", mean, tolerance, bool(mean <= tolerance)))
    return verdicts


def _pools(case: Case) -> tuple[tuple[bool, str], tuple[bool, str]]:
    """Return what a case shares with those whose spread tells of its own."""
    chance = bool(case.differs)
    return (chance, ""), (chance, case["loss"].name)


def _spread(deviations: list[np.ndarray]) -> tuple[float, int]:
    """Return standard deviation within groups and degrees of freedom; deviations from means."""
    free = sum(part.size - 1 for part in deviations)
    return float(np.sqrt(sum((part**2).sum() for part in deviations) / free)), free
