"""What the columns of some rows hold, in a line for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.explain.rows import ExplainedRows
from pyopencl_gbdt.model.pictures import shorten

#: Levels of a column that are told.
_MOST_LEVELS = 3


@dataclass(frozen=True)
class ColumnFacts:
    """A column of some rows.

    Attributes
    ----------
    name, kind, values : str
        Kind: ``numbers`` or ``4 levels``. Values: what it holds.
    missing : float
        Share of the rows without a value.
    """

    name: str
    kind: str
    missing: float
    values: str


def column_facts(rows: ExplainedRows, column: int) -> ColumnFacts:
    """Return the facts of a column."""
    values: Any = rows.column(column)
    levels = rows.model.categories.get(column)
    if levels is not None:
        counts = Counter(one for one in values.tolist() if one is not None)
        known = counts.most_common(_MOST_LEVELS)
        text = ", ".join(f"{shorten(str(one))} {n / rows.n_rows:.0%}" for one, n in known)
        text += ", ..." if len(counts) > _MOST_LEVELS else ""
        absent = 1.0 - sum(counts.values()) / rows.n_rows
        return ColumnFacts(rows.names[column], f"{levels.n_levels} levels", absent, text)
    there = values[~np.isnan(values)]
    text = "none"
    if there.size:
        low, median, high = np.quantile(there, [0.0, 0.5, 1.0])
        text = f"{low:.5g} to {high:.5g}, median {median:.5g}"
    return ColumnFacts(rows.names[column], "numbers", 1.0 - there.size / rows.n_rows, text)
