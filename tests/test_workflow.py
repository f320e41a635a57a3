"""The workflow for public runners: nobody can run it here, so its parts are looked at."""

import configparser
import contextlib
import importlib
import re
import shlex
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
