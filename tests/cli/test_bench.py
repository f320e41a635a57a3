"""``pyopencl-gbdt bench`` at the command line."""

import json
from dataclasses import replace

import pytest

import pyopencl_gbdt.comparison.run as running
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.bench import Bar
from pyopencl_gbdt.cli.output import WIDTH
from pyopencl_gbdt.comparison import plan, schema
from pyopencl_gbdt.comparison.schema import document
from pyopencl_gbdt.comparison.shapes import SHAPES
from pyopencl_gbdt.device import find
from pyopencl_gbdt.errors import DeviceError
from tests.comparison.samples import make_document, make_machine, make_result, save
from tests.conftest import TEST_DEVICE

ARGUMENTS = ["bench", "--quick", "--devices", TEST_DEVICE, "--repeats", "1"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Two shapes that take no time."""
    one = replace(SHAPES["tiny"], n_rows=200, max_depth=2, n_rounds=2)
    two = replace(SHAPES["small"], n_rows=150, n_features=5, max_depth=3, n_rounds=2)
    monkeypatch.setattr(plan, "QUICK", (one, two))


@pytest.fixture
def fake(monkeypatch):
    """Two devices; call it with what each one's results shall be."""
    info = find(TEST_DEVICE)
    names = ["opencl:0:0", "cuda:0"]
    monkeypatch.setattr(
        plan, "choose_devices", lambda text: [
            replace(info, device_id=name, caps=replace(info.caps, device_id=name)) for name in names
        ],
    )  # fmt: skip
    monkeypatch.setattr(running, "copy_bandwidth", lambda device_id: 1e10)
    monkeypatch.setattr(running, "int64_percent", lambda device_id: 170)

    def be(answer):
        def measure(device_id, shape, values, labels, *, bandwidth, repeats, tell):
            tell("first fit")
            return {"device": device_id, "shape": shape.name, **answer(device_id, shape.name)}

        monkeypatch.setattr(running, "measure", measure)

    return be


@pytest.mark.thorough
def test_a_real_device(tmp_path, capsys):
    saved, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main([*ARGUMENTS, "--json", str(saved), "--html", str(page)]) == 0
    said = capsys.readouterr()
    for words in (
        "Machine  ", "copies", "64-bit integers take", "roughly", "Memory",
        "tiny: 200 x 20, depth 2",
        "shape          set-up s",
        f"Saved    {saved}", "Verdict  nothing to compare",
    ):  # fmt: skip
        assert words in said.out
    assert said.out.count("othing to compare") == 1
    rows = [line.split() for line in said.out.splitlines() if line.startswith("  ")]
    assert [row[0] for row in rows if len(row) == 8] == ["tiny", "small"]
    assert max(map(len, said.out.splitlines())) <= WIDTH
    device_id = find(TEST_DEVICE).device_id
    assert f"tiny on {device_id} (0% done)" in said.err.splitlines()
    assert "\r" not in said.err
    (machine,) = schema.load(str(saved))["machines"]
    assert machine["finished"]
    assert [shape["name"] for shape in machine["shapes"]] == ["tiny", "small"]
    assert machine["options"] == {"repeats": 1, "seed": 0, "quick": True}
    assert [result["problem"] for result in machine["results"]] == ["", ""]
    assert machine["results"][0]["kernels"]
    assert machine["devices"][0]["capabilities"]["api"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "a.html"}

    # the same seed gives the same models
    again = tmp_path / "b.json"
    assert main([*ARGUMENTS, "--shapes", "small", "--json", str(again)]) == 0
    assert main(["bench", "--merge", str(saved), str(again)]) == 0
    out = capsys.readouterr().out
    assert "all 2 models are the same bytes" in out
    assert f"2 {device_id}" in out
    assert "same model bytes in every comparison, 1 of 2 shapes" in out


def measured(digest):
    result = make_result("", digest=digest)
    return {key: value for key, value in result.items() if key not in ("device", "shape")}


def test_models_that_differ_end_it_with_1(fake, tmp_path, capsys):
    fake(lambda device, shape: measured("b" if (device, shape) == ("cuda:0", "small") else "a"))
    saved, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main([*ARGUMENTS, "--json", str(saved), "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert "all 2 models are the same bytes" in out
    assert "THE MODELS DIFFER" in out
    assert "Verdict  MODELS DIFFER: small." in out
    assert schema.load(str(saved))["machines"][0]["finished"]
    assert "MODELS DIFFER: small." in page.read_text(encoding="utf-8")


def test_a_device_that_fails_does_not_stop_the_others(fake, capsys, tmp_path):
    def answer(device, shape):
        return {"problem": "RuntimeError: lost\nsomewhere"} if device == "cuda:0" else measured("a")

    fake(answer)
    saved = tmp_path / "a.json"
    assert main([*ARGUMENTS, "--json", str(saved)]) == 0
    out = capsys.readouterr().out
    assert out.count("failed: RuntimeError: lost somewhere") == 2
    assert "2 of 4 failed" in out
    assert len(schema.load(str(saved))["machines"][0]["results"]) == 4
    fake(lambda device, shape: {"problem": "gone"})
    assert main(ARGUMENTS) == 1
    assert "Verdict  nothing was measured; 4 of 4 failed." in capsys.readouterr().out


def test_a_device_that_cannot_even_copy_is_left_out(fake, monkeypatch, capsys, tmp_path):
    def copy(device_id):
        if device_id == "cuda:0":
            raise DeviceError("no copy today")
        return 1e10

    fake(lambda device, shape: measured("a"))
    monkeypatch.setattr(running, "copy_bandwidth", copy)
    saved, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main([*ARGUMENTS, "--json", str(saved), "--html", str(page)]) == 0
    assert "FAILED: no copy today" in " ".join(capsys.readouterr().out.split())
    (machine,) = schema.load(str(saved))["machines"]
    assert [device["problem"] for device in machine["devices"]] == ["", "no copy today"]
    assert {result["device"] for result in machine["results"]} == {"opencl:0:0"}
    assert "no copy today" in page.read_text(encoding="utf-8")


def test_data_that_do_not_fit_are_left_out(fake, monkeypatch, capsys):
    fake(lambda device, shape: measured("a"))
    memory = running._memory
    monkeypatch.setattr(
        running, "_memory", lambda m, word: 20_000 if word == "MemAvailable" else memory(m, word)
    )
    assert main(ARGUMENTS) == 0
    out = capsys.readouterr().out
    assert "not trained: its data take 0.0 GB" in out
    assert out.count("all 2 models are the same bytes") == 1


def test_what_was_measured_outlives_an_interruption(fake, tmp_path, capsys):
    def answer(device, shape):
        if shape == "small":
            raise KeyboardInterrupt
        return measured("a")

    fake(answer)
    saved, page = tmp_path / "a.json", tmp_path / "a.html"
    assert main([*ARGUMENTS, "--json", str(saved), "--html", str(page)]) == 130
    assert f"--merge {saved} shows it" in capsys.readouterr().err
    assert not page.exists()
    assert main(["bench", "--merge", str(saved), "--html", str(page)]) == 0
    assert "interrupted" in capsys.readouterr().out
    assert page.exists()


def test_machines_that_differ(tmp_path, capsys):
    one = save(tmp_path / "1.json", make_document(make_result("opencl:0:0")))
    other = make_machine([make_result("opencl:0:0", digest="b")], name="other")
    two = save(tmp_path / "2.json", document([other]))
    both, page = tmp_path / "both.json", tmp_path / "both.html"
    assert main(["bench", "--merge", one, two, "--json", str(both), "--html", str(page)]) == 1
    out = capsys.readouterr().out
    assert "machine 2: other" in out
    assert "1 opencl:0:0" in out
    assert "2 opencl:0:0" in out
    assert len(json.loads(both.read_text())["machines"]) == 2
    assert "Machine 2: other" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rounds", "0"], "--rounds 0: expected 1..100000; raise it"),
        (["--repeats", "0"], "--repeats 0: expected 1..1000; raise it"),
        (["--repeats", "1001"], "--repeats 1001: expected 1..1000; lower it"),
        (["--seed", "-1"], "--seed -1: expected 0..4294967295; raise it"),
        (["--devices", "no such device"], "no usable device fits"),
        (["--devices", ","], "--devices ,: expected all or device strings"),
        (["--shapes", "tinny"], "did you mean 'tiny'"),
        (["--json", "absent/a.json"], "create it first"),
        (["--html", "."], "expected a file"),
        (["--json", "a", "--html", "./a"], "--html ./a: --json has the same name"),
    ],
)
def test_wrong_options(tmp_path, monkeypatch, capsys, options, words):
    monkeypatch.chdir(tmp_path)
    outputs = [] if "--json" in options or "--html" in options else ["--json", "a.json"]
    assert main(["bench", "--quick", *options, *outputs]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert words in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option", [["--devices", "cpu"], ["--quick"], ["--seed", "0"], ["--list-shapes"]]
)
def test_merging_trains_nothing(tmp_path, capsys, option):
    one = save(tmp_path / "1.json", make_document(make_result("a:0")))
    page = tmp_path / "page.html"
    assert main(["bench", *option, "--html", str(page), "--merge", one]) == 2
    assert f"--merge trains nothing; leave out {option[0]}" in capsys.readouterr().err
    assert not page.exists()


def test_a_foreign_file_leaves_nothing_behind(tmp_path, capsys):
    one = save(tmp_path / "1.json", make_document(make_result("a:0")))
    foreign = save(tmp_path / "foreign.json", {"learner": {}})
    page = tmp_path / "page.html"
    assert main(["bench", "--merge", one, foreign, "--html", str(page)]) == 2
    assert f"{foreign}: not a comparison" in capsys.readouterr().err
    assert not page.exists()


def test_shapes_are_listed(capsys, monkeypatch):
    monkeypatch.undo()
    assert main(["bench", "--list-shapes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = " ".join(" ".join(lines).split())
    assert all(f"{shape.name}: " in said and shape.title in said for shape in SHAPES.values())
    assert max(map(len, lines)) <= WIDTH
    starred = [line.split()[1].rstrip(":") for line in lines[:-1] if line.startswith("*")]
    assert sorted(starred) == sorted(plan.DEFAULT)
    assert main(["bench", "--list-shapes", "--quick"]) == 0
    assert capsys.readouterr().out.count("* ") == len(plan.QUICK) + 1


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(columns, fake, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    fake(lambda device, shape: measured("a"))
    assert main([*ARGUMENTS]) == 0
    assert main(["bench", "--list-shapes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    if columns == 80:
        assert text.count("device set-up s ms/round % of copy Mrows/s MB first s model") == 2
    else:
        assert text.count("opencl:0:0 set-up s: 0.250, ms/round: 1.50, % of copy: 12.5,") == 2


def test_the_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = Bar({"a": 30.0, "b": 10.0}, parts=3)
    assert bar.live
    bar.begin("data", "making")
    assert bar.share == 0
    bar.begin("a", "1")
    bar.begin("a", "2")
    assert bar.share == pytest.approx(0.25)
    bar.begin("b", "1")  # a ended early
    assert bar.share == pytest.approx(0.75)
    bar.start -= 60
    assert bar.line("1") == "[###############.....] 75%, 0:20 left  b: 1"
    bar.begin("c", "1")
    assert bar.share == 1
    bar.clear()
    lines = capsys.readouterr().err.split("\r")
    assert max(map(len, lines)) == WIDTH - 1
    assert lines[-2].strip() == lines[-1] == ""
