"""Errors of the command line name its options; those of configuration files their keys."""

from pathlib import Path

import numpy as np
import pytest

import pyopencl_gbdt
from pyopencl_gbdt.cli import _command, build_parser, main
from pyopencl_gbdt.cli.options import HINTS, options_of, with_keys, with_options
from tests.conftest import TEST_DEVICE


@pytest.fixture(scope="module")
def train_options():
    return options_of(_command(build_parser(), "train"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("max_depth=40: expected 0..32; lower max_depth",
         "--max-depth 40: expected 0..32; lower --max-depth"),
        ("gamma=-1.0: expected a finite number >= 0; raise gamma",
         "--gamma -1.0: expected a finite number >= 0; raise --gamma"),
        ("subsample=0.5: expected 1 for sampling_method='goss'; give top_rate and",
         "--subsample 0.5: expected 1 for --sampling-method goss; give --top-rate and"),
        ("a.csv: one column only; pass label_column=None if it is a feature",
         "a.csv: one column only; give a file of labels and features"),
        ("device='': expected 'auto'", "--device '': expected 'auto'"),
        ("a.csv: qid_column=9: expected -5..4", "a.csv: --qid-column 9: expected -5..4"),
        ("give trees of 2^max_depth leaves", "give trees of 2^max_depth leaves"),
        ("profile=True: expected False with device='gpu:0,gpu:1', as",
         "--profile: expected False with --device gpu:0,gpu:1, as"),
        ("correct it (file_format='delimited' reads CSV and TSV)",
         "correct it (--format delimited reads CSV and TSV)"),
        ("pass header=False if this is not a header", "pass --header no if this is not a header"),
        ("a.csv, line 3: 'gamma=3' is no number", "a.csv, line 3: 'gamma=3' is no number"),
        ("/data/max_depth=3/a.csv: no such file", "/data/max_depth=3/a.csv: no such file"),
        ("unknown parameter 'max_dept'; did you mean 'max_depth'?",
         "unknown parameter 'max_dept'; did you mean 'max_depth'?"),
        ("--param x: expected NAME=VALUE, such as max_depth=8",
         "--param x: expected NAME=VALUE, such as max_depth=8"),
        ("the objective has no device and no page", "the objective has no device and no page"),
        ("expected 'rmse', or a function of your own; try 'rmse'", "expected 'rmse'; try 'rmse'"),
        ("a.csv: y holds 0.0: expected label > 0 for objective='survival:aft'; give "
         "label_lower_bound and label_upper_bound to Dataset",
         "a.csv: y holds 0.0: expected label > 0 for --objective survival:aft; give times above 0"),
        ("pass max_bytes=18309 or more", "pass --max-bytes 18309 or more"),
        ("interaction_constraints=[[9, 1]] names the column 9",
         "--interaction-constraints [[9, 1]] names the column 9"),
    ],
)  # fmt: skip
def test_options(message, expected, train_options):
    assert with_options(message, train_options) == expected


def test_a_command_names_only_options_that_it_has():
    parser = build_parser()
    message = "x: rounds=0; first, or pass with_label=False; label_column=None; max_depth=3"
    named = {
        command: with_options(message, options_of(_command(parser, command)))
        for command in ("demo", "predict")
    }
    assert named["demo"] == message.replace("rounds=0", "--rounds 0")
    assert named["predict"] == "x: rounds=0; first, or pass --no-label; --no-label; max_depth=3"


def test_keys():
    assert with_keys("max_depth=40: lower max_depth") == "max_depth=40: lower max_depth"
    assert with_keys("(file_format='libsvm' reads it)") == "(format='libsvm' reads it)"
    assert with_keys("or pass with_label=False") == "or pass no_label=1"
    assert with_keys(f"a: {HINTS[0][0]}") == f"a: {HINTS[0][2]}"


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint[1] or "nothing")
def test_replaced_hints_are_those_of_the_library(hint):
    """Else a reworded error would reach the command line as it is."""
    package = Path(pyopencl_gbdt.__file__).parent
    joined = ("".join(f.read_text("utf-8").split()) for f in package.rglob("*.py"))
    wanted = "".join(hint[0].split())
    plain = [text.replace('""', "").replace('"f"', "").replace('f"', "") for text in joined]
    assert sum(wanted in text for text in plain) >= 2  # in the table, and where it is raised


def test_warnings_name_options_too(tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = 2**24 + np.arange(60)
    path, model = str(tmp_path / "a.parquet"), str(tmp_path / "m.json")
    parquet.write_table(pa.table({"label": ids % 7, "id": ids}), path)
    words = ["train", path, "--model", model, "--n-estimators", "0", "--device", TEST_DEVICE]
    assert main(words) == 0
    assert "name the column in --categorical-features, or" in capsys.readouterr().err
