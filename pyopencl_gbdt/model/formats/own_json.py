"""JSON of a format of our own, which holds every model, also those that XGBoost cannot evaluate.

    {"format": "pyopencl_gbdt", "version": 3, "digest": "e3b0...",
     "statistics": {"columns": 3, "targets": ["> 0.5"], "priors": [[0.5]], "prior_weight": 1,
                    "tables": [{"parts": [{"column": 1, "levels": 2}], "keys": null,
                                "counts": [7, 2], "hits": [[3, 0]]}]},
     "linear": {"sizes": [1, 0], "intercepts": [0.5, 0.0], "features": [2], "coefficients": [1.5]},
     "model": {...}}

The digest is the SHA-256 of all bytes behind its comma; checkpoints, which have one of their own,
and version 1 have none. A combination has several parts; one with a threshold is the bit of a
number. Its `keys` are the levels' numbers, see `model.combinations.combined_keys`. `statistics` is
null if there are none; version 1 always has some; a list of such objects, in version 4, is the
statistics of the members of a bag. `linear` has the linear functions of all leaves,
see `model.linear_leaves`; a file without has version 2, and no such member. `model` is a document
in XGBoost's format whose features are the user's columns and then the statistics. XGBoost, and
versions of this library before the format, refuse the file, as it has no learner at its top. A
reader refuses versions that it does not know. `docs/formats.md` describes the format for users.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.combinations import MOST_KEYS, Part
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import first_key
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.xgboost_reader import parse, read_document
from pyopencl_gbdt.model.formats.xgboost_writer import to_xgboost_json
from pyopencl_gbdt.model.joined_statistics import JoinedStatistics, ModelStatistics
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.statistics import LevelTable, Statistics
from pyopencl_gbdt.model.tree_arrays import join_linear, with_linear

FORMAT = "pyopencl_gbdt"
VERSION, WITH_LINEAR, WITH_MEMBERS = 2, 3, 4
_READ = (1, VERSION, WITH_LINEAR, WITH_MEMBERS)
_HEAD = '{"format":"' + FORMAT + '","version":'
_SEALED = re.compile(
    rb'\{"format":"%s","version":[0-9]{1,9},"digest":"([0-9a-f]{64})",' % FORMAT.encode()
)
_MOST = 2**31 - 1


class OwnJson:
    """JSON of this library; under ``.json``, for models that XGBoost's JSON cannot hold."""

    name = "this library's JSON"
    suffixes = (".gbdt.json", ".json")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return first_key(head) == "format"

    def lacks(self, model: Ensemble) -> str:
        return ""

    def read(self, data: bytes, source: str) -> Ensemble:
        return read_own(Cursor(parse(data, source), "", source), data)

    def write(self, model: Ensemble) -> bytes:
        head = _head(model)
        rest = to_own_json(model).removeprefix(head).encode("utf-8")
        digest = hashlib.sha256(rest).hexdigest()
        return f'{head}"digest":"{digest}",'.encode() + rest


def _head(model: Ensemble) -> str:
    if isinstance(model.statistics, JoinedStatistics):
        return f"{_HEAD}{WITH_MEMBERS},"
    return f"{_HEAD}{WITH_LINEAR if model.leaves is LINEAR else VERSION},"


def to_own_json(ensemble: Ensemble) -> str:
    """Return a model as a document in this library's format, without a digest.

    Raises
    ------
    ModelFormatError
        If the model is inconsistent.
    """
    ensemble.check()
    statistics = ensemble.statistics
    names = None
    if ensemble.feature_names is not None:
        names = [ensemble.feature_name(f) for f in range(ensemble.n_tree_features)]
    linear = join_linear(ensemble.trees)
    trees = [tree.with_linear(None) for tree in ensemble.trees] if linear else ensemble.trees
    plain = replace(
        ensemble, trees=trees, n_features=ensemble.n_tree_features, feature_names=names,
        statistics=None,
    )  # fmt: skip
    found: Any = None
    if isinstance(statistics, JoinedStatistics):
        found = [_written_statistics(one) for one in statistics.members]
    elif statistics is not None:
        found = _written_statistics(statistics)
    shown = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if linear:
        numbers = {name: array.tolist() for name, array in linear.items()}
        shown += f',"linear":{json.dumps(numbers, separators=(",", ":"))}'
    return f'{_head(ensemble)}"statistics":{shown},"model":{to_xgboost_json(plain)}}}'


def _written_statistics(statistics: Statistics) -> dict[str, Any]:
    return {
        "columns": statistics.n_columns,
        "targets": list(statistics.targets),
        "priors": [list(own) for own in statistics.priors],
        "prior_weight": statistics.weight,
        "tables": [_written(table) for table in statistics.tables],
    }


def is_own(document: Cursor) -> bool:
    """Tell whether a parsed document is in this library's format."""
    return document.has("format")


