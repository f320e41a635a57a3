"""``pyopencl-gbdt predict``: read a model and a table, write one prediction per line."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from pyopencl_gbdt.cli import tables
from pyopencl_gbdt.cli.options import add_command, add_options
from pyopencl_gbdt.cli.output import check_output, complain, say, write_text
from pyopencl_gbdt.data.names import check_columns


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = """
predict the rows of a file

Write one prediction per line (several classes with commas between them), in the fewest digits
that read back as the same float32. The file of --out appears whole or not at all.

data DATA        rows to predict; a label column is ignored
--model FILE     of train, or of XGBoost
--out FILE       default -, standard output
--output-margin  write margins (sums of leaf values) instead of probabilities
--device DEVICE  default auto, which needs none; see pyopencl-gbdt devices
"""
    parser = add_command(commands, "predict", text, model={"required": True})
    layout = """
--no-label  all columns are features; detected automatically if neither this nor --label-column is
            given
"""
    add_options(tables.add_layout(parser), layout)
    parser.set_defaults(run=run, out="-", device="auto")


def run(args: argparse.Namespace) -> int:
    """Read, predict, then write all predictions at once."""
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.device.selection import any_will_do
    from pyopencl_gbdt.training.train import Model

    if args.out != "-":
        check_output(args.out, "--out")
    model = Model.load_model(args.model)
    if not any_will_do(args.device):
        find(args.device)  # raises before a large file is read
    ensemble = model.ensemble
    table = tables.read_unlabelled(args.data, args, ensemble)
    check_columns(table.feature_names, ensemble.feature_names, args.data)
    rows = Dataset(table.features)
    predictions = model.predict(rows, output_margin=args.output_margin, device=args.device)
    text = "\n".join(",".join(map(str, np.atleast_1d(row))) for row in predictions)
    if args.out == "-":
        say(text)
    else:
        write_text(args.out, text + "\n")
        complain(f"{len(predictions)} predictions written to {args.out}")
    return 0
