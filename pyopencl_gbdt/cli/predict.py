"""``pyopencl-gbdt predict``: a model file and a table in, one prediction a line out."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from pyopencl_gbdt.cli import tables
from pyopencl_gbdt.cli.output import check_output, complain, say, write_text
from pyopencl_gbdt.data.names import check_columns


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a file",
        description="Write one prediction a line, those of several classes with commas, in the "
        "fewest digits that read back as the same float32. A file for --out appears whole or not "
        "at all.",
        allow_abbrev=False,
    )
    parser.add_argument("data", metavar="DATA", help="rows to predict; a label is left aside")
    parser.add_argument("--model", required=True, metavar="FILE", help="by train, or by XGBoost")
    parser.add_argument("--out", default="-", metavar="FILE", help="default -, standard output")
    parser.add_argument(
        "--output-margin",
        action="store_true",
        help="write sums of leaf values instead of probabilities",
    )
    parser.add_argument("--device", default="auto", help="default auto; see pyopencl-gbdt devices")
    tables.add_options(parser).add_argument(
        "--no-label",
        action="store_true",
        help="every column is a feature; found out by itself if neither this nor --label-column "
        "is given",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, predict, then write everything at once."""
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.training.train import Model

    if args.out != "-":
        check_output(args.out, "--out")
    model = Model.load_model(args.model)
    device = find(args.device)
    ensemble = model.ensemble
    table = tables.read_unlabelled(args.data, args, ensemble.n_features)
    check_columns(table.feature_names, ensemble.feature_names, args.data)
    predictions = model.predict(table.X, output_margin=args.output_margin, device=device.device_id)
    text = "\n".join(",".join(map(str, np.atleast_1d(row))) for row in predictions)
    if args.out == "-":
        say(text)
    else:
        write_text(args.out, text + "\n")
        complain(f"{len(predictions)} predictions written to {args.out}")
    return 0
