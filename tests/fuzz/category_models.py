"""Model files with categories: sets of levels, and statistics with tables that lie."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.model import Ensemble, read_model, to_json
from pyopencl_gbdt.model.combinations import Part
from pyopencl_gbdt.model.sets import joined, packed
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree
from tests.fuzz.formats import Format
from tests.fuzz.models import Models, edit, tree_of, use

#: Column 0 has strings, column 1 numbers that are levels, column 2 numbers.
LEVELS = {
    0: Levels(np.array(["", "Bern", "Ulm", "ä"], object)),
    1: Levels(np.array([-5, 7, 40], np.int64)),
}


class CategoryModels(Models):
    name = "categories"
    n_mutations, n_sampled = 50_000, 20

    def prepare(self) -> None:
        """Build the kernels of prediction."""
        for ensemble in _models():
            use(ensemble)

    def seeds(self) -> list[bytes]:
        return _seeds()

    def learner(self, document: Any) -> Any:
        return document.get("model", document)["learner"]

    def check_round_trip(self, ensemble: Ensemble, path: Path) -> None:
        again = path.with_name("again.json")
        again.write_text(to_json(ensemble))
        assert read_model(again) == ensemble

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        """Damage the levels and tables more often than the trees."""
        if rng.random() < 0.5:
            return super().mutate(data, rng)
        document = json.loads(data)
        parts = [self.learner(document)["gradient_booster"]["model"]["cats"]]
        parts += [document["statistics"]] * 3 if "statistics" in document else []
        edit(parts[rng.integers(len(parts))], rng)
        return json.dumps(document).encode()


def _by_sets(tree: Tree) -> Tree:
    """Return the tree with the columns of levels split by sets."""
    sets = {0: [True, False, False, True], 1: [False, True, True]}
    words, kind, threshold = [], tree.split_kind.copy(), tree.threshold.copy()
    for node, feature in enumerate(tree.feature.tolist()):
        chosen = feature in sets and not tree.is_leaf[node]
        words.append(packed(np.array(sets[feature])) if chosen else np.zeros(0, np.uint32))
        if chosen:
            kind[node], threshold[node] = CATEGORY_SPLIT, 0
    arrays = {field.name: getattr(tree, field.name) for field in fields(tree)}
    of_sets = dict(zip(("sets", "set_begin"), joined(words), strict=True))
    return Tree(**{**arrays, **of_sets, "split_kind": kind, "threshold": threshold})


def _with_features(tree: Tree, *features: int) -> Tree:
    """Return the tree whose splits are on other features, in the order of nodes."""
    arrays = {field.name: getattr(tree, field.name) for field in fields(tree)}
    feature = tree.feature.copy()
    feature[~tree.is_leaf] = features
    return Tree(**{**arrays, "feature": feature})


def _statistics() -> Statistics:
    """Return two columns and two combinations, with two targets: 6 + 4 features."""
    counts, hits = np.array([3, 0, 5, 1]), np.array([[1, 0, 5, 0], [0, 0, 2, 1]])
    pair, bit = (Part(0), Part(1)), (Part(1), Part(2, 0.25))
    return Statistics(
        3, ("> 0.5", "> 1.5"), ((0.5,), (0.25,)),
        (
            LevelTable((Part(0),), (4,), counts, hits),
            LevelTable((Part(1),), (3,), counts[:3], hits[:, :3]),
            LevelTable(pair, (4, 3), counts[1:], hits[:, 1:], np.array([1, 5, 11])),
            LevelTable(bit, (3, 2), counts[2:], hits[:, 2:], np.array([0, 4])),
        ),
    )  # fmt: skip


@cache
def _models() -> list[Ensemble]:
    """Models by sets, and by statistics, with names and without."""
    one = {"n_features": 3, "base_margin": 0.0, "base_score": 0.0, "categories": LEVELS}
    small, deep = tree_of(0.5, 0.1, -0.2), tree_of(-0.25, 0.3, 0.5, -1.5)
    by_sets = [_by_sets(tree) for tree in (small, deep)]
    some = [_with_features(small, 4), _with_features(deep, 9, 2), _with_features(deep, 12, 8)]
    squared = {"objective": "reg:squarederror", **one}
    three = {"n_outputs": 3, "base_margin": (0.0, 0.5, 1.0), "base_score": (0.0, 0.5, 1.0)}
    return [
        Ensemble(trees=by_sets, feature_names=["a", "b", "c"], **squared),
        Ensemble(
            trees=by_sets[:1] * 3, objective="multi:softprob", **{**one, **three},
            objective_parameters={"num_class": 3.0},
        ),
        Ensemble(trees=some, statistics=_statistics(), **squared),
        Ensemble(
            trees=some, statistics=_statistics(), feature_names=["a", "b", "c"],
            objective="binary:logistic", **{**one, "base_score": 0.5},
            attributes={"pyopencl_gbdt.classes": '["no", "yes"]'},
        ),
    ]  # fmt: skip


@cache
def _seeds() -> list[bytes]:
    return [to_json(ensemble).encode() for ensemble in _models()]


FORMATS: list[Format] = [CategoryModels()]
