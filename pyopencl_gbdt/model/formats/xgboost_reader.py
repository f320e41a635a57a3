"""Read an ``Ensemble`` from a document of XGBoost's JSON or UBJSON, which is not trusted.

Every value is read through a ``Cursor`` and every index is checked before use. Any mistake in
the document becomes a ``ModelFormatError``.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.garbage import without_collector
from pyopencl_gbdt.model.best_round import check_best_round
from pyopencl_gbdt.model.ensemble import Ensemble, Score, weighted_trees
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.xgboost_categories import read_categories
from pyopencl_gbdt.model.formats.xgboost_links import (
    LINKS,
    MULTICLASS,
    SUPPORTED_OBJECTIVES,
    margins_from_base_scores,
    read_objective_parameters,
    scores_agree,
    scores_of,
)
from pyopencl_gbdt.model.formats.xgboost_trees import XGBOOST_NONE, check_symmetric, read_trees
from pyopencl_gbdt.model.formats.xgboost_vectors import has_vectors, read_vector_trees
from pyopencl_gbdt.model.leaf_kinds import leaf_kind_of
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.tree_weights import MOST_MARGIN, most_margin, weighted

#: Prefix of this library's keys in XGBoost's ``attributes``. Only the reader and the writer of
#: files use these keys; ``Ensemble.attributes`` does not hold them.
PREFIX = "pyopencl_gbdt."
FORMAT_VERSION_KEY = PREFIX + "format_version"
BASE_MARGIN_KEY = PREFIX + "base_margin"
OBJECTIVE_KEY = PREFIX + "objective"
PARAMETERS_KEY = PREFIX + "objective_parameters"
PLACEHOLDER_KEY = PREFIX + "placeholder_tree"
SYMMETRIC_KEY = PREFIX + "symmetric_trees"
RESERVED_KEYS = (
    FORMAT_VERSION_KEY, BASE_MARGIN_KEY, OBJECTIVE_KEY, PARAMETERS_KEY, PLACEHOLDER_KEY,
    SYMMETRIC_KEY,
)  # fmt: skip
FORMAT_VERSION = "1"
#: The newest version of XGBoost whose files are known; files of newer ones may have other members.
NEWEST_KNOWN = [3, 4]
#: Largest claimed number of trees per round in a file without trees to confirm it.
_MOST_WITHOUT_TREES = 2**12

_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,9})?")


@without_collector()
def from_xgboost_json(text: str | bytes, *, source: str = "<memory>") -> Ensemble:
    """Read a model in XGBoost's JSON format, written by this library or by XGBoost 1.0 or later.

    Parameters
    ----------
    text : str or bytes
        The document; bytes are UTF-8.
    source : str
        The file's name, for error messages.

    Returns
    -------
    Ensemble
        Trees are renumbered breadth-first, without the nodes that pruning deleted.
        ``base_margin`` is the exact margin of this library if the file has it, else the one that
        XGBoost computes from ``base_score`` (``margin_from_base_score``). Trees of the booster
        dart keep their weights, see ``Ensemble.tree_weights``, if they add up to less than 2^30,
        else the weights are multiplied into the leaves.

    Raises
    ------
    ModelFormatError
        If the text is not a consistent model, or uses something unsupported: an objective that
        the message does not list, or the linear booster.
    """
    return read_document(Cursor(parse(text, source), "", source))


def read_document(document: Cursor) -> Ensemble:
    """Return the model of a parsed document; errors are those of ``from_xgboost_json``."""
    version = [0, 0, 0]
    if document.has("version"):
        place = document.member("version")
        version = place.integers(0, XGBOOST_NONE, 3, "major, minor and patch")
    try:
        return _read_learner(document.member("learner"))
    except ModelFormatError as error:
        if version[:2] <= NEWEST_KNOWN:
            raise
        newer, known = (".".join(map(str, one)) for one in (version, NEWEST_KNOWN))
        raise ModelFormatError(
            f"{error}; or XGBoost {newer} wrote the file, newer than {known}, the newest version "
            "whose files this library knows: read it with a newer pyopencl_gbdt"
        ) from error


def _read_learner(learner: Cursor) -> Ensemble:
    source = learner.source
    model, weight_drop = _read_booster(learner)
    n_features, n_outputs = _read_sizes(learner, model)
    attributes = _read_attributes(learner)
    objective = _read_objective(learner, attributes)
    base_score, base_margin = _read_base(learner, objective, attributes, n_outputs)
    parameters = read_objective_parameters(learner, objective, PARAMETERS_KEY)
    _check_outputs(learner, objective, parameters, n_outputs)
    trees, n_parallel = _read_trees(model, n_features, n_outputs)
    weights = None if weight_drop is None else _read_weights(trees, weight_drop)
    categories, trees = read_categories(model, n_features, trees)
    groups = n_outputs // leaf_kind_of(trees).tree_outputs(n_outputs)
    first_round = trees[: groups * n_parallel]
    check_best_round(attributes, f"{source}: learner.attributes")
    if PLACEHOLDER_KEY in attributes and all(map(_is_empty_tree, first_round)):
        del trees[: len(first_round)]
        weights = weights and weights[len(first_round) :]
    if SYMMETRIC_KEY in attributes:
        check_symmetric(learner.member("attributes").member(SYMMETRIC_KEY), trees)
    for key in RESERVED_KEYS:
        attributes.pop(key, None)
    largest = [float(np.abs(tree.value).max()) for tree in trees] if weights else []
    if weights and most_margin(largest, weights, groups, n_parallel) >= MOST_MARGIN:
        trees, weights = weighted_trees(trees, weights), None  # more than fixed point holds
    return Ensemble(
        trees=trees,
        objective=objective,
        n_features=n_features,
        base_margin=base_margin,
        base_score=base_score,
        feature_names=_read_feature_names(learner, n_features),
        attributes=attributes,
        n_outputs=n_outputs,
        n_parallel=n_parallel,
        objective_parameters=parameters,
        categories=categories,
        tree_weights=weights,
    )


def parse(text: str | bytes, source: str) -> object:
    """Parse a JSON document whose objects have no member twice.

    Raises
    ------
    ModelFormatError
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        return json.loads(decoded, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:  # bad JSON or UTF-8, huge numbers, deep nesting
        raise ModelFormatError(
            f"{source}: not JSON or cut short ({error}): expected a model file; "
            "write the model again"
        ) from error


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's members; raise ``ValueError`` if a name occurs twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        first = {name: place for place, name in reversed(list(enumerate(names)))}
        twice = next(name for place, name in enumerate(names) if first[name] != place)
        raise ValueError(f"an object has two members {twice!r:.80}")
    return members


def _read_booster(learner: Cursor) -> tuple[Cursor, Cursor | None]:
    """Return the trees' place, and that of the weights by which dart multiplies trees.

    XGBoost 3.4 names the booster gbtree, and writes the weights beside the trees.
    """
    booster = learner.member("gradient_booster")
    name = booster.member("name")
    if name.text() == "dart":
        return booster.member("gbtree").member("model"), booster.member("weight_drop")
    if name.text() != "gbtree":
        what = ", a linear model without trees" if name.text() == "gblinear" else ""
        name.fail(f"a model of the booster gbtree or dart{what}", "train with booster='gbtree'")
    model = booster.member("model")
    return model, model.member("weight_drop") if model.has("weight_drop") else None


def _read_weights(trees: list[Tree], place: Cursor) -> tuple[float, ...]:
    """Return the weights that dart gave the trees."""
    weights = place.floats(len(trees), "one for each tree, and leaves of one value")
    for index, (tree, weight) in enumerate(zip(trees, weights, strict=True)):
        if not (weight >= 0 and np.isfinite(weighted(tree.value, weight)).all()):
            place.entry(index).fail("a weight of 0 or more, with finite products of leaf values")
    return tuple(map(float, weights))


def _read_sizes(learner: Cursor, model: Cursor) -> tuple[int, int]:
    """Return the numbers of features and outputs."""
    parameters = learner.member("learner_model_param")
    n_trees = len(model.member("trees").array())
    n_outputs = 1
    for name in ("num_class", "num_target"):
        if parameters.has(name):
            place = parameters.member(name)
            n_outputs *= max(1, place.parameter(0, XGBOOST_NONE))
            if n_outputs > max(n_trees, _MOST_WITHOUT_TREES):
                place.fail(f"no more outputs than the file has trees, {n_trees}")
    return parameters.member("num_feature").parameter(1, XGBOOST_NONE), n_outputs


def _check_outputs(
    learner: Cursor, objective: str, parameters: dict[str, float | str], n_outputs: int
) -> None:
    """Refuse a loss, or parameters of it, that belong to another number of outputs."""
    expected = LINKS[objective].n_outputs
    if expected not in (0, n_outputs):
        place = learner.member("learner_model_param").member("num_target")
        place.fail(f"{expected} outputs for {objective}")
    if objective in MULTICLASS and parameters.get("num_class", 0) < 2:  # type: ignore[operator]
        place = learner.member("objective").member(LINKS[objective].group or "name")
        place.member("num_class").fail("2 classes or more")
    for name in ("num_class", *LINKS[objective].several):
        given = parameters.get(name)
        wanted = given.count(",") + 1 if isinstance(given, str) else given
        if isinstance(given, str) or name == "num_class":
            place = learner.member("objective").member(LINKS[objective].group or "name")
            if wanted is not None and wanted != n_outputs:
                place.member(name).fail(f"a value for {n_outputs} outputs")


def _read_attributes(learner: Cursor) -> dict[str, str]:
    if not learner.has("attributes"):
        return {}
    attributes = learner.member("attributes")
    texts = {key: attributes.member(key).text() for key in attributes.fields()}
    for key in texts:
        attributes.member(key).check_characters(key, "name")
    version = texts.get(FORMAT_VERSION_KEY, FORMAT_VERSION)
    if version != FORMAT_VERSION:
        attributes.member(FORMAT_VERSION_KEY).fail(
            f"'{FORMAT_VERSION}'", "read it with a newer pyopencl_gbdt"
        )
    return texts


def _read_objective(learner: Cursor, attributes: dict[str, str]) -> str:
    """Return this library's name of the objective; its link must match XGBoost's objective."""
    place = learner.member("objective").member("name")
    xgboost_name = place.text()
    objective = attributes.get(OBJECTIVE_KEY, xgboost_name)
    if objective not in LINKS:
        if OBJECTIVE_KEY in attributes:
            place = learner.member("attributes").member(OBJECTIVE_KEY)
        place.fail(f"one of {SUPPORTED_OBJECTIVES}", "train with one of these")
    if LINKS[objective].xgboost_name != xgboost_name:
        place.fail(
            f"'{LINKS[objective].xgboost_name}', as attribute {OBJECTIVE_KEY} is '{objective}'",
            "remove the attribute if the objective was changed on purpose",
        )
    return objective


def _read_base(
    learner: Cursor, objective: str, attributes: dict[str, str], n_outputs: int
) -> tuple[Score, Score]:
    """Return the base score and the base margin."""
    place = learner.member("learner_model_param").member("base_score")
    text = place.text().strip()
    if text.startswith("[") and text.endswith("]"):  # XGBoost 3.1 and later: a number per output
        text = text[1:-1]
    texts = [part.strip() for part in text.split(",", n_outputs)]
    link = LINKS[objective]
    numbers = [_number(part) for part in texts]
    if len(numbers) == 1:
        numbers *= n_outputs  # before XGBoost 3.1: one number for all outputs
    good = len(numbers) == n_outputs and all(
        np.isfinite(number) and link.lowest <= number <= link.highest for number in numbers
    )
    if not good:
        count = "one finite number" if n_outputs == 1 else f"{n_outputs} finite numbers"
        place.fail(
            f"a string that holds {count}, {link.lowest:g}..{link.highest:g} for "
            f"{objective}, such as '[5E-1]'"
        )
    scores = tuple(float(number) for number in numbers)
    if BASE_MARGIN_KEY in attributes:
        margins = _exact_margins(learner, objective, scores)
    else:
        margins = margins_from_base_scores(objective, scores)
    return (scores, margins) if n_outputs > 1 else (scores[0], margins[0])


def _number(text: str) -> np.float32:
    """Return the number that a text spells, or NaN."""
    with np.errstate(over="ignore"):
        number: np.float32 = np.float32(float(text) if _NUMBER.fullmatch(text) else np.nan)
    return number


def _exact_margins(learner: Cursor, objective: str, scores: tuple[float, ...]) -> tuple[float, ...]:
    """Return this library's exact base margins, which must agree with the base scores."""
    place = learner.member("attributes").member(BASE_MARGIN_KEY)
    margins = tuple(_from_hex(part) for part in place.text().split(" ", len(scores)))
    with np.errstate(over="ignore"):
        exact = [math.isfinite(m) and float(np.float32(m)) == m for m in margins]
    if len(margins) != len(scores) or not all(exact):
        count = "a" if len(scores) == 1 else len(scores)
        place.fail(f"{count} finite float32, as written by float.hex")
    for expected, score in zip(scores_of(objective, margins), scores, strict=True):
        if not scores_agree(objective, expected, score):
            place.fail(
                f"the margin of base_score={score!r}",
                "remove the attribute if base_score was changed on purpose",
            )
    return margins


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except (ValueError, OverflowError):
        return math.nan


def _read_trees(model: Cursor, n_features: int, n_outputs: int) -> tuple[list[Tree], int]:
    """Return the trees, and the number of trees per round and output."""
    parameters = model.member("gbtree_model_param")
    n_trees = parameters.member("num_trees").parameter(0, XGBOOST_NONE)
    why = "gbtree_model_param.num_trees"
    entries = model.member("trees")
    entries.array(n_trees, why)
    groups = model.member("tree_info")
    given = np.array(groups.integers(0, XGBOOST_NONE, n_trees, why), np.int64)
    vectors = has_vectors(entries)
    n_groups = 1 if vectors else n_outputs
    if parameters.has("num_parallel_tree"):
        place = parameters.member("num_parallel_tree")
        n_parallel = max(1, place.parameter(0, XGBOOST_NONE))
        if n_parallel * n_groups > max(n_trees, _MOST_WITHOUT_TREES):
            place.fail(f"rounds of no more trees than the file has, {n_trees}")
    else:  # XGBoost 1.0 and 1.1
        n_parallel = max(1, int(np.argmax(given != 0))) if n_groups > 1 and given.any() else 1
    if n_trees % (n_parallel * n_groups):
        parameters.member("num_trees").fail(
            f"a multiple of {n_groups} outputs times num_parallel_tree={n_parallel}"
        )
    outputs = np.arange(n_trees) // n_parallel % n_groups
    if (given != outputs).any():
        index = int(np.argmax(given != outputs))
        groups.entry(index).fail(f"{outputs[index]}, the outputs' numbers in order")
    if vectors:
        trees = read_vector_trees(entries, n_features, n_outputs)
    else:
        trees = read_trees(entries, n_features)
    if model.has("iteration_indptr"):
        _check_iterations(model.member("iteration_indptr"), n_trees)
    return trees, n_parallel


def _check_iterations(cursor: Cursor, n_trees: int) -> None:
    bounds = cursor.integers(0, n_trees)
    if not bounds or bounds[0] != 0 or bounds[-1] != n_trees or bounds != sorted(set(bounds)):
        cursor.fail(f"numbers that rise from 0 to num_trees={n_trees}")


def _read_feature_names(learner: Cursor, n_features: int) -> list[str] | None:
    for name in ("feature_names", "feature_types"):
        if learner.has(name) and learner.member(name).array():
            learner.member(name).array(n_features, "learner_model_param.num_feature, or none")
            learner.member(name).texts()
    names = learner.member("feature_names").texts() if learner.has("feature_names") else []
    return names or None


def _is_empty_tree(tree: Tree) -> bool:
    return tree.n_nodes == 1 and not tree.value.any()
