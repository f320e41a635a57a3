"""``python -m bench <what> ...``: the first word picks a module with ``main(arguments) -> int``."""

from __future__ import annotations

import importlib
import sys

#: What can be measured, and the module that does it; it is imported only when it is asked for.
COMMANDS = {
    "batches": "bench.batches",
    "cards": "bench.cards",
    "categories": "bench.categories",
    "cold": "bench.cold",
    "contributions": "bench.contributions",
    "dart": "bench.dart",
    "dependence": "bench.dependence",
    "devices": "bench.devices",
    "devices-jobs": "bench.devices_jobs",
    "devices-sums": "bench.devices_sums",
    "external": "bench.external",
    "losses": "bench.losses",
    "metrics": "bench.metrics",
    "ordered": "bench.ordered",
    "pages": "bench.pages",
    "primitives": "bench.primitives",
    "quality": "bench.quality",
    "scaling": "bench.scaling",
    "strings": "bench.strings",
    "sweep": "bench.sweep",
    "switch-depth": "bench.switch_depth",
    "tasks": "bench.tasks",
}


def main(arguments: list[str]) -> int:
    asked = arguments[:1] in (["-h"], ["--help"])
    if asked or not arguments or arguments[0] not in COMMANDS:
        usage = f"usage: python -m bench {{{','.join(COMMANDS)}}} ..."
        print(usage, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    module = importlib.import_module(COMMANDS[arguments[0]])
    return int(module.main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
