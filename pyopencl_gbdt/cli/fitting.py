"""Train as the options of ``pyopencl-gbdt train`` say, and save the model."""

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
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.file_formats import check_ending
from pyopencl_gbdt.parameters.parameters import Parameters

if TYPE_CHECKING:
    from pyopencl_gbdt.device import DeviceInfo
    from pyopencl_gbdt.prediction.model import Model


def chosen_variants(info: DeviceInfo, p: Parameters) -> dict[str, str]:
    """Return every kernel's variant, as far as it is known before the data are read."""
    from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose

    assert info.caps is not None
    histogram = choose("histogram", info.caps, p.histogram).name
    fits = (info.caps.local_bytes - LOCAL_HEADROOM) // 8  # two 32-bit accumulators per code
    if histogram not in ("cpu", "bin_range_passes") and p.max_bin + 1 > fits:
        histogram += " (bin_range_passes if the data need so many bins)"
    return {**info.variants(), "histogram": histogram}


def fit(args: argparse.Namespace, given: dict[str, Any]) -> None:
    """Check everything that can be checked beforehand; read, train, save.

    Parameters
    ----------
    args : argparse.Namespace
        The options of ``train``.
    given : dict of str to object
        The training parameters, without ``device``.
    """
    from pyopencl_gbdt.device import find, open_device
    from pyopencl_gbdt.device.bandwidth import device_bandwidth
    from pyopencl_gbdt.training.train import train

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
