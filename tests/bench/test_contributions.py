"""The bench of contributions: a line for each figure, and for each part."""

import json

import pytest

from bench import contributions
from tests.conftest import TEST_DEVICE

PARTS = ["margins", "trees", "rows", "kernels", "sums by row", "float64", "download", "rest"]
WORDS = "--rows 300 --pair-rows 20 --columns 3 --trees 2 --depth 3 --peer-rows 0 --repeats 2"


def lines_of(capsys, *words):
    assert contributions.main([*WORDS.split(), "--device", TEST_DEVICE, *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.thorough
def test_every_figure_has_a_line(capsys, tmp_path):
    lines = lines_of(capsys, "--json", str(tmp_path / "a.json"))
    assert [line.split()[0] for line in lines] == ["margins", "contributions", "pairs"]
    report = json.loads((tmp_path / "a.json").read_text())
    assert report["shape"] == [300, 3, 2, 3]
    assert report["seconds"]["pairs"][0] == 20


@pytest.mark.thorough
@pytest.mark.parametrize("more", [[], ["--symmetric"]])
def test_every_part_has_a_line(capsys, more):
    lines = lines_of(capsys, "--parts", *more)
    wanted = [f"{what}: {part}" for what in ("contributions", "pairs") for part in PARTS]
    assert [line[:26].rstrip() for line in lines] == wanted
