"""The host's memory of rows that are read batch by batch."""

from __future__ import annotations

#: Bytes of NumPy's temporary arrays for a weight that is scaled; ``tracemalloc``, 1 M weights.
_SCALING_BYTES = 29
#: Bytes of the host's objects in a fit on batches, beside its arrays; ``tracemalloc``.
HOST_BYTES = 300_000


def batches_bytes(
    n_rows: int, n_features: int, batch_rows: int, n_targets: int = 1, *, weighted: bool = False
) -> int:
    """Return the peak bytes of the host's arrays while rows are read batch by batch.

    These are labels and weights of all rows, and two batches with theirs, as float32: one is being
    made of the other, or read while the device has the other. After the first pass, parts of labels
    and weights are joined; later, weights are scaled. Base margins and pages of codes are not
    counted.
    """
    row = 4 * (n_targets + weighted)
    vectors, batches = n_rows * row, 2 * batch_rows * (4 * n_features + row)
    scaling = _SCALING_BYTES * n_rows if weighted else 0
    return HOST_BYTES + vectors + max(vectors, batches, scaling)
