"""read_table on CSV, TSV and their kin: the fast parser, the reference one, and every mistake."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.errors import DataError, ParameterError

NAN = float("nan")


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read_table(path, **options)

    return read_text


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n0,5,6\n",
        "1,2,3\n0,5,6",
        "1\t2\t3\n0\t5\t6\n",
        "1;2;3\n0;5;6\n",
        "1 2 3\n0  5   6\n",
        "  1 2 3\n  0 5 6\n",
        "1, 2, 3\n0, 5, 6\n",
        "1,2,3\r\n0,5,6\r\n",
        "1,2,3\r0,5,6\r",
        "\ufeff1,2,3\n0,5,6\n",
        "\n1,2,3\n\n0,5,6\n\n",
        "\n  \n1,2,3\n   \n0,5,6\n",
        '1,"2",3\n0,"5","6"\n',
        "a,b,c\n1,2,3\n0,5,6\n",
        '"a","b,b",c\n1,2,3\n0,5,6\n',
        "+1,2e0,3.\n0,.5e1,6\n",
    ],
)
def test_same_table_in_every_dress(read, text):
    table = read(text)
    assert table.X.dtype == table.y.dtype == np.float32
    assert table.X.flags.c_contiguous
    assert table.y.flags.c_contiguous
    np.testing.assert_array_equal(table.X, [[2, 3], [5, 6]])
    np.testing.assert_array_equal(table.y, [1, 0])
    assert table.weight is None


@pytest.mark.parametrize("name", ["table.csv.gz", "table", "table.csv"])
def test_gzip_by_its_first_bytes(read, name):
    table = read(gzip.compress(b"1,2\n0,", mtime=0) + gzip.compress(b"3\n"), name)
    assert table.X.tolist() == [[2], [3]]


@pytest.mark.parametrize("field", ["", "NA", "?", "nan", "NaN", "NAN", " ", " NA ", '""', '"NA"'])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_missing_values(read, field, delimiter):
    rows = [["1", field, "2"], ["0", field, field], ["1", "3", field]]
    table = read("\n".join(delimiter.join(row) for row in rows))
    np.testing.assert_array_equal(table.X, [[NAN, 2], [NAN, NAN], [3, NAN]])


@pytest.mark.parametrize("field", ["NA", "?", "nan"])
def test_missing_values_between_spaces(read, field):
    table = read(f"1 {field} 2\n0 3 {field}\n")
    np.testing.assert_array_equal(table.X, [[NAN, 2], [3, NAN]])


def test_empty_fields_of_a_whole_row(read):
    table = read("1\t\t\n\t2\t3\n\t\t\n", label_column=None)
    np.testing.assert_array_equal(table.X, [[1, NAN, NAN], [NAN, 2, 3], [NAN, NAN, NAN]])


@pytest.mark.parametrize(("text", "shape"), [("7", (1, 1)), ("7,8", (1, 2)), ("7\n\n8\n", (2, 1))])
def test_smallest_tables(read, text, shape):
    table = read(text, label_column=None)
    assert table.X.shape == shape
    assert table.y is None


@pytest.mark.parametrize("quote", ["", '"'])
def test_one_column_all_missing(read, quote):
    text = "\n".join(f"{quote}NA{quote}" for _ in range(3))
    assert np.isnan(read(text, label_column=None).X).tolist() == [[True]] * 3


@pytest.mark.parametrize(
    ("text", "header", "names"),
    [
        ("a,b\n1,2\n", "auto", ["a", "b"]),
        ("1,2\n3,4\n", "auto", None),
        ("1,2\n3,4\n", True, ["1", "2"]),
        (",b\n1,2\n", "auto", ["", "b"]),
        ("NA,\n1,2\n", "auto", None),
        (" a , b \n1,2\n", "auto", ["a", "b"]),
        ("a b\n1 2\n", "auto", ["a", "b"]),
    ],
)
def test_header(read, text, header, names):
    table = read(text, header=header, label_column=None)
    assert table.feature_names == names
    assert len(table.X) == 2 - (names is not None)


@pytest.mark.parametrize("label", [1, -2, "b", np.int64(1)])
def test_label_column(read, label):
    table = read("a,b,c\n1,2,3\n4,5,6\n", label_column=label)
    assert table.y.tolist() == [2, 5]
    assert table.X.tolist() == [[1, 3], [4, 6]]
    assert table.feature_names == ["a", "c"]


@pytest.mark.parametrize("qid", [0, -3, "q"])
def test_qid_column(read, qid):
    table = read("q,y,b\n7,2,3\n9,5,\n", label_column="y", qid_column=qid)
    assert table.qid.tolist() == [7, 9]
    assert table.qid.dtype == np.int64
    assert table.y.tolist() == [2, 5]
    np.testing.assert_array_equal(table.X, [[3], [np.nan]])
    assert table.feature_names == ["b"]
    table = read("q,b\n7,3\n", with_label=False, qid_column="q", n_features=1)
    assert (table.y, table.X.tolist(), table.qid.tolist()) == (None, [[3]], [7])


def test_without_label(read):
    table = read("1,2\n3,4\n", with_label=False, n_features=2)
    assert table.y is None
    assert table.X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,2\n3,x\n", {}, r"table.csv, line 2, column 1 .*found 'x'.*expected a number or a miss"),
        ("a,b\n1,2\n3,x\n", {}, r"line 3, column 1 \('b'\) .*found 'x'"),
        ("1,2\n\n\n3,1_0\n", {}, "line 4, column 1 .*found '1_0'"),
        ("1,2\n3,\u0663\n", {}, "line 2, column 1 .*found '\u0663'"),
        ("1,x\n3,4\n", {}, "line 1, column 1 .*found 'x'.*header=True if line 1 holds names"),
        ("1,2\n3,inf\n", {}, "line 2, column 1 .*found 'inf'"),
        ("1,2\n3,-1e39\n", {}, "line 2, column 1 .*found '-1e39'.*float32 can hold"),
        ("1 2\n3 x\n", {}, "line 2, column 1 .*found 'x'"),
        ("1,2\nNA,4\n", {}, "line 2, column 0 .*found 'NA': expected a number as label"),
        ("1,2\nyes,4\n", {}, "line 2, column 0 .*found 'yes': expected a number as label"),
        ("1,2,3\n4,5\n", {}, "line 2: 2 fields, expected 3 as in the first line"),
        ("1,2,3\n4,5,6,7\n", {}, "line 2: 4 fields, expected 3"),
        ("1 2 3\n4 5\n", {}, "line 2: 2 fields, expected 3"),
        ("a,b\n1,2,3\n4,5,6\n", {}, "line 2: 3 fields, expected 2"),
        ('1,"2\n3,4\n', {}, "line .*correct its quotes"),
        ('1,2\n3,"4"5\n', {}, "line 2: .*correct its quotes"),
        ("a,b\n", {}, "a header but no rows"),
        ("a,b\n \n\n", {}, "a header but no rows"),
        ("a,a\n1,2\n", {}, "line 1: 2 columns are named 'a'.*header=False"),
        ("1\n2\n", {}, "one column only, the label"),
        ("1,2\n", {"label_column": 2}, "label_column=2: expected -2..1 or a name"),
        ("1,2\n", {"label_column": True}, "label_column=True: expected"),
        ("1,2\n", {"label_column": 0.0}, "label_column=0.0: expected"),
        ("1,2\n", {"label_column": "y"}, "label_column='y', but there is no header"),
        ("target,b\n1,2\n", {"label_column": "tarqet"}, "did you mean 'target'"),
        ("target,b\n1,2\n", {"label_column": "zzz"}, "columns: target, b"),
        ("1,2,3\n", {"qid_column": 3}, "qid_column=3: expected -3..2 or a name"),
        ("y,q,b\n1,2,3\n", {"qid_column": "r"}, "qid_column='r' is not in the header"),
        ("1,2,3\n", {"qid_column": -3}, "qid_column=-3 is the label's column too; choose another"),
        ("1,2,3\n1,2.5,3\n", {"qid_column": 1}, r"queries holds 2\.5 in row 1: expected integers"),
        ("1,NA,3\n1,2,3\n", {"qid_column": 1}, "queries holds nan in row 0: .*number the queries"),
        ("1,16777217,3\n", {"qid_column": 1}, r"holds 16777216 .* integers up to 16777215"),
        ("1,2\n", {"n_features": 2}, "has 1 feature columns: expected 2; check label_column=0"),
        ("1,2\n", {"header": "yes"}, "header='yes': expected True, False or 'auto'"),
        ("1,2\n", {"file_format": "csv"}, "file_format='csv': expected one of auto, delimited"),
        ("", {}, "table.csv: the file is empty"),
        (" \n\t\n", {}, "the file is empty"),
        (b"1,2\n3,\0\n", {}, "line 2: byte 0x00 is not UTF-8 text"),
        (b"1,2\n3,\xff\n", {}, "line 2: byte 0xff is not UTF-8 text"),
        ("1,2\n".encode("utf-16"), {}, "line 1: byte 0x.. is not UTF-8 text"),
        (bytes(range(256)), {}, "is not UTF-8 text"),
        (gzip.compress(b"1,2\n" * 99, mtime=0)[:-9], {}, "table.csv: damaged gzip file"),
        (gzip.compress(b"1,2\n" * 99, mtime=0)[:12] + b"\xff" * 30, {}, "damaged gzip file"),
        (gzip.compress(b"", mtime=0), {}, "the file is empty"),
    ],
)
def test_messages(read, text, options, message):
    with pytest.raises(DataError, match=message):
        read(text, **options)


def test_gz_that_is_not_gzip(read):
    with pytest.raises(DataError, match=r"ends in .gz, but .* starts with b'1,'.*rename"):
        read("1,2\n", "table.csv.gz")


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"absent.csv: no such file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(str(tmp_path))


def test_rounds_as_numpy_does(read):
    numbers = np.random.default_rng(0).normal(size=(50, 3))
    text = "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    np.testing.assert_array_equal(read(text, label_column=None).X, numbers.astype(np.float32))


def test_machine_data_has_text_columns(tmp_path):
    path = Path(__file__).parents[2] / "bench" / "data" / "machine.data"
    with pytest.raises(DataError, match=r"line 1, column 0 .*found 'adviser'.*name the column"):
        read_table(path, label_column=8)
    lines = path.read_text().split()
    numbers = tmp_path / "machine.csv"
    numbers.write_text("\n".join(line.split(",", 2)[2] for line in lines))
    table = read_table(numbers, label_column=-2)
    assert table.X.shape == (209, 7)
    assert table.y[:2].tolist() == [198, 269]


@pytest.mark.parametrize("path", ["a\0.csv", "", 3])
def test_what_cannot_be_a_path(path):
    with pytest.raises(ParameterError, match="expected the path of a file"):
        read_table(path)
