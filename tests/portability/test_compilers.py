"""Compilers that are downloaded: how they are fetched and asked, by programs in their place."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.portability import amd_remarks, arm, comgr, debian, ocloc, targets
from tests.portability.usage import CompileError

PACKAGES = debian.Packages("sid", ("good", "python3-minimal"))
SOURCES = """\
http://mirror.example/debian-security
http://other.example/linux/debian
http://mirror.example/debian/
"""


@pytest.fixture
def apt(monkeypatch, tmp_path):
    """Replace apt and dpkg-deb by a function that writes down what it is asked."""
    asked = []

    def run(words, folder=None):
        asked.append(list(words))
        if "indextargets" in words:
            return SOURCES
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if "install" in words:
            archives = Path(options["Dir"]) / "var/cache/apt/archives"
            assert archives.is_dir()
            for name in ("good_1.2+dfsg-3", "libc6_2.43-7"):
                (archives / f"{name}_amd64.deb").touch()
        if "-x" in words:
            programs = Path(words[-1]) / "usr/bin"
            programs.mkdir(parents=True, exist_ok=True)
            (programs / "good-26").touch()
        if "-W" in words:
            return " ".join(Path(words[-1]).name.split("_")[:2])
        return ""

    monkeypatch.setattr(debian, "run", run)
    monkeypatch.setattr(debian.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    debian.mirror.cache_clear()
    yield asked
    debian.mirror.cache_clear()


def test_packages_come_from_the_mirror_of_this_machine_and_once(apt):
    assert debian.mirror() == "http://mirror.example/debian/"
    first = PACKAGES.command("good-*")
    libraries = PACKAGES.path / "usr/lib/x86_64-linux-gnu"
    assert first == [
        str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries),
        str(PACKAGES.path / "usr/bin/good-26"),
    ]  # fmt: skip
    assert PACKAGES.version("good") == "1.2+dfsg-3"
    n = len(apt)
    assert PACKAGES.command("good-*") == first
    assert len(apt) == n
    with pytest.raises(debian.DebianError, match="bad is in none of good, python3-minimal"):
        PACKAGES.command("bad")


def test_apt_gets_folders_of_its_own(apt):
    assert PACKAGES.folder == PACKAGES.path
    asked = [words for words in apt if words[0] == "apt-get" and "indextargets" not in words]
    assert [words[-1] for words in asked] == ["update", "python3-minimal"]
    for words in asked:
        (folder,) = (word.removeprefix("Dir=") for word in words if word.startswith("Dir="))
        assert Path(folder).parent == PACKAGES.path.parent
        assert f"Dir::State::status={folder}/var/lib/dpkg/status" in words
    assert [path.name for path in PACKAGES.path.parent.iterdir()] == [PACKAGES.path.name]


def test_a_download_that_fails_leaves_nothing(apt, monkeypatch):
    fetch = debian.run

    def run(words, folder=None):
        if "-x" in words:
            raise debian.DebianError("no space left")
        return fetch(words, folder)

    monkeypatch.setattr(debian, "run", run)
    with pytest.raises(debian.DebianError, match="no space left"):
        PACKAGES.command("good-*")
    assert list(PACKAGES.path.parent.iterdir()) == []


def test_a_command_that_fails_says_so():
    words = [sys.executable, "-c", "import sys; print('E: no such package'); sys.exit(100)"]
    with pytest.raises(debian.DebianError, match=r"ended with 100:\nE: no such package"):
        debian.run(words)


@pytest.mark.parametrize(
    ("lacks", "machine", "says"),
    [
        ("apt-get", "x86_64", "apt-get is not here"),
        ("", "aarch64", "this processor is aarch64"),
        ("", "x86_64", "apt-get install debian-archive-keyring"),
    ],
)
def test_what_a_machine_lacks_is_said(apt, monkeypatch, tmp_path, lacks, machine, says):
    monkeypatch.setattr(debian.shutil, "which", lambda tool: tool if tool != lacks else None)
    monkeypatch.setattr(debian.platform, "machine", lambda: machine)
    monkeypatch.setattr(debian, "_KEYRING", tmp_path / "none")
    assert says in debian.why_not()


def test_versions_are_shown_without_debians_part():
    assert debian.upstream("7.0.2+dfsg-3") == "7.0.2"
    assert debian.upstream("1:21.1.8-14") == "21.1.8"


REMARKS = """\
{}Function Name: move [-Rpass-analysis=kernel-resource-usage]
{}    TotalSGPRs: 73 [-Rpass-analysis=kernel-resource-usage]
{}    VGPRs: 47 [-Rpass-analysis=kernel-resource-usage]
{}    ScratchSize [bytes/lane]: {} [-Rpass-analysis=kernel-resource-usage]
{}    Occupancy [waves/SIMD]: 12 [-Rpass-analysis=kernel-resource-usage]
{}    SGPRs Spill: 3 [-Rpass-analysis=kernel-resource-usage]
{}    VGPRs Spill: 0 [-Rpass-analysis=kernel-resource-usage]
{}    LDS Size [bytes/block]: 18440 [-Rpass-analysis=kernel-resource-usage]
"""


@pytest.mark.parametrize(
    "before", ["/tmp/k.cl:388:1: remark: ", "remark: comgr-ab5a54/input/k.cl:388:0: "]
)
@pytest.mark.parametrize(("scratch", "spilled", "in_lanes"), [(0, 0, 3), (16, 3, 0)])
def test_remarks_are_read_in_both_forms(before, scratch, spilled, in_lanes):
    log = REMARKS.format(*[before] * 4, scratch, *[before] * 4)
    gfx1030 = targets.ALL["amd-comgr"][3]
    first, second = amd_remarks.usages_of(log + log.replace("move", "count"), gfx1030)
    assert (first.kernel, second.kernel) == ("move", "count")
    assert (first.registers, first.local_bytes, first.occupancy) == (47, 18440, 0.75)
    assert (first.spilled, first.in_lanes) == (spilled, in_lanes)


CHILD = """
import json, os, sys
for line in sys.stdin:
    text = open(line.strip()).read()
    if text == "crash":
        os.abort()
    answer = {"good": text == "good", "log": f"log of {text}", "seconds": 0.25}
    print(json.dumps(answer), flush=True)
