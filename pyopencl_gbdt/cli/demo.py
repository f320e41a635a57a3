"""``pyopencl-gbdt demo``: see ``pyopencl_gbdt.cli.demonstration``."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

FOLDER = "pyopencl_gbdt_demo"


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "demo",
        help="train on the data that ship with the package",
        description="Train on 7000 rows of HIGGS, compare with no model at all, and save the "
        "model with pictures of it.",
        allow_abbrev=False,
    )
    parser.add_argument("--device", default="auto", help="default auto; see pyopencl-gbdt devices")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="trees; default 100")
    parser.add_argument(
        "--out", default=FOLDER, metavar="FOLDER", help=f"where to save; default {FOLDER}"
    )
    parser.add_argument("--verbose", action="store_true", help="name every kernel's variant")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.errors import DeviceError

    with contextlib.suppress(DeviceError):  # the demonstration says what is wrong
        open_device(args.device).warm_up()  # while Python imports the rest
    from pyopencl_gbdt.cli.demonstration import run_demo

    run_demo(args.device, args.rounds, args.out, verbose=args.verbose)
    return 0
