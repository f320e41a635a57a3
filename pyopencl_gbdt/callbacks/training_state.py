"""Numbers that a training keeps beside its model, as text in checkpoints."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError

F32 = npt.NDArray[np.float32]
#: Arrays by name.
TrainingState = dict[str, F32]


def as_text(state: TrainingState) -> dict[str, str]:
    """Return the arrays' bytes, the low one of a number first, in base64."""
    return {
        name: base64.b64encode(np.asarray(own, "<f4").tobytes()).decode("ascii")
        for name, own in state.items()
    }


def from_text(texts: Mapping[str, str], sizes: Mapping[str, int], what: str) -> TrainingState:
    """Return the arrays of a text, which is not trusted.

    Parameters
    ----------
    sizes : mapping of str to int
        How many numbers each array has; all have to be there, and no other.
    what : str
        Begins messages.

    Raises
    ------
    ModelFormatError
    """
    if texts.keys() != sizes.keys():
        raise ModelFormatError(f"{what}: {sorted(texts)!r:.80}: expected {sorted(sizes)}")
    found: TrainingState = {}
    for name, text in texts.items():
        try:
            own = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error) as error:
            raise ModelFormatError(f"{what}: {name} is not base64 ({error})") from error
        if len(own) != 4 * sizes[name]:
            raise ModelFormatError(
                f"{what}: {name} has {len(own)} bytes: expected {4 * sizes[name]}"
            )
        found[name] = np.frombuffer(own, "<f4").astype(np.float32)
        if not np.isfinite(found[name]).all():
            raise ModelFormatError(f"{what}: {name}: expected finite numbers")
    return found
