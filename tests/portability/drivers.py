"""Rows of the matrix that run in a chroot: Mesa's rusticl, and Debian's PoCL.

Mesa translates kernels to Vulkan (zink), and its Vulkan driver for processors (lavapipe) runs them:
the compiler that AMD's and Intel's cards get, without a card.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

from pyopencl_gbdt.device.drivers.first_use import INSIDE
from pyopencl_gbdt.device.switches import COMMAND_BUFFERS
from tests.portability.chroot import Chroot, ChrootError, why_not
from tests.portability.runtimes import Outcome, Setting, judge

#: One row for each run of ``.ci/run``, and one that takes an hour.
QUICK, WHOLE = "debian", "mesa"
RUSTICL = {
    "RUSTICL_ENABLE": "llvmpipe",
    "GALLIUM_DRIVER": "zink",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "RUSTICL_DEVICE_TYPE": "gpu",
}
#: Folders and files of tests that the whole row runs on rusticl, as its driver states the device.
TESTS = ("tests/primitives", "tests/test_reproducible.py", "tests/device")
_EXERCISE = ("python3", "-m", "tests.portability.exercise", "--device")
_DOCTOR = ("python3", "-m", "pyopencl_gbdt", "doctor", "--device", "rusticl", "--time-limit", "500")

#: Of the error for a driver that crashes at one of the first kernels, as Mesa's of sid does.
_REFUSED = "at loads that no work-item asks for"

Done = subprocess.CompletedProcess[str]


def judge_doctor(outcome: Outcome, done: Done) -> None:
    """Accept a doctor whose comparisons all gave equal bits."""
    found = re.search(
        r"self-test \S+ passed: (\d+) of (\d+) comparisons[^;\n]*$", done.stdout, re.M
    )
    if found and found[1] == found[2] and not done.returncode:
        outcome.detail = f"{found[1]} comparisons"
    else:
        said = (done.stdout + done.stderr)[-1500:]
        outcome.failures.append(f"doctor ended with {done.returncode}:\n{said}")


def judge_exercise(outcome: Outcome, done: Done) -> None:
    """Accept an exercise without failures."""
    judge(outcome, Setting(outcome.row, outcome.name, ""), done, "")


def judge_tests(outcome: Outcome, done: Done) -> None:
    """Accept tests that all passed."""
    outcome.detail = (done.stdout.strip().splitlines() or [""])[-1].strip("= ")
    if done.returncode:
        outcome.failures.append(f"{done.stdout[-3000:]}{done.stderr[-500:]}")


@dataclass(frozen=True)
class Trial:
    """A command that runs in the chroot.

    Attributes
    ----------
    row, name : str
        Row of the matrix, and what is special about it.
    words : tuple of str
        The command.
    judge : callable
        Writes to an outcome what the command's end says.
    variables : dict of str to str
        Environment, beside what every command in the chroot gets.
    seconds : float
        Time limit.
    """

    row: str
    name: str
    words: tuple[str, ...]
    judge: Callable[[Outcome, Done], None]
    variables: dict[str, str] = field(default_factory=dict)
    seconds: float = 600

    def run(self, debian: Chroot) -> Outcome:
        """Run the command in a chroot that is filled."""
        outcome = Outcome(self.row, self.name)
        try:
            done = debian.run(self.words, self.variables, self.seconds)
        except subprocess.TimeoutExpired:
            outcome.failures.append(f"not finished after {self.seconds:.0f} s")
        else:
            if _REFUSED in done.stdout + done.stderr:
                outcome.skipped = f"the library refuses the driver: it crashes {_REFUSED}"
            else:
                self.judge(outcome, done)
        return outcome


TRIALS: tuple[Trial, ...] = (
    Trial(QUICK, "rusticl, doctor", _DOCTOR, judge_doctor, RUSTICL),
    Trial(  # PoCL 6 has command buffers
        QUICK, "PoCL, fits and digests", (*_EXERCISE, "portable", "--part", "fits"), judge_exercise,
        {COMMAND_BUFFERS: "on"},
    ),
    # Last, as Mesa keeps what the doctor has it compile.
    Trial(
        QUICK, "rusticl, fits and digests", (*_EXERCISE, "rusticl", "--part", "fits"),
        judge_exercise, RUSTICL,
    ),
    Trial(
        WHOLE, "rusticl, all programs", (*_EXERCISE, "rusticl", "--part", "programs"),
        judge_exercise, RUSTICL, 3600,
    ),
    Trial(
        WHOLE, "rusticl, tests",
        ("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not exhaustive", *TESTS),
        judge_tests, {**RUSTICL, "PYOPENCL_GBDT_DEVICE": "rusticl", INSIDE: "1"}, 4 * 3600,
    ),
    Trial(
        WHOLE, "PoCL, all programs", (*_EXERCISE, "portable", "--part", "programs"),
        judge_exercise, seconds=3600,
    ),
    Trial(
        WHOLE, "PoCL, kernels of CPUs", (*_EXERCISE, "portable"), judge_exercise, seconds=3600
    ),
)  # fmt: skip


def filled(row: str, debian: Chroot) -> Outcome:
    """Fill the chroot of a row's trials, or say why this machine cannot."""
    outcome = Outcome(row, f"Debian {debian.suite}", skipped=why_not())
    if not outcome.skipped:
        try:
            debian.fill()
        except (ChrootError, subprocess.TimeoutExpired, OSError) as error:
            outcome.failures.append(str(error))
    return outcome
