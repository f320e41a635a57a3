"""Files dealt to processes give the rows, and the model, of one process that reads all of them.

Columns and levels of all files count, also for evaluation sets, which one process reads.
"""

from argparse import Namespace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import fitting
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.model import to_json
from tests.conftest import TEST_DEVICE
from tests.teams import members

PARAMS = {"objective": "binary:logistic", "cat_method": "sets", "max_depth": 3}
#: Levels of each file: whole numbers in the second one are strings, as the first one has letters.
LEVELS = (["a", "b", ""], ["7", "10", "3"], ["10", "c", "7"])


def given(**more):
    """Return options of the command line."""
    files = ("header", "format", "one_based", "max_bytes", "label_column", "qid_column")
    options = dict.fromkeys((*files, "weight", "feature_weights", "n_features"))
    return Namespace(**{**options, "categorical_features": None, "eval": [], **more})


def texts(folder):
    """Write three files of numbers and levels; return options."""
    rows = []
    for number, levels in enumerate(LEVELS):
        lines = [f"{i % 3 % 2},{(i * 7 + number) % 11},{levels[i % 3]}\n" for i in range(40)]
        (folder / f"{number}.csv").write_text("".join(lines))
        rows += lines[:9]
    (folder.parent / "test.csv").write_text("".join(rows))
    return given(
        data=str(folder), eval=[str(folder.parent / "test.csv")], categorical_features="from_dtype"
    )


def libsvm(folder):
    """Write files of 2, 5 and 3 features, and rows of 7; return options."""
    rng = np.random.default_rng(1)
    for number, width in enumerate((2, 5, 3)):
        lines = [
            " ".join([str(i % 2), *(f"{k}:{rng.normal() + i % 2:.3f}" for k in range(width))])
            for i in range(40)
        ]
        (folder / f"{number}.libsvm").write_text("\n".join(lines) + "\n")
    lines = [f"{i % 2} " + " ".join(f"{k}:{i * k % 5}" for k in range(7)) for i in range(20)]
    (folder.parent / "test.libsvm").write_text("\n".join(lines) + "\n")
    return given(data=str(folder), eval=[str(folder.parent / "test.libsvm")])


@pytest.mark.filterwarnings("ignore:.*are left out")
@pytest.mark.parametrize("write", [texts, libsvm])
def test_dealt_files_are_those_of_one_process(write, tmp_path):
    (tmp_path / "parts").mkdir()
    args = write(tmp_path / "parts")
    params = {**PARAMS, "device": TEST_DEVICE}
    data, evals = fitting.read_training(fitting.RankJob(), args, "binary:logistic")
    alone = train(params, data, 3, evals=evals)

    def read(team, rank):
        return fitting.read_training(fitting.RankJob(team), args, "binary:logistic")

    parts = members(3, read)
    for part, _ in parts:
        assert part.num_col() == data.num_col()
        assert part.categories == data.categories
    assert [part.n_rows for part, _ in parts] == [40, 40, 40]

    def work(team, rank):
        own, sets = parts[rank]
        return train(params, own, 3, evals=sets, communicator=team)

    for model in members(3, work):
        assert to_json(model.ensemble) == to_json(alone.ensemble)
        assert model.history == alone.history


def test_files_with_other_columns_are_named(tmp_path):
    """The error is that of all ranks."""
    (tmp_path / "0.csv").write_text("0,1,2\n1,2,3\n" * 9)
    (tmp_path / "1.csv").write_text("0,1\n1,2\n" * 12)

    def work(team, rank):
        data = Dataset.from_batches(tmp_path, share=(rank, 2))
        return train({"device": TEST_DEVICE}, data, 1, communicator=team)

    for error in members(2, work):
        assert isinstance(error, DataError)
        assert "the number of features is 1 on rank 1 (" in str(error)
        assert "1.csv, lines from 1), 2 on rank 0 (" in str(error)
