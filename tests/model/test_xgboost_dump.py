from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.model.node_labels import FeatureMap
from pyopencl_gbdt.model.xgboost_dump import dump_xgboost
from tests.model.samples import loaded, make_ensemble

MAP = "0 cap-shape=bell i\n1 rings int\n2 age q\n\n3 height float\n"


@pytest.mark.parametrize("fmap", [None, MAP])
@pytest.mark.parametrize("names", [None, ["a", "b c", "d", "é"]])
def test_same_as_xgboost(tmp_path: Path, fmap: str | None, names: list[str] | None) -> None:
    three = {"n_outputs": 3, "base_margin": (0.0,) * 3, "base_score": (0.0,) * 3}
    splits = [7, 0, 12, 3, 1, 5]
    ensemble = make_ensemble(splits, objective="reg:squarederror", feature_names=names, **three)
    booster = loaded(to_xgboost_json(ensemble))
    path, ours = "", None
    if fmap is not None:
        path = str(tmp_path / "featmap.txt")
        Path(path).write_text(fmap)
        ours = FeatureMap.read(path)
    for with_stats in (False, True):
        theirs = booster.get_dump(fmap=path, with_stats=with_stats)
        found = dump_xgboost(ensemble, ours, with_stats=with_stats)
        if fmap is not None:  # XGBoost does not indent the nodes of indicators
            theirs, found = unindented(theirs), unindented(found)
        assert found == theirs
        if fmap is None and names is None:
            theirs = booster.get_dump(with_stats=with_stats, dump_format="json")
            found = dump_xgboost(ensemble, with_stats=with_stats, dump_format="json")
            assert found == theirs


def unindented(dump: list[str]) -> list[str]:
    return [tree.replace("\t", "") for tree in dump]


def test_json_with_a_feature_map() -> None:
    ours = FeatureMap.parse('0 a" i\n1 b int\n2 c q', "featmap.txt")
    (tree,) = dump_xgboost(make_ensemble([30]), ours, with_stats=True, dump_format="json")
    pending = [json.loads(tree)]
    kinds = set()
    while pending:
        node = pending.pop()
        pending += node.get("children", [])
        kinds.add((node.get("split"), type(node.get("split_condition")), "missing" in node))
        assert node["cover"] >= 1
    nothing = type(None)
    inner = {('a"', nothing, False), ("b", int, True), ("c", float, True), ("f3", float, True)}
    assert kinds == {*inner, (None, nothing, False)}


def test_deep_trees() -> None:
    ensemble = make_ensemble([4000])
    for kind in ("text", "json"):
        (tree,) = dump_xgboost(ensemble, dump_format=kind)
        assert tree.count("leaf") == 4001


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="='xml': expected text, json or dot; choose"):
        dump_xgboost(make_ensemble([1]), dump_format="xml")
    for text, words in (
        ("0 a q\n2 b q", "m.txt, line 2: id '2': expected 1, ids from 0 in order"),
        ("0 a", "line 1: '0 a': expected 'id name kind', where kind is one of i, q, int, float"),
        ("0 a c", "'0 a c': expected"),
        ("0 a b q", "join the words of a name by '-'"),
    ):
        with pytest.raises(DataError, match=words):
            FeatureMap.parse(text, "m.txt")
    binary = tmp_path / "m.bin"
    binary.write_bytes(b"0 \xff q")
    with pytest.raises(DataError, match=r"m\.bin: not UTF-8 text: expected lines 'id name kind'"):
        FeatureMap.read(binary)
