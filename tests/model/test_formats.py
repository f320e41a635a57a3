"""The choice of a format by a file's name, and by its first bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model import Ensemble, read_model, write_model
from pyopencl_gbdt.model.formats import registry
from pyopencl_gbdt.model.formats.base import Format, first_key
from tests.model.samples import make_ensemble


class Stumps:
    """A format that holds the number of trees of at most three, for these tests."""

    def __init__(self, *, reads: bool = True, writes: bool = True) -> None:
        self.name, self.suffixes = "the stumps' format", (".stump", ".stump.json")
        self.reads, self.writes = reads, writes

    def sniff(self, head: bytes) -> bool:
        return head.startswith(b"stumps")

    def lacks(self, model: Ensemble) -> str:
        return "a fourth tree" if len(model.trees) > 3 else ""

    def read(self, data: bytes, source: str) -> Ensemble:
        return make_ensemble([1] * int(data[6:]))

    def write(self, model: Ensemble) -> bytes:
        return b"stumps%d" % len(model.trees)


def add(monkeypatch: pytest.MonkeyPatch, one: Format) -> None:
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, one))


def test_names_and_first_bytes_choose_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(monkeypatch, Stumps())
    for name in ("m.stump", "M.STUMP", "m.stump.json"):  # the longest ending counts
        write_model(make_ensemble([1, 1]), tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"stumps2"
        assert len(read_model(tmp_path / name).trees) == 2
    (tmp_path / "m.json").write_bytes(b"stumps3")
    assert len(read_model(tmp_path / "m.json").trees) == 3


def test_a_model_that_the_format_cannot_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(monkeypatch, Stumps())
    words = r"the stumps' format lacks a fourth tree.*expected .*\.json \(XGBoost's JSON\)"
    with pytest.raises(ModelFormatError, match=words):
        write_model(make_ensemble([1] * 4), tmp_path / "m.stump")
    assert not list(tmp_path.iterdir())


def test_formats_of_one_direction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, Stumps(writes=False))
    with pytest.raises(ParameterError, match=r"tells of the stumps' format, which is only read"):
        write_model(make_ensemble([1]), tmp_path / "m.stump")
    monkeypatch.undo()
    add(monkeypatch, Stumps(reads=False))
    write_model(make_ensemble([1]), tmp_path / "m.stump")
    with pytest.raises(ModelFormatError, match=r"m\.stump: .*the stumps' format, which is only"):
        read_model(tmp_path / "m.stump")


@pytest.mark.parametrize(
    ("head", "key"),
    [
        (b'{"learner":{', "learner"),
        (b'\xef\xbb\xbf \n{\t "a b" :', "a b"),
        (b"{}", ""),
        (b'[{"a"', ""),
        (b'{"a', ""),
        (b"", ""),
    ],
)
def test_first_keys(head: bytes, key: str) -> None:
    assert first_key(head) == key
