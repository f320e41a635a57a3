"""A fitted model: its trees, base score, and what is needed to interpret its output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.names import shortened
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.leaf_kinds import LINEAR, LeafKind, leaf_kind_of
from pyopencl_gbdt.model.statistics import check_categories
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.tree_weights import MOST_MARGIN, most_margin, weighted

if TYPE_CHECKING:
    from pyopencl_gbdt.model.joined_statistics import ModelStatistics


def _as_weights(given: Any) -> tuple[float, ...] | None:
    """Return the weights of trees as plain numbers; any sequence or array of numbers is taken."""
    try:
        weights = np.asarray(() if given is None else given)
    except ValueError:  # rows of several lengths
        weights = np.asarray("")
    if weights.ndim == 1 and weights.dtype.kind in "fiu":
        return None if given is None else tuple(weights.astype(np.float64).tolist())
    raise ModelFormatError(
        f"tree_weights={show(given)}: expected None or a sequence of numbers; give one for "
        "each tree"
    )


_MAX_FLOAT32 = float(np.finfo(np.float32).max)
#: One base score, or a tuple with one for each output.
Score = float | tuple[float, ...]


def each(score: Score) -> tuple[float, ...]:
    """Return the base score of every output, as a tuple."""
    return score if isinstance(score, tuple) else (score,)


def check_is_ensemble(given: object) -> None:
    """Raise an error unless ``given`` is an ``Ensemble``.

    Raises
    ------
    ParameterError
    """
    if not isinstance(given, Ensemble):
        raise ParameterError(
            f"ensemble is of type {type(given).__name__}: expected an Ensemble; give that of a "
            "Model, model.ensemble"
        )


def _rounded(score: Score) -> Score:
    """Round a score to float32; what does not fit float32 stays as it is."""
    if isinstance(score, (tuple, list, np.ndarray)):
        return tuple(float(_rounded(float(s))) for s in score)  # type: ignore[arg-type]
    return float(np.float32(score)) if abs(score) <= _MAX_FLOAT32 else float(score)


@dataclass(repr=False)
class Ensemble:
    """A sum of trees, as NumPy arrays only, so it pickles and predicts on any machine.

    Attributes
    ----------
    trees : list of Tree
        Round by round; within a round, ``n_parallel`` trees for every output, or for all outputs
        together if leaves are vectors. A row's margin is the float32 sum, from left to right, of
        ``base_margin`` and its leaf values.
    objective : str
        Name of the loss, as in ``pyopencl_gbdt.objectives``.
    n_features : int
        Number of columns that the model was trained on.
    base_margin : float or tuple of float
        Starting margin, exact in float32; a tuple if there are several outputs.
    base_score : float or tuple of float
        ``base_margin`` on the scale of predictions (a probability for ``binary:logistic``); it is
        rounded to float32 here.
    feature_names : list of str or None
        Column names; a tuple, array or Index becomes a list.
    attributes : dict of str to str
        Facts of this library, stored in XGBoost's ``attributes``.
    n_outputs : int
        Margins per row: classes of ``multi:softprob``, targets of a regression.
    n_parallel : int
        Trees per round and output, or per round if leaves are vectors.
    objective_parameters : dict of str to float or str
        Parameters of the loss that differ from their defaults; numbers are rounded to float32.
    categories : dict of int to Levels
        The levels of each categorical column, by the column's number: the code of a level is its
        index.
    statistics : Statistics, JoinedStatistics or None
        Features that trees use behind the columns, made of categorical columns.
    tree_weights : tuple of float, or None
        The float32 weight of every tree of a model that was trained with ``booster="dart"``. A
        row's margin is then a sum in fixed point, see ``numerics.tree_weights``. None: every
        weight is 1.

    Raises
    ------
    ModelFormatError
        See ``check``, which runs at construction and before a model is written.
    """

    trees: list[Tree]
    objective: str
    n_features: int
    base_margin: Score
    base_score: Score
    feature_names: list[str] | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    n_outputs: int = 1
    objective_parameters: dict[str, float | str] = field(default_factory=dict)
    n_parallel: int = 1
    categories: Mapping[int, Levels] = field(default_factory=dict)
    statistics: ModelStatistics | None = None
    tree_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        margin = self.base_margin
        self.base_margin = margin if isinstance(margin, tuple) else float(margin)
        self.base_score = _rounded(self.base_score)
        if self.feature_names is not None and not isinstance(self.feature_names, (list, str)):
            self.feature_names = list(self.feature_names)
        self.categories = dict(self.categories)
        self.tree_weights = _as_weights(self.tree_weights)
        self.check()

    @property
    def booster(self) -> str:
        """The parameter ``booster`` of a training that makes such trees."""
        return "gbtree" if self.tree_weights is None else "dart"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a pickle, or of a file of skops: the trees are a few arrays."""
        from pyopencl_gbdt.model.tree_arrays import join_trees

        numbers = [tree.file_numbers for tree in self.trees]
        kept = {"file_numbers": numbers} if any(one is not None for one in numbers) else {}
        return {**vars(self), "trees": join_trees(self.trees), **kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a state and check it; older ones have a list of trees, and no categories.

        Raises
        ------
        ModelFormatError
            If nodes do not form trees, or the trees contradict the rest.
        """
        from pyopencl_gbdt.model.tree_arrays import join_trees, split_trees

        state = {"categories": {}, "file_numbers": (), "tree_weights": None, **state}
        numbers, trees = state.pop("file_numbers"), state.pop("trees")
        if isinstance(trees, list):
            numbers = [tree.file_numbers for tree in trees]
            trees = join_trees([replace(tree) for tree in trees])  # which checks each
        weights = _as_weights(state["tree_weights"])
        self.__dict__ = {**state, "tree_weights": weights, "trees": []}
        if self.statistics is not None:
            self.statistics = self.statistics.checked()
        self.trees = split_trees(trees, self.n_tree_features)
        for tree, own in zip(self.trees, numbers, strict=False):
            if own is not None:
                tree.numbered_in_file(own)
        self.check()

    def __repr__(self) -> str:
        rounds = "1 round" if self.n_rounds == 1 else f"{self.n_rounds} rounds"
        trees = f" of {self.round_trees} trees" if self.round_trees > 1 else ""
        features = "1 feature" if self.n_features == 1 else f"{self.n_features} features"
        names = "" if self.feature_names is None else f" ({shortened(self.feature_names)})"
        outputs = "" if self.n_outputs == 1 else f", {self.n_outputs} outputs"
        levels = f", {len(self.categories)} categorical" if self.categories else ""
        return f"Ensemble({self.objective}, {rounds}{trees}, {features}{names}{levels}{outputs})"

    @property
    def n_tree_features(self) -> int:
        """Number of features that trees may use: columns, then statistics."""
        return self.n_features + (0 if self.statistics is None else self.statistics.n_features)

    def sources(self, feature: int) -> tuple[int, ...]:
        """Return the user's columns that a feature of trees is, or is made of."""
        if feature < self.n_features or self.statistics is None:
            return (feature,)
        return self.statistics.sources(feature - self.n_features)

    @property
    def leaves(self) -> LeafKind:
        """What leaves hold: numbers, linear functions, or vectors."""
        return leaf_kind_of(self.trees)

    @property
    def tree_outputs(self) -> int:
        """Number of outputs that a tree adds to."""
        return self.leaves.tree_outputs(self.n_outputs)

    @property
    def round_trees(self) -> int:
        """Number of trees per round."""
        return self.n_outputs // self.tree_outputs * self.n_parallel

    @property
    def n_rounds(self) -> int:
        return len(self.trees) // self.round_trees

    def of_rounds(self, rounds: Sequence[int], attributes: dict[str, str]) -> Ensemble:
        """Return a model of some rounds, whose trees keep their weights, with other attributes."""
        step = self.round_trees
        places = [tree for number in rounds for tree in range(number * step, (number + 1) * step)]
        weights = self.tree_weights
        return replace(
            self,
            trees=[self.trees[place] for place in places],
            tree_weights=None if weights is None else tuple(weights[place] for place in places),
            attributes=attributes,
        )

    def folded(self) -> Ensemble:
        """Return the model with the weights of trees multiplied into their leaves, in float32.

        Its margins are float32 sums, so they may differ in the last digits. A model without weights
        is returned as it is.
        """
        if self.tree_weights is None:
            return self
        return replace(self, trees=weighted_trees(self.trees, self.tree_weights), tree_weights=None)

    def with_numbers(self) -> Ensemble:
        """Return a model that predicts the same and whose leaves are numbers.

        Raises
        ------
        ModelFormatError
            If no such model exists.
        """
        trees = self.leaves.as_numbers(self.trees, self.n_outputs, self.n_parallel)
        if trees is None:
            raise ModelFormatError(
                f"the leaves of the model are {self.leaves.name}: expected numbers; train the "
                "model with leaves that are numbers"
            )
        if trees is self.trees:
            return self
        n, weights = self.n_parallel, self.tree_weights
        if weights is not None:
            rounds = [weights[first : first + n] for first in range(0, len(weights), n)]
            weights = tuple(one for own in rounds for one in own * self.tree_outputs)
        return replace(self, trees=trees, tree_weights=weights)

    def with_weights(self) -> Ensemble:
        """Return the model with weights of trees; where it has none, the weights are 1."""
        if self.tree_weights is not None:
            return self
        return replace(self, tree_weights=(1.0,) * len(self.trees))

    def by_output(self) -> list[Tree]:
        """Return the first output's trees, round by round, then the second output's, and so on.

        Trees of all outputs are returned once.
        """
        n, step = self.n_parallel, self.round_trees
        starts = range(0, len(self.trees), step)
        return [
            tree
            for first in range(0, step, n)
            for start in starts
            for tree in self.trees[start + first : start + first + n]
        ]

    def check(self) -> None:
        """Raise ``ModelFormatError`` if parts of the model contradict each other."""
        if not 1 <= self.n_features < 2**31:
            raise ModelFormatError(
                f"n_features={self.n_features}: expected 1..2147483647; train on a column or more"
            )
        for name in ("base_margin", "base_score"):
            scores = each(getattr(self, name))
            for score in scores:
                if not math.isfinite(score) or abs(score) > _MAX_FLOAT32:
                    raise ModelFormatError(
                        f"{name}={score}: expected a finite float32; look for infinities in the "
                        f"target"
                    )
            if len(scores) != self.n_outputs:
                raise ModelFormatError(
                    f"{name} has {len(scores)} entries: expected n_outputs={self.n_outputs}; give "
                    f"one for every output"
                )
        if any(float(np.float32(margin)) != margin for margin in each(self.base_margin)):
            raise ModelFormatError(
                f"base_margin={self.base_margin!r}: expected a float32; round it by np.float32"
            )
        names = self.feature_names
        if isinstance(names, str) or not all(isinstance(name, str) for name in names or ()):
            raise ModelFormatError(
                f"feature_names={names!r}: expected a list of strings; convert them by str"
            )
        if names is not None and len(names) != self.n_features:
            raise ModelFormatError(
                f"feature_names has {len(names)} entries: expected n_features={self.n_features}; "
                f"name every column or none"
            )
        if self.n_parallel < 1 or len(self.trees) % self.round_trees:
            raise ModelFormatError(
                f"{len(self.trees)} trees: expected a multiple of n_outputs * n_parallel = "
                f"{self.n_outputs // self.tree_outputs} * {self.n_parallel}; keep whole rounds"
            )
        self._check_weights()
        tables = () if self.statistics is None else self.statistics.tables
        check_categories(self.categories, self.n_features, tables)
        if self.statistics is not None and self.statistics.n_columns != self.n_features:
            raise ModelFormatError(
                f"statistics begin behind column {self.statistics.n_columns - 1}: expected "
                f"n_features={self.n_features} columns; correct the file"
            )
        features = [tree.feature for tree in self.trees]
        highest = np.concatenate(features).max() if features else 0
        self._check_linear()
        n = self.tree_outputs
        if highest >= self.n_tree_features or any(t.value.shape[1] != n for t in self.trees):
            for index, tree in enumerate(self.trees):
                self._check_tree(index, tree)

    def _check_linear(self) -> None:
        linear = [tree.linear.features for tree in self.trees if tree.linear is not None]
        most = int(np.concatenate(linear).max(initial=0)) if linear else 0
        if most >= self.n_tree_features:
            raise ModelFormatError(
                f"linear leaves use feature {most}: expected features 0.."
                f"{self.n_tree_features - 1}; keep trees of one training only"
            )

    def _check_weights(self) -> None:
        if self.tree_weights is None:
            return
        if self.leaves is LINEAR:
            raise ModelFormatError(
                "tree_weights: expected None where leaves are linear functions; multiply the "
                "functions by the weights"
            )
        weights = np.array(self.tree_weights, np.float64)
        if weights.shape != (len(self.trees),):
            raise ModelFormatError(
                f"tree_weights has the shape {weights.shape}: expected {len(self.trees)} numbers, "
                "one for each tree; give one for each"
            )
        wrong = ~((weights >= 0) & (weights.astype(np.float32) == weights))
        if wrong.any():
            raise ModelFormatError(
                f"tree_weights[{int(wrong.argmax())}]={weights[wrong][0]}: expected a float32 of 0 "
                "or more; round it by np.float32"
            )
        largest = [float(np.abs(tree.value).max()) for tree in self.trees]
        groups = self.n_outputs // self.tree_outputs
        most = most_margin(largest, weights, groups, self.n_parallel)
        if most >= MOST_MARGIN:
            raise ModelFormatError(
                f"trees with weights add up to {most:g}: expected less than 2^30 for margins in "
                "fixed point; divide the labels by a constant and train again"
            )

    def _check_tree(self, index: int, tree: Tree) -> None:
        highest = int(tree.feature.max())
        if highest >= self.n_tree_features or tree.n_outputs != self.tree_outputs:
            outputs = "1 output" if self.tree_outputs == 1 else f"{self.tree_outputs} outputs"
            raise ModelFormatError(
                f"trees[{index}] uses feature {highest} and has {tree.n_outputs} outputs: "
                f"expected features 0..{self.n_tree_features - 1} and {outputs}; "
                f"keep trees of one training only"
            )

    def feature_name(self, feature: int) -> str:
        """Return a feature's name; ``f0``, ``f1``, ... as in XGBoost if columns have no names."""
        if self.statistics is not None and feature >= self.n_features:
            number = feature - self.n_features
            return self.statistics.name(number, self.feature_name)
        return f"f{feature}" if self.feature_names is None else self.feature_names[feature]


def weighted_trees(trees: Sequence[Tree], weights: Sequence[float]) -> list[Tree]:
    """Return trees whose leaves are multiplied by the weights of the trees, in float32."""
    pairs = zip(trees, weights, strict=True)
    return [tree.with_values(weighted(tree.value, weight)) for tree, weight in pairs]
