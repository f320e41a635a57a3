"""``predict`` leaves out the columns of label and queries by the names that the model knows."""

import numpy as np
import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.training.train import Model
from tests.cli_samples import DEVICE, NAMES, SMALL, make_rows, read_numbers, write_rows
from tests.conftest import TEST_DEVICE


def predictions(capsys, data, model, *options):
    assert main(["predict", str(data), "--model", str(model), *DEVICE, *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return read_numbers(captured.out)


@pytest.fixture
def trained(tmp_path, capsys):
    """A function that trains on a file and returns the model's path."""

    def train(data, *options):
        model = tmp_path / "m.json"
        assert main(["train", str(data), "--model", str(model), *SMALL, *options]) == 0
        capsys.readouterr()
        return model

    return train


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.data"])
@pytest.mark.parametrize("place", ["last", "first"])
def test_the_training_file_needs_no_label_column(tmp_path, capsys, trained, name, place):
    data = write_rows(tmp_path / name, place, header=True)
    model = trained(data, "--label-column", "y")
    expected = Model.load_model(model).predict(make_rows()[0], device=TEST_DEVICE)
    assert np.array_equal(predictions(capsys, data, model), expected)
    assert np.array_equal(predictions(capsys, data, model, "--label-column", "y"), expected)
    bare = write_rows(tmp_path / f"bare-{name}", "none", header=True)
    assert main(["predict", str(bare), "--model", str(model), *DEVICE]) == 0
    captured = capsys.readouterr()
    assert np.array_equal(read_numbers(captured.out), expected)
    assert "no labels, features only" in captured.err


@pytest.mark.parametrize(
    ("order", "asked"),
    [(["y", "q"], []), (["q", "y"], []), (["y", "q"], ["--qid-column", "q"]),
     (["y", "q"], ["--qid-column", "-1"])],
)  # fmt: skip
def test_columns_of_label_and_queries(tmp_path, capsys, trained, order, asked):
    X, y = make_rows()
    columns = {"y": y / 2, "q": np.arange(len(y)) // 10}
    lines = [",".join([*NAMES, *order])]
    for i, row in enumerate(np.nan_to_num(X)):
        lines.append(",".join([*map(str, row), *(str(columns[name][i]) for name in order)]))
    data = tmp_path / "ranks.csv"
    data.write_text("\n".join(lines) + "\n")
    model = trained(data, "--label-column", "y", "--qid-column", "q")
    expected = Model.load_model(model).predict(np.nan_to_num(X), device=TEST_DEVICE)
    assert np.array_equal(predictions(capsys, data, model, *asked), expected)


def test_categorical_columns_keep_their_levels(tmp_path, capsys, trained):
    data = tmp_path / "towns.csv"
    rows = [f"{('Bern', 'Ulm', 'Oslo')[i % 3]},{i % 7},{i % 3}" for i in range(90)]
    data.write_text("town,size,y\n" + "\n".join(rows) + "\n")
    model = trained(data, "--label-column", "y", "--categorical-features", "town")
    found = predictions(capsys, data, model)
    assert np.array_equal(found, predictions(capsys, data, model, "--label-column", "-1"))
    assert len(set(found[:3])) == 3
    turned = tmp_path / "turned.csv"
    turned.write_text(
        "y,size,town\n" + "\n".join(",".join(r.split(",")[::-1]) for r in rows) + "\n"
    )
    for asked in ([], ["--label-column", "y"]):
        assert main(["predict", str(turned), "--model", str(model), *DEVICE, *asked]) == 2
        assert "has 'size' as column 0, counted from 0: expected 'town'" in capsys.readouterr().err


def test_parquet_has_names_too(tmp_path, capsys, trained):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = make_rows()
    table = pyarrow.table({**{name: X[:, i] for i, name in enumerate(NAMES)}, "y": y})
    data = tmp_path / "a.parquet"
    parquet.write_table(table, data)
    model = trained(data, "--label-column", "y")
    expected = Model.load_model(model).predict(X, device=TEST_DEVICE)
    assert np.array_equal(predictions(capsys, data, model), expected)


def test_a_configuration_needs_no_label_column_either(tmp_path, capsys, trained):
    data = write_rows(tmp_path / "a.csv", "last", header=True)
    model, out = trained(data, "--label-column", "y"), tmp_path / "p.txt"
    words = ["task=pred", f"model_in={model}", f"test:data={data}", f"name_pred={out}"]
    assert main(["train", *words, f"device={TEST_DEVICE}"]) == 0
    expected = Model.load_model(model).predict(make_rows()[0], device=TEST_DEVICE)
    assert np.array_equal(read_numbers(out.read_text()), expected)


def test_further_columns_are_still_an_error(tmp_path, capsys, trained):
    data = write_rows(tmp_path / "a.csv", "last", header=True)
    model = trained(data, "--label-column", "y")
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b,c,age,height,weight,shoe\n1,2,3,4,5,6,7\n")
    assert main(["predict", str(wide), "--model", str(model), *DEVICE]) == 2
    assert "feature columns: expected 4; check --label-column" in capsys.readouterr().err
