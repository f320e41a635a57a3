"""``pyopencl-gbdt``: one module per subcommand.

A subcommand is a function ``add(commands)`` that adds its parser and names what runs it::

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
from pyopencl_gbdt.cli import bench, demo, devices, doctor, predict, train, tune
from pyopencl_gbdt.cli.output import complain, escaped, say
from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.names import unknown

#: What adds each subcommand, in the order of the help.
COMMANDS: tuple[Callable[[Any], None], ...] = (
    demo.add,
    devices.add,
    doctor.add,
    train.add,
    predict.add,
    bench.add,
    tune.add,
)

EXIT_UNUSABLE, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 2, 130, 141

_EXAMPLES = """\
examples:
  pyopencl-gbdt demo
  pyopencl-gbdt devices
  pyopencl-gbdt doctor
  pyopencl-gbdt train train.csv --model model.json --objective binary:logistic \\
      --eval test.csv --eval-metric auc --learning-rate 0.1
  pyopencl-gbdt predict test.csv --model model.json --out predictions.txt
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

    Parameters
    ----------
    argv : sequence of str or None
        Arguments without the program's name; None takes the process's own.

    Returns
    -------
    int
        Exit code: 0 done; 1 no usable device (``devices``, ``doctor``); 2 an error, said on
        standard error; 130 interrupted; 141 the reader of standard output has gone.

    Raises
    ------
    SystemExit
        By argparse, after ``--help`` and ``--version`` (0) and for wrong arguments (2).
    """
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            code = _run(argv)
            sys.stdout.flush()  # a closed pipe shows here, not while Python shuts down
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
    """Say why; also where standard output or standard error is a file on a full disk."""
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
    if rest:
        raise _not_known(parser, args.command, rest[0])
    if args.run is None:
        say(parser.format_help().rstrip())
        return 0
    return int(args.run(args))


def _not_known(parser: argparse.ArgumentParser, command: str | None, word: str) -> ParameterError:
    """Return the error for a word that no command takes, with the nearest options."""
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    chosen = commands.choices.get(command or "", parser)
    option = word.partition("=")[0]
    if not option.startswith("-"):
        return ParameterError(f"{chosen.prog}: unexpected {show(word)}; see {chosen.prog} --help")
    return unknown(option, chosen._option_string_actions, f"option of {chosen.prog}")


def _reason(error: OSError) -> str:
    if error.filename is None or not error.strerror:
        return str(error)
    name = escaped(os.fsdecode(error.filename)).replace("\n", "\\n")
    return f"{name}: {error.strerror}; check the path and its permissions"


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as a line, without the place in the library that raised it."""
    complain(f"warning: {message}")


def _drop_output() -> None:
    """Send what is still buffered nowhere, or Python would complain about it while it exits."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # not a real file, hence nothing that complains
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
