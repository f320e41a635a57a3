"""Measure calibrated probabilities, for ``python -m bench quality calibration``.

Splits are those of ``bench.quality_coverage``. A classifier is trained on half of the rows. Its log
loss and its calibration error on rows to test are compared with those after ``calibrate``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.quality_coverage import LEAST, chosen_tables, three_parts
from bench.quality_tables import QualityTable

N_BINS = 15
METHODS = (None, "sigmoid", "isotonic")
F64 = npt.NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add what a measurement takes."""
    parser.add_argument("--data", type=Path, required=True, metavar="TABLES.npz")
    parser.add_argument("--tables", nargs="+", metavar="NAME",
                        help="of the choosing half; the first --most if left out")  # fmt: skip
    parser.add_argument("--most", type=int, default=10, help="the largest number of tables")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--least", type=int, default=LEAST, help="rows of the two parts")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON",
                        help="parameters of the estimator")  # fmt: skip
    parser.add_argument("--device", default="auto")


def calibration(chosen: argparse.Namespace) -> int:
    """Print a line of means over the splits for each table."""
    names = [name or "as trained" for name in METHODS]
    head = " ".join(f"{name:>12}" for name in (*names, *names))
    print(f"{'table':20} {'rows':>6} {'classes':>7} {head}   (log losses, calibration errors)")
    for table in chosen_tables(chosen, classes=True):
        found = np.zeros((chosen.splits, 2, len(METHODS)))
        for seed in range(chosen.splits):
            found[seed] = _measured(table, seed, chosen)
        cells = " ".join(f"{value:12.4f}" for value in found.mean(axis=0).ravel())
        print(f"{table.name:20} {table.y.size:6} {table.n_classes:7} {cells}", flush=True)
    return 0


def log_loss(probabilities: F64, labels: npt.NDArray[np.int64]) -> float:
    """Return the mean of minus the logarithms; probabilities are at least 1e-7."""
    own = probabilities[np.arange(labels.size), labels]
    return float(-np.log(np.clip(own, 1e-7, 1)).mean())


def calibration_error(probabilities: F64, labels: npt.NDArray[np.int64]) -> float:
    """Return the expected calibration error of the most probable class, in ``N_BINS`` bins.

    Guo et al. 2017, "On calibration of modern neural networks": by rows, the mean distance of a
    bin's mean probability from its share of right classes.
    """
    most = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    place = np.minimum((most * N_BINS).astype(int), N_BINS - 1)
    surplus = np.bincount(place, most - right, N_BINS)
    return float(np.abs(surplus).sum() / labels.size)


def _measured(table: QualityTable, seed: int, chosen: argparse.Namespace) -> Any:
    """Return log losses and calibration errors, a column for each of ``METHODS``."""
    from pyopencl_gbdt import GBDTClassifier

    train, own, (X, y) = three_parts(table, seed, chosen.least)
    categorical = list(table.categorical) or None
    shared = {"device": chosen.device, "verbosity": 0, "categorical_features": categorical}
    model = GBDTClassifier(**shared, **chosen.settings).fit(*train)
    found = []
    for method in METHODS:
        if method:
            model.calibrate(*own, method=method)
        p = model.predict_proba(X).astype(np.float64)
        labels = np.searchsorted(model.classes_, y)
        found.append((log_loss(p, labels), calibration_error(p, labels)))
    return np.array(found).T
