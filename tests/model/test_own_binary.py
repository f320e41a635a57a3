"""The binary form of this library's format: every kind of model, damage, and files that lie."""

from __future__ import annotations

import hashlib
import json
import struct
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble, to_json
from pyopencl_gbdt.model.formats.own_binary import MAGIC, OwnBinary
from pyopencl_gbdt.model.formats.own_json import OwnJson, to_own_json
from tests.fuzz import category_models
from tests.model.samples import make_ensemble
from tests.model.test_many_trees import calls

FORMAT = OwnBinary()
BY_SETS = category_models._models()[0]
HEAD = 40


def sealed(data: bytes) -> bytes:
    """Return a file with the digest of what it holds."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def changed(data: bytes, place: int, new: bytes) -> bytes:
    return sealed(data[:place] + new + data[place + len(new) :])


def arrays_of(data: bytes) -> int:
    """Return where the arrays of a file begin."""
    return HEAD + struct.unpack("<I", data[12:16])[0]


def test_every_changed_byte_is_found():
    data = FORMAT.write(BY_SETS)
    for place in range(len(data)):
        wrong = bytearray(data)
        wrong[place] ^= 16
        with pytest.raises(ModelFormatError, match=r"^m: |not JSON"):
            FORMAT.read(bytes(wrong), "m")
    for size in (0, 7, 8, 40, 71, 100, len(data) - 1):
        with pytest.raises(ModelFormatError, match=r"^m: .*write the model again"):
            FORMAT.read(data[:size], "m")
    with pytest.raises(ModelFormatError, match="digest at the end"):
        FORMAT.read(data + b"\0", "m")


N = 9  # nodes of the lies below: trees of 2 and 1 splits, and a leaf
LIES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "newer": (
        lambda d: changed(d, 8, b"\x63"),
        "version=99: expected 1, 2, 3 or 4; read it by the version",
    ),
    "document": (lambda d: changed(d, 12, b"\xff" * 4), "document claims 4294967295 bytes"),
    "trees": (
        lambda d: changed(d, 16, b"\xff" * 7),
        r"ends early: expected \d+ sizes of tr",
    ),
    "nodes": (lambda d: changed(d, 24, b"\xff" * 7), r"the file ends early: expected \d+ features"),
    "words": (lambda d: changed(d, 32, b"\xff" * 7), r"the file ends early: expected \d+ sets"),
    "one node less": (lambda d: changed(d, 24, b"\x08"), "expected"),
    "no words": (lambda d: changed(d, 32, b"\x01"), "the file ends early: expected 1 sets"),
    "sizes": (lambda d: changed(d, arrays_of(d), b"\x04"), "trees of a node or more, 9 in all"),
    "no node": (lambda d: changed(d, arrays_of(d), b"\6\0\0\0\3\0\0\0\0"), "trees of a node or m"),
    "other sizes": (
        lambda d: changed(d, arrays_of(d), b"\3\0\0\0\5"),
        "trees with a leaf more than",
    ),
    "feature": (lambda d: changed(d, arrays_of(d) + 12, b"\4"), r"features of nodes 0\.\.3"),
    "leaf": (
        lambda d: changed(d, arrays_of(d) + 12, b"\xff" * 4),
        "trees with a leaf more than",
    ),
    "infinite": (
        lambda d: changed(d, arrays_of(d) + 12 + 4 * N, b"\0\0\x80\x7f"),
        "finite numbers in threshold, but that of node 0 is inf",
    ),
    "flags": (
        lambda d: changed(d, arrays_of(d) + 12 + 20 * N, b"\4"),
        r"nodes up to 4: exp",
    ),
    "set of a leaf": (
        lambda d: changed(d, arrays_of(d) + 12 + 21 * N - 1, b"\2"),
        "expected 1 sizes of sets",
    ),
    "set": (lambda d: changed(d, arrays_of(d) + 12 + 20 * N, b"\2"), "expected 1 sizes of sets"),
    "more": (lambda d: sealed(d[:-32] + b"\0" + d[-32:]), "the arrays end 1 bytes early"),
}


@pytest.mark.parametrize("name", LIES)
def test_files_that_lie(name):
    lie, words = LIES[name]
    data = FORMAT.write(make_ensemble([2, 1, 0]))
    with pytest.raises(ModelFormatError, match=rf"^m\.gbdt: .*{words}"):
        FORMAT.read(lie(data), "m.gbdt")


def test_sets_that_lie():
    data = FORMAT.write(BY_SETS)
    begin = len(data) - 32 - 4 * sum(len(tree.sets) for tree in BY_SETS.trees)
    n_sets = sum(int(tree.split_kind.sum()) for tree in BY_SETS.trees)
    for new, words in ((b"\2", "sets of a word or more"), (b"\0", "sets of a word or more")):
        with pytest.raises(ModelFormatError, match=words):
            FORMAT.read(changed(data, begin - 4 * n_sets, new), "m")


def test_a_document_with_trees_is_refused():
    head = to_own_json(make_ensemble([1])).encode()
    counts = struct.pack("<QQQ", 0, 0, 0)
    data = MAGIC + struct.pack("<II", 1, len(head)) + counts + head
    with pytest.raises(ModelFormatError, match=r"^m: the document has trees: expected none"):
        FORMAT.read(sealed(data + bytes(32)), "m")


@pytest.mark.parametrize("splits", [[0] * 5000, [200] * 50], ids=["leaves", "large trees"])
def test_memory_is_a_multiple_of_the_file(splits):
    base = make_ensemble([splits[0]])
    data = FORMAT.write(Ensemble(**{**vars(base), "trees": base.trees * len(splits)}))
    tracemalloc.start()
    try:
        FORMAT.read(data, "m")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < (128 if splits[0] == 0 else 6) * len(data)


def test_python_runs_for_trees_and_not_for_nodes():
    few, many = (FORMAT.write(make_ensemble([n] * 5)) for n in (3, 300))
    assert calls(lambda: FORMAT.read(many, "m")) < calls(lambda: FORMAT.read(few, "m")) + 5


def test_the_digest_of_json():
    data = OwnJson().write(make_ensemble([1]))
    document = json.loads(data)
    assert OwnJson().read(data, "m") == make_ensemble([1])
    for wrong in (
        data.replace(b"reg:squarederror", b"reg:squaredlogerror"),
        data + b" ",
        json.dumps(document).encode(),
        data.replace(document["digest"].encode(), b"0" * 64),
    ):
        with pytest.raises(ModelFormatError, match="expected the digest of the bytes behind it"):
            Model.load_model(wrong)
    del document["digest"]  # on purpose
    assert Model.load_model(json.dumps(document).encode()).ensemble == make_ensemble([1])
    for version in (5, 0, "2", True, None):
        with pytest.raises(ModelFormatError, match=r"expected one of \(1, 2, 3, 4\); read it by"):
            Model.load_model(json.dumps({**document, "version": version}).encode())


def test_version_1_is_read():
    """Files of the first version have statistics and no digest."""
    with_statistics = category_models._models()[2]
    document = json.loads(to_json(with_statistics))
    assert document["version"] == 2
    assert "digest" not in document
    text = json.dumps({**document, "version": 1}).encode()
    assert Model.load_model(text).ensemble == with_statistics
    np.testing.assert_equal(Model.load_model(text).ensemble.n_features, 3)
