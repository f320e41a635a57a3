"""Read LightGBM's text format.

A file has a head of ``key=value`` lines, a block of them for each tree, and LightGBM's parameters.
In a tree of ``L`` leaves, the nodes are numbered ``0 .. L - 2``, the first one is the root, and a
child ``-1 - k`` is leaf ``k``. ``decision_type`` of a node has these bits:

    1       the split is by a set: ``threshold`` is the set's number, its levels go left
    2       missing values go left
    4, 8    which values are missing: none (0), zero (4) or NaN (8)

A level that a set does not have goes right, and so does a missing one. Here a set's levels go
right: the children change places.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.names import UNSAFE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import base_of, link_of
from pyopencl_gbdt.model.formats.lightgbm_parts import AGAIN, CategoryColumns, TextBlock, TextTail
from pyopencl_gbdt.model.formats.loose_nodes import first_above, one_leaf, tree_of
from pyopencl_gbdt.model.linear_leaves import LinearTerms, joined_terms, no_terms
from pyopencl_gbdt.model.sets import unpacked
from pyopencl_gbdt.model.tree import NO_NODE, Tree

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
#: Our losses by LightGBM's names.
OBJECTIVES = {
    "regression": "reg:squarederror",
    "regression_l1": "reg:absoluteerror",
    "huber": "huber",
    "fair": "fair",
    "mape": "mape",
    "quantile": "reg:quantileerror",
    "poisson": "count:poisson",
    "gamma": "reg:gamma",
    "tweedie": "reg:tweedie",
    "binary": "binary:logistic",
    "cross_entropy": "cross_entropy",
    "multiclass": "multi:softprob",
    "lambdarank": "rank:ndcg",
    "rank_xendcg": "rank:ndcg",
}
#: By our loss: its parameter, and LightGBM's name for it.
_PARAMETERS = {
    "huber": ("huber_alpha", "alpha", 0.9),
    "fair": ("fair_c", "fair_c", 1.0),
    "reg:quantileerror": ("quantile_alpha", "alpha", 0.5),
    "count:poisson": ("max_delta_step", "poisson_max_delta_step", 0.7),
    "reg:tweedie": ("tweedie_variance_power", "tweedie_variance_power", 1.5),
}
BY_SET, DEFAULT_LEFT, ZERO_MISSING, NAN_MISSING = 1, 2, 4, 8
#: LightGBM takes numbers nearer to 0 for 0.
_NEAR_ZERO = 1e-35
#: Words of sets that a file of any size may have; 8 more for each of its bytes.
_MOST_WORDS = 2**22
_DEFAULT_NAME = re.compile(r"Column_[0-9]+")


def read_lightgbm(data: bytes, source: str) -> Ensemble:
    """Return the model of a text file of LightGBM's.

    Memory: at most 100 times the file.

    Raises
    ------
    ModelFormatError
        The message begins with ``source``.
    """
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ModelFormatError(
            f"{source}: byte {error.start} is not UTF-8: expected LightGBM's text; {AGAIN}"
        ) from error
    starts = [i for i, line in enumerate(lines) if line.startswith("Tree=")]
    ends = [i for i, line in enumerate(lines) if line == "end of trees"]
    if len(ends) != 1 or (starts and starts[-1] > ends[0]):
        raise ModelFormatError(
            f"{source}: expected LightGBM's text with one line 'end of trees'; {AGAIN}"
        )
    bounds = [*starts, ends[0]]
    head = TextBlock(lines[: bounds[0]], source)
    blocks = [
        TextBlock(lines[first:end], f"{source}: tree {i}")
        for i, (first, end) in enumerate(pairwise(bounds))
    ]
    try:
        return _model(head, blocks, TextTail(lines[ends[0] :], source), _MOST_WORDS + 8 * len(data))
    except ModelFormatError as error:
        if str(error).startswith(source):
            raise
        raise ModelFormatError(f"{source}: {error}") from error


def _model(head: TextBlock, blocks: list[TextBlock], tail: TextTail, most_words: int) -> Ensemble:
    n_outputs = head.number("num_tree_per_iteration", 1, max(1, len(blocks)))
    n_features = head.number("max_feature_idx", 0, 2**31 - 2) + 1
    names = head.text("feature_names").split(" ")
    infos = head.text("feature_infos").split(" ")
    for key, found in (("feature_names", names), ("feature_infos", infos)):
        if len(found) != n_features:
            head.fail(f"{key} has {len(found)} entries", f"max_feature_idx + 1 = {n_features}")
    if len(set(names)) < n_features or any(UNSAFE.search(name) for name in names):
        head.fail("feature_names", "distinct names without control characters", "rename columns")
    if len(blocks) % n_outputs:
        head.fail(f"{len(blocks)} trees", f"a multiple of num_tree_per_iteration={n_outputs}")
    objective, parameters = _objective(head, tail, n_outputs)
    columns = CategoryColumns(head, infos, tail, most_words)
    average = "average_output" in head.values
    share = len(blocks) // n_outputs if average and blocks else 1
    trees = [_tree(block, n_features, columns, share) for block in blocks]
    if average:  # one round of a forest, output by output
        trees = [tree for output in range(n_outputs) for tree in trees[output::n_outputs]]
    margins = (0.0,) * n_outputs
    model = Ensemble(
        trees=trees,
        objective=objective,
        n_features=n_features,
        base_margin=margins if n_outputs > 1 else 0.0,
        base_score=margins if n_outputs > 1 else 0.0,
        feature_names=None if all(map(_DEFAULT_NAME.fullmatch, names)) else names,
        n_outputs=n_outputs,
        n_parallel=share,
        objective_parameters=parameters,
        categories=columns.levels(trees),
    )
    scores = base_of(link_of(model), margins)
    model.base_score = scores if n_outputs > 1 else float(np.float32(scores[0]))
    return model


def _objective(
    head: TextBlock, tail: TextTail, n_outputs: int
) -> tuple[str, dict[str, float | str]]:
    """Return our name of the loss, and its parameters."""
    words = head.values.get("objective", "").split()
    if not words or words[0] in ("custom", "none"):
        return "custom", {}
    if words[0] not in OBJECTIVES or "sqrt" in words[1:]:
        head.fail(
            f"objective={' '.join(words)!r:.60}",
            f"one of {', '.join(OBJECTIVES)}, without sqrt",
            "other losses have predictions that no loss of this library has",
        )
    name = OBJECTIVES[words[0]]
    scaled = [word for word in words[1:] if word.startswith("sigmoid:")]
    if scaled and scaled != ["sigmoid:1"]:
        head.fail(f"{scaled[0]!r:.40}", "sigmoid:1", "train by LightGBM with sigmoid=1")
    if (name == "multi:softprob") != (n_outputs > 1):
        head.fail(f"{n_outputs} trees an iteration", f"what {words[0]} has, several or one")
    if name == "multi:softprob":
        return name, {"num_class": float(n_outputs)}
    if name not in _PARAMETERS:
        return name, {}
    ours, theirs, usual = _PARAMETERS[name]
    value = float(np.float32(tail.parameter(theirs, usual)))
    return name, {} if value == float(np.float32(usual)) else {ours: value}


def _linear(block: TextBlock, n_features: int, share: int) -> tuple[LinearTerms, F64]:
    """Return the linear functions of LightGBM's leaves, and their constants."""
    n_leaves = block.number("num_leaves", 1, 2**31 - 1)
    constant = block.floats("leaf_const", n_leaves) / share
    n_terms = len(block.text("leaf_features").split())
    sizes = block.whole("num_features", n_leaves, 0, n_terms)
    if sizes.sum() != n_terms:
        block.fail(f"num_features adds up to {sizes.sum()}", f"{n_terms}, as leaf_features has")
    features = block.whole("leaf_features", n_terms, 0, n_features - 1)
    coefficients = block.floats("leaf_coeff", n_terms) / share
    intercepts = np.where(sizes > 0, constant, 0)
    with np.errstate(over="ignore"):
        own = intercepts.astype(np.float32), coefficients.astype(np.float32)
    return LinearTerms(sizes.astype(np.int32), own[0], features.astype(np.int32), own[1]), constant


