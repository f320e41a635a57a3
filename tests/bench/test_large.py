"""bench large: the same rows for both, a line a shape."""

import json

import numpy as np
import pytest

from bench import large
from tests.conftest import TEST_DEVICE


def test_rows_depend_on_the_seed_alone():
    shape = large.SHAPES["ranks"]
    values, label, queries = large.make(shape, 2000, 3)
    again = large.make(shape, 2000, 3)
    for one, other in zip((values, label, queries), again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert values.shape == (2000, 700)
    assert set(np.unique(label)) == {0, 1, 2, 3, 4}
    assert (np.diff(queries) >= 0).all()
    assert not np.array_equal(large.make(shape, 2000, 4)[1], label)


@pytest.mark.exhaustive
def test_both_systems(capsys, tmp_path):
    pytest.importorskip("xgboost")
    file = tmp_path / "large.json"
    asked = ["--only", "monotone", "goss", "--rows-scale", "0.0005", "--device", TEST_DEVICE]
    assert large.main([*asked, "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["shape", "monotone", "goss"]
    monotone, goss = json.loads(file.read_text())
    assert goss["xgboost"] == {}
    assert monotone["ours"]["quality"] == pytest.approx(monotone["xgboost"]["quality"], rel=0.1)
    assert monotone["ours"]["round_ms"] > 0
