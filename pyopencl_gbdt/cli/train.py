"""``pyopencl-gbdt train``: read files, train, write a model file.

A configuration file may ask for predictions, or for trees as text, instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopencl_gbdt.cli import fitting, side_files, tables
from pyopencl_gbdt.cli.configuration import Configuration, is_configuration, read
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.cli.options import add_command, add_options, typed_value
from pyopencl_gbdt.cli.output import check_output, complain, say, write_text
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import plural, show
from pyopencl_gbdt.metrics import METRICS
from pyopencl_gbdt.model import FeatureMap, dump_xgboost, read_model
from pyopencl_gbdt.model.xgboost_dump import joined_dump
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import TABLE

if TYPE_CHECKING:
    from pyopencl_gbdt.prediction.model import Model

_METAVARS = {int: "INT", float: "NUMBER", str: "NAME", bool: "BOOL"}
_STANDARD_OUTPUT = ("-", "stdout")


class _OneSpelling(argparse.Action):
    """Store a parameter, and refuse it in a second spelling, such as --eta after --learning-rate.

    The same option again replaces the value.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        spelled = vars(namespace).setdefault("spelled", {})
        first = spelled.setdefault(self.dest, option_string)
        if first != option_string:
            raise ParameterError(
                f"{first} and {option_string} are two spellings of one parameter; give one of them"
            )
        setattr(namespace, self.dest, values)


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = f"""
train a model on a file, or as a configuration file says

Train on CSV, TSV, libsvm or npz (arrays X and y), each plain or gzipped, and save the model; its
name's ending chooses the format, such as XGBoost's .json and .ubj. A configuration file has lines
'key = value', as for XGBoost's command line and ThunderGBM; pairs KEY=VALUE and options override
it.

data DATA|CONFIGURATION  training data, or a file in .conf
pairs KEY=VALUE          replace the configuration file's values
--model FILE        where to save the model; DATA needs it
--device DEVICE     default auto; see pyopencl-gbdt devices; several: gpu:all, gpu:0,gpu:1 or
                    gpu:0=3,cpu=1
--eval FILE         rows to evaluate after every round; can be repeated
--eval-metric NAME  {", ".join(METRICS)};
                    error, tweedie-nloglik and ranking metrics take a number, as in error@0.7; can
                    be repeated; default: the objective's metric
--early-stopping-rounds N
    stop when the last metric of the last --eval has not improved for N rounds; predictions use the
    trees up to the best one
--verbose-every N   show the metrics every N rounds; 0 never; default 10
--weight FILE       weights of the training rows, one number per line; replaces those of an npz
--feature-weights FILE
    sampling weights of the features for --colsample-..., one number per line
--verbose           name every kernel's variant
--profile           show time, bytes and share of bandwidth of every kernel
"""
    several = {"action": "append"}
    parser = add_command(
        commands, "train", text, pairs={"nargs": "*"}, eval=several, eval_metric=several
    )
    layout = tables.add_layout(parser)
    width = (
        "--n-features N  required number of features; libsvm: width, default from the largest index"
    )
    add_options(layout, width)
    _add_parameters(parser)
    parser.set_defaults(run=run, profile=None)


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training parameters, by XGBoost's names")
    for row in TABLE:
        if row.name != "device":
            default = "" if row.default in (None, "") else f"; default {row.default}"
            group.add_argument(
                *[f"--{name.replace('_', '-')}" for name in (row.name, *row.aliases)],
                dest=f"param_{row.name}",
                action=_OneSpelling,
                metavar=_METAVARS[row.kind],
                help=f"{row.doc} ({row.expected}{default})",
            )
    text = "--param NAME=VALUE  set any parameter; can be repeated"
    add_options(group, text, param={"action": "append"})


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
            given[row.name] = typed_value(row.name, text)
    for pair in args.param or ():
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not (name and equals and text):
            raise ParameterError(f"--param {pair}: expected NAME=VALUE, such as max_depth=8")
        if name in given:
            raise ParameterError(f"--param {pair}: {name} is given twice; give it once")
        if name == "device":
            raise ParameterError(f"--param {pair}: choose the device by --device {text}")
        given[name] = typed_value(name, text)
    return given


#: Values of options that are not given, and None until then: configuration files have others.
_DEFAULTS: dict[str, Any] = {"device": "auto", "eval": [], "verbose_every": 10, "profile": False}


def run(args: argparse.Namespace) -> int:
    """Train as the options say, or as a configuration file says."""
    for word in args.pairs:
        if "=" not in word:
            raise ParameterError(
                f"pyopencl-gbdt train: unexpected {show(word)}; see pyopencl-gbdt train --help"
            )
    if is_configuration(args.data, args.pairs):
        return _run_configured(args)
    if args.model is None:
        raise ParameterError(
            "--model is missing: expected where to save the model; add --model model.json (a "
            "configuration file is recognised by a name in .conf)"
        )
    for name, default in _DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    fitting.fit(args, read_parameters(args))
    return 0


def _run_configured(args: argparse.Namespace) -> int:
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
