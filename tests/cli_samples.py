"""Small tables in every format, for the tests of the command line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from pyopencl_gbdt.cli import main
from tests.conftest import TEST_DEVICE

N_ROWS, N_FEATURES = 120, 4
NAMES = ["age", "height", "weight", "shoe"]
DEVICE = ["--device", TEST_DEVICE]
SMALL = [*DEVICE, "--n-estimators", "3", "--max-depth", "3", "--min-child-weight", "0"]
LOGISTIC = ["--objective", "binary:logistic"]


def make_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.integers(-40, 40, (N_ROWS, N_FEATURES)).astype(np.float32) / 8
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, (np.nan_to_num(X[:, 1]) > X[:, 3]).astype(np.float32)


def cells(row: np.ndarray) -> list[str]:
    return ["" if np.isnan(value) else str(value) for value in row]


def write_rows(path: Path, label: str = "first", header: bool = False) -> Path:
    """Write the rows in the format of the file's name; ``label``: first, last or none."""
    X, y = make_rows()
    kind = path.name.split(".")[1]
    if kind == "npz":
        arrays = {"X": X} if label == "none" else {"X": X, "y": y}
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        data = path.read_bytes()
    else:
        lines = []
        for row, target in zip(X, y, strict=True):
            if kind == "libsvm":
                pairs = [f"{i}:{v}" for i, v in enumerate(row) if not np.isnan(v)]
                lines.append(" ".join([f"{target:g}", *pairs] if label != "none" else pairs))
                continue
            numbers = {"first": [f"{target:g}", *cells(row)], "last": [*cells(row), f"{target:g}"]}
            lines.append(("\t" if kind == "tsv" else ",").join(numbers.get(label, cells(row))))
        if header:
            named = {"first": ["y", *NAMES], "last": [*NAMES, "y"]}.get(label, NAMES)
            lines.insert(0, ("\t" if kind == "tsv" else ",").join(named))
        data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read_numbers(text: str) -> np.ndarray:
    return np.array([np.float32(line) for line in text.splitlines()], np.float32)


def train_small(folder: Path) -> str:
    """Train on the rows; return where the model is."""
    path = folder / "small.json"
    data = write_rows(folder / "small.csv")
    assert main(["train", str(data), "--model", str(path), *SMALL, *LOGISTIC]) == 0
    return str(path)
