"""Every parser of delimited text beside the reference one: the same bits, or left to it."""

import decimal
import itertools

import numpy as np
import pytest

from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.blurred import Blurred, integer
from pyopencl_gbdt.data.files import delimited, reference_parser
from pyopencl_gbdt.data.files.block_parsers import PARSERS, optional_module
from pyopencl_gbdt.data.files.csv_header import find_layout
from pyopencl_gbdt.data.files.delimited import parse_blocks, search
from pyopencl_gbdt.data.files.reference_parser import parse_fields
from pyopencl_gbdt.errors import DataError
from tests.fuzz.tables import FORMATS

NEEDS = {"pyarrow": "pyarrow.csv", "pandas": "pandas"}

#: What a field may look like, right or wrong.
FIELDS = [
    *("+1", "1.", ".5", ".", "1e", "e5", "1e5", "1E+05", "1e+", "-", "+", "--1", "+-1", "- 1"),
    *("nan", "NaN", "NAN", "nAn", "-nan", "+nan", "nan(1)", "nan()", "snan", "NA", "na", "N/A"),
    *("NULL", "null", "None", "#N/A", "<NA>", "-NaN", "1.#IND", "1.#QNAN", "?", "??", "-?", "-NA"),
    *("inf", "-inf", "Inf", "+inf", "infinity", "-Infinity", "INF", "0x1F", "0x1p3", "1_0", "1d5"),
    *("1e400", "-1e400", "1e-400", "3.4028235e38", "3.4028236e38", "-3.5e38", "1e-46", "1e9999999"),
    *("0e9999999999", "1e-9999999999999999", "1" * 400, "0." + "3" * 800, "9" * 19, "9" * 39),
    *("18446744073709551616", "-9223372036854775809", "00012", "-0", "-0.0", "0000"),
    *("True", "true", "FALSE", "1f", "1L", "1j", "1%", "$1", "1'000", "1 000", "(1)", "[1]", "1;2"),
    *(" 1", "1 ", "  1  ", "\t1", "1\t", "1\x0b", "\x0c1", "1\x1c", "\x1d1", "1 2", " ", "   "),
    *(" NA", "NA ", " NA ", "  ?", " nan ", "\tNA", "\u0663", "\xa01", "1\u2003", "\ufeff1"),
    *('"1"', '""', '" "', '"NA"', '" NA "', '"nan"', '"x"', '"1', '1"', '"1"2', '"1""2"', '""1'),
    *('"1" ', ' "1"', '"1,2"', '","', '"\n"', '"1\n"', '"1\n2"', '"""1"""', "'1'", ""),
    *("1,2", "1\n"),
]  # fmt: skip


def outcome(text, parsers, block_size=1 << 20):
    """Return the table's shape and bytes and the ids that are blurred, or the error's text."""
    blurred = Blurred()
    try:
        layout = find_layout(text.encode(), "t.csv", 0, False)
        if parsers is None:
            parsed = parse_fields(layout)
            table = parsed.table
            search(blurred, layout, layout.start, len(layout.data), parsed)
        else:
            table = np.concatenate(parse_blocks(layout, block_size, parsers, blurred))
    except DataError as error:
        return str(error)
    same = np.where(np.isnan(table), np.float32("nan"), table).tobytes()
    return table.shape, same, blurred.pairs


@pytest.fixture(params=list(PARSERS))
def parser(request):
    if request.param in NEEDS and optional_module(NEEDS[request.param]) is None:
        pytest.skip(f"{request.param} is not installed")
    return PARSERS[request.param]


@pytest.mark.few(12)
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_every_spelling_of_a_field(parser, delimiter, place):
    for field in FIELDS:
        row = {"first": [field, "2", "3"], "middle": ["2", field, "3"], "last": ["2", "3", field]}
        lines = ["1", "0.5", "7"], row[place], ["0", "4", "5"]
        text = "\n".join(delimiter.join(line) for line in lines) + "\n"
        assert outcome(text, [parser]) == outcome(text, None), repr(text)


