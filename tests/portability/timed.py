"""Commands, and the processor's time that they take."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


def run(words: Sequence[str], folder: Path | None = None) -> tuple[int, str, float]:
    """Run a command; return its exit code, what it prints, and seconds of the processor."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return process.returncode, "".join(texts), used.ru_utime + used.ru_stime
