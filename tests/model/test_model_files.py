from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest
import xgboost

from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model import read_model, to_xgboost_json, write_model
from tests.model.samples import assert_same_margins, make_ensemble, make_rows


def test_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for splits in ([3, 2], [1]):  # a new file, then one that is replaced
        ensemble = make_ensemble(splits, feature_names=["a", "b", "c", "d"])
        write_model(ensemble, path)
        assert path.read_bytes() == to_xgboost_json(ensemble).encode()
        assert read_model(path) == read_model(str(path)) == ensemble
        booster = xgboost.Booster(model_file=str(path))
        assert_same_margins(ensemble, booster, make_rows(20))
        assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(to_xgboost_json(make_ensemble([1])).encode()[:-5])
    with pytest.raises(ModelFormatError, match=r"bad\.json: not JSON or cut short"):
        read_model(path)
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        write_model(make_ensemble([1]), tmp_path / "none" / "model.json")


OTHER_ENDINGS = ["bin", "deprecated", "pkl", "json.gz", "npz"]


@pytest.mark.parametrize("ending", OTHER_ENDINGS)
def test_endings_of_other_formats_are_refused(ending: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=rf"m\.{ending}.*which is not written here.*\.json"):
        write_model(make_ensemble([1]), tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["m", "m.model", "m.JSON", ".json", "m.gbdt.json"])
def test_other_names_hold_json(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write_model(make_ensemble([1]), path)
    assert read_model(path) == make_ensemble([1])


@pytest.mark.parametrize("name", ["m.v2", "m.json.bak", "m.ubj.tmp"])
def test_unknown_endings_are_refused(name: str, tmp_path: Path) -> None:
    words = r"m\..*has no known ending: expected .*\.json \(XGBoost's JSON\).*end the name in"
    with pytest.raises(ParameterError, match=words):
        write_model(make_ensemble([1]), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"binf\0\0\0", r"XGBoost's old binary format.*m\.json'\).save_model\('model\.ubj'"),
        (pickle.dumps(3), "a pickle"),
        (gzip.compress(b"{}", mtime=0), "compressed by gzip.*unpack"),
        (b"tree\nversion=v4\n", "LightGBM's text"),
        (b"PK\x03\x04", "zip archive"),
        (b"<html>", "XML or HTML"),
        (b"\x00\x01", "not JSON or cut short"),
        (b"", "not JSON or cut short"),
    ],
    ids=["binary", "pickle", "gzip", "LightGBM", "zip", "html", "zeros", "empty"],
)
def test_other_formats_are_named(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match=rf"m\.json: .*{words}"):
        read_model(path)
