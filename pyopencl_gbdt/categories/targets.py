"""What target statistics count: rows whose label lies above a border, or is a class."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Targets:
    """Rows that hit each target.

    Attributes
    ----------
    names : tuple of str
        What a hit is, such as "> 0.5" or "= 2".
    hits : uint8 array, shape (n_targets, n_rows)
    counted : uint8 array, shape (n_rows,)
        0 for rows of weight 0.
    """

    names: tuple[str, ...]
    hits: U8
    counted: U8

    def priors(self, given: float | tuple[float, ...] | None) -> tuple[tuple[float, ...], ...]:
        """Return the priors of each target; None is the share of rows that hit it."""
        if given is not None:
            listed = given if isinstance(given, tuple) else (given,)
            return (tuple(float(np.float32(prior)) for prior in listed),) * len(self.names)
        n = max(1, int(self.counted.sum()))
        shares = [int((hit & self.counted).sum()) / n for hit in self.hits]
        return tuple((float(np.float32(share)),) for share in shares)


def targets_of(
    labels: list[F32], weight: F32 | None, *, classes: int = 0, borders: int = 1
) -> Targets:
    """Return the targets of labels.

    Parameters
    ----------
    labels : list of float32 array, shape (n_rows,)
        One array for each label of a row.
    weight : float32 array, shape (n_rows,), or None
    classes : int
        Number of classes 0, 1, ... that labels are; each is a target. 0: labels are numbers, and
        a target is a label above a border.
    borders : int
        Borders of numbers that have more than ``borders + 1`` different values. They have equally
        many labels between them. Other numbers have a border between any two neighbours.
    """
    n_rows = labels[0].size
    counted = np.ones(n_rows, np.uint8) if weight is None else (weight > 0).astype(np.uint8)
    names, hits = [], []
    for number, label in enumerate(labels):
        label_name = f"y{number} " if len(labels) > 1 else ""
        if classes:
            chosen = range(classes)
            hits += [label == one for one in chosen]
            names += [f"{label_name}= {one}" for one in chosen]
            continue
        for border in _borders(label[counted != 0], borders):
            hits.append(label > border)
            names.append(f"{label_name}> {border:g}")
    return Targets(tuple(names), np.array(hits, np.uint8).reshape(-1, n_rows), counted)


def _borders(label: F32, n_borders: int) -> list[float]:
    """Return borders between labels, ascending."""
    values = np.unique(label)
    if values.size > n_borders + 1:
        ordered = np.sort(label)
        places = np.arange(1, n_borders + 1) * ordered.size // (n_borders + 1)
        some = np.unique(np.append(values[0], ordered[places]))
        values = some if some.size > 1 else values[:2]  # most labels are the lowest one
        lower = [float(np.unique(label[label < value])[-1]) for value in values[1:]]
        return [(a + float(b)) / 2 for a, b in zip(lower, values[1:], strict=True)]
    return [(float(a) + float(b)) / 2 for a, b in pairwise(values)]
