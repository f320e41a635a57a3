"""Names with control characters are shown and not obeyed."""

import os
from pathlib import Path

import pytest

from pyopencl_gbdt.cli import bench, doctor, main, output
from pyopencl_gbdt.device import DeviceInfo, discovery
from tests.cli_samples import DEVICE, write_rows
from tests.device.fakes import make_caps

#: Clears the screen, sets the window's title, goes back, turns the writing round.
EVIL = "a\x1b[2J\x1b]0;title\x07\rb\x9b31m\u202ec\x7f"
SHOWN = r"a\x1b[2J\x1b]0;title\x07\rb\x9b31m\u202ec\x7f"


def bad_characters(text):
    return [c for c in text if (not c.isprintable()) and c not in "\n\t"]


def test_what_is_escaped_and_what_stays():
    assert output.escaped(EVIL) == SHOWN
    assert output.escaped("a\tb\nc é 中 \U0001f600 e\u0301") == "a\tb\nc é 中 \U0001f600 e\u0301"


@pytest.mark.parametrize("write", [output.say, output.complain])
def test_lines(write, capsys):
    write(f"device {EVIL}")
    said = "".join(capsys.readouterr())
    assert said == f"device {SHOWN}\n"


def test_a_devices_name(monkeypatch, capsys):
    info = DeviceInfo("opencl:0:0", make_caps(name=EVIL, platform=EVIL), "")
    monkeypatch.setattr(discovery, "survey", lambda interface="": ([info], [EVIL]))
    assert main(["devices"]) == 0
    out, err = capsys.readouterr()
    assert bad_characters(out + err) == []
    assert r"\x1b[2J" in out


def test_a_columns_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = EVIL.replace("\r", "")  # which ends a line
    Path("a.csv").write_text(f"y,{name},x\n1,2,3\n2,3,4\n", encoding="utf-8", newline="")
    Path("b.csv").write_text("y,a,x\n1,2,3\n2,3,4\n", encoding="utf-8", newline="")
    train = ["--model", "m.json", *DEVICE, "--n-estimators", "1"]
    assert main(["train", "a.csv", *train]) == 2  # models have no such names
    assert main(["train", "b.csv", *train]) == 0
    assert main(["predict", "a.csv", "--model", "m.json", *DEVICE]) == 2
    assert bad_characters("".join(capsys.readouterr())) == []


@pytest.mark.skipif(os.name == "nt", reason="no such names")
def test_a_files_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = EVIL.replace("/", "") + ".csv"
    assert main(["train", name, "--model", "m.json", *DEVICE]) == 2
    write_rows(Path(name))
    options = [*DEVICE, "--n-estimators", "2", "--max-depth", "1"]
    assert main(["train", name, "--eval", name, "--model", f"{EVIL}.json", *options]) == 0
    assert main(["predict", name, "--model", f"{EVIL}.json", *DEVICE]) == 0
    assert main(["predict", name, "--model", f"{EVIL}.txt", *DEVICE]) == 2
    out, err = capsys.readouterr()
    assert bad_characters(out + err) == []
    assert SHOWN in out
    assert r"\x1b" in err


def test_a_new_line_in_the_name_of_a_file_makes_no_line(capsys, monkeypatch):
    def fail(argv):
        raise FileNotFoundError(2, "no such file", "a\nerror: forged")

    monkeypatch.setattr("pyopencl_gbdt.cli._run", fail)
    assert main([]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_lines_that_are_written_over(capsys, monkeypatch):
    for live in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda live=live: live)
        progress = doctor.StepLine(EVIL)
        progress.show("scan")
        line = bench.Bar({EVIL: 1.0}, parts=2)
        line.begin(EVIL, EVIL)
    said = capsys.readouterr().err.replace("\r[", "[").replace(f"\r{SHOWN[:2]}", SHOWN[:2])
    assert bad_characters(said) == []
