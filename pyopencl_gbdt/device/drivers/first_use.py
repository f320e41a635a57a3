"""Measure a device before its first use, in a process of its own.

The drivers that this library's tests run on need none of it. With any other driver, a helper
process builds and runs the small kernels of ``measured_facts``. A compiler that crashes or hangs
there becomes a message; ``fact_store`` keeps the answers, so that it happens once for a device and
driver.
"""

from __future__ import annotations

import json
import os
import subprocess

from pyopencl_gbdt.device import helper_process
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import fact_store, measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.device.drivers.measured_facts import MeasuredFact
from pyopencl_gbdt.device.program import LONG_SECONDS
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.logger import tell

#: Set in the helper process: it measures, so it must not start another one.
INSIDE = "PYOPENCL_GBDT_MEASURES"
#: Seconds for all facts of a device: some drivers compile a kernel for ten.
SECONDS = 120.0
_CODE = "from pyopencl_gbdt.device.helpers import measure; measure(sys.argv[2], sys.argv[3:])"


def examine(caps: Capabilities) -> bool:
    """Measure what is not known of a device yet; return whether something was measured.

    Raises
    ------
    DeviceError
        If the driver crashes or hangs at the smallest kernel, or computes it wrongly.
    """
    if caps.tested_driver or os.environ.get(INSIDE) or caps.api != "opencl":
        return False
    known = fact_store.load(caps)
    missing = [
        fact
        for fact in measured_facts.TABLE
        if fact.first and fact.due(caps) and fact.name not in known
    ]
    if not missing or not helper_process.possible():
        return False
    _measure(caps, missing)
    return True


def _measure(caps: Capabilities, facts: list[MeasuredFact]) -> None:
    names = [fact.name for fact in facts]
    answers, errors, ended = _ask(caps, names)
    left = [name for name in names if name not in answers]
    problem = _problem(facts, answers, errors, ended)
    if problem:
        raise DeviceError(
            f"{caps.label}, driver {caps.driver}: {problem}; install another driver for it, choose "
            "another one of `pyopencl-gbdt devices`, or run `pyopencl-gbdt doctor`"
        )
    if left and ended.startswith("crashes"):
        answers[left[0]] = FAILED
    fact_store.store(caps, answers)
    if left:
        fact_store.remember(caps, dict.fromkeys(left, FAILED))
        tell(
            f"{caps.label}: its driver {ended or 'fails'} while {left[0]} is measured; kernels "
            "that do not need it are used, which give the same results"
        )


def _problem(
    facts: list[MeasuredFact], answers: dict[str, int], errors: dict[str, str], ended: str
) -> str:
    """Return why a device cannot be used; empty if it can."""
    for number, fact in enumerate(facts):
        if fact.name not in answers:  # all behind it were not asked for
            # what hangs may have waited for a busy machine
            fatal = fact.needed and (number == 0 or ended.startswith("crashes"))
            return f"its driver {ended or 'fails'} at {fact.needed}" if fatal else ""
        if fact.needed and answers[fact.name] == FAILED:
            return errors.get(fact.name) or f"it computes wrong results in {fact.needed}"
    return ""


def _ask(caps: Capabilities, names: list[str]) -> tuple[dict[str, int], dict[str, str], str]:
    """Return a helper process's answers, its errors, and how it ended; empty if it ended well."""
    process = helper_process.start(
        _CODE, caps.device_id, *names, stdout=subprocess.PIPE, variables={INSIDE: "1"}
    )
    ended = ""
    try:
        said, _ = process.communicate(timeout=LONG_SECONDS)
    except subprocess.TimeoutExpired:
        tell(f"testing {caps.label} before its first use; the results are kept")
        try:
            said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            ended = f"takes more than {SECONDS:.0f} s"
    if not ended and process.returncode:
        ended = f"crashes (signal {-process.returncode})" if process.returncode < 0 else "fails"
    answers, errors = {}, {}
    for line in said.splitlines():
        try:
            name, answers[name], errors[name] = json.loads(line)
        except (ValueError, TypeError):  # a line that a crash cut off
            continue
    return answers, errors, ended
