"""Compare results with the digests of the right ones.

Digests tell whether every bit is right, without an algorithm that computes the results again. What
else is told of a wrong result comes from further runs on the same device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Variant, runnable
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.doctor import samples
from pyopencl_gbdt.doctor.digests import DIGESTS
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.model import Ensemble

Array = npt.NDArray[Any]
#: The arrays that a comparison gives, by what they are.
Results = Mapping[str, Array]
_SHOWN = 12  # letters of a digest


def digest(array: Array) -> str:
    """Return the SHA-256 of an array's type, shape and bytes."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return hashlib.sha256(head + little.tobytes()).hexdigest()


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
        if digest(made) != DIGESTS[samples.inputs_name(n, n_rows)][name]:
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
