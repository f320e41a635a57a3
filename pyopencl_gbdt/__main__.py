"""``python -m pyopencl_gbdt``: the same as ``pyopencl-gbdt``."""

from __future__ import annotations

import sys

from pyopencl_gbdt.cli import main

if __name__ == "__main__":
    sys.exit(main())
