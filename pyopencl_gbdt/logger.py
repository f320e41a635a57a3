"""Messages to the user, through Python's ``logging`` or through what a program registers.

``logging.getLogger("pyopencl_gbdt")`` gets notes, for example of long builds, and its child
``pyopencl_gbdt.rounds`` the metrics of rounds. They have a handler that writes plain lines: notes
to standard error, rounds to standard output. Records do not propagate to the root logger, whose
handlers would write each line a second time.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

NOTES = logging.getLogger("pyopencl_gbdt")
ROUNDS = NOTES.getChild("rounds")
#: The levels of messages, and the methods of a logger that are called for them.
_METHODS = ("info", "debug")


class _PlainLines(logging.Handler):
    """Writes a record's text without time or level; a program without the stream does without."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.stdout if record.name == ROUNDS.name else sys.stderr
        if stream is not None:
            stream.write(record.getMessage() + "\n")
            stream.flush()


NOTES.addHandler(_PlainLines())
NOTES.propagate = False
if NOTES.level == logging.NOTSET:  # a program may have set one before it imported this library
    NOTES.setLevel(logging.DEBUG)  # ``verbosity`` decides which messages there are
#: The logger that a program has registered.
_registered: Any = None


def register_logger(logger: Any) -> None:
    """Send all messages of this library to a logger, instead of the terminal.

    Parameters
    ----------
    logger : logging.Logger, object with methods ``info`` and ``debug``, or None
        Gets every message as one string: notes and the metrics of rounds by ``info``, what
        ``verbosity=3`` adds by ``debug``. None writes messages to the terminal again.

    Raises
    ------
    ParameterError
        If the object lacks one of the methods; what was registered before stays.

    Notes
    -----
    ``logging.getLogger("pyopencl_gbdt").setLevel("WARNING")`` silences messages, and
    ``logging.getLogger("pyopencl_gbdt.rounds")`` alone has the metrics of rounds. Warnings are
    Python's: ``warnings.filterwarnings`` and ``logging.captureWarnings`` apply.

    Examples
    --------
    >>> import logging
    >>> import pyopencl_gbdt
    >>> pyopencl_gbdt.register_logger(logging.getLogger("my.program"))
    >>> pyopencl_gbdt.register_logger(None)
    """
    global _registered  # noqa: PLW0603 - a fact of the process, as Python's loggers are
    lacking = [name for name in _METHODS if not callable(getattr(logger, name, None))]
    if logger is not None and lacking:
        raise ParameterError(
            f"register_logger: logger={show(logger)}: expected methods info and debug, it lacks "
            f"{' and '.join(lacking)}; give a logging.Logger"
        )
    _registered = logger


def _method(own: logging.Logger, name: str) -> Callable[..., object]:
    method: Callable[..., object] = getattr(own if _registered is None else _registered, name)
    return method


def tell(text: str) -> None:
    """Send a note."""
    _method(NOTES, "info")(text)


def tell_detail(text: str) -> None:
    """Send a note for those who look for a fault."""
    _method(NOTES, "debug")(text)


def tell_round(line: str) -> None:
    """Send the metrics of a round."""
    _method(ROUNDS, "info")(line)
