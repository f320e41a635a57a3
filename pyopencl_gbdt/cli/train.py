"""``pyopencl-gbdt train``: read files, train, write a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli import tables
from pyopencl_gbdt.cli.output import (
    Progress,
    check_output,
    complain,
    group_variants,
    say,
    section,
)
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.metrics import METRICS, get_metric
from pyopencl_gbdt.model.file_formats import check_ending
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import TABLE

if TYPE_CHECKING:
    from pyopencl_gbdt.device import DeviceInfo
    from pyopencl_gbdt.prediction.model import Model

_METAVARS = {int: "INT", float: "NUMBER", str: "NAME", bool: "BOOL"}


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "train",
        help="train a model on a file",
        description="Train on CSV, TSV, libsvm or npz (arrays X and y), each plain or gzipped, and "
        "save the model in XGBoost's JSON format.",
        allow_abbrev=False,
    )
    parser.add_argument("data", metavar="DATA", help="training data")
    parser.add_argument("--model", required=True, metavar="FILE", help="where to save the model")
    parser.add_argument("--device", default="auto", help="default auto; see pyopencl-gbdt devices")
    parser.add_argument(
        "--eval",
        action="append",
        default=[],
        metavar="FILE",
        help="rows to evaluate after every round; can be repeated",
    )
    parser.add_argument(
        "--eval-metric",
        action="append",
        metavar="NAME",
        help=f"{', '.join(METRICS)}; error, tweedie-nloglik and ranking metrics take a number, as "
        "in error@0.7; can be repeated; default: the objective's metric",
    )
    parser.add_argument(
        "--early-stopping-rounds",
        type=int,
        metavar="N",
        help="stop when the last metric of the last --eval has not improved for N rounds, and keep "
        "the trees up to the best one",
    )
    parser.add_argument(
        "--verbose-every",
        type=int,
        default=10,
        metavar="N",
        help="show the metrics every N rounds; 0 never; default 10",
    )
    parser.add_argument(
        "--weight",
        metavar="FILE",
        help="weights of the training rows, one number per line; replaces those of an npz",
    )
    parser.add_argument(
        "--feature-weights",
        metavar="FILE",
        help="sampling weights of the features for --colsample-..., one number per line",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="show time, bytes and share of bandwidth of every kernel",
    )
    layout = tables.add_options(parser)
    layout.add_argument(
        "--n-features",
        type=int,
        metavar="N",
        help="required number of features; libsvm: width, default from the largest index",
    )
    _add_parameters(parser)
    parser.set_defaults(run=run)


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training parameters, by XGBoost's names")
    for row in TABLE:
        if row.name != "device":
            default = "" if row.default in (None, "") else f"; default {row.default}"
            group.add_argument(
                *[f"--{name.replace('_', '-')}" for name in (row.name, *row.aliases)],
                dest=f"param_{row.name}",
                metavar=_METAVARS[row.kind],
                help=f"{row.doc} ({row.expected}{default})",
            )
    group.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set any parameter; can be repeated",
    )


def _number_or_text(text: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _value(name: str, text: str) -> int | float | str | list[int | float | str]:
    """Convert a parameter's value; commas separate several numbers."""
    row = next((row for row in TABLE if name in (row.name, *row.aliases)), None)
    if row is not None and row.kind is str:
        return text
    if row is not None and row.several and "," in text:
        return [_number_or_text(part.strip()) for part in text.split(",")]
    return _number_or_text(text)


def read_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the given parameters, by the names under which they were given.

    Raises
    ------
    ParameterError
        If one is given twice or is not of the form ``name=value``.
    """
    given: dict[str, Any] = {}
    for row in TABLE:
        text = getattr(args, f"param_{row.name}", None)
        if text is not None:
            given[row.name] = _value(row.name, text)
    for pair in args.param:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not (name and equals and text):
            raise ParameterError(f"--param {pair}: expected NAME=VALUE, such as max_depth=8")
        if name in given:
            raise ParameterError(f"--param {pair}: {name} is given twice; give it once")
        if name == "device":
            raise ParameterError(f"--param {pair}: choose the device by --device {text}")
        given[name] = _value(name, text)
    return given


def chosen_variants(info: DeviceInfo, p: Parameters) -> dict[str, str]:
    """Return every kernel's variant, as far as it is known before the data are read."""
    from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose

    assert info.caps is not None
    histogram = choose("histogram", info.caps, p.histogram).name
    fits = (info.caps.local_bytes - LOCAL_HEADROOM) // 8  # two 32-bit accumulators per code
    if histogram not in ("cpu", "bin_range_passes") and p.max_bin + 1 > fits:
        histogram += " (bin_range_passes if the data need so many bins)"
    return {**info.variants(), "histogram": histogram}


def run(args: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand; read, train, save."""
    from pyopencl_gbdt.device import find, open_device
    from pyopencl_gbdt.device.bandwidth import device_bandwidth
    from pyopencl_gbdt.training.train import train

    given = read_parameters(args)
    p = Parameters.from_dict({**given, "device": args.device})
    _check_options(args)
    info = find(p.device)
    assert info.caps is not None
    variants = chosen_variants(info, p)
    open_device(info.device_id).warm_up()
    data, evals = tables.read_training(args, p.objective)
    tell = _nothing if p.verbosity == 0 else section
    tell("Data", f"{args.data}: {data.n_rows} rows, {data.n_features} features")
    tell("Device", info.caps.label)
    tell("Kernels", *group_variants(variants))

    def show(number: int, metrics: list[str]) -> None:
        say("  ".join([f"  round {number:>5}", *metrics]))

    if args.profile:  # measure the copy bandwidth before, not during, the timed rounds
        device_bandwidth(open_device(info.device_id))
    silent = p.verbosity == 0 or not evals or args.verbose_every == 0
    progress = Progress(
        None if silent else show,
        n_rounds=p.n_estimators,
        every=max(1, args.verbose_every),
        waits=bool(evals),
    )
    model = train(
        {**given, "device": info.device_id},
        data,
        evals=evals,
        eval_metric=args.eval_metric,
        early_stopping_rounds=args.early_stopping_rounds,
        verbose=True,
        report=progress.report,
        profile=args.profile,
    )
    progress.finish()
    model.save_model(args.model)
    tell("Time", progress.summary())
    tell("Saved", f"{args.model}: {len(model.ensemble.trees)} trees{_best(model)}")
    if model.profile is not None:
        say(f"\n{model.profile.table()}")
    return 0


def _best(model: Model) -> str:
    """Describe the best round, after early stopping."""
    from pyopencl_gbdt.prediction.model import BEST_ITERATION

    if BEST_ITERATION not in model.ensemble.attributes:
        return ""
    return f", up to round {model.best_iteration + 1}, the best one: {model.best_score:g}"


def _nothing(title: str, *paragraphs: str) -> None:
    """Replace `section` if nothing is to be printed."""


def _check_options(args: argparse.Namespace) -> None:
    for name in args.eval_metric or ():
        get_metric(name)
    check_output(args.model, "--model")
    check_ending(args.model)
    if Path(args.model).exists() and not Path(args.model).is_file():
        raise DataError(f"--model {args.model}: expected a regular file; give another name")
    if Path(args.model).suffix != ".json":
        complain(f"note: XGBoost reads {args.model} only if its name ends in .json")
    if args.verbose_every < 0:
        raise ParameterError(f"--verbose-every {args.verbose_every}: expected 0 or more")
    if args.n_features is not None and args.n_features < 1:
        raise ParameterError(f"--n-features {args.n_features}: expected 1 or more")
