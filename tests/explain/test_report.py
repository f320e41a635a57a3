"""The page that tells of a model: what it holds, and that it needs nothing else."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.drawings import Curve, chart, ticks
from pyopencl_gbdt.explain.report import ExplanationPage, html
from pyopencl_gbdt.explain.scores import labelled_rows
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, rows_of, target_of
from tests.html_pages import browser, check_page, opened

SMALL = {"max_depth": 4, "device": TEST_DEVICE, "verbosity": 0}
MOST_BYTES = 80_000
EVIL = "<script>alert('x')</script>"
LONG = "a name of a column that does not end but goes on and on and on " * 3
HEADINGS = (
    "The model", "The data", "Learning curve and importances", "What predictions depend on",
    "Why single rows are predicted as they are", "Where it errs most", "The first trees",
    "Device and time",
)  # fmt: skip


def page_of(model, data, rows=()):
    given = {"weight": None, "qid": None, "missing": None, "device": TEST_DEVICE}
    report = ExplanationPage(labelled_rows(model, data, None, **given), "m.json", "rows.csv", rows)
    return html(report), report


@pytest.fixture(scope="module")
def hostile():
    """Names that would run a script, or that are too long."""
    rows = rows_of("sets").rename(columns={"age": EVIL, "floor": LONG})
    rows["town"] = rows["town"].replace({"Ulm": EVIL, "Oslo": LONG})
    data = Dataset(rows, target_of("sets"))
    model = train({**SMALL, **KINDS["sets"]}, data, 5, evals=[(data, EVIL)])
    return page_of(model, data)


def test_a_page_has_every_part(hostile):
    text, report = hostile
    page = check_page(text, MOST_BYTES)
    for heading in HEADINGS:
        assert f"<h2>{heading}</h2>" in text
    assert EVIL in page.text  # escaped
    assert "Bern" in page.text
    for bar in report.importances:
        assert bar.text in page.text
    for segment in report.analysis.segments:
        assert segment.text in page.text
    assert page.tags.count("svg") == 2 + 1 + sum(1 for one in report.analysis.dependence
                                                 if report.dependence(one))  # fmt: skip
    assert report.device in page.text
    assert "contributions" in page.text


def test_rows_are_explained_up_to_their_margins(hostile):
    _, report = hostile
    assert [one.why for one in report.explained] == [
        "largest loss", "median prediction", "highest prediction",
    ]  # fmt: skip
    margins, losses = report.labelled.margins, report.labelled.losses()
    assert report.explained[0].row == np.argmax(losses)
    assert report.explained[2].row == np.argmax(margins)
    for one in report.explained:
        assert one.margin == pytest.approx(float(margins[one.row]), rel=1e-6)
        assert one.parts[-1].end == pytest.approx(one.margin)
        assert one.low <= min(part.begin for part in one.parts)
        amounts = [abs(part.amount) for part in one.parts]
        assert amounts == sorted(amounts, reverse=True)


@pytest.mark.parametrize("kind", ["classes of forests", "binary", "statistics"])
def test_pages_of_other_kinds(kind):
    data = Dataset(rows_of(kind), target_of(kind))
    text, report = page_of(train({**SMALL, **KINDS[kind]}, data, 3), data, (3, 5))
    page = check_page(text, MOST_BYTES)
    assert [(one.row, one.why) for one in report.explained] == [(3, "asked for"), (5, "asked for")]
    assert ("output 2" in page.text) == (kind == "classes of forests")
    with pytest.raises(ParameterError, match=r"rows=220: expected a whole number, 0\.\.219"):
        page_of(report.model, data, (220,))


def labels_of_losses():
    """Yield losses with unusual labels or outputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    times = np.exp(X[:, 0] + rng.normal(size=200) * 0.3)
    upper = np.where(times > 2, np.inf, times)
    yield "survival:aft", {}, Dataset(X, label_lower_bound=times, label_upper_bound=upper)
    yield "survival:cox", {}, Dataset(X, np.where(rng.random(200) < 0.3, -times, times))
    yield "reg:squarederror", {}, Dataset(X, np.stack([times, X[:, 1]], axis=1))
    yield "reg:quantileerror", {"quantile_alpha": [0.1, 0.9]}, Dataset(X, times)
    yield "rank:ndcg", {}, Dataset(X, (X[:, 0] > 0).astype(int), qid=np.repeat(np.arange(20), 10))
    yield "binary:hinge", {}, Dataset(X, (X[:, 0] > 0).astype(int))
    yield "reg:tweedie", {"tweedie_variance_power": 1.3}, Dataset(X, times)


