"""``pyopencl-gbdt devices``: list the devices, and the one chosen by default."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from pyopencl_gbdt.cli.options import add_command
from pyopencl_gbdt.cli.output import complain, say, wrapped
from pyopencl_gbdt.errors import DeviceError


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = """
list the devices of this machine

List every OpenCL and CUDA device, and the one that 'auto' chooses. The exit code is 1 if none can
be used.

--json     write JSON instead
--verbose  name every kernel's variant
"""
    add_command(commands, "devices", text).set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the devices; return 0 if one can be used, else 1."""
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.device.discovery import survey

    found, notes = survey()
    chosen, problem = "", ""
    try:
        chosen = find("auto").device_id
    except DeviceError as error:
        problem = str(error)
    if args.json:
        listed = [
            {
                "device": info.device_id,
                "usable": info.usable,
                "problem": info.problem,
                "variants": info.variants(),
                "tuned": {kernel: asdict(choice) for kernel, choice in info.tuned().items()},
                "capabilities": None if info.caps is None else asdict(info.caps),
            }
            for info in found
        ]
        say(
            json.dumps(
                {"chosen": chosen or None, "error": problem, "notes": notes, "devices": listed},
                indent=2,
            )
        )
        return 0 if chosen else 1
    for info in found:
        for line in info.describe(verbose=args.verbose).splitlines():
            text = line.lstrip()
            indent = " " * (len(line) - len(text))
            say(wrapped(text, indent, indent + "    "))
        say()
    for note in notes:
        say(wrapped(f"note: {note}", "", "    "))
    if problem:
        complain(f"error: {problem}")
        return 1
    say(f"'auto' chooses {chosen}.")
    say(
        wrapped(
            "Choose another by --device and its id as above, its maker such as nvidia, or a part "
            "of its name; in Python by device='...'; or for every program by the variable "
            "PYOPENCL_GBDT_DEVICE."
        )
    )
    return 0
