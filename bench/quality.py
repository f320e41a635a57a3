"""``python -m bench quality build | run | show``: real tables, five libraries, their scores."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import quality_run, quality_show
from bench.quality_tables import build


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench quality", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    built = commands.add_parser("build", help="build the tables from packages that pip installs")
    built.add_argument("file", type=Path, metavar="TABLES.npz")
    quality_run.options(commands.add_parser("run", help="fit libraries, and keep their scores"))
    quality_show.options(commands.add_parser("show", help="compare the scores that were kept"))
    chosen = parser.parse_args(arguments)
    if chosen.command == "build":
        build(chosen.file)
        return 0
    return (quality_run.run if chosen.command == "run" else quality_show.show)(chosen)
