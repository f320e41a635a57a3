"""The primitives in the self-test: each case returns what a device computes.

Digests of the right results tell whether every bit is right, without an algorithm that computes the
results again. What else is told of a wrong result comes from further runs on the same device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Variant, runnable
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.doctor import samples
from pyopencl_gbdt.doctor.digests import DIGESTS
from pyopencl_gbdt.doctor.samples import SampleElements
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.primitives import quantile_summary
from pyopencl_gbdt.primitives.compact import compact
from pyopencl_gbdt.primitives.histogram import histogram
from pyopencl_gbdt.primitives.multi_reduce import multi_reduce
from pyopencl_gbdt.primitives.multi_scan import multi_scan
from pyopencl_gbdt.primitives.radix_sort import radix_sort
from pyopencl_gbdt.primitives.reduce import reduce
from pyopencl_gbdt.primitives.run_length import run_length_encode
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_radix_sort import segmented_radix_sort
from pyopencl_gbdt.primitives.segmented_reduce import segmented_reduce
from pyopencl_gbdt.primitives.segmented_scan import segmented_scan
from pyopencl_gbdt.primitives.stable_partition import stable_partition

Array = npt.NDArray[Any]
#: The arrays that a comparison gives, by what they are.
Results = Mapping[str, Array]
_LETTERS, _SHOWN = 16, 12  # of a digest, and of its text


def digest(array: Array) -> str:
    """Return the first letters of the SHA-256 of an array's type, shape and bytes."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return hashlib.sha256(head + little.tobytes()).hexdigest()[:_LETTERS]


def arrays_of(model: Ensemble) -> dict[str, Array]:
    """Return a model as arrays, the nodes of all trees side by side."""

    def joined(*names: str) -> Array:
        trees = [np.stack([getattr(tree, name) for name in names]) for tree in model.trees]
        return np.concatenate(trees, axis=1)

    return {
        "splits": joined("left", "feature", "default_left"),
        "thresholds": joined("threshold"),
        "gains and sums": joined("gain", "sum_hessian"),
        "values and weights": joined("value", "weight"),
    }


def check_inputs(n: int, n_rows: int) -> None:
    """Refuse to judge a device on a machine that makes other inputs than the known ones.

    Raises
    ------
    GBDTError
        Which inputs differ.
    """
    for name, made in samples.inputs(n, n_rows).items():
        if digest(made) != DIGESTS[f"inputs {n} {n_rows}"][name]:
            raise GBDTError(
                f"NumPy {np.__version__} makes other inputs ({name}) on this machine than "
                "elsewhere, so no result can be compared; install another version of NumPy"
            )


def first_difference(what: str, got: Array, want: Array) -> str:
    """Describe the first place where two arrays differ in a bit; empty if there is none."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{what}: {got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
    rows = [np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (got, want)]
    places = np.flatnonzero((rows[0] != rows[1]).reshape(got.size, got.itemsize).any(axis=1))
    if not places.size:
        return ""
    at = int(places[0])
    return (
        f"{what}: {places.size} of {got.size} differ, first at {at}: "
        f"{got.reshape(-1)[at]!r} instead of {want.reshape(-1)[at]!r}"
    )


class KnownResults:
    """One comparison with known results.

    Parameters
    ----------
    name : str
        Its key in ``DIGESTS``.
    run : callable
        Returns the results of a variant.
    variant : Variant
        The one that is compared.
    caps : Capabilities
        What the device can run.
    """

    def __init__(
        self, name: str, run: Callable[[Variant], Results], variant: Variant, caps: Capabilities
    ) -> None:
        self.known = DIGESTS[name]
        self.run, self.variant = run, variant
        found = runnable(variant.kernel, caps)
        self.others = [other for other in found if other.name != variant.name]
        self.wrong: dict[str, Array] = {}

    def compare(self) -> str:
        """Return which results are wrong; empty if none is."""
        results = self.run(self.variant)
        self.wrong = {w: array for w, array in results.items() if digest(array) != self.known[w]}
        return "; ".join(
            f"{what}: digest {digest(array)[:_SHOWN]} instead of {self.known[what][:_SHOWN]}"
            for what, array in self.wrong.items()
        )

    def explain(self) -> str:
        """Say more of the first wrong result, by further runs; empty if none was wrong."""
        if not self.wrong:
            return ""
        what, got = next(iter(self.wrong.items()))
        again = self.run(self.variant)[what]
        if digest(again) == self.known[what]:
            return f"{first_difference(what, got, again)}; right when it ran again"
        same = digest(again) == digest(got)
        repeats = f"wrong in {'the same' if same else 'another'} way when it ran again"
        for other in self.others[-1:]:  # the one that asks least of a device
            right = self.run(other)[what]
            if digest(right) == self.known[what]:
                return f"{first_difference(what, got, right)}; {repeats}; {other.name} is right"
            repeats += f", and wrong in {other.name}"
        return f"{what}: {repeats}"


N_BUCKETS = 20


def buckets(values: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Return the bucket of each number."""
    return (values.astype(np.int64) % N_BUCKETS).astype(np.uint8)


