"""The rows of the matrix that run in a chroot: when they are left out, and how they are judged."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.portability import __main__ as program
from tests.portability import chroot, debian, drivers
from tests.portability.chroot import Chroot, ChrootError
from tests.portability.runtimes import Outcome


def outcome() -> Outcome:
    return Outcome(drivers.QUICK, "x")


def ended(printed: str, code: int = 0) -> drivers.Done:
    return subprocess.CompletedProcess([], code, stdout=printed, stderr="")


@pytest.mark.parametrize(
    ("uid", "missing", "reason"),
    [(1000, "", "only root"), (0, "unshare", "unshare is not"), (0, "apt-get", "apt-get is not")],
)
def test_the_reason_is_named(uid, missing, reason, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: uid, raising=False)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == missing else "/bin/true")
    assert reason in chroot.why_not()


def test_a_container_without_the_right_to_mount_is_told(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(shutil, "which", lambda tool: "/bin/true")
    monkeypatch.setattr(debian, "why_not", lambda: "")
    monkeypatch.setattr(chroot, "_OWN", ("sh", "-c", "echo Operation not permitted >&2; exit 1"))
    assert chroot.why_not().startswith("Operation not permitted: a container needs")


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--strict"], 1)])
def test_rows_are_skipped_with_the_reason(words, code, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(drivers, "why_not", lambda: "only root can")
    assert program.main([drivers.QUICK, *words]) == code
    printed = capsys.readouterr().out
    assert "only root can" in printed
    assert "skipped" in printed


@pytest.mark.parametrize(("failures", "code", "n_run"), [([], 0, 3), (["no mirror"], 1, 0)])
def test_trials_run_in_one_debian_once_it_is_filled(failures, code, n_run, monkeypatch, capsys):
    filled, ran = [], []

    def fill(row, debian):
        time.sleep(0.05)
        filled.append(debian)
        return Outcome(row, "Debian", failures=failures)

    def run(trial, debian):
        assert filled == [debian]
        ran.append(trial.name)
        return Outcome(trial.row, trial.name)

    monkeypatch.setattr(drivers, "filled", fill)
    monkeypatch.setattr(drivers.Trial, "run", run)
    assert program.main([drivers.QUICK, "--jobs", "4"]) == code
    assert len(filled) == 1
    assert len(ran) == n_run
    assert ("there is no Debian" in capsys.readouterr().out) == (n_run == 0)


def test_they_run_where_they_are_named_only():
    assert {trial.row for trial in drivers.TRIALS} == set(program.IN_CHROOT)
    assert not set(program.BY_NAME) & set(program.ROWS)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    with pytest.raises(ChrootError, match="holds other files"):
        Chroot(tmp_path, "trixie").fill()
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "kept"


def test_a_folder_of_another_release_is_left_alone(tmp_path):
    (tmp_path / chroot._READY).write_text("sid", encoding="utf-8")
    with pytest.raises(ChrootError, match="holds sid: expected trixie"):
        Chroot(tmp_path, "trixie").fill()


def test_a_folder_that_is_filled_is_used_again(tmp_path):
    (tmp_path / chroot._READY).write_text("trixie", encoding="utf-8")
    (tmp_path / "root/.cache").mkdir(parents=True)
    Chroot(tmp_path, "trixie").fill()
    assert not (tmp_path / "root/.cache").exists()


def test_nothing_stays_of_a_failure(tmp_path, monkeypatch):
    folder = tmp_path / "debian"

    def fails(packages, scratch, target):
        assert packages.release == "trixie"
        (target / "half").touch()
        raise debian.DebianError("E: no such mirror")

    monkeypatch.setattr(debian.Packages, "unpack", fails)
    found = drivers.filled(drivers.QUICK, Chroot(folder, "trixie"))
    assert chroot.why_not() or "no such mirror" in found.failures[0]
    assert not folder.exists()


def test_a_folder_is_filled_without_its_packages_scripts(tmp_path, monkeypatch):
    def unpacks(packages, scratch, target):
        assert "mesa-opencl-icd" in packages.names
        (target / "root").mkdir()  # as base-files has it

    monkeypatch.setattr(debian.Packages, "unpack", unpacks)
    Chroot(tmp_path / "x", "sid").fill()
    assert (tmp_path / "x" / chroot._READY).read_text(encoding="utf-8") == "sid"
    assert {"checkout", "dev", "proc", "root", "sys"} <= {
        p.name for p in (tmp_path / "x").iterdir()
    }


def test_a_command_leaves_neither_mounts_nor_processes(tmp_path, monkeypatch):
    """The host's own system stands for Debian: its folders are mounted read-only."""
    if reason := chroot.why_not():
        pytest.skip(reason)
    for name in ("bin", "lib", "lib64", "usr"):
        (tmp_path / name).mkdir()
    for name in ("proc", "sys", "dev", "checkout"):
        (tmp_path / name).mkdir()
    binds = "".join(
        f'mount --rbind /{name} "$0/{name}"\n' for name in ("bin", "lib", "lib64", "usr")
    )
    monkeypatch.setattr(chroot, "_INSIDE", chroot._INSIDE.replace("set -e\n", f"set -e\n{binds}"))
    debian = Chroot(tmp_path, "trixie")
    done = debian.run(["sh", "-c", "ls setup.cfg; touch mine || echo $MINE"], {"MINE": "refused"})
    assert done.stdout.split() == ["setup.cfg", "refused"]
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        debian.run(["sh", "-c", "sleep 3033 & sleep 3033"], {}, seconds=0.5)
    assert time.monotonic() - began < 20
    words = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 3033" not in words.stdout
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text(encoding="utf-8")
    assert not any((tmp_path / "usr").iterdir())


@pytest.mark.parametrize(
    ("printed", "code", "state"),
    [
        ("self-test opencl:0:0 passed: 20 of 20 comparisons give equal bits, 71 s\n", 0, "ok"),
        ("self-test opencl:0:0 passed: 19 of 20 comparisons give equal bits, 71 s\n", 0, "FAILED"),
        ("self-test opencl:0:0 passed: 20 of 20 comparisons give equal bits; cut", 0, "FAILED"),
        ("self-test opencl:0:0 passed: 20 of 20 comparisons give equal bits, 71 s\n", 1, "FAILED"),
        ("", 0, "FAILED"),
    ],
)
def test_a_doctor_is_judged(printed, code, state):
    found = outcome()
    drivers.judge_doctor(found, ended(printed, code))
    assert found.state == state


def test_a_driver_that_the_library_refuses_is_skipped(monkeypatch):
    said = "DeviceError: its driver crashes (signal 11) at loads that no work-item asks for, which"
    monkeypatch.setattr(Chroot, "run", lambda *a: ended(said, 1))
    found = drivers.TRIALS[0].run(Chroot(Path("nowhere"), "sid"))
    assert (found.state, found.failures) == ("skipped", [])


@pytest.mark.parametrize(("code", "state"), [(0, "ok"), (1, "FAILED")])
def test_tests_are_judged(code, state):
    found = outcome()
    drivers.judge_tests(found, ended("..\n== 375 passed in 3 s ==\n", code))
    assert (found.state, found.detail) == (state, "375 passed in 3 s")


def test_a_trial_that_hangs_is_a_failure(monkeypatch):
    def hangs(*_):
        raise subprocess.TimeoutExpired(["x"], 600)

    monkeypatch.setattr(Chroot, "run", hangs)
    for trial in drivers.TRIALS[:1]:
        assert "not finished" in trial.run(Chroot(None, "trixie")).failures[0]
