"""``pyopencl-gbdt explain``: what a model does on labelled rows, as text or as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pyopencl_gbdt.cli import tables
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.cli.options import add_command
from pyopencl_gbdt.cli.output import check_output, say, write_text
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = """
tell what a model does on labelled rows

Tell how well a model predicts labelled rows, what its predictions depend on, and where it errs.
--html writes a page with pictures, which loads nothing else.

model MODEL   of train, or of XGBoost
data DATA     rows with labels, best such as training has not seen
--html FILE   save the page
--rows N,...  rows whose predictions the page explains, counted from 0; default: the largest loss,
              the median and the highest prediction
--device DEVICE  default auto, which needs none; see pyopencl-gbdt devices
"""
    parser = add_command(commands, "explain", text)
    tables.add_layout(parser)
    parser.set_defaults(run=run, device="auto")


def run(args: argparse.Namespace) -> int:
    """Read, analyze, then print or write."""
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.device.selection import any_will_do
    from pyopencl_gbdt.explain.analysis import analyze
    from pyopencl_gbdt.explain.report import ExplanationPage, html
    from pyopencl_gbdt.explain.scores import labelled_rows
    from pyopencl_gbdt.training.train import Model

    rows = _rows(args.rows)
    if rows and not args.html:
        raise ParameterError(f"--rows {args.rows}: expected --html FILE beside it; give both")
    if args.html:
        check_output(args.html, "--html")
    model = Model.load_model(args.model)
    if not any_will_do(args.device):
        find(args.device)  # raises before a large file is read
    data = tables.read_labelled_for(args.data, args, model.ensemble)
    if not args.html:
        say(f"{model.describe()}\n\n{analyze(model, data, device=args.device)}")
        return 0
    given: dict[str, Any] = {"weight": None, "qid": None, "missing": None, "device": args.device}
    labelled = labelled_rows(model, data, None, **given)
    names = [Path(path).name for path in (args.model, DataPath.parse(args.data).file)]
    write_text(args.html, html(ExplanationPage(labelled, names[0], names[1], rows)))
    say(f"Saved {args.html}")
    return 0


def _rows(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            f"--rows {show(text)}: expected numbers of rows with commas between them; give some "
            "such as 0,7"
        ) from None
