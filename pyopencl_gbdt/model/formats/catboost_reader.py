"""Read CatBoost's JSON; see ``catboost_json`` for what it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import CLASSES, base_of, link_of
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.loose_nodes import first_above, one_leaf, tree_of
from pyopencl_gbdt.model.formats.xgboost_reader import parse
from pyopencl_gbdt.model.tables import DEEPEST_TABLE
from pyopencl_gbdt.model.tree import NO_NODE, Tree

F64 = npt.NDArray[np.float64]
#: Our losses by CatBoost's names; with our parameter and CatBoost's, where there is one.
LOSSES: dict[str, tuple[str, str, str]] = {
    "RMSE": ("reg:squarederror", "", ""),
    "MultiRMSE": ("reg:squarederror", "", ""),
    "MAE": ("reg:absoluteerror", "", ""),
    "MAPE": ("mape", "", ""),
    "Huber": ("huber", "huber_alpha", "delta"),
    "Quantile": ("reg:quantileerror", "quantile_alpha", "alpha"),
    "Poisson": ("count:poisson", "", ""),
    "Tweedie": ("reg:tweedie", "tweedie_variance_power", "variance_power"),
    "Logloss": ("binary:logistic", "", ""),
    "CrossEntropy": ("cross_entropy", "", ""),
    "MultiClass": ("multi:softprob", "", ""),
    "Cox": ("survival:cox", "", ""),
    "PairLogit": ("rank:pairwise", "", ""),
    "YetiRank": ("rank:ndcg", "", ""),
}
#: A tree takes 2 kB at least; so many may come of a file of any size, and one more of 20 bytes.
_MOST_TREES, _BYTES_PER_TREE = 10_000, 20


def read_catboost(data: bytes, source: str) -> Ensemble:
    """Return the model of CatBoost's JSON.

    Memory: at most 100 times the file, and 20 MB.

    Raises
    ------
    ModelFormatError
        The message begins with ``source``.
    """
    document = Cursor(parse(data, source), "", source)
    try:
        return _model(document, _MOST_TREES + len(data) // _BYTES_PER_TREE)
    except ModelFormatError as error:
        if str(error).startswith(source):
            raise
        raise ModelFormatError(f"{source}: {error}") from error


def _model(document: Cursor, most_trees: int) -> Ensemble:
    info = document.member("features_info")
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if info.has(kind) and info.member(kind).value:
            info.member(kind).fail(
                "columns of numbers alone, as the file has hashes of levels, not the levels",
                "train by CatBoost without such columns, or train here",
            )
    if not document.has("oblivious_trees"):
        document.fail("oblivious_trees", "train by CatBoost with grow_policy='SymmetricTree'")
    columns, missing_left, names = _features(info.member("float_features"))
    scale, bias = _scale_and_bias(document.member("scale_and_bias"))
    n_outputs = bias.size
    listed = document.member("oblivious_trees")
    n_trees = len(listed.array())
    if n_outputs * max(n_trees, 1) > most_trees:
        listed.fail(f"at most {most_trees} trees in a file of this size")
    of_output: list[list[Tree]] = [[] for _ in range(n_outputs)]
    for index in range(n_trees):
        for output, tree in _trees(listed.entry(index), columns, missing_left, scale, n_outputs):
            of_output[output].append(tree)
    n_rounds = max(map(len, of_output))
    zero = one_leaf(np.zeros(1), np.zeros(1))
    rounds = [trees[r] if r < len(trees) else zero for r in range(n_rounds) for trees in of_output]
    objective, parameters, attributes = _loss(document, n_outputs)
    margins = tuple(bias.astype(np.float32).astype(float).tolist())
    model = Ensemble(
        trees=rounds,
        objective=objective,
        n_features=max(columns, default=0) + 1,
        base_margin=margins if n_outputs > 1 else margins[0],
        base_score=margins if n_outputs > 1 else margins[0],
        feature_names=names,
        attributes=attributes,
        n_outputs=n_outputs,
        objective_parameters=parameters,
    )
    scores = base_of(link_of(model), margins)
    model.base_score = scores if n_outputs > 1 else float(np.float32(scores[0]))
    return model


def _features(listed: Cursor) -> tuple[list[int], list[bool], list[str] | None]:
    """Return each feature's column, whether its missing values go left, and columns' names."""
    columns, left = [], []
    names: dict[int, str] = {}
    for index in range(len(listed.array())):
        feature = listed.entry(index)
        own = feature.member("flat_feature_index")
        # a column that is not a number has no entry, so that the next one is not far
        if type(own.value) is not int or not 0 <= own.value <= 100 + 10 * len(listed.array()):
            own.fail("the number of a column, from 0")
        treatment = feature.member("nan_value_treatment")
        if treatment.value not in ("AsIs", "AsFalse", "AsTrue"):
            treatment.fail("AsIs, AsFalse or AsTrue")
        columns.append(own.value)
        left.append(treatment.value != "AsTrue")
        if feature.has("feature_id"):
            names[own.value] = feature.member("feature_id").text()
    whole = set(names) == set(range(max(columns, default=0) + 1)) and all(names.values())
    numbered = all(name == str(i) for i, name in names.items())
    return columns, left, [names[i] for i in sorted(names)] if whole and not numbered else None


def _scale_and_bias(given: Cursor) -> tuple[float, F64]:
    given.array(2, "the scale, and the bias of each output")
    scale = Cursor([given.entry(0).value], given.place, given.source).floats(1, "the scale")
    bias = given.entry(1)
    listed = bias if isinstance(bias.value, list) else Cursor([bias.value], *_place(bias))
    found = listed.floats(len(listed.array()), "biases").astype(np.float64)
    if not found.size or not np.isfinite(found).all() or not np.isfinite(scale).all():
        given.fail("finite numbers of float32")
    exact = given.entry(0).value
    return float(exact), found  # type: ignore[arg-type]


def _place(cursor: Cursor) -> tuple[str, str]:
    return cursor.place, cursor.source


def _trees(
    given: Cursor, columns: Sequence[int], missing_left: Sequence[bool], scale: float, n: int
) -> list[tuple[int, Tree]]:
    """Return a tree of CatBoost's, as one for each of ``n`` outputs; without those that are 0."""
    splits = given.member("splits")
    listed = [] if splits.value is None else splits.array()
    depth = len(listed)
    if depth > DEEPEST_TABLE:
        splits.fail(f"at most {DEEPEST_TABLE} splits")
    feature, border, left = [], [], []
    for level in range(depth):
        split = splits.entry(level)
        if split.member("split_type").value != "FloatFeature":
            split.member("split_type").fail(
                "FloatFeature", "train by CatBoost without categorical columns, or train here"
            )
        number = split.member("float_feature_index")
        if type(number.value) is not int or not 0 <= number.value < len(columns):
            number.fail(f"one of {len(columns)} features, from 0")
        feature.append(columns[number.value])
        left.append(missing_left[number.value])
        border.append(split.member("border").value)
    borders = Cursor(border, splits.place, splits.source).floats(depth, "borders")
    if np.isnan(borders).any():
        splits.fail("borders that are numbers")
    values = _numbers(given.member("leaf_values"), n << depth) * scale
    weights = np.zeros(1 << depth)
    if given.has("leaf_weights") and given.member("leaf_weights").value:
        weights = _numbers(given.member("leaf_weights"), 1 << depth)
    threshold, none_above = first_above(borders.astype(np.float64))
    if none_above.any():
        splits.fail("borders below the largest float32")
    order = np.arange(1 << depth).reshape((2,) * depth).transpose().ravel()
    own = values.reshape(1 << depth, n)[order]
    return [
        (output, _tree_of_table(feature, threshold, left, own[:, output], weights[order], given))
        for output in range(n)
        if n == 1 or own[:, output].any()
    ]


