"""Trains recipes in all ways, and says where the models differ."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pyopencl_gbdt.errors import GBDTError, MemoryPlanError
from pyopencl_gbdt.model import to_json
from tests.layouts.recipes import Recipe
from tests.layouts.ways import NotOfferedError, Way, trained


def is_refused(error: Exception) -> bool:
    """Tell whether a row of ``REFUSED`` or a way refuses, or a device's memory is too small."""
    return isinstance(error, (MemoryPlanError, NotOfferedError)) or (
        isinstance(error, GBDTError) and error.refusal != ""
    )


@dataclass
class Outcome:
    """What came of some recipes.

    Attributes
    ----------
    n_trained, n_refused : int
        Recipes; those that are refused with all rows in one array count as refused.
    in_way, refused_in_way : Counter of str
        Models in each way.
    problems : list of str
        Each with the words that repeat its training.
    """

    n_trained: int = 0
    n_refused: int = 0
    in_way: Counter[str] = field(default_factory=Counter)
    refused_in_way: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def run(
    recipes: Iterable[Recipe],
    ways: Mapping[str, Way],
    device: str,
    tell: Callable[[str], None] = lambda problem: None,
) -> Outcome:
    """Train every recipe with all rows in one array, then in all ways; tell of problems at once."""
    outcome = Outcome()

    def report(words: str, problem: str, recipe: Recipe) -> None:
        outcome.problems.append(f"{words}\n    {problem}\n    {recipe}")
        tell(outcome.problems[-1])

    for recipe in recipes:
        try:
            wanted = to_json(trained(recipe, device).ensemble)
        except Exception as error:
            if is_refused(error):
                outcome.n_refused += 1
                continue
            report(recipe.name, f"{error!r:.300}", recipe)
            continue
        outcome.n_trained += 1
        for name, way in ways.items():
            problem = _differs(recipe, name, way, device, wanted, outcome)
            if problem:
                report(f"{recipe.name} --way '{name}'", problem, recipe)
    return outcome


def _differs(
    recipe: Recipe, name: str, way: Way, device: str, wanted: str, outcome: Outcome
) -> str:
    """Return what is wrong with the model of a way; empty if nothing is."""
    rng = np.random.default_rng(zlib.crc32(f"{recipe.name} {name}".encode()))
    try:
        found = to_json(way(recipe, device, rng).ensemble)
    except Exception as error:
        if is_refused(error):
            outcome.refused_in_way[name] += 1
            return ""
        return f"{error!r:.300}"
    outcome.in_way[name] += 1
    return "" if found == wanted else "another model"