@pytest.mark.thorough
def test_pages_of_all_kinds_of_labels():
    for loss, parameters, data in labels_of_losses():
        model = train({**SMALL, "objective": loss, **parameters}, data, 3)
        _, report = page_of(model, data)
        history: dict = {}
        train(
            {**SMALL, "objective": loss, **parameters}, data, 3, evals=[(data, "rows")],
            evals_result=history,
        )  # fmt: skip
        ((name, values),) = history["rows"].items()
        assert report.analysis.metrics[name] == pytest.approx(values[-1], rel=1e-5), loss


def test_a_model_without_splits_has_a_page():
    data = Dataset(rows_of("numbers"), np.ones(220))
    text, _ = page_of(train(SMALL, data, 2), data)
    page = check_page(text, MOST_BYTES)
    assert "No part of the rows stands out" in page.text


def test_many_columns_are_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 120))
    data = Dataset(X, X[:, 100])
    text, _ = page_of(train(SMALL, data, 2), data)
    page = check_page(text, MOST_BYTES)
    assert "The 40 most important of 120 columns" in " ".join(page.text.split())
    assert "f100" in page.text


def test_ticks_are_round_numbers_inside():
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-3.0, 12.0) == [0.0, 5.0, 10.0]
    assert ticks(2.0, 2.0) == [2.0]
    for low, high in ((1e-9, 3e-9), (-1e30, 1e30), (0.1234, 0.1239)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert all(low - 1e-9 * abs(low) <= one <= high * (1 + 1e-9) for one in found)


def test_charts_leave_out_what_is_not_finite():
    assert "No number to draw" in chart("c", [Curve("a", [(0.0, math.nan)])], "x")
    drawn = chart("c", [Curve("a", [(0.0, 1.0), (1.0, math.inf), (2.0, 3.0)])], "x", 1.0)
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert 'class="mark"' in drawn


@pytest.fixture
def files(tmp_path):
    rows, labels = rows_of("sets"), target_of("sets")
    data, model = tmp_path / "rows.csv", tmp_path / "m.json"
    pd.concat([pd.Series(labels, name="rent"), rows], axis=1).to_csv(data, index=False)
    train({**SMALL, **KINDS["sets"]}, Dataset(rows, labels), 3).save_model(model)
    return str(model), str(data)


def test_the_command(files, tmp_path, capsys):
    options = ["--device", TEST_DEVICE]
    assert main(["explain", *files, *options]) == 0
    printed = capsys.readouterr().out
    assert "kind        regression, by boosted trees" in printed
    assert "220 rows: rmse " in printed
    assert "where it errs most" in printed
    out = tmp_path / "report.html"
    assert main(["explain", *files, "--html", str(out), "--rows", "7", *options]) == 0
    assert capsys.readouterr().out == f"Saved {out}\n"
    page = check_page(out.read_text(encoding="utf-8"), MOST_BYTES)
    assert "Row 7: asked for" in page.text
    assert "m.json" in page.text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--rows", "7"], "--rows 7: expected --html FILE beside it"),
        (["--html", "r.html", "--rows", "a"], "--rows 'a': expected numbers of rows"),
        (["--html", "r.html", "--rows", "999"], "expected a whole number, 0..219"),
        (["--html", "no/r.html"], "the folder"),
        (["--label-column", "town"], "town"),
    ],
)
def test_wrong_commands(files, tmp_path, capsys, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *files, *more, "--device", TEST_DEVICE]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.thorough
@pytest.mark.skipif(browser() is None, reason="no headless browser, such as chromium, is installed")
def test_a_browser_shows_the_page(hostile, tmp_path):
    for dark in (False, True):
        desktop, phone = opened(hostile[0], tmp_path, dark=dark)
        assert (desktop.window, phone.window) == (1280, 390)
        assert (desktop.content, phone.content) == (1280, 390)
        assert desktop.wide == phone.wide == ""
        assert desktop.color == phone.color
        assert desktop.color == ("rgb(228, 231, 234)" if dark else "rgb(29, 33, 38)")