def read_own(document: Cursor, data: bytes) -> Ensemble:
    """Return the model of a parsed document in this library's format.

    ``data``: the file, for the digest that it may have.

    Raises
    ------
    ModelFormatError
        If the document is inconsistent, or of a version that is not known.
    """
    if document.member("format").value != FORMAT:
        document.member("format").fail(f'"{FORMAT}"', "write the model again")
    version = document.member("version")
    if type(version.value) is not int or version.value not in _READ:
        version.fail(
            f"one of {_READ}", "read it by the version of the library that wrote it, or a newer one"
        )
    if document.has("digest"):
        _check_digest(document.member("digest"), data)
    plain = read_document(document.member("model"))
    try:
        if version.value == WITH_LINEAR:
            arrays = _linear(document.member("linear"))
            plain = replace(plain, trees=with_linear(plain.trees, arrays))
        given = document.member("statistics")
        if given.value is None:
            return plain
        if version.value < WITH_MEMBERS:
            return _with_statistics(plain, document, _statistics(given))
        members = [_statistics(given.entry(i)) for i in range(len(given.array()))]
        return _with_statistics(plain, document, JoinedStatistics(tuple(members)))
    except ModelFormatError as error:  # of tables that contradict each other
        text = str(error)
        raise ModelFormatError(
            text if text.startswith(document.source) else f"{document.source}: {text}"
        ) from error


def _check_digest(place: Cursor, data: bytes) -> None:
    sealed = _SEALED.match(data)
    if sealed is None or hashlib.sha256(data[sealed.end() :]).hexdigest().encode() != sealed[1]:
        place.fail(
            "the digest of the bytes behind it",
            "the file is damaged, write the model again; or remove the digest, if the file was "
            "changed on purpose",
        )


def _linear(given: Cursor) -> dict[str, Any]:
    """Return the arrays of ``LinearTerms``."""
    sizes = given.member("sizes").integers(0, _MOST)
    n_leaves, features = len(sizes), given.member("features").integers(0, _MOST)
    return {
        "sizes": np.array(sizes, np.int32),
        "intercepts": given.member("intercepts").floats(n_leaves, "one for each leaf"),
        "features": np.array(features, np.int32),
        "coefficients": given.member("coefficients").floats(len(features), "one for each feature"),
    }


def _with_statistics(plain: Ensemble, document: Cursor, statistics: ModelStatistics) -> Ensemble:
    n = statistics.n_columns
    if plain.n_features != n + statistics.n_features:
        raise ModelFormatError(
            f"{document.source}: model has {plain.n_features} features: expected {n} columns and "
            f"{statistics.n_features} statistics; write the model again"
        )
    names = None if plain.feature_names is None else plain.feature_names[:n]
    return replace(plain, n_features=n, feature_names=names, statistics=statistics)


def _statistics(given: Cursor) -> Statistics:
    targets = given.member("targets").texts()
    priors = given.member("priors")
    priors.array(len(targets), "one for each target")
    rows = [priors.entry(i) for i in range(len(targets))]
    found = [row.floats(len(row.array()), "priors") for row in rows]
    listed = given.member("tables")
    tables = tuple(_table(listed.entry(i), len(targets)) for i in range(len(listed.array())))
    return Statistics(
        _integer(given.member("columns")),
        tuple(targets),
        tuple(tuple(map(float, own)) for own in found),
        tables,
        _integer(given.member("prior_weight")),
    )


def _table(given: Cursor, n_targets: int) -> LevelTable:
    counts = given.member("counts").integers(0, _MOST)
    hits = given.member("hits")
    hits.array(n_targets, "one for each target")
    rows = [
        hits.entry(i).integers(0, _MOST, len(counts), "one for each level")
        for i in range(n_targets)
    ]
    of_targets = np.array(rows, np.int64).reshape(n_targets, len(counts))
    listed = given.member("parts")
    parts = [_part(listed.entry(i)) for i in range(len(listed.array()))]
    keys = given.member("keys")
    return LevelTable(
        tuple(part for part, _ in parts),
        tuple(size for _, size in parts),
        np.array(counts, np.int64),
        of_targets,
        None if keys.value is None else np.array(keys.integers(0, MOST_KEYS), np.int64),
    )


def _part(given: Cursor) -> tuple[Part, int]:
    """Return a part and the number of its codes."""
    column = _integer(given.member("column"))
    if given.has("threshold"):
        found = Cursor([given.member("threshold").value], given.place, given.source)
        return Part(column, float(found.floats(1, "a threshold")[0])), 2
    return Part(column), _integer(given.member("levels"))


def _written(table: LevelTable) -> dict[str, Any]:
    parts = [
        {"column": part.column}
        | ({"levels": size} if part.threshold is None else {"threshold": part.threshold})
        for part, size in zip(table.parts, table.sizes, strict=True)
    ]
    keys = None if table.keys is None else table.keys.tolist()
    return {
        "parts": parts, "keys": keys, "counts": table.counts.tolist(), "hits": table.hits.tolist()
    }  # fmt: skip


def _integer(given: Cursor) -> int:
    if type(given.value) is not int or not 0 <= given.value <= _MOST:
        given.fail(f"an integer 0..{_MOST}")
    return given.value
