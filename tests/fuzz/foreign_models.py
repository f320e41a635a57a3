"""Model files of LightGBM and CatBoost: what is accepted predicts like any other model."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt import Model
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.model import Ensemble, Tree
from pyopencl_gbdt.model.formats.base import Format as ModelFormat
from pyopencl_gbdt.model.formats.catboost_json import CatBoostJson
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText
from pyopencl_gbdt.model.sets import packed
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT
from tests.fuzz.formats import Format
from tests.fuzz.models import PIECES, edit, tree_of, use
from tests.fuzz.mutations import NUMBERS, mutate
from tests.model.format_kinds import KINDS

_TEXT_PIECES = (
    b"\n", b"=", b" ", b":", b"\r\n", b"Tree=0\n", b"end of trees\n", b"num_leaves=", b"1e-40",
    b"leaf_value=", b"decision_type=5", b"cat_threshold=", b"objective=regression sqrt\n",
    b"average_output\n", b"is_linear=1\n", b"pandas_categorical:[[1,2]]\n", b"[alpha: 0.5]\n",
    b"4294967295", b"-2147483648",
)  # fmt: skip
_ONE: dict[str, Any] = {"n_features": 3, "base_margin": 0.0, "base_score": 0.0}


def _by_set(codes: list[int], *, default_left: bool) -> Tree:
    """Return a tree whose root is split by a set of column 1's codes."""
    tree = tree_of(0.5, 0.25, -0.5)
    bits = np.zeros(40, np.bool_)
    bits[codes] = True
    words = packed(bits)
    kind, sides = tree.split_kind.copy(), tree.default_left.copy()
    kind[0], sides[0] = CATEGORY_SPLIT, default_left
    begin = np.array([0, words.size, words.size, words.size], np.int32)
    return replace(
        tree, threshold=np.zeros(3, np.float32), split_kind=kind, default_left=sides, sets=words,
        set_begin=begin,
    )  # fmt: skip


def _models() -> list[Ensemble]:
    trees = [tree_of(0.5, 0.1, -0.2), tree_of(-0.25, 0.3, 0.5, -1.5), tree_of(1, 2, 3)]
    text = np.empty(40, object)
    text[:] = [f"town {i:02d}" for i in range(40)]
    sets = [_by_set([1, 3, 38], default_left=True), _by_set([0, 2], default_left=False)]
    three = {"base_margin": (0.0, 0.5, 1.0), "base_score": (0.0, 0.5, 1.0), "n_outputs": 3}
    return [
        Ensemble(trees=trees, objective="reg:squarederror", **_ONE),
        Ensemble(trees=trees, objective="binary:logistic", **{**_ONE, "base_score": 0.5},
                 feature_names=["a", "b", "c"]),
        Ensemble(trees=trees * 2, objective="multi:softprob", **{**_ONE, **three},
                 objective_parameters={"num_class": 3.0}),
        Ensemble(trees=sets, objective="reg:squarederror", categories={1: Levels(text)}, **_ONE),
        Ensemble(trees=sets, objective="count:poisson", **{**_ONE, "base_score": 1.0},
                 categories={1: Levels(np.arange(0, 120, 3))}),
        Ensemble(trees=[], objective="reg:squarederror", **_ONE),
        KINDS["linear leaves"](),
    ]  # fmt: skip


class _Foreign(Format):
    n_mutations, n_sampled = 100_000, 20
    model_format: ModelFormat

    def prepare(self) -> None:
        for data in self.seeds():
            use(self.model_format.read(data, "seed"))

    @cache  # noqa: B019
    def seeds(self) -> list[bytes]:
        return [
            self.model_format.write(model)
            for model in _models()
            if not self.model_format.lacks(model)
        ]

    def read(self, path: Path) -> None:
        ensemble = Model.load_model(path).ensemble
        for tree in ensemble.trees[:20]:
            assert replace(tree) == tree  # a copy is checked
        use(ensemble)
        if not self.model_format.lacks(ensemble) and len(ensemble.trees) < 100:
            data = self.model_format.write(ensemble)
            again = self.model_format.read(data, "again")
            assert _numbers(again) == _numbers(ensemble)


def _numbers(ensemble: Ensemble) -> set[tuple[bytes, bytes]]:
    """Return the thresholds and values of the trees that are not 0 everywhere."""
    return {
        (np.sort(tree.threshold).tobytes(), np.sort(tree.value[:, 0] + np.float32(0)).tobytes())
        for tree in ensemble.trees
        if tree.value.any()
    }


class LightGBMFiles(_Foreign):
    name, suffix, pieces = "lightgbm", ".txt", _TEXT_PIECES
    model_format = LightGBMText()

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        """Change bytes, or one of the numbers or lines."""
        if rng.random() < 0.5:
            return mutate(data, rng, self.pieces)
        lines = data.split(b"\n")
        for _ in range(min(rng.geometric(0.6), 4)):
            place, other = rng.integers(len(lines), size=2).tolist()
            key, _, values = lines[place].partition(b"=")
            words, chance = values.split(b" "), rng.random()
            if chance < 0.6:
                strange = NUMBERS[rng.integers(len(NUMBERS))]
                small = str(rng.integers(-4, 9)).encode()
                words[rng.integers(len(words))] = strange if chance < 0.2 else small
                lines[place] = key + b"=" + b" ".join(words)
            elif chance < 0.75:
                lines[place] = key + b"=" + lines[other].partition(b"=")[2]
            elif chance < 0.9:
                lines[place] = lines[other]
            else:
                del lines[place]
        return b"\n".join(lines)


class CatBoostFiles(_Foreign):
    name, suffix, pieces = "catboost", ".json", PIECES
    model_format = CatBoostJson()

    @cache  # noqa: B019
    def seeds(self) -> list[bytes]:
        symmetric = [
            replace(model, trees=[tree for tree in model.trees if tree.n_nodes == 3] * 3)
            for model in _models()[:3]
        ]
        return [self.model_format.write(model) for model in symmetric]

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.3:
            return mutate(data, rng, self.pieces)
        document = json.loads(data)
        edit(document, rng)
        return json.dumps(document).encode()


FORMATS: list[Format] = [LightGBMFiles(), CatBoostFiles()]