def wide(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return numbers whose sums need 64 bits."""
    return values.astype(np.int64) << 20


def histogram_inputs(values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[Any], ...]:
    """Return codes of two features, pairs to sum, and the rows to take."""
    codes = np.stack([buckets(values), buckets(values >> 8)], axis=1)
    pairs = np.stack([values, values[::-1]], axis=1)
    return codes, pairs, np.flatnonzero(values & 1).astype(np.uint32)


def summary_inputs(values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[Any], ...]:
    """Return numbers, of which many are equal, and their weights."""
    return (values >> 20).astype(np.float32), values.astype(np.int64) << 10


def _scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    return {"sums": scan(device.upload(x.floats), variant=variant).get()}


def _reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    return {"sum": reduce(device.upload(x.floats), variant=variant).get()}


def _segmented_scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, heads = device.upload(x.floats), device.upload(x.flags)
    return {"sums": segmented_scan(values, heads, inclusive=True, variant=variant).get()}


def _segmented_reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    values = device.upload(x.floats)
    return {"sums": segmented_reduce(values, x.offsets, variant=variant).get()}


def _radix_sort(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys, values = device.upload(x.floats), device.upload(x.integers)
    radix_sort(keys, values, variant=variant)
    return {"keys": keys.get(), "values": values.get()}


def _segmented_radix_sort(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys = device.upload(x.integers)
    moved = device.upload(np.arange(x.integers.size, dtype=np.uint32))
    segmented_radix_sort(keys, x.offsets, moved, variant=variant)
    return {"keys": keys.get(), "values": moved.get()}


def _compact(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, flags = device.upload(x.integers), device.upload(x.flags)
    out, count = compact(values, flags, variant=variant)
    return {"values": out.get()[: int(count.get()[0])]}


def _stable_partition(device: Device, x: SampleElements, variant: Variant) -> Results:
    values, flags = device.upload(x.integers), device.upload(x.flags)
    out, counts = stable_partition(values, flags, x.offsets, variant=variant)
    return {"values": out.get(), "counts": counts.get()}


def _run_length(device: Device, x: SampleElements, variant: Variant) -> Results:
    keys = device.upload((x.integers & 1).astype(np.uint8))
    unique, counts, n_runs = run_length_encode(keys, variant=variant)
    n = int(n_runs.get()[0])
    return {"keys": unique.get()[:n], "lengths": counts.get()[:n]}


def _multi_reduce(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, of = device.upload(wide(x.integers)), device.upload(buckets(x.integers))
    return {"sums": multi_reduce(numbers, of, N_BUCKETS, variant=variant).get()}


def _multi_scan(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, of = device.upload(wide(x.integers)), device.upload(buckets(x.integers))
    return {"sums": multi_scan(numbers, of, N_BUCKETS, variant=variant).get()}


def _histogram(device: Device, x: SampleElements, variant: Variant) -> Results:
    codes, pairs, rows = map(device.upload, histogram_inputs(x.integers))
    return {"sums": histogram(codes, pairs, N_BUCKETS, rows, variant=variant).get()}


def _quantile_summary(device: Device, x: SampleElements, variant: Variant) -> Results:
    numbers, weights = map(device.upload, summary_inputs(x.integers))
    built = quantile_summary.build(numbers, weights, x.offsets, variant=variant)
    pruned = quantile_summary.prune(built, N_BUCKETS, variant=variant)
    merged = quantile_summary.merge(pruned, built, variant=variant)
    return dict(zip(("values", "ranks", "offsets"), merged.get(), strict=True))


#: By kernel: a function of the device, the elements and the variant.
RESULTS: dict[str, Callable[[Device, SampleElements, Variant], Results]] = {
    "scan": _scan,
    "reduce": _reduce,
    "segmented_scan": _segmented_scan,
    "segmented_reduce": _segmented_reduce,
    "radix_sort": _radix_sort,
    "segmented_radix_sort": _segmented_radix_sort,
    "compact": _compact,
    "stable_partition": _stable_partition,
    "run_length": _run_length,
    "multi_reduce": _multi_reduce,
    "multi_scan": _multi_scan,
    "histogram": _histogram,
    "quantile_summary": _quantile_summary,
}