"""


def test_a_program_that_ends_the_compiler_ends_no_other(monkeypatch, tmp_path):
    headers = tmp_path / "usr/lib/llvm-21/lib/clang/21/include"
    headers.mkdir(parents=True)
    child = tmp_path / "child.py"
    child.write_text(CHILD, encoding="utf-8")

    class Unpacked:
        folder = tmp_path
        command = staticmethod(lambda program: [sys.executable])

    monkeypatch.setattr(comgr, "PACKAGES", Unpacked)
    monkeypatch.setattr(comgr, "_CHILD", child)
    programs = [(text, 64) for text in ("good", "crash", "bad", "good")]
    first, second, third, fourth = comgr.compile_many(programs, targets.ALL["amd-comgr"][0])
    assert (first.seconds, fourth.seconds) == (0.25, 0.25)
    assert isinstance(second, CompileError)
    assert "the compiler ended with -6" in str(second)
    assert isinstance(third, CompileError)
    assert "log of bad" in str(third)


#: Stands for ocloc: writes a description of a kernel for every command, and says what it spilled.
OCLOC = """
import pathlib, sys
for number, line in enumerate(pathlib.Path(sys.argv[-1]).read_text().splitlines(), 1):
    words = line.split()
    where = pathlib.Path(words[words.index("-out_dir") + 1])
    where.mkdir()
    parsed = "-spv_only" in words
    print(f"Command number {number}: \\n{SPILL}\\nBuild succeeded.")
    if "skl" not in words:
        (where / ("k.spv" if parsed else "k.bin")).write_text(ZEBIN)
"""
ZEBIN = """---
version:         '1.73'
kernels:
  - name:            move
    execution_env:
      grf_count:       256
      simd_size:       16
      slm_size:        1024
    payload_arguments:
    per_thread_memory_buffers:
      - type:            scratch
        size:            1600
