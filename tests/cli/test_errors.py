from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import pyopencl_gbdt.device
import pyopencl_gbdt.training.train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.output import write_text
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.training.train import Model
from tests.cli_samples import DEVICE, LOGISTIC, SMALL, train_small, write_rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--param", "learning_rat=2"], "did you mean 'learning_rate'"),
        (
            ["--learning-rate", ".1", "--eta", ".2"],
            "--learning-rate and --eta are two spellings of one parameter; give one of them",
        ),
        (
            ["--param", "booster=gblinear"],
            "--booster gblinear: linear models are not here yet; give",
        ),
        (["--param", "process_type=update"], "not supported yet; leave it out"),
        (["--param", "max_depth"], "expected NAME=VALUE"),
        (["--param", "device=cpu"], "--device cpu"),
        (["--param", "gamma=1", "--gamma", "2"], "given twice"),
        (["--param", "eta=1", "--learning-rate", "1"], "two spellings"),
        (["--max-depth", "many"], "--max-depth many: expected 0..32, or -1 for no limit"),
        (["--max-bin", "70000"], "error: --max-bin 70000: expected 2..65535; lower --max-bin"),
        (["--objective", "binary:logistics"], "did you mean 'binary:logistic'?"),
        (["--histogram", "fast"], "expected 'auto' or one of"),
        (["--eval-metric", "f1"], "--eval-metric f1: there is no such metric here; train and"),
        (["--eval-metric", "auk"], "--eval-metric auk: expected one of"),
        (
            ["--iterations", "5"],
            "--iterations: no option of pyopencl-gbdt train; give --n-estimators",
        ),
        (["--bagging-seed", "5"], "no option of pyopencl-gbdt train; --random-state is the seed"),
        (["--min-samples-split", "5"], "give --min-samples-leaf, the least rows of a child"),
        (["--param", "bagging_seed=5"], "bagging_seed=5: --random-state is the seed"),
        (["--param", "silent=maybe"], "silent='maybe': expected True or False"),
        (["--device", "no such device"], "no usable device fits"),
        (["--verbose-every", "-1"], "expected 0 or more"),
        (["--n-features", "0"], "expected 1 or more"),
        (["--n-features", "7"], "expected 7"),
        (
            ["--label-column", "name"],
            "--label-column name, but there is no header to find it in; give its number, or pass",
        ),
        (
            ["--label-column", "1", *LOGISTIC],
            "expected 0 or 1 for --objective binary:logistic; encode the labels as 0 and 1\n",
        ),
        (["--eval", "absent.csv"], "absent.csv: no such file"),
        (["--weight", "absent.txt"], "absent.txt: no such file"),
        (["--feature-weights", "a.csv"], "18 lines of 5 numbers: expected 4 lines of one"),
        (
            ["--early-stopping-rounds", "3"],
            "--early-stopping-rounds 3: expected an evaluation set to watch; add --eval FILE\n",
        ),
        (
            ["--early-stopping-rounds", "0", "--eval", "a.csv"],
            "--early-stopping-rounds 0: expected an integer >= 1",
        ),
        (["--qid-column", "9"], "--qid-column 9: expected -5..4"),
        (["--qid-column", "0"], "--qid-column 0 is the label's column too"),
        (
            ["--objective", "rank:ndcg"],
            ": expected query ids; name their column by --qid-column\n",
        ),
        (
            ["--objective", "multi:softprob"],
            "--num-class 0: expected 2 or more for --objective multi:softprob",
        ),
        (["--num-class", "3"], "--num-class 3: expected 0, or --objective multi:softprob"),
        (
            ["--subsample", "0"],
            "--subsample 0.0: expected a number, 0 < number <= 1; raise --subsample",
        ),
        (["--sampling-method", "gos"], "did you mean 'goss'?"),
        (["--monotone-constraints", "(1,"], "expected 1, 0 or -1 for every column"),
        (["--interaction-constraints", "[[9]]"], "names the column 9"),
        (["--lambdarank-unbiased", "maybe"], "expected True or False"),
        (["--model", "."], "expected a file"),
        (["--model", "absent/m.json"], "create it first"),
        (["--model", "/dev/null"], "expected a regular file"),
        (["--model", "m.cbm"], "CatBoost's format, which is not written here: expected a name"),
    ],
)
def test_errors_of_train(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("0,0.5,3,4,5\n1,2,3,4,5\n" * 9)
    assert main(["train", "a.csv", "--model", "m.json", *DEVICE, *options]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


@pytest.mark.parametrize(
    ("option", "text", "place"),
    [
        ("--weight", "1\nx\n", "line 2: found 'x'"),
        ("--feature-weights", "w\n1\n", "line 1: found 'w'"),
    ],
)
def test_text_in_a_file_of_weights(tmp_path, capsys, monkeypatch, option, text, place):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("0,0.5,3,4,5\n1,2,3,4,5\n")
    Path("w.csv").write_text(text)
    assert main(["train", "a.csv", "--model", "m.json", *DEVICE, option, "w.csv"]) == 2
    assert capsys.readouterr().err == (
        f"error: {option} w.csv, {place}: expected one number a line, and no header; correct the "
        "line or remove it\n"
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["train", "", "--model", "m.json"], "DATA|CONFIGURATION"),
        (["train", "a.csv", "--model", ""], "--model"),
        (["train", "a.csv", "--model", "m.json", "--eval", "a.csv", "--eval", ""], "--eval"),
        (["train", "a.csv", "--model", "m.json", "--weight", ""], "--weight"),
        (["predict", "", "--model", "m.json"], "DATA"),
        (["predict", "a.csv", "--model", "m.json", "--out", ""], "--out"),
        (["doctor", "--json", ""], "--json"),
        (["bench", "--merge", "a.json", ""], "--merge"),
    ],
)
def test_an_empty_path_is_no_folder(tmp_path, capsys, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("0,0.5\n1,2\n")
    assert main(words) == 2
    said = f"error: {named} is empty: expected the path of a file; give one\n"
    assert capsys.readouterr().err == said
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_errors_of_predict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, model = str(write_rows(tmp_path / "a.csv")), train_small(tmp_path)
    broken, wide, out = tmp_path / "broken.json", tmp_path / "wide.csv", tmp_path / "out.txt"
    broken.write_text(Path(model).read_text()[:500])
    wide.write_text("1,2,3,4,5,6,7\n" * 5)
    for arguments, words in (
        (
            [data, "--model", str(tmp_path / "absent.json")],
            "absent.json: no such file in the folder",
        ),
        ([data, "--model", str(broken)], "broken.json"),
        ([str(tmp_path / "absent.csv"), "--model", model], "absent.csv: no such file"),
        ([str(wide), "--model", model], "has 6 feature columns: expected 4"),
        ([str(wide), "--model", model], "has 7 feature columns: expected 4"),
        ([str(wide), "--model", model, "--no-label"], "has 7 feature columns: expected 4"),
        ([data, "--model", model, "--label-column", "9"], "--label-column 9"),
        ([data, "--model", model, "--out", str(tmp_path)], "expected a file"),
        ([data, "--model", model, "--device", "zz"], "no usable device fits"),
    ):
        out.write_text("as before")
        assert main(["predict", *DEVICE, "--out", str(out), *arguments]) == 2
        captured = capsys.readouterr()
        assert words in captured.err
        assert captured.err.startswith("error: ")
        assert out.read_text() == "as before"

    def fail(*_: object, **__: object) -> None:
        raise DeviceError("the device is gone")

    monkeypatch.setattr(Model, "predict", fail)
    before = set(tmp_path.iterdir())
    assert main(["predict", data, "--model", model, "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == "error: the device is gone\n"
    assert set(tmp_path.iterdir()) == before


def test_columns_in_another_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, saved = write_rows(tmp_path / "a.csv", header=True), str(tmp_path / "m.json")
    assert main(["train", str(data), "--model", saved, *SMALL]) == 0
    swapped = tmp_path / "swapped.csv"
    swapped.write_text(data.read_text().replace("age,height", "height,age", 1))
    capsys.readouterr()
    assert main(["predict", str(swapped), "--model", saved, *DEVICE]) == 2
    assert "has 'height' as column 0, counted from 0: expected 'age'" in capsys.readouterr().err
    assert main(["train", str(data), "--model", saved, "--eval", str(swapped), *SMALL]) == 2
    assert "has 'height' as column 0, counted from 0: expected 'age'" in capsys.readouterr().err


def test_write_text_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(str(target), "half \ud800")
    assert target.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(target)
    write_text(str(link), "new")
    assert target.read_text() == "new"
    assert link.is_symlink()
    write_text("/dev/null", "nothing")
    assert not Path("/dev/null").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_devices_where_none_is_usable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", "no such device")
    assert main(["devices"]) == 1
    assert "error: device='no such device'" in capsys.readouterr().err
    assert main(["devices", "--json"]) == 1
    listing = json.loads(capsys.readouterr().out)
    assert listing["chosen"] is None
    assert "no usable device fits" in listing["error"]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (PermissionError(13, "Permission denied", "here"), 2, "error: here: Permission denied"),
        (OSError("disk"), 2, "error: disk\n"),
        (MemoryError(), 2, "error: this machine's main memory is exhausted"),
    ],
)
def test_how_it_ends(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    words: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(pyopencl_gbdt.device.discovery, "survey", fail)
    assert main(["devices"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(words)
    assert (captured.err == "") == (words == "")


def test_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def write(self, text: str) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            raise ValueError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main([]) == 141


def test_letters_that_the_terminal_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        data = write_rows(tmp_path / "\u00e9.csv")
        assert main(["train", str(data), "--model", str(tmp_path / "m.json"), *SMALL]) == 0
    assert "\\xe9.csv" in (tmp_path / "out").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["train", "a.csv", "--model", "m", "--max-dept", "3"],
            "unknown option of pyopencl-gbdt train '--max-dept'; did you mean '--max-depth', '",
        ),
        (["train", "a.csv", "--model", "m", "--max-dept=3"], "did you mean '--max-depth', '"),
        (["devices", "--verbos"], "unknown option of pyopencl-gbdt devices '--verbos'; did you"),
        (["--versio"], "unknown option of pyopencl-gbdt '--versio'; did you mean '--version'"),
        (
            ["train", "a.csv", "b.csv", "--model", "m"],
            "unexpected 'b.csv'; see pyopencl-gbdt",
        ),
    ],
)
def test_unknown_options_show_the_nearest(words, message, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said) < 200
