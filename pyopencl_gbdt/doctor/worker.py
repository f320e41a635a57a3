"""The process that uses devices: ``python -m pyopencl_gbdt.doctor.worker list|test DEVICE``.

It writes one JSON object per line to standard output. A driver may crash or hang it; see ``watch``.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from pyopencl_gbdt.errors import DeviceError


def listing(spec: str) -> dict[str, Any]:
    """Return all devices, notes on what could not be listed, and the selected device."""
    from pyopencl_gbdt.device import discovery

    found, notes = discovery.survey()
    chosen, problem = "", ""
    try:
        chosen = discovery.find(spec).device_id
    except DeviceError as error:
        problem = str(error)
    return {
        "chosen": chosen,
        "problem": problem,
        "notes": notes,
        "devices": [
            {
                "device_id": info.device_id,
                "problem": info.problem,
                "capabilities": {} if info.caps is None else asdict(info.caps),
                "variants": info.variants(),
            }
            for info in found
        ],
    }


def main(arguments: list[str]) -> int:
    """Run ``list DEVICE`` or ``test DEVICE``."""
    task, spec = arguments
    # Output of drivers goes to standard error; only answers go to the original standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if task == "list":
        answers.write(json.dumps(listing(spec)) + "\n")
        answers.flush()
        return 0
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.doctor.selftest import results

    for line in results(open_device(spec)):
        answers.write(json.dumps(line) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
