"""Start a second Python process that uses this library's modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

_PATHS = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "


def possible() -> bool:
    """Tell whether this program is Python; one that embeds it must not be started a second time."""
    name = os.path.basename(sys.executable or "").lower()  # noqa: PTH119 - may be None
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def start(
    code: str, *arguments: str, variables: Mapping[str, str], **options: Any
) -> subprocess.Popen[bytes]:
    """Start a process that runs ``code``; its ``sys.argv[2:]`` are the arguments.

    Parameters
    ----------
    code : str
        Python statements; ``json`` and ``sys`` are imported.
    *arguments : str
    variables : mapping
        Environment variables that are set beside this process's.
    **options
        For ``subprocess.Popen``; without any, standard streams lead nowhere.
    """
    nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    path = json.dumps([place for place in sys.path if place])
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _PATHS + code, path, *arguments],
        env={**os.environ, **variables},
        **{**nowhere, **options},
    )
