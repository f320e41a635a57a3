"""Tables of the command line: columns where they fit, else a paragraph for each row."""

import pytest

from pyopencl_gbdt.cli.output import TextTable, width

HEADS = (("tried", 6), ("table ms", 10))


def table(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    return TextTable(("kernel", 12), HEADS, "chosen", indent=2)


def test_columns(monkeypatch):
    wide = table(monkeypatch, 80)
    assert wide.head() == ["  kernel       tried  table ms  chosen"]
    assert wide.row("split", ["7", "1.250"], "portable") == (
        "  split            7     1.250  portable"
    )
    assert wide.row("a name that is long", ["7", ""], "a b") == (
        "  a name that is long\n                   7            a b"
    )
    lines = wide.row("split", ["7", "1.250"], "word " * 20).splitlines()
    assert len(lines) == 3
    assert {line.index("word") for line in lines} == {32}


def test_paragraphs(monkeypatch):
    narrow = table(monkeypatch, 36)
    assert narrow.head() == []
    assert narrow.row("split", ["", "1.250"], "wg_size=64") == (
        "  split\n      table ms: 1.250, chosen:\n      wg_size=64"
    )


@pytest.mark.parametrize("columns", [30, 40, 41, 60, 80, 200])
def test_no_line_is_too_wide(monkeypatch, columns):
    made = table(monkeypatch, columns)
    text = "\n".join([*made.head(), made.row("split", ["7", "1.250"], "word " * 20)])
    assert max(map(len, text.splitlines())) <= width() <= min(80, columns)


@pytest.mark.parametrize(("columns", "expected"), [(1, 30), (0, 80), (79, 79), (500, 80)])
def test_the_width_has_bounds(monkeypatch, columns, expected):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert width() == expected
