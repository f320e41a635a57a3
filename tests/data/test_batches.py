"""Rows that are read batch by batch: what is accepted, and what is refused."""

import gzip
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, GBDTRegressor
from pyopencl_gbdt.data.files.readers import read_table
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import pip_install
from tests.conftest import TEST_DEVICE

X = np.arange(40, dtype=np.float32).reshape(10, 4) / 3
X[2, 1] = np.nan
Y = np.arange(10, dtype=np.float32)
CUTS = (0, 3, 4, 10)
PAIRS = tuple(pairwise(CUTS))


def batches():
    return [(X[a:b], Y[a:b]) for a, b in PAIRS]


class AsIter:
    """XGBoost's ``DataIter``, with either convention of what ``next`` returns."""

    def __init__(self, more=True, end=False):
        self.more, self.end, self.at = more, end, 0

    def reset(self):
        self.at = 0

    def next(self, input_data):
        if self.at == len(PAIRS):
            return self.end
        a, b = PAIRS[self.at]
        self.at += 1
        input_data(data=X[a:b], label=Y[a:b], weight=Y[a:b] + 1)
        return self.more


def values(data):
    return np.concatenate([part for _, part in data.batches.pieces()])


def same(data, other):
    assert data.digests() == other.digests()


@pytest.mark.parametrize("given", [batches, batches(), lambda: iter(batches())],
                         ids=["list", "function", "iterator"])  # fmt: skip
def test_batches_are_the_rows_in_order(given):
    data = Dataset.from_batches(given() if given is batches else given)
    same(data, Dataset(X, Y))
    assert "in batches" in repr(data)
    assert data.batches.most_rows == 6


@pytest.mark.parametrize("given", [AsIter(), AsIter(1, 0)], ids=["bool", "int"])
def test_a_dataiter_of_xgboost(given):
    same(Dataset.from_batches(given), Dataset(X, Y, Y + 1))


@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_input_data_takes_names_alone(n_parts):
    """XGBoost raises TypeError, too; the label was dropped."""

    class ByPosition(AsIter):
        def next(self, input_data):
            return super().next(lambda **parts: input_data(*list(parts.values())[:n_parts]))

    with pytest.raises(TypeError, match=r"by position: expected names.*label=y") as caught:
        Dataset.from_batches(ByPosition())
    assert isinstance(caught.value, DataError)


@pytest.mark.thorough
def test_an_iterator_that_xgboost_takes_too():
    xgboost = pytest.importorskip("xgboost")

    class Own(AsIter, xgboost.DataIter):
        def __init__(self):
            xgboost.DataIter.__init__(self)
            AsIter.__init__(self)

    own = Own()
    assert xgboost.QuantileDMatrix(own).num_row() == 10
    same(Dataset.from_batches(own), Dataset(X, Y, Y + 1))


