"""Commands, and the processor's time that they take."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_commands = threading.local()


def spent() -> float:
    """Return the processor's seconds of this thread and of the commands that it has run here."""
    return time.thread_time() + float(getattr(_commands, "seconds", 0.0))


def completed(
    words: Sequence[str],
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    most_seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command, and count its processor's seconds.

    Parameters
    ----------
    words : sequence of str
    folder : Path, optional
        Where it runs; here by default.
    variables : mapping of str to str, optional
        Its environment; this process's by default.
    most_seconds : float, optional
        Of the clock.

    Raises
    ------
    subprocess.TimeoutExpired
        After so many seconds; the command is killed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        late = threading.Event()

        def end() -> None:
            late.set()
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

        timer = threading.Timer(most_seconds, end) if most_seconds else None
        if timer:
            timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if timer:
                timer.cancel()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    seconds = used.ru_utime + used.ru_stime
    _commands.seconds = getattr(_commands, "seconds", 0.0) + seconds
    if late.is_set() and most_seconds:
        raise subprocess.TimeoutExpired(list(words), most_seconds, *texts)
    return subprocess.CompletedProcess(list(words), process.returncode, *texts)


def run(words: Sequence[str], folder: Path | None = None) -> tuple[int, str, float]:
    """Run a command; return its exit code, what it prints, and seconds of the processor."""
    before = float(getattr(_commands, "seconds", 0.0))
    done = completed(words, folder)
    return done.returncode, done.stdout + done.stderr, _commands.seconds - before
