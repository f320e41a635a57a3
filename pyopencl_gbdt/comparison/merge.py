"""Join the comparisons of several machines in one document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.comparison.schema import FORMAT, FORMAT_VERSION, load

#: The number that an earlier merge appended to equal names of machines.
_NUMBER = re.compile(r" #\d+$")


def document(machines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a document of machines, see `schema`."""
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "machines": list(machines)}


def merge(paths: Sequence[str]) -> dict[str, Any]:
    """Join files of comparisons, possibly joined ones, in their order.

    A run that occurs in several files is kept once; machines with equal names are numbered.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    machines: list[dict[str, Any]] = []
    for path in paths:
        for machine in load(path)["machines"]:
            plain = {**machine, "name": _NUMBER.sub("", machine["name"])}
            if plain not in machines:
                machines.append(plain)
    counts: Counter[str] = Counter()
    for machine in machines:
        counts[machine["name"]] += 1
        if counts[machine["name"]] > 1:
            machine["name"] += f" #{counts[machine['name']]}"
    return document(machines)