def test_every_short_string(parser):
    letters = '01+-.eE nNaA?_x("'
    strings = ["".join(s) for n in (1, 2) for s in itertools.product(letters, repeat=n)]
    rng = np.random.default_rng(0)
    strings += ["".join(rng.choice(list(letters), rng.integers(3, 7))) for _ in range(300)]
    for string in strings:
        text = f"1,2\n3,{string}\n5,6\n"
        assert outcome(text, [parser]) == outcome(text, None), repr(text)


def hard_decimals():
    """Decimals at and beside the middle of two float64 or two float32 numbers."""
    rng = np.random.default_rng(1)
    wide = np.exp(rng.uniform(-40, 40, 700)) * rng.choice([-1, 1], 700)
    tiny = rng.integers(1, 2**40, 100).view(np.float64)  # subnormal
    pairs = [(x, np.nextafter(x, np.inf)) for x in [*wide, *tiny, 2.2250738585072014e-308]]
    pairs += [(x, np.nextafter(x, np.float32(9e9))) for x in wide.astype(np.float32)]
    found = []
    with decimal.localcontext(decimal.Context(prec=1200)):
        for low, high in pairs:
            exact = str((decimal.Decimal(float(low)) + decimal.Decimal(float(high))) / 2)
            digits, e, exponent = exact.partition("E")
            point = "" if "." in digits else "."
            found += [exact, f"{digits}{point}000000000000000000001{e}{exponent}", repr(float(low))]
    return found


def test_hard_decimals_have_the_bits_of_float64_then_float32(parser):
    decimals = hard_decimals()
    text = "".join(f"1,{one}\n" for one in decimals)
    layout = find_layout(text.encode(), "t.csv", 0, False)
    with np.errstate(under="ignore"):
        expected = np.array([float(one) for one in decimals]).astype(np.float32)
    taken = parser(layout.data, ",", 2)
    assert taken is not None
    assert taken.table[:, 1].tobytes() == expected.tobytes()
    assert parse_fields(layout).table[:, 1].tobytes() == expected.tobytes()


def test_the_fast_ones_take_what_is_usual(parser):
    """Other tests pass too if a parser takes nothing at all."""
    for text in ("1,2.5\n3,-4e-3\n", "1,\n,3\n", "NA,?\n1,2\n", "1,2\n\n3,4\n", "1,2\n3,4"):
        assert parser(text.encode(), ",", 2) is not None, repr(text)
    quoted = parser(b'"1","2.5"\n"","NA"\n', ",", 2)
    if parser is PARSERS["numpy"]:
        assert quoted is None
    else:
        np.testing.assert_array_equal(quoted.table, [[1, 2.5], [np.nan, np.nan]])


#: How a file may write ids that are too large for float32.
IDS = {
    "digits": lambda n: str(2**24 + n),
    "negative": lambda n: str(-(2**24) - n),
    "with a point": lambda n: f"{2**24 + n}.0",
    "in powers of ten": lambda n: f"{2**24 + n:.9e}",
    "with zeros": lambda n: f"+000{2**24 + n}",
    "quoted": lambda n: f'"{2**24 + n}"',
    "with gaps": lambda n: "NA" if n % 3 == 1 else str(2**24 + n),
    "of 18 digits": lambda n: str(10**17 + n),
    "of 20 digits": lambda n: str(2**64 - 40 + n),
    "of 18 digits after one of 8": lambda n: str(10**17 + n) if n else "20000000",
}
APART = {
    "even": lambda n: str(2**24 + 2 * n),
    "with fractions": lambda n: f"{2**24 + n / 4}",
    "of 21 digits": lambda n: str(10**20 + n),
    "of 18 digits in powers of ten": lambda n: f"{10**17 + n:.17e}",
    "once": lambda n: str(2**24 + 1),
}


