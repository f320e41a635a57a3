"""``pyopencl-gbdt``: one module per subcommand.

A subcommand is a function ``add(commands)`` that adds a parser and sets the function to run::

    parser = commands.add_parser("bench", help="measure this machine")
    parser.set_defaults(run=run)  # run(args) -> exit code

To register it, append the function to ``COMMANDS``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.cli import bench, demo, devices, doctor, explain, predict, train, tune
from pyopencl_gbdt.cli.configuration import is_configuration
from pyopencl_gbdt.cli.options import options_of, with_keys, with_options
from pyopencl_gbdt.cli.output import complain, escaped, say
from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS, OWN_NAMES
from pyopencl_gbdt.parameters.parameters import unknown

#: The functions that add the subcommands, in the order of the help.
COMMANDS: tuple[Callable[[Any], None], ...] = (
    demo.add,
    devices.add,
    doctor.add,
    train.add,
    predict.add,
    explain.add,
    bench.add,
    tune.add,
)

#: How the help calls arguments that are paths.
_PATHS = ("DATA", "DATA|CONFIGURATION", "FILE", "FOLDER", "MODEL")

EXIT_UNUSABLE, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 2, 130, 141

_EXAMPLES = """\
examples:
  pyopencl-gbdt demo
  pyopencl-gbdt devices
  pyopencl-gbdt doctor
  pyopencl-gbdt train train.csv --model model.json --objective binary:logistic \\
      --eval test.csv --eval-metric auc --learning-rate 0.1
  pyopencl-gbdt train train.conf max_depth=8
  pyopencl-gbdt predict test.csv --model model.json --out predictions.txt
  pyopencl-gbdt explain model.json test.csv --html report.html
  pyopencl-gbdt bench --quick --html report.html
  pyopencl-gbdt tune --quick
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every subcommand of ``COMMANDS``."""
    parser = argparse.ArgumentParser(
        prog="pyopencl-gbdt",
        description="Gradient-boosted decision trees that train on any OpenCL or CUDA device.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pyopencl-gbdt {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for add in COMMANDS:
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    ``argv``: arguments without the program's name; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0 success; 1 no usable device (``devices``, ``doctor``); 2 an error, written
        to standard error; 130 interrupted; 141 standard output was closed by its reader.

    Raises
    ------
    SystemExit
        From argparse, after ``--help`` and ``--version`` (0) and for wrong arguments (2).
    """
    with warnings.catch_warnings():
        try:
            code = _run(argv)
            sys.stdout.flush()  # so that a closed pipe raises here, not at exit
        except BrokenPipeError:
            _drop_output()
            return EXIT_BROKEN_PIPE
        except KeyboardInterrupt:
            complain("interrupted")
            return EXIT_INTERRUPTED
        except GBDTError as error:
            return _fail(str(error))
        except OSError as error:
            return _fail(_reason(error))
        except MemoryError:
            return _fail("this machine's main memory is exhausted; use fewer rows")
    return code


def _fail(reason: str) -> int:
    """Print an error; must not raise if the output is on a full disk."""
    with contextlib.suppress(OSError):
        complain(f"error: {reason}")
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return EXIT_ERROR


def _run(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    args, rest = parser.parse_known_args(argv)
    if getattr(args, "pairs", None) is not None:  # argparse takes those before the options only
        args.pairs += [word for word in rest if _is_pair(word)]
        rest = [word for word in rest if not _is_pair(word)]
    if rest:
        raise _not_known(parser, args.command, rest[0])
    _refuse_empty_paths(_command(parser, args.command), args)
    if args.run is None:
        say(parser.format_help().rstrip())
        return 0

    def warn(message: Warning | str, *_: Any, **__: Any) -> None:
        """Print a warning as one line, without its place in the library's code."""
        complain(f"warning: {_worded(str(message), parser, args)}")

    warnings.showwarning = warn
    try:
        return int(args.run(args))
    except GBDTError as error:
        raise GBDTError(_worded(str(error), parser, args)) from error


def _worded(message: str, parser: argparse.ArgumentParser, args: argparse.Namespace) -> str:
    """Return a message with the names of options, or of keys of a configuration file."""
    if args.command == "train" and is_configuration(args.data, args.pairs):
        return with_keys(message)
    return with_options(message, options_of(_command(parser, args.command)))


def _command(parser: argparse.ArgumentParser, name: str | None) -> argparse.ArgumentParser:
    """Return the parser of a command; without a name, the whole one."""
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    chosen: argparse.ArgumentParser = commands.choices.get(name or "", parser)
    return chosen


def _refuse_empty_paths(chosen: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Raise an error for an empty path, such as that of an unset variable in a shell's script.

    Python takes it for the working folder.
    """
    for action in chosen._actions:
        given = getattr(args, action.dest, None)
        named = action.option_strings[0] if action.option_strings else action.metavar
        if action.metavar in _PATHS and "" in (given if isinstance(given, list) else [given]):
            raise ParameterError(f"{named} is empty: expected the path of a file; give one")


def _is_pair(word: str) -> bool:
    return "=" in word and not word.startswith("-")


def _not_known(parser: argparse.ArgumentParser, command: str | None, word: str) -> ParameterError:
    """Return the error for an unknown argument, with the most similar options."""
    chosen = _command(parser, command)
    option = word.partition("=")[0]
    if not option.startswith("-"):
        return ParameterError(f"{chosen.prog}: unexpected {show(word)}; see {chosen.prog} --help")
    options = chosen._option_string_actions
    name = option.lstrip("-").replace("-", "_")
    own = f"--{OWN_NAMES.get(name, '').replace('_', '-')}"
    if name in ANSWERS and "--param" in options:
        move = with_options(ANSWERS[name].text, options_of(chosen))
        return ParameterError(f"{option}: no option of {chosen.prog}; {move}")
    if own in options:
        return ParameterError(f"{option}: no option of {chosen.prog}; give {own}, which means it")
    where = f"{chosen.prog} --help lists those that are"
    return unknown(option, options, f"option of {chosen.prog}", where)


def _reason(error: OSError) -> str:
    if error.filename is None or not error.strerror:
        return str(error)
    name = escaped(os.fsdecode(error.filename)).replace("\n", "\\n")
    return f"{name}: {error.strerror}; check the path and its permissions"


def _drop_output() -> None:
    """Discard buffered output, so that Python does not complain at exit."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # not a real file, so nothing will complain
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
