"""Start the worker process, read its lines, and end it when its time is over."""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import fact_store, measured_facts
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.doctor.findings import Listed, Listing
from pyopencl_gbdt.doctor.machine import killed_by
from pyopencl_gbdt.lazy_dataclasses import dataclass

LIST_SECONDS = 30.0
_WORKER = (sys.executable, "-m", "pyopencl_gbdt.doctor.worker")
_TAIL = 2000


@dataclass
class SelfTest:
    """The results of one device's self-test.

    Attributes
    ----------
    cases : list of dict
        Each has ``case``, ``chosen``, ``problem`` (empty if the bits agree) and ``seconds``.
    ended : str
        Why not all cases ran: time limit, or how the process ended; empty if all ran.
    """

    device: Listed
    cases: list[dict[str, Any]] = field(default_factory=list)
    ended: str = ""
    seconds: float = 0.0
    facts: dict[str, int] = field(default_factory=dict)
    """Answers of ``device.measured_facts`` by name."""
    texts: list[str] = field(default_factory=list)
    """The answers in words."""
    unfinished: bool = False
    """Whether a case with a default variant was running or still to come at the end."""

    @property
    def failed(self) -> list[dict[str, Any]]:
        return [case for case in self.cases if case["problem"]]

    @property
    def passed(self) -> bool:
        """Whether every default variant ran and gave the known bits."""
        chosen = [case for case in self.cases if case["chosen"]]
        good = not any(case["problem"] for case in chosen)
        return bool(chosen) and good and not self.unfinished

    @property
    def verdict(self) -> str:
        """The result as one line for people."""
        n_good = len(self.cases) - len(self.failed)
        text = f"{n_good} of {len(self.cases)} comparisons give equal bits, {self.seconds:.0f} s"
        if self.ended:
            text += f"; {self.ended}"
        return f"{'passed' if self.passed else 'FAILED'}: {text}"


def run_worker(
    task: str,
    spec: str,
    seconds: float,
    take: Callable[[dict[str, Any]], None],
    environment: Mapping[str, str] | None = None,
    *,
    command: Sequence[str] = (),
    silence: float = math.inf,
) -> str:
    """Run a worker and pass on each of its lines.

    Parameters
    ----------
    task, spec : str
        ``list`` or ``test``, and a device id.
    seconds : float
        The time limit.
    take : callable
        Called with each line, decoded.
    environment : mapping or None
        None uses this process's environment.
    command : sequence of str
        Starts the worker; by default the doctor's.
    silence : float
        Most seconds between two lines.

    Returns
    -------
    str
        How the worker failed; empty if it ended well.
    """
    variables = dict(os.environ if environment is None else environment)
    variables[measured_facts.DOCTOR] = "1"
    folder = str(Path(__file__).resolve().parents[2])  # so that a checkout is found too
    paths = [folder, *filter(None, [variables.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [*(command or _WORKER), task, spec], env=variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=complaints, text=True, encoding="utf-8",
        )  # fmt: skip
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        try:
            while True:
                left = max(0.0, deadline - time.monotonic())
                line = lines.get(timeout=min(left, silence))
                if line is None:
                    code = process.wait(timeout=max(1.0, deadline - time.monotonic()))
                    return "" if code == 0 else _how_it_ended(code, complaints)
                take(json.loads(line))
        except (queue.Empty, subprocess.TimeoutExpired):
            return f"takes more than {min(seconds, silence):.0f} s"
        finally:
            process.kill()
            process.wait()
            reader.join()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _how_it_ended(code: int, complaints: Any) -> str:
    complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, complaints.tell() - _TAIL))
    said = complaints.read().decode("utf-8", "replace").strip().splitlines()
    killed = killed_by(code)
    how = f"ends the process {killed}" if killed else "fails"
    return f"{how}: {said[-1]}" if said else how


def list_devices(spec: str, seconds: float = LIST_SECONDS) -> Listing:
    """List the devices in a separate process; ``spec`` selects the one to choose."""
    answers: list[dict[str, Any]] = []
    failure = run_worker("list", spec, seconds, answers.append)
    return Listing.from_json(answers[0]) if answers else Listing(failure=failure or "says nothing")


def run_self_test(
    device: Listed,
    seconds: float,
    show: Callable[[str], None] = lambda line: None,
    keep: Callable[[SelfTest], None] = lambda run: None,
) -> SelfTest:
    """Run the self-test of a device in a separate process.

    Parameters
    ----------
    seconds : float
        Time limit; the device's default variants run first.
    show : callable
        Called with a line of progress before each case.
    keep : callable
        Called at the beginning and after each line, with what is known so far.
    """
    run = SelfTest(device, unfinished=True)
    keep(run)
    current = {"starting": "opening the device", "chosen": True}

    def take(line: dict[str, Any]) -> None:
        if "starting" in line:
            current.update(line)
            run.unfinished = line["chosen"]
            show(f"{len(run.cases) + 1}. {line['starting']}")
        elif "fact" in line:
            run.facts[line["fact"]] = line["answer"]
            run.texts.append(line["text"])
        elif "explained" in line:
            case = next(case for case in run.cases if case["case"] == line["explained"])
            case["problem"] = "\n".join(filter(None, [line["detail"], case["problem"]]))
        else:
            run.cases.append(line)
        run.seconds = time.monotonic() - begin
        keep(run)

    begin = time.monotonic()
    ended = run_worker("test", device.device_id, seconds, take)
    run.seconds = time.monotonic() - begin
    if ended:
        run.ended = f"{current['starting']} {ended}"
        if "takes more than" in ended and run.cases:
            run.ended = f"stopped after {seconds:.0f} s, at {current['starting']}"
        elif "by signal" in ended and "Portable Computing Language" in device.platform:
            place = driver_folders.choose_pocl_folder()[0] or driver_folders.pocl_folder()
            run.ended += (
                f". What PoCL keeps in {place} may be damaged: remove that folder while no program "
                "uses PoCL, and try again"
            )
    else:
        run.unfinished = False
    return run


def remember(run: SelfTest) -> None:
    """Keep what a self-test found of a device with whose driver the tests were not run."""
    caps = Capabilities(**run.device.capabilities)
    if caps.tested_driver:
        return
    wrong = any(case["chosen"] and not case.get("raised") for case in run.failed)
    verdict = {measured_facts.SELF_TEST.name: int(run.passed)} if run.passed or wrong else {}
    fact_store.store(caps, {**run.facts, **verdict})
