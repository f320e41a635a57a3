"""The helper process that ``first_use`` starts: it measures the facts that it is told to."""

from __future__ import annotations

import json
import os

from pyopencl_gbdt.device import measured_facts
from pyopencl_gbdt.device.discovery import open_device
from pyopencl_gbdt.device.measured_facts import FAILED


def measure(device_id: str, names: list[str]) -> None:
    """Measure facts of a device in this process; write a line for each to standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # drivers write to standard output, too
    device = open_device(device_id)
    for fact in measured_facts.TABLE:
        if fact.name in names and fact.measure is not None:
            problem = ""
            try:
                answer = fact.measure(device)
            except Exception as error:  # a driver may raise anything
                answer, problem = FAILED, str(error).partition("\n")[0]
            answers.write(json.dumps([fact.name, answer, problem]) + "\n")
            answers.flush()
