"""Twin of codes of combinations, and of the counts of their levels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.statistic_columns import Targets
from pyopencl_gbdt.model.combinations import CategoryRows, Combination, combined_keys
from pyopencl_gbdt.model.statistics import LevelTable


def combination_codes(
    rows: CategoryRows, parts: Combination, sizes: tuple[int, ...]
) -> npt.NDArray[np.uint32]:
    """Return the code of every row, uint32 (n_rows,); the number of rows where one is missing."""
    keys = combined_keys(rows, parts, sizes)
    codes = np.searchsorted(np.unique(keys[keys >= 0]), keys)
    return np.where(keys >= 0, codes, keys.size).astype(np.uint32)


def level_table(
    rows: CategoryRows, parts: Combination, sizes: tuple[int, ...], targets: Targets
) -> LevelTable:
    """Count the levels of a column or of a combination in the training rows."""
    counted = targets.counted != 0
    if len(parts) == 1 and parts[0].threshold is None:
        codes = rows.level_codes(parts[0].column).astype(np.int64)
        n, keys = sizes[0], None
    else:
        found = combined_keys(rows, parts, sizes)
        keys = np.unique(found[counted & (found >= 0)])
        n = int(keys.size)
        codes = np.where(found >= 0, np.searchsorted(keys, found), -1)
    kept = (codes >= 0) & counted
    own = codes[kept]
    counts = np.bincount(own, minlength=n).astype(np.int64)
    hits = [np.bincount(own[hit[kept] != 0], minlength=n) for hit in targets.hits]
    return LevelTable(parts, sizes, counts, np.array(hits, np.int64).reshape(-1, n), keys)
