"""``pyopencl-gbdt demo``: see ``pyopencl_gbdt.cli.demonstration``."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from pyopencl_gbdt.cli.options import add_command

FOLDER = "pyopencl_gbdt_demo"


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = f"""
train on the data that ship with the package

Train on 7000 rows of HIGGS, compare with no model at all, and save the model with pictures of it.

--device DEVICE  default auto; see pyopencl-gbdt devices
--rounds N       trees; default 100
--out FOLDER     where to save; default {FOLDER}
--verbose        name every kernel's variant
"""
    parser = add_command(commands, "demo", text)
    parser.set_defaults(run=run, device="auto", rounds=100, out=FOLDER)


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.errors import DeviceError

    with contextlib.suppress(DeviceError):  # the demonstration says what is wrong
        open_device(args.device).warm_up()  # while Python imports the rest
    from pyopencl_gbdt.cli.demonstration import run_demo

    run_demo(args.device, args.rounds, args.out, verbose=args.verbose)
    return 0
