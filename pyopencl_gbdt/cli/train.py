"""``pyopencl-gbdt train``: read files, train, write a model file."""

from __future__ import annotations

import argparse
from typing import Any

from pyopencl_gbdt.cli import configured, fitting, tables
from pyopencl_gbdt.cli.configuration import is_configuration
from pyopencl_gbdt.cli.options import add_command, add_options, typed_value
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import METRICS
from pyopencl_gbdt.parameters.table import TABLE

_METAVARS = {int: "INT", float: "NUMBER", str: "NAME", bool: "BOOL"}


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
        return configured.run(args)
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
