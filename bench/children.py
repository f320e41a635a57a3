"""Each measurement in a process of its own.

So the cold start is one, device memory begins at nothing, and a library that crashes or hangs
takes nobody with it. Processes are forked where that exists: the child then reads the data that
its parent made, without a copy. The parent therefore opens no device and imports no peer.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

#: Seconds for a process to end after its answer.
_LEAVING = 30.0
#: Elsewhere a forked child of a process with threads may hang.
FORKS = sys.platform == "linux"


def in_child(work: Callable[..., Any], *arguments: Any, limit: float) -> Any:
    """Return ``work(*arguments)`` as a new process computes it.

    Parameters
    ----------
    work : callable
        A function of a module; what it returns is pickled.
    *arguments
    limit : float
        Seconds after which the process is killed.

    Raises
    ------
    RuntimeError
        With the reason, if the work raised, the process died or the time was up.
    """
    context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, work, arguments), daemon=True)
    process.start()
    sender.close()  # so that a dead child is the end of the pipe
    try:
        if not receiver.poll(limit):
            raise RuntimeError(f"took longer than {limit:.0f} s")
        error, result = receiver.recv()
        process.join(_LEAVING)  # so that it has given its memory back
    except EOFError:
        process.join(_LEAVING)
        raise RuntimeError(f"its process died, exit code {process.exitcode}") from None
    finally:
        process.kill()  # if it is still there
        process.join()
    if error:
        raise RuntimeError(error)
    return result


def _answer(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        sender.send(("", work(*arguments)))
    except BaseException as error:
        reason = " ".join(str(error).split())[:300]
        sender.send((f"{type(error).__name__}: {reason}", None))
