"""Trainings on an ARM processor that is not here: Debian's PoCL for arm64, under QEMU.

Linux starts QEMU for each program of arm64. It is told so (binfmt_misc) in a user namespace that
ends with the command: nothing is installed, nobody is root, and this machine's settings stay.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from tests.portability import debian
from tests.portability.runtimes import ROOT, Outcome, Setting, judge

ROW = "arm"
PACKAGES = debian.Packages(
    "trixie",
    (
        "base-files", "libpython3-stdlib", "pocl-opencl-icd", "python3-mako", "python3-minimal",
        "python3-numpy", "python3-pyopencl", "python3-pytest", "python3-scipy",
    ),
    "arm64",
)  # fmt: skip
QEMU = debian.Packages("trixie", ("qemu-user",))
_OWN = (
    "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
    "--propagation", "private",
)  # fmt: skip
#: $0: the folder of arm64; $1: QEMU; $2: the checkout; then a command. The numbers are the head of
#: a 64-bit ELF file of arm64 (0xb7), and which of its bits count.
_INSIDE = r"""
set -e
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
count='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
echo ":arm64:M::$head:$count:$1:F" > /proc/sys/fs/binfmt_misc/register
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount --rbind /sys "$0/sys"
mount -t tmpfs tmpfs "$0/root"
mkdir "$0/root/checkout"
mount --rbind "$2" "$0/root/checkout"
mount -o remount,bind,ro "$0/root/checkout"
shift 2
exec chroot "$0" "$@"
"""
_BLAS = ":".join(f"/usr/lib/aarch64-linux-gnu/{name}" for name in ("blas", "lapack"))
_VARIABLES = {
    "PATH": "/usr/sbin:/usr/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LD_LIBRARY_PATH": _BLAS,  # where Debian's own installation would set links
    "PYTHONPATH": "/root/checkout",
    "PYTHONDONTWRITEBYTECODE": "1",
    "POCL_MAX_PTHREAD_COUNT": "1",
    "POCL_MEMORY_LIMIT": "2",
    "PYOPENCL_GBDT_TUNING": "off",
}
_SHORT, _LONG = 300, 4 * 3600


@dataclass(frozen=True)
class Trial:
    """A command for arm64.

    Attributes
    ----------
    name : str
    words : tuple of str
        For Python.
    judge : callable
        Writes to an outcome what the command's end says.
    seconds : float
        Time limit.
    """

    name: str
    words: tuple[str, ...]
    judge: Callable[[Outcome, subprocess.CompletedProcess[str]], None]
    seconds: float


def _is_arm(outcome: Outcome, done: subprocess.CompletedProcess[str]) -> None:
    outcome.detail = done.stdout.strip()
    if not outcome.detail.startswith("aarch64 "):
        outcome.failures.append(f"ended with {done.returncode}:\n{done.stderr[-1500:]}")


def _is_good(outcome: Outcome, done: subprocess.CompletedProcess[str]) -> None:
    judge(outcome, Setting(ROW, outcome.name, ""), done, "")


_DEVICE = """
import platform
from pyopencl_gbdt.device import find
print(platform.machine(), find("portable").caps.driver.split()[0])
"""
_EXERCISE = ("-m", "tests.portability.exercise", "--device", "portable")
TRIALS = (
    Trial("PoCL is found", ("-c", _DEVICE), _is_arm, _SHORT),
    Trial("known models", (*_EXERCISE, "--part", "known"), _is_good, _LONG),
)


def why_not() -> str:
    """Return why this machine cannot run arm64's programs, and what to do; empty if it can."""
    wrong = debian.why_not()
    if wrong:
        return wrong
    tried = subprocess.run(
        [*_OWN, "mount", "-t", "binfmt_misc", "binfmt_misc", "/proc/sys/fs/binfmt_misc"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        return f"{tried.stderr.strip()}: needs Linux 6.7 or newer and the right to user namespaces"
    return ""


def words_of(trial: Trial) -> list[str]:
    """Return the command of a trial; what it needs is downloaded."""
    (qemu,) = QEMU.folder.glob("usr/bin/qemu-aarch64")
    clean = ["env", "-i", *(f"{name}={value}" for name, value in _VARIABLES.items())]
    inside = ["bash", "-c", _INSIDE, str(PACKAGES.folder), str(qemu), str(ROOT)]
    return [*_OWN, *clean, *inside, "/usr/bin/python3", *trial.words]


def run(trial: Trial) -> Outcome:
    """Run a trial under QEMU."""
    outcome = Outcome(ROW, trial.name, skipped=why_not())
    if outcome.skipped:
        return outcome
    try:
        words = words_of(trial)
    except debian.DebianError as error:
        outcome.skipped = f"Debian's packages were not to be had: {error}"
        return outcome
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=trial.seconds,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        outcome.failures.append(f"not finished after {trial.seconds:.0f} s")
    else:
        trial.judge(outcome, done)
    return outcome