kernels_misc_info:
"""


def compiler_at(program, spill):
    constants = f"SPILL = {spill!r}\nZEBIN = {ZEBIN!r}\n"
    program.write_text(constants + OCLOC, encoding="utf-8")
    return ocloc.Ocloc(str, str, lambda: [sys.executable, str(program)])


@pytest.mark.parametrize(
    "spill",
    [
        "warning: kernel move compiled SIMD16 allocated 128 regs and spilled around 7",
        "warning: in kernel 'move': compiled SIMD16 allocated 128 regs and spilled around 7",
    ],
)
def test_both_of_intels_compilers_are_understood(tmp_path, spill):
    compiler = compiler_at(tmp_path / "ocloc.py", spill)
    target = next(chip for chip in targets.INTEL_NEW if chip.chip == "bmg")
    made, _ = compiler.compile_many([("a", 256), ("b", 256)], target)
    (found,) = made.usages
    assert (found.kernel, found.registers, found.spilled) == ("move", 256, 7)
    assert (found.width, found.local_bytes, found.scratch_bytes) == (16, 1024, 100)
    assert found.occupancy == 0.5  # twice the usual registers: half the threads


def test_a_chip_that_the_compiler_does_not_know_fails_no_other(tmp_path):
    """All chips share the parsed sources, and skl, the first, is unknown to the newest compiler."""
    compiler = compiler_at(tmp_path / "ocloc.py", "nothing")
    skl, _, dg2, _ = targets.INTEL
    (found,) = compiler.compile_many([("a", 256)], skl)
    assert isinstance(found, CompileError)
    (made,) = compiler.compile_many([("a", 256)], dg2)
    assert [one.kernel for one in made.usages] == ["move"]


# -- arm64 under QEMU ----------------------------------------------------------------------------
@pytest.fixture
def unpacked(monkeypatch, tmp_path):
    """Put folders with nothing but QEMU's name in the places of the packages."""
    qemu = tmp_path / "qemu/usr/bin/qemu-aarch64"
    qemu.parent.mkdir(parents=True)
    qemu.touch()
    for name, folder in (("QEMU", tmp_path / "qemu"), ("PACKAGES", tmp_path / "arm64")):
        monkeypatch.setattr(arm, name, type(name, (), {"folder": folder}))
    return tmp_path


def test_a_command_for_arm_runs_in_namespaces_and_a_clean_environment(unpacked):
    words = arm.words_of(arm.TRIALS[1])
    assert words[: len(arm._OWN)] == list(arm._OWN)
    assert {"--user", "--mount", "--pid", "--kill-child"} <= set(arm._OWN)
    assert words[len(arm._OWN) :][:2] == ["env", "-i"]
    folder, qemu, checkout = words[words.index("-c") + 2 :][:3]
    assert (folder, qemu) == (str(unpacked / "arm64"), str(unpacked / "qemu/usr/bin/qemu-aarch64"))
    assert (Path(checkout) / "setup.cfg").is_file()
    assert words[-5:] == ["tests.portability.exercise", "--device", "portable", "--part", "known"]


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        ('{"checks": 3, "failures": [], "sub_group": 0, "local_bytes": 1}', ""),
        ('{"checks": 3, "failures": ["known bytes of heavy"], "sub_group": 0}', "bytes of heavy"),
        ("qemu: uncaught target signal 6 (Aborted)", "ended with 0"),
    ],
)
def test_trainings_on_arm_are_judged(unpacked, monkeypatch, printed, complaint):
    monkeypatch.setattr(arm, "why_not", lambda: "")
    monkeypatch.setattr(arm, "words_of", lambda trial: ["echo", printed])
    outcome = arm.run(arm.TRIALS[1])
    assert outcome.state == ("FAILED" if complaint else "ok")
    assert complaint in " ".join(outcome.failures)


def test_arm_that_does_not_end_is_a_failure(monkeypatch):
    monkeypatch.setattr(arm, "why_not", lambda: "")
    monkeypatch.setattr(arm, "words_of", lambda trial: ["sleep", "60"])
    outcome = arm.run(replace(arm.TRIALS[1], seconds=0.1))
    assert outcome.failures == ["not finished after 0 s"]


def test_another_processor_than_arm_is_a_failure(monkeypatch):
    monkeypatch.setattr(arm, "why_not", lambda: "")
    for machine, state in (("aarch64", "ok"), ("x86_64", "FAILED")):
        monkeypatch.setattr(arm, "words_of", lambda trial, m=machine: ["echo", m, "6.0"])
        assert arm.run(arm.TRIALS[0]).state == state


def test_a_kernel_that_does_not_start_qemu_is_named(monkeypatch):
    monkeypatch.setattr(debian, "why_not", lambda: "")
    monkeypatch.setattr(arm, "_OWN", ("sh", "-c", "echo mount: denied >&2; exit 32"))
    assert arm.why_not() == (
        "mount: denied: needs Linux 6.7 or newer and the right to user namespaces"
    )
    assert arm.run(arm.TRIALS[0]).state == "skipped"


def test_packages_of_another_processor_are_asked_for_and_kept_apart(apt):
    other = replace(PACKAGES, architecture="arm64")
    assert other.folder == other.path != PACKAGES.path
    assert all("APT::Architecture=arm64" in words for words in apt if "-o" in words)
