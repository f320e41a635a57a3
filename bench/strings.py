"""``python -m bench strings``: columns of strings to codes, beside pandas' conversion.

Columns have 10 to 200 000 levels, every other one with few frequent levels (Zipf). Each table
becomes a ``Dataset``, so the values become a float32 matrix too, which pandas' ``astype`` leaves
out. ``coded`` is the same table once more by known levels, as for rows to predict. Times are the
least of ``--repeats``.

``--json`` writes ``format`` (1), ``host``, ``n_rows``, ``n_columns``, ``n_levels`` and ``seconds``
by table, and then by what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import describe_host, parser_of
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.data.features import check_features
from pyopencl_gbdt.device.timing import repeated

FORMAT = 1
MOST_LEVELS = 200_000


def main(arguments: list[str]) -> int:
    parser = parser_of("strings", __doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=26)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.rows < 1 or options.columns < 1 or options.repeats < 1:
        parser.error("--rows, --columns and --repeats: expected 1 or more")
    report = measure(int(options.rows), options.columns, options.repeats)
    print(f"{report['n_rows']} x {report['n_columns']}, {report['n_levels']} levels; seconds")
    for name, seconds in report["seconds"].items():
        print(f"{name:20}", *(f"{what} {took:7.2f}" for what, took in seconds.items()))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def measure(n_rows: int, n_columns: int, repeats: int) -> dict[str, Any]:
    """Return the report."""
    import pandas as pd

    frame = pd.DataFrame(made(n_rows, n_columns), dtype=object)
    tables: dict[str, Any] = {
        "pandas object": frame,
        "pandas string": frame.astype("string"),
        "pandas category": frame.astype("category"),
        "numpy object": frame.to_numpy(),
    }
    try:
        import polars

        tables["polars string"] = polars.from_pandas(tables["pandas string"])
    except ImportError:
        pass
    every = list(range(n_columns))
    levels = Dataset(frame).categories
    seconds: dict[str, dict[str, float]] = {}

    def fastest(work: Callable[[], object]) -> float:
        return repeated(work, repeats).fastest

    for name, table in tables.items():
        seconds[name] = {
            "Dataset": fastest(lambda X=table: Dataset(X, categorical_features=every)),
            "coded": fastest(lambda X=table: check_features(X, levels=levels)),
        }
        if isinstance(table, pd.DataFrame):
            seconds[name]["pandas"] = fastest(lambda X=table: X.astype("category"))
    return {
        "format": FORMAT,
        "host": describe_host(),
        "n_rows": n_rows,
        "n_columns": n_columns,
        "n_levels": sum(own.n_levels for own in levels.values()),
        "seconds": seconds,
    }


def made(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Return seeded columns of strings, by name."""
    rng, columns = np.random.default_rng(0), {}
    for number, n_levels in enumerate(np.geomspace(10, MOST_LEVELS, n_columns).astype(int)):
        names = np.array(
            [f"level{place * 7919 % n_levels:07}" for place in range(n_levels)], object
        )
        drawn = (
            rng.zipf(1.2, n_rows) % n_levels if number % 2 else rng.integers(n_levels, size=n_rows)
        )
        columns[f"c{number}"] = names[drawn]
    return columns
