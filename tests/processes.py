"""What a test gives to a process that it starts."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import TEST_DEVICE

ROOT = Path(__file__).resolve().parents[1]
#: The checkout first, then the folders that the tests' own process was given.
IMPORT_PATH = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
#: For processes that train on PoCL: they build in half the time, as ``tests/quick_builds.py`` does.
QUICK_BUILDS = (
    {"PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable"} if TEST_DEVICE.startswith("portable") else {}
)
