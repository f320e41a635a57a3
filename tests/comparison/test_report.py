"""The report is one well-formed file that loads nothing, whatever a driver calls itself."""

import re
from html.parser import HTMLParser

import pytest

from pyopencl_gbdt.comparison import report
from pyopencl_gbdt.comparison.schema import document, duration, short, size
from tests.comparison.samples import (
    KERNELS,
    SHAPE,
    make_device,
    make_document,
    make_failure,
    make_machine,
    make_result,
)

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = '<script src="x">&"\''


class Checker(HTMLParser):
    """Finds tags that are not closed, and what a browser would load."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        assert not {"src", "href", "srcset", "data", "action"} & dict(attrs).keys(), (tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        self.text.append(data)


def parse(written):
    text = report.html(written)
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert not {"script", "link", "iframe", "img", "object", "embed"} & {*checker.seen}
    assert not re.search(r"url\(|@import|https?://", text)
    return " ".join("".join(checker.text).split()), checker.seen


def test_one_machine():
    text, seen = parse(make_document(make_result("opencl:0:0"), make_result("cuda:0")))
    assert "Same model bytes in every comparison" in text
    for title in ("A round", "Set-up", "Prediction", "Share of bandwidth", "Time of every kernel"):
        assert title in text
    assert "1.50 ms" in text
    assert "aaaaaaaaaa" in text
    assert seen.count("svg") == len(report.METRICS) + 1
    assert "histogram" in text
    assert "1 · opencl" not in text


def test_one_device_gets_plain_tables_and_hears_once_that_nothing_is_compared():
    shapes = [make_result("opencl:0:0", name) for name in ("small", "large", "wide")]
    shapes[1]["repeats_agree"] = False
    shapes.append(make_failure("opencl:0:0", "huge", problem="lost it"))
    text, seen = parse(document([make_machine(shapes)]))
    assert "svg" not in seen
    assert "figure" not in seen
    assert "differs from run to run" in text
    assert "failed: lost it" in text
    assert "MODELS DIFFER: large" in text  # as its repeats do
    shapes[1]["repeats_agree"] = True
    text, seen = parse(document([make_machine(shapes)]))
    assert text.lower().count("nothing to compare") == 1
    assert text.count("aaaaaaaaaa") == 3
    assert seen.count("table") == 2 + 3  # devices, figures, kernels of each shape


class Boxes(HTMLParser):
    """Tells for each table whether it stands in a box that scrolls by itself."""

    def __init__(self):
        super().__init__()
        self.open, self.boxed, self.metas, self.cells = [], [], {}, []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "meta":
            self.metas[given.get("name")] = given.get("content")
        if tag == "td":
            self.cells.append(given)
        if tag == "table":
            self.boxed.append("scroll" in self.open)
        if tag == "svg":
            assert "width" not in given  # as wide as its card
        if tag == "div":
            self.open.append(given.get("class"))

    def handle_endtag(self, tag):
        if tag == "div":
            self.open.pop()


def test_a_phone_of_360_pixels_shows_it_without_scrolling_sideways():
    written = report.html(make_document(make_result("opencl:0:0"), make_result("cuda:0")))
    page = Boxes()
    page.feed(written)
    assert page.metas["viewport"] == "width=device-width, initial-scale=1"
    assert len(page.boxed) == 4  # devices, bytes, kernels, all figures
    assert all(page.boxed)
    assert re.search(r"\.scroll \{ overflow-x: auto;", written)
    style = written[written.index("<style>") : written.index("</style>")]
    # nothing asks for more than the screen: cards are as wide as the screen where that is less
    assert re.findall(r"minmax\(([^,]+, \d+px\)|[^,]+),", style) == ["min(100%, 320px)"]
    assert not re.findall(r"(?<!max-)width: \d{3,}px", style)
    # drawn 340 wide in a card of 360 - 24 (page) - 22 (card) pixels, letters of 13 have 12
    (size,) = re.findall(r"svg text \{ font-size: (\d+)px; \}", style)
    assert int(size) * (360 - 24 - 22) / report._WIDTH >= 12
    # 0.6 of the letters' size is their mean width in a wide font: label and figure do not meet
    assert report._LETTERS * int(size) * 0.6 < report._WIDTH
    # a table's row is a card there: each cell is a line that begins with its column's name
    narrow = style[style.index("@media (max-width: 480px)") :]
    assert "table, tbody, tr, td { display: block; }" in narrow
    assert "content: attr(data-label)" in narrow
    for cell in page.cells:
        assert bool(cell.get("data-label")) == (cell.get("class") != "name"), cell


def test_names_of_kernels_end_lines_behind_their_dots_and_stay_escaped():
    result = make_result("a:0")
    kernels = [{**KERNELS[0], "kernel": name} for name in ("plan.finish_tree", "<b>.x")]
    written = report.html(make_document({**result, "kernels": kernels}))
    assert '<td class="name">plan.<wbr>finish_<wbr>tree</td>' in written
    assert '<td class="name">&lt;b&gt;.<wbr>x</td>' in written


def test_failures_differences_and_interruptions_are_told():
    shapes = [
        SHAPE,
        {**SHAPE, "name": "huge", "problem": "its data take 99 GB", "data_digest": None},
    ]
    machine = make_machine(
        [
            make_result("a:0"),
            make_result("b:0", digest="b"),
            make_failure("c:0", problem="lost it"),
        ],
        finished=False,
        shapes=shapes,
    )
    machine["devices"].append({**make_device("d:0"), "problem": "refuses",
                               "copy_bytes_per_second": None})  # fmt: skip
    text, _ = parse(document([machine]))
    for words in (
        "MODELS DIFFER: small; 1 of 3 failed.", "THE MODELS DIFFER", "bbbbbbbbbb",
        "failed: lost it", "its data take 99 GB", "failed: refuses", "Interrupted",
    ):  # fmt: skip
        assert words in text


def test_several_machines_are_numbered():
    machines = [
        make_machine([make_result("a:0")]),
        make_machine([make_result("a:0"), make_result("b:0", repeats_agree=False)], name="other"),
    ]
    text, _ = parse(document(machines))
    assert "Machine 2: other" in text
    assert "2 · b:0 · Card b:0" in text
    assert "differs from run to run" in text


def test_names_are_text_not_markup():
    machine = make_machine([make_result("a:0"), make_failure("b:0", problem=EVIL)], name=EVIL)
    machine["devices"][0]["capabilities"]["name"] = EVIL
    machine["shapes"][0]["name"] = machine["results"][0]["shape"] = EVIL
    machine["results"][1]["shape"] = EVIL
    machine["results"][0]["kernels"][0]["kernel"] = EVIL
    text, _ = parse(document([machine]))
    assert EVIL in text


def test_nothing_at_all():
    assert "Nothing was measured." in parse(document([]))[0]
    assert "Nothing was measured." in parse(document([make_machine([])]))[0]


def test_many_kernels_share_a_colour():
    kernels = [
        {"kernel": f"k{i}", "launches": 1.0, "ms": 20.0 - i, "bytes": None, "share_of_copy": None}
        for i in range(12)
    ]
    view = report.View(make_document(make_result("a:0", kernels=kernels)))
    (compared,) = view.shapes
    assert view.legend == [*(f"k{i}" for i in range(7)), "others"]
    assert view.kernel_chart(compared).count('class="c7"') == 5
    parse(make_document(make_result("a:0", kernels=kernels)))


def test_bars_have_one_scale():
    drawn = report.bars("<t>", [
        report.DrawnBar("a&b", "4", [(1.0, 0, "x"), (3.0, 9, "")]),
        report.DrawnBar("none", "failed", []),
        report.DrawnBar("long" * 30, "2", [(2.0, 1, "")]),
    ])  # fmt: skip
    widths = re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="9" class="c(\d)"', drawn)
    assert widths == [("0.0", "85.0", "0"), ("85.0", "255.0", "1"), ("0.0", "170.0", "1")]
    assert 'aria-label="&lt;t&gt;"' in drawn
    assert "a&amp;b" in drawn
    assert "…</text>" in drawn


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (1e-7, "0.00000"), (0.01234, "0.0123"), (0.5, "0.500"), (1.2345, "1.23"),
     (56.78, "56.8"), (567.8, "568"), (12345.6, "12,346")],
)  # fmt: skip
def test_numbers_for_people(number, text):
    assert short(number) == text


def test_sizes_and_times_for_people():
    assert [size(n) for n in (500, 84_000, 5e6, 1.2345e9)] == ["0.5 kB", "84 kB", "5 MB", "1.23 GB"]
    assert [duration(s) for s in (0.4, 89, 300, 9000)] == ["0 s", "89 s", "5 min", "2.5 h"]
