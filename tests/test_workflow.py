"""The workflow for public runners: nobody can run it here, so its parts are looked at."""

import configparser
import contextlib
import importlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pyopencl_gbdt import cli
from tests import conftest

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / ".github" / "workflows" / "portability.yml"
TEXT = FILE.read_text(encoding="utf-8")
JOBS = {"linux-arm64", "windows-x86-64", "macos-arm64-pocl", "macos-arm64-apple"}
#: Modules that a runner gets elsewhere than from the checkout.
_INSTALLED = {"pip", "pytest"}


def _commands():
    """Return each command line of the workflow, without a parser of YAML."""
    found, block = [], None
    for line in TEXT.splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent > block:
            found.append(line.strip())
            continue
        block = None
        match = re.match(r"\s*(?:- )?run: (.*)", line)
        if match and match[1] == "|":
            block = indent
        elif match:
            found += match[1].split(" && ")
    return found


COMMANDS = _commands()
CALLS = [shlex.split(command) for command in COMMANDS if command.startswith("python -m ")]


def _help_of(module, words, capsys):
    """Return the help of a program of this checkout."""
    with contextlib.suppress(SystemExit):
        if module == "pyopencl_gbdt":
            cli.main([words[0], "--help"])
        else:
            importlib.import_module(module).main(["--help"])
    return capsys.readouterr().out


def test_it_parses():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(TEXT)
    assert set(workflow["jobs"]) == JOBS
    assert set(workflow[True]) == {"push", "pull_request", "workflow_dispatch"}  # YAML 1.1: on
    runs = []
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            for line in step.get("run", "").splitlines():
                runs += line.strip().split(" && ")
    assert runs == COMMANDS


def test_its_text_is_plain():
    assert "\t" not in TEXT
    assert all(line == line.rstrip() for line in TEXT.splitlines())
    assert "://" not in TEXT  # no host
    assert set(re.findall(r"^  ([\w-]+):$", TEXT.split("\njobs:")[1], re.MULTILINE)) == JOBS
    for action in re.findall(r"uses: (.*)", TEXT):
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action)


def test_its_commands_exist(capsys):
    assert {words[2] for words in CALLS} == {
        *_INSTALLED,
        "pyopencl_gbdt",
        "tests.portability.exercise",
    }
    for _, _, module, *words in CALLS:
        for word in words:
            if word.startswith(("tests/", "bench/")):
                assert (ROOT / word).exists(), word
        if module in _INSTALLED:
            continue
        known = _help_of(module, words, capsys)
        assert known, module
        options = [word for word in words if word.startswith("--")]
        for word in options:
            assert re.search(rf"{word}\b", known), f"{module} has no {word}"


def test_its_extras_exist():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    named = re.findall(r'pip install (?:--no-deps )?"\.\[(.*?)\]"', TEXT)
    assert len(named) >= 3
    for extras in named:
        assert set(extras.split(",")) <= set(setup["options.extras_require"])


def test_its_variables_are_read():
    for name in re.findall(r"(PYOPENCL_GBDT_\w+):", TEXT):
        assert f'"{name}"' in Path(conftest.__file__).read_text(encoding="utf-8")


def test_lines_for_cmd_have_no_single_quotes():
    """They would be parts of the words."""
    for block in TEXT.split("shell: cmd")[1:]:
        lines = block.split("run: |")[1].split("\n      - ")[0]
        assert "'" not in lines
    assert all("'" not in command for command in COMMANDS)


#: A step fails while another one runs beside it, which has started a process that writes files.
FAILS = """
writes() {
    mkdir -p "$WORK/kernels"
    (while true; do mkdir -p "$WORK/kernels/$RANDOM" || true; echo >> "$PLACE/beats"; done) &
    echo $! > "$PLACE/writes"
    wait
}
beside writes
until [ -s "$PLACE/beats" ]; do sleep 0.01; done
step "one that fails" false
"""


def test_a_step_that_fails_ends_those_beside_it(tmp_path):
    """Their files are removed, also those that processes of theirs are writing."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    begin = text[: text.index("# environment NAME")]
    (beside,) = re.findall(r"^beside\(\) \{\n.*?^\}\n", text, re.M | re.S)
    (tmp_path / ".ci").mkdir()
    (tmp_path / "tmp").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_text(begin + beside + FAILS, encoding="utf-8")
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PLACE": str(tmp_path)}
    try:
        done = subprocess.run(
            [bash, str(script)], env=environment, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "FAILED in step: one that fails" in done.stdout
        assert done.stderr == ""
        beats = (tmp_path / "beats").stat().st_size
        time.sleep(0.3)
        assert (tmp_path / "beats").stat().st_size == beats
        assert not any((tmp_path / "tmp").iterdir())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((tmp_path / "writes").read_text()), signal.SIGKILL)
