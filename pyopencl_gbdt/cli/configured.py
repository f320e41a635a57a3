"""Run what a configuration file asks for: train, predict, or write trees as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.cli import fitting, side_files, tables
from pyopencl_gbdt.cli.configuration import Configuration, read
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.cli.output import check_output, complain, say, write_text
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model import FeatureMap, dump_xgboost, read_model
from pyopencl_gbdt.model.xgboost_dump import joined_dump
from pyopencl_gbdt.parameters.parameters import Parameters

if TYPE_CHECKING:
    from pyopencl_gbdt.prediction.model import Model

_STANDARD_OUTPUT = ("-", "stdout")


def run(args: argparse.Namespace) -> int:
    """Read the configuration, then run its task."""
    configuration = read(args)
    tasks: dict[str, Callable[[Configuration], None]] = {
        "train": partial(_train, verbose=args.verbose), "pred": _predict, "dump": _dump,
    }  # fmt: skip
    tasks[configuration.options["task"]](configuration)
    return 0


def _silent(configuration: Configuration) -> bool:
    return configuration.params.get("verbosity") == 0


def _needed(configuration: Configuration, key: str, what: str) -> str:
    """Return the file of a key, or raise."""
    file = configuration.options[key]
    if file is None:
        task = configuration.options["task"]
        raise ParameterError(
            f"{configuration.source}: {key} is missing: expected {what} for task={task}; add "
            f"{key} = FILE"
        )
    return str(file)


def _layout(configuration: Configuration) -> argparse.Namespace:
    """Return the options, under the names that the command line gives them."""
    args = argparse.Namespace(**configuration.options)
    for name in ("label_column", "qid_column"):
        value = getattr(args, name)
        setattr(args, name, None if value is None else tables.column(value))
    args.device = configuration.params.get("device") or "auto"
    args.no_label = bool(args.no_label)
    return args


def _train(configuration: Configuration, *, verbose: bool) -> None:
    args = _layout(configuration)
    args.verbose = verbose
    args.data = _needed(configuration, "data", "the training data")
    given = {name: value for name, value in configuration.params.items() if name != "device"}
    try:
        n_rounds = Parameters.from_dict(given).n_estimators
    except ParameterError as error:
        raise ParameterError(f"{configuration.source}: {error}") from error
    args.eval, args.eval_metric = list(configuration.evals.values()), configuration.metrics or None
    args.verbose_every = configuration.options["verbose_every"] or 0
    args.model = args.model_out or str(Path(args.model_dir) / fitting.model_name(n_rounds))
    extras = fitting.Extras(
        model_option="model_out" if args.model_out else "model_dir",
        eval_names=tuple(configuration.evals),
        eval_train=bool(args.eval_train),
        model_in=args.model_in,
        save_period=args.save_period or 0,
        model_dir=args.model_dir,
        side_files=True,
    )
    if configuration.without_effect and not _silent(configuration):
        complain(f"note: no effect here: {', '.join(configuration.without_effect)}")
    fitting.fit(args, given, extras)


def _predict(configuration: Configuration) -> None:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.device.selection import main_device
    from pyopencl_gbdt.prediction.model import Model

    args = _layout(configuration)
    data = _needed(configuration, "test:data", "the rows to predict")
    path = _needed(configuration, "model_in", "a model")
    _check_target(args.name_pred, "name_pred")
    model = Model.load_model(path)
    rounds = _rounds(args.iteration_begin or 0, args.iteration_end or 0, model)
    device = find(main_device(args.device))
    table = tables.read_unlabelled(data, args, model.ensemble)
    check_columns(table.feature_names, model.ensemble.feature_names, data)
    sides = side_files.read(DataPath.parse(data).file, table.X.shape[0], ranks=False, label=False)
    predictions = model.predict(
        Dataset(table.features),
        output_margin=bool(args.pred_margin),
        iteration_range=rounds,
        base_margin=sides.get("base_margin"),
        device=device.device_id,
    )
    text = "".join(f"{number:.9g}\n" for number in np.ravel(predictions).tolist())
    _write(configuration, args.name_pred, text, plural(len(predictions), "prediction"))


def _rounds(begin: int, end: int, model: Model) -> tuple[int, int]:
    return (begin, end or model.rounds_to_predict) if begin else (begin, end)


def _dump(configuration: Configuration) -> None:
    args = _layout(configuration)
    path = _needed(configuration, "model_in", "a model")
    _check_target(args.name_dump, "name_dump")
    ensemble = read_model(path)
    names = None if args.fmap is None else FeatureMap.read(args.fmap)
    trees = dump_xgboost(
        ensemble, names, with_stats=bool(args.with_stats), dump_format=args.dump_format
    )
    text = joined_dump(trees, args.dump_format).removesuffix("\n") + "\n"
    _write(configuration, args.name_dump, text, plural(len(trees), "tree"))


def _check_target(path: str, key: str) -> None:
    if path not in _STANDARD_OUTPUT:
        check_output(path, key)


def _write(configuration: Configuration, path: str, text: str, what: str) -> None:
    """Write a file, whole or not at all, or standard output."""
    if path in _STANDARD_OUTPUT:
        say(text.removesuffix("\n"))
        return
    write_text(path, text)
    if not _silent(configuration):
        complain(f"{what} written to {path}")