def _numbers(given: Cursor, length: int) -> F64:
    """Return numbers as float64; refuse numbers that are not finite in float32."""
    if not np.isfinite(given.floats(length, "one for each leaf and output")).all():
        given.fail("finite numbers of float32")
    return np.array(given.array(), np.float64)


def _tree_of_table(
    feature: list[int],
    threshold: npt.NDArray[np.float32],
    left: list[bool],
    values: F64,
    weights: F64,
    given: Cursor,
) -> Tree:
    """Return a whole tree, in breadth-first order, of the splits of its levels."""
    depth = len(feature)
    width = 1 << np.arange(depth)
    n_inner = (1 << depth) - 1
    child = np.arange(n_inner) * 2 + 1
    leaf = np.full(1 << depth, NO_NODE)
    covers, level = [weights], weights
    for _ in range(depth):
        level = level.reshape(-1, 2).sum(axis=1)
        covers.append(level)

    def of_nodes(levels: Any) -> npt.NDArray[Any]:
        return np.concatenate([np.repeat(np.asarray(levels, np.float64), width), values * 0])

    return tree_of(
        [*child.tolist(), *leaf.tolist()],
        [*(child + 1).tolist(), *leaf.tolist()],
        {},
        f"{given.source}: {given.place}",
        feature=of_nodes(feature),
        threshold=of_nodes(threshold),
        default_left=of_nodes(left),
        value=np.concatenate([np.zeros(n_inner), values]),
        weight=np.concatenate([np.zeros(n_inner), values]),
        gain=np.zeros(n_inner + values.size),
        sum_hessian=np.concatenate(covers[::-1]),
    )


def _loss(document: Cursor, n_outputs: int) -> tuple[str, dict[str, float | str], dict[str, str]]:
    """Return our loss, its parameters, and the attribute of a classifier's classes."""
    name: Any = ""
    given: Any = None
    info = document.value.get("model_info") if isinstance(document.value, dict) else None
    found = info.get("params") if isinstance(info, dict) else None
    loss = found.get("loss_function") if isinstance(found, dict) else None
    if isinstance(loss, dict):
        name, given = loss.get("type", ""), loss.get("params")
    if not name:
        return "custom", {}, {}
    if not isinstance(name, str) or name not in LOSSES:
        where = document.member("model_info").member("params").member("loss_function")
        where.member("type").fail(
            f"one of {', '.join(LOSSES)}",
            "other losses have predictions that no loss of this library has",
        )
    objective, ours, theirs = LOSSES[name]
    if (name in ("MultiClass", "MultiRMSE")) < (n_outputs > 1):
        document.member("scale_and_bias").fail(f"one bias, as {name} has one output")
    parameters: dict[str, float | str] = {}
    if objective == "multi:softprob":
        parameters["num_class"] = float(n_outputs)
    value = given.get(theirs) if ours and isinstance(given, dict) else None
    try:
        number = float(np.float32(value))
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if ours and 0 < number < 1e30:
        parameters[ours] = number
    classes = info.get("class_params") if isinstance(info, dict) else None
    names = classes.get("class_names") if isinstance(classes, dict) else None
    n_classes = 2 if objective == "binary:logistic" else n_outputs
    kept = (
        isinstance(names, list)
        and len(names) == n_classes
        and objective in ("binary:logistic", "multi:softprob")
        and {type(one) for one in names} in ({str}, {int})
        and sorted(set(names)) == names
    )
    return objective, parameters, {CLASSES: json.dumps(names)} if kept else {}
