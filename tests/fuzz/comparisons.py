"""The JSON of ``pyopencl-gbdt bench``, as ``--merge`` reads it and the report shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.cli.bench import BenchTable
from pyopencl_gbdt.comparison import agreement, report
from pyopencl_gbdt.comparison.schema import merge
from tests.comparison.samples import make_document, make_failure, make_result
from tests.fuzz.formats import Format

STRANGE = (
    None, True, False, -1, 0, 1, 0.0, -0.0, 5e-324, 1e308, 10**18, 10**400, -(2**63), 2**64,
    float("nan"), float("inf"), "", "x", "0", "a" * 5000, "\ud800", "\x1b[2J", "<b>", "${1}", [],
    [0], {}, {"a": 1},
)  # fmt: skip


class Comparison(Format):
    name = "comparison"
    suffix = ".json"
    pieces = (b"null", b"[]", b"{}", b'"', b"\\", b"\\ud800", b"[", b"{", b",", b":", b"1e999")

    def seeds(self) -> list[bytes]:
        results = make_result("a:0"), make_result("b:0", digest="f"), make_failure("c:0")
        return [json.dumps(make_document(*results)).encode()]

    def read(self, path: Path) -> None:
        document = merge([str(path)])
        tables = BenchTable(1), BenchTable(3, n_machines=2)
        for compared in agreement.compare(document):
            for table in tables:
                "\n".join(table.lines(compared)).encode(errors="backslashreplace")
        json.dumps(document, allow_nan=False).encode()
        report.html(document).encode()

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.3:
            return super().mutate(data, rng)
        document = json.loads(data)
        for _ in range(rng.integers(1, 3)):
            found = list(_places(document))
            container, key = found[rng.integers(len(found))]
            if rng.random() < 0.1:
                del container[key]
            else:
                container[key] = STRANGE[rng.integers(len(STRANGE))]
        return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


FORMATS: list[Format] = [Comparison()]