@pytest.mark.parametrize("kind", [*IDS, *APART])
def test_ids_that_float32_cannot_tell_apart(parser, kind):
    write = {**IDS, **APART}[kind]
    text = "".join(f"{16777216 + n},0.5,{write(n)}\n" for n in range(20))
    wanted = outcome(text, None)
    for block_size in (1, 50, 1 << 20):
        found = outcome(text, [parser], block_size)
        assert found == wanted, block_size
    assert [*found[2]] == ([1] if kind in IDS else [])  # the label is not searched
    if found[2]:
        first, second = map(int, found[2][1].split(" and "))
        assert first != second
        assert np.float32(first) == np.float32(second)


@pytest.mark.parametrize("block_size", [1, 50, 1 << 20])
def test_digits_of_a_mark_are_read_a_bounded_number_of_times(block_size, monkeypatch):
    """A number from 2^53 on that all rows have, such as the largest of 64 bits."""
    monkeypatch.setattr(delimited, "MOST_SPELLED", 30)
    read = []
    monkeypatch.setattr(
        reference_parser, "integer", lambda text: read.append(text) or integer(text)
    )
    marks = "".join(f"{n},{2**63 - 1},7\n" for n in range(40))
    ids = "".join(f"{n},{10**17 + n},7\n" for n in range(20))
    for text, found in ((marks + ids, {}), (ids + marks, {0: f"{10**17} and {10**17 + 1}"})):
        assert (
            outcome(text, None if block_size == 1 << 20 else [PARSERS["numpy"]], block_size)[2]
            == found
        )
        assert len(read) <= 30
        read.clear()


def random_table(rng):
    delimiter = rng.choice([",", "\t", ";", " "])
    n_rows, n_columns = rng.integers(1, 30), rng.integers(2, 6)
    missing = ["NA", "?", "nan"] if delimiter == " " else ["", "NA", "?", "NaN", " ", '"NA"']
    lines = []
    for _ in range(n_rows):
        fields = [repr(float(v)) for v in rng.normal(size=n_columns) * 10.0 ** rng.integers(-9, 9)]
        for column in range(1, n_columns):
            if rng.random() < 0.2:
                fields[column] = rng.choice(missing)
        lines.append(delimiter.join(fields))
        if rng.random() < 0.1:
            lines.append("")
    return "\n".join(lines)


@pytest.mark.parametrize("block_size", [1, 50, 1 << 20])
def test_random_tables_in_blocks(parser, block_size):
    for seed in range(20):
        text = random_table(np.random.default_rng(seed))
        assert outcome(text, [parser], block_size) == outcome(text, None), seed


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(4))
def test_mutations(parser, seed):
    formats = [one for one in FORMATS if one.name in ("csv", "tsv")]
    for number, one in itertools.product(range(60), formats):
        data = one.mutation(number, seed).replace(b"\0", b"").replace(b"\r", b"\n")
        text = data.decode("latin-1")
        if text.strip():
            for block_size in (16, 1 << 20):
                assert outcome(text, [parser], block_size) == outcome(text, None), repr(text[:300])


def test_a_wrong_field_far_down_is_named_whoever_reads(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n" * 5000 + "1,x\n" + "3,\n" * 5000)
    messages = set()
    for fast_from in (1, 1 << 30):
        monkeypatch.setattr(delimited, "FAST_FROM", fast_from)
        for block_size in (100, 1 << 20):
            monkeypatch.setattr(delimited, "SMALLEST_BLOCK", block_size)
            with pytest.raises(DataError, match=r"line 5001, column 1 .*found 'x'") as caught:
                read_table(path)
            messages.add(str(caught.value))
    assert len(messages) == 1


def test_without_pandas_and_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "FAST_FROM", 1)
    text = random_table(np.random.default_rng(3))
    path = tmp_path / "t.csv"
    path.write_text(text)
    with_them = read_table(path).X
    monkeypatch.setattr("pyopencl_gbdt.data.files.block_parsers.optional_module", lambda name: None)
    assert read_table(path).X.tobytes() == with_them.tobytes()
