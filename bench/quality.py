"""``python -m bench quality``: real tables; scores of five libraries, intervals, calibration."""

from __future__ import annotations

from pathlib import Path

from bench import quality_calibration, quality_coverage, quality_run, quality_show
from bench.host import parser_of
from bench.quality_tables import build


def main(arguments: list[str]) -> int:
    parser = parser_of("quality", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    built = commands.add_parser("build", help="build the tables from packages that pip installs")
    built.add_argument("file", type=Path, metavar="TABLES.npz")
    quality_run.options(commands.add_parser("run", help="fit libraries, and keep their scores"))
    quality_show.options(commands.add_parser("show", help="compare the scores that were kept"))
    quality_coverage.options(commands.add_parser("coverage", help="measure prediction intervals"))
    quality_calibration.options(
        commands.add_parser("calibration", help="measure calibrated probabilities")
    )
    chosen = parser.parse_args(arguments)
    if chosen.command == "build":
        build(chosen.file)
        return 0
    run = {
        "run": quality_run.run, "show": quality_show.show,
        "coverage": quality_coverage.coverage, "calibration": quality_calibration.calibration,
    }[chosen.command]  # fmt: skip
    return run(chosen)