def _tree(block: TextBlock, n_features: int, columns: CategoryColumns, share: int) -> Tree:
    """Return a tree whose values are divided by ``share``."""
    n_leaves = block.number("num_leaves", 1, 2**31 - 1)
    value = block.floats("leaf_value", n_leaves) / share  # first: the file has so many leaves
    n_inner, linear = n_leaves - 1, None
    if block.values.get("is_linear") == "1" and "leaf_coeff" in block.values:
        terms, constant = _linear(block, n_features, share)
        value = np.where(terms.sizes > 0, value, constant)
        linear = joined_terms([no_terms(n_inner), terms])
    if not n_inner:
        return one_leaf(value, _weights(block, "leaf", n_leaves), block.place, linear)
    children = [_children(block, key, n_inner) for key in ("left_child", "right_child")]
    feature = block.whole("split_feature", n_inner, 0, n_features - 1)
    kind = block.whole("decision_type", n_inner, 0, 15)
    border = block.floats("threshold", n_inner)
    by_set = (kind & BY_SET) > 0
    sets = _sets(block, feature, by_set, border, columns)
    threshold, none_above = first_above(np.where(by_set, 0, border))
    default_left = _default_left(block, kind, border, by_set)
    swapped = by_set | (none_above & ~by_set)
    left, right = (
        np.where(swapped, children[side], children[1 - side]) for side in (1, 0)
    )  # LightGBM's left child is our right one where swapped
    default_left = np.where(by_set, True, default_left ^ swapped)
    leaves = np.full(n_leaves, NO_NODE)
    both = np.zeros(n_leaves)
    averaged = block.floats("internal_value", n_inner) / share
    return tree_of(
        [*left.tolist(), *leaves.tolist()],
        [*right.tolist(), *leaves.tolist()],
        sets,
        block.place,
        linear=linear,
        feature=np.concatenate([feature, both]),
        threshold=np.concatenate([threshold, both]),
        default_left=np.concatenate([default_left, both]),
        value=np.concatenate([np.zeros(n_inner), value]),
        weight=np.concatenate([averaged, value]),
        gain=np.concatenate([block.floats("split_gain", n_inner), both]),
        sum_hessian=np.concatenate(
            [_weights(block, "internal", n_inner), _weights(block, "leaf", n_leaves)]
        ),
    )


