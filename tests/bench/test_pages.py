"""``python -m bench pages``: its lines, its turns, and what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.page_lines import LINES, quick
from bench.pages import chosen, main, said
from bench.turns import middle
from tests.bench.running import run
from tests.conftest import TEST_DEVICE


def test_lines_have_names_of_their_own_and_are_chosen_by_kind():
    names = [line.name for line in LINES]
    assert len(set(names)) == len(names)
    assert {line.where for line in chosen(None, ["cpu"])} == {"cpu"}
    assert [line.name for line in chosen("cpu-tiny,leaves-*", ["cpu"])] == [
        "cpu-tiny", "leaves-31", "leaves-63", "leaves-255",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="--only higs: expected a pattern or some of cpu-1m-d6"):
        chosen("higs", ["cpu"])


def test_classes_are_about_equally_many_and_the_same_for_any_number_of_rows():
    line = quick(next(line for line in LINES if line.n_classes))
    values, label = line.make(0)
    fewer = line.make(0, 500)
    assert np.array_equal(fewer[0], values[:500])
    assert np.array_equal(fewer[1], label[:500])
    counts = np.bincount(label.astype(int), minlength=line.n_classes)
    assert counts.size == line.n_classes
    assert counts.min() > len(label) / line.n_classes / 2


def test_middle():
    assert middle([3.0, 1.0, 2.0]) == (2.0, 1.5, 2.5)


def test_a_wrong_file_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--from", str(tmp_path / "absent.json")])
    assert "absent.json" in capsys.readouterr().err


@pytest.mark.thorough
def test_turns_from_end_to_end(tmp_path):
    file = tmp_path / "pages.json"
    done = run(
        "pages", "--quick", "--only", "cpu-tiny,cpu-predict", "--turns", 2, "--device", TEST_DEVICE,
        "--peers", "none", "--json", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    tiny, predict = report["lines"]
    (ours,) = tiny["systems"]
    assert {part: len(of) for part, of in ours["seconds"].items()} == dict.fromkeys(
        ("setup", "first", "round", "predict", "one"), 2
    )
    assert ours["kernels"]
    assert set(predict["systems"][0]["seconds"]) == {"predict", "one"}
    assert said(tiny) in done.stdout