def test_parts_of_batches():
    offsets = [0, 2, 3, 4, 10]
    parts = [
        {"X": X[a:b], "label": Y[a:b], "base_margin": Y[a:b], "qid": Y[a:b] // 2} for a, b in PAIRS
    ]
    same(Dataset.from_batches(parts), Dataset(X, Y, base_margin=Y, qid=Y // 2))
    groups = [[2, 1], [1], [6]]
    parts = [{"X": X[a:b], "group": g} for (a, b), g in zip(PAIRS, groups, strict=True)]
    data = Dataset.from_batches(parts, label=Y)
    assert data.group_offsets.tolist() == offsets
    own = Dataset.from_batches([Dataset(X[a:b], Y[a:b], Y[a:b] + 1) for a, b in PAIRS])
    same(own, Dataset(X, Y, Y + 1))


def test_sparse_batches_are_made_dense_one_by_one():
    full = np.where(np.isnan(X), 0, X)
    parts = [(csr_matrix(full[a:b]), Y[a:b]) for a, b in PAIRS]
    data = Dataset.from_batches(parts)
    np.testing.assert_array_equal(values(data), np.where(full == 0, np.nan, full))


def test_levels_are_the_sorted_union_of_all_batches():
    pandas = pytest.importorskip("pandas")
    names = np.array(list("zbaabbczya"), object)
    frame = pandas.DataFrame({"a": names, "n": Y, "i": (Y * 7).astype(int) % 5})
    frame["a"], frame["i"] = frame["a"].astype("category"), frame["i"].astype("category")
    parts = [frame.iloc[a:b].copy() for a, b in PAIRS]
    for part in parts:
        for name in "ai":
            part[name] = part[name].cat.remove_unused_categories()
    data = Dataset.from_batches(parts, label=Y)
    whole = Dataset(frame, Y)
    assert data.categories == whole.categories
    np.testing.assert_array_equal(values(data), whole.values)
    for column in (0, 2):
        np.testing.assert_array_equal(data.level_counts(column), whole.level_counts(column))
    other = data.coded_by(dict(Dataset(frame.iloc[:5], Y[:5]).categories))
    known = whole.coded_by(dict(Dataset(frame.iloc[:5], Y[:5]).categories))
    np.testing.assert_array_equal(values(other), known.values)
    np.testing.assert_array_equal(other.level_counts(0), known.level_counts(0))


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def lines(rows, header=""):
    table = np.column_stack([Y, X])[rows]
    text = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
    return header + "\n".join(text) + "\n"


def test_files(folder, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.data.files.text_batches.TEXT_BYTES", 60)
    whole = Dataset(X, Y)
    (folder / "1.csv").write_text(lines(slice(0, 7)))
    with gzip.open(folder / "2.csv.gz", "wt") as file:
        file.write(lines(slice(7, 10)))
    same(Dataset.from_batches(folder), whole)
    same(Dataset.from_batches(str(folder / "*.csv*")), whole)
    np.save(folder / "a.npy", np.column_stack([X, Y]))
    same(Dataset.from_batches([folder / "a.npy"], label_column=-1, batch_rows=3), whole)
    memory = np.load(folder / "a.npy", mmap_mode="r")[:, :4]
    same(Dataset.from_batches(memory, Y, batch_rows=4), whole)
    for save in (np.savez, np.savez_compressed):
        save(folder / "b.npz", X=X, y=Y, weight=Y + 1)
        same(Dataset.from_batches(folder / "b.npz", batch_rows=3), Dataset(X, Y, Y + 1))
    rows = [
        " ".join([str(y), *(f"{i}:{v!r}" for i, v in enumerate(x.tolist()) if v == v)])
        for x, y in zip(X, Y, strict=True)
    ]
    (folder / "c.svm").write_text("\n".join(rows) + "\n")
    same(Dataset.from_batches(folder / "c.svm"), whole)


def test_files_without_rows(folder):
    """They are left out, whatever their format; alone they are named."""
    np.savez(folder / "0.npz", X=X[:0], y=Y[:0])
    np.savez(folder / "1.npz", X=X, y=Y)
    same(Dataset.from_batches(folder), Dataset(X, Y))
    words = r"0\.npz: no rows in the 1 file that share=\(0, 2\) deals: expected one or more"
    with pytest.raises(DataError, match=words):
        Dataset.from_batches(folder, share=(0, 2))


def test_text_with_levels(folder, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.data.files.text_batches.TEXT_BYTES", 24)
    words = ["7", "12", "", "b", '"a,\nc"', "7", "x", "7", "11", "b"]
    text = "y,word,n\n" + "\n".join(f"{i},{w},{i}.5" for i, w in enumerate(words)) + "\n"
    (folder / "t.csv").write_text(text)
    data = Dataset.from_batches(folder / "t.csv", categorical_features=["word"])
    table = read_table(folder / "t.csv", categorical_features=["word"])
    same(data, Dataset(table.features, table.y))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_columns_of_arrow(folder, suffix):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    word = pyarrow.array(list("abcabcabcz")).dictionary_encode()
    shop = pyarrow.array([7, 30, None, 7, 2, 2, 30, 7, 7, 2]).dictionary_encode()
    columns = {"y": Y, **{f"f{i}": X[:, i] for i in range(4)}, "word": word, "shop": shop}
    table = pyarrow.table(columns)
    path = str(folder / f"t.{suffix}")
    if suffix == "parquet":
        parquet.write_table(table, path, row_group_size=4)
    else:
        new = pyarrow.ipc.new_file if suffix == "arrow" else pyarrow.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table, 4)
    data = Dataset.from_batches(path, label_column="y", batch_rows=3)
    assert [*data.categories] == [4, 5]
    same(data, Dataset(table.drop_columns("y"), Y))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_missing_label_of_categories(folder, suffix):
    pyarrow = pytest.importorskip("pyarrow")
    label = pyarrow.array([3, 1, None, 3]).dictionary_encode()
    table, path = pyarrow.table({"y": label, "x": [1.0, 2, 3, 4]}), str(folder / f"t.{suffix}")
    if suffix == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pyarrow.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(DataError, match=r"y holds 1 missing value, the first .* at row 2"):
        Dataset.from_batches(path, label_column="y")


def test_damaged_offsets_of_an_arrow_file(folder):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"y": Y, "word": ["ab", "c"] * 5})
    path = folder / "t.arrow"
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    offsets = np.arange(11, dtype="<i4") * 3 // 2 + np.arange(11, dtype="<i4") % 2
    data = path.read_bytes()
    assert data.count(offsets.tobytes()) == 1
    offsets[5] = 2**30
    at = data.index(offsets[:5].tobytes())
    path.write_bytes(data[:at] + offsets.tobytes() + data[at + 44 :])
    with pytest.raises(DataError, match=r"t\.arrow: cannot be read \(.*offset.*; write it anew"):
        Dataset.from_batches(path)


@pytest.mark.parametrize("header", [True, False])
def test_a_slip_in_text_is_an_error(folder, header):
    """One ``5O`` made the column of numbers categorical."""
    lines = [f"{i % 2},{i},{i % 7}" for i in range(40)]
    lines[20] = "1,5O,3"
    (folder / "t.csv").write_text("\n".join(["y,a,b"] * header + lines) + "\n")
    slip = rf"t\.csv, line {21 + header}, column 1 .*: found '5O': expected a number"
    for more in ({}, {"enable_categorical": True}, {"categorical_features": [1]}):
        with pytest.raises(DataError, match=slip):
            Dataset.from_batches(folder / "t.csv", **more)
    for more in ({}, {"categorical_features": "from_dtype"}):
        with pytest.raises(DataError, match=slip):
            GBDTRegressor(n_estimators=1, device=TEST_DEVICE, **more).fit(folder / "t.csv")
    for more in ({"categorical_features": [0]}, {"categorical_features": "from_dtype"},
                 {"feature_types": ["c", "q"]}):  # fmt: skip
        assert list(Dataset.from_batches(folder / "t.csv", **more).categories) == [0]
    one = GBDTRegressor(n_estimators=1, cat_method="sets", device=TEST_DEVICE)
    one.fit(folder / "t.csv", categorical_feature="from_dtype")
    assert list(one.model_.ensemble.categories) == [0]


def test_without_pyarrow(folder, monkeypatch):
    (folder / "t.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match=re.escape(pip_install("arrow"))):
        Dataset.from_batches(folder)


def test_damaged_files_are_named(folder):
    np.save(folder / "t.npy", X)
    np.savez(folder / "t.npz", X=X, y=Y)
    pytest.importorskip("pyarrow.parquet").write_table(
        pytest.importorskip("pyarrow").table({"y": Y, "x": X[:, 0]}), folder / "t.parquet"
    )
    rng, found = np.random.default_rng(1), []
    for path in list(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(60):
            data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
            for at in rng.integers(0, len(data), 3):
                data[at] = rng.integers(256)
            path.write_bytes(data)
            try:
                values(Dataset.from_batches(path))
            except DataError as error:
                found.append((path.name, str(error)))
    assert len(found) > 100
    assert all(name in text for name, text in found)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (iter(batches()), DataTypeError, "read once"),
        (5, DataTypeError, "type int: expected a function"),
        ([], DataError, "there is none"),
        (lambda: 5, DataTypeError, "returned a int: expected an iterator"),
        ([(X, Y), (X[:, :3], Y)], DataError, "batch 1 has 3 columns: expected 4, as in batch 0"),
        ([(X, Y), X], DataError, "batch 1 has no label, unlike batch 0"),
        ([(X, Y[:3])], DataError, "batch 0: y has 3 values"),
        ([{"X": X, "labels": Y}], DataError, "batch 0 has a part 'labels'"),
        ([X, X.astype(str)], DataError, "batch 1 holds '0.0' at row 0, column 0"),
        (AsIter(None), DataTypeError, "returned None: expected True or 1"),
        ("nowhere/*.csv", DataError, "no file has such a name"),
    ],
)  # fmt: skip
def test_what_is_refused(given, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        Dataset.from_batches(given)


def test_options_that_are_refused():
    for name, value in (("header", 3), ("batch_rows", -1), ("file_format", "x"), ("rows", 1)):
        with pytest.raises(ParameterError, match=name):
            Dataset.from_batches(batches(), **{name: value})


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (lambda: [(X[:5], Y[:5])], r"ended after 1 of 3, with 3|has shape \(5, 4\)"),
        (lambda: [*batches(), (X, Y)], "comes after 3 batches"),
        (lambda: batches()[:2], "ended after 2 of 3, with 4 of 10 rows"),
        (lambda: [(X[::-1][a:b], Y[a:b]) for a, b in PAIRS], "batch 0 has other values"),
    ],
)
def test_other_batches_the_second_time(second, words):
    passes = iter([batches, second])
    data = Dataset.from_batches(lambda: iter(next(passes)()))
    with pytest.raises(DataError, match=words):
        values(data)