def _children(block: TextBlock, key: str, n_inner: int) -> I64:
    """Return children, in which leaf k is node ``n_inner + k``; no leaf is a number below 0."""
    found = block.whole(key, n_inner, -n_inner - 1, n_inner - 1)
    return np.where(found < 0, n_inner - 1 - found, found)


def _weights(block: TextBlock, kind: str, length: int) -> F64:
    """Return the sums of Hessians of nodes; numbers of rows where a file has no sums."""
    for key in (f"{kind}_weight", f"{kind}_count"):
        if block.values.get(key):
            return block.floats(key, length)
    return np.zeros(length)


def _default_left(
    block: TextBlock, kind: I64, border: F64, by_set: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return whether missing values go to LightGBM's left child; it may take NaN for 0."""
    default = (kind & DEFAULT_LEFT) > 0
    zero_left = border >= 0
    zero = ((kind & ZERO_MISSING) > 0) & ~by_set
    inside = np.abs(border) <= _NEAR_ZERO
    if (zero & (inside | (default != zero_left))).any():
        block.fail(
            "a split sends 0 where missing values go (zero_as_missing)",
            "splits that compare 0 like any number",
            "train by LightGBM with zero_as_missing=False",
        )
    return np.where((kind & NAN_MISSING) > 0, default, zero_left)


def _sets(
    block: TextBlock,
    feature: I64,
    by_set: npt.NDArray[np.bool_],
    border: F64,
    columns: CategoryColumns,
) -> dict[int, U32]:
    """Return the words of the set of each node that is split by one."""
    if not by_set.any():
        return {}
    n_sets = block.number("num_cat", 1, by_set.size)
    n_words = len(block.text("cat_threshold").split())
    begin = block.whole("cat_boundaries", n_sets + 1, 0, n_words)
    words = block.whole("cat_threshold", n_words, 0, 2**32 - 1).astype(np.uint32)
    if begin[0] or begin[-1] != n_words or (np.diff(begin) < 0).any():
        block.fail("cat_boundaries", f"ascending numbers from 0 to {n_words}")
    found: dict[int, U32] = {}
    used = np.zeros(n_sets, np.bool_)
    for node in np.flatnonzero(by_set).tolist():
        number = border[node]
        if not 0 <= number < n_sets or used[int(number)]:
            block.fail(f"threshold[{node}]={number}", f"a set of its own, 0..{n_sets - 1}")
        used[int(number)] = True
        bits = unpacked(words[begin[int(number)] : begin[int(number) + 1]])
        found[node] = columns.words(block, int(feature[node]), bits)
    return found
