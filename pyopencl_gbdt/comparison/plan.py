"""Choose what a comparison trains, and estimate its time and memory, before anything runs."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence
from dataclasses import replace

from pyopencl_gbdt.comparison.shapes import SHAPES, Shape
from pyopencl_gbdt.device import DeviceInfo, devices, find
from pyopencl_gbdt.errors import DeviceError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Shapes trained by default; the other shapes vary one number, to plot curves.
DEFAULT = (
    "higgs", "higgs-d8", "higgs-d12", "higgs-skewed", "bosch", "yahoo", "cifar", "small", "tiny",
    "exact", "sparse", "statistics", "sets", "oblivious",
)  # fmt: skip
#: Shapes of ``--quick``: less than a minute a device. On 2 cores, PoCL with an empty cache: 19 s.
QUICK = (
    replace(SHAPES["small"], n_rounds=20),
    replace(SHAPES["higgs"], n_rows=200_000, n_rounds=10),
    replace(SHAPES["higgs-d8"], n_rows=100_000, n_rounds=5),
    replace(SHAPES["bosch"], n_rows=10_000, n_rounds=3),
    *(
        replace(SHAPES[name], n_rows=5_000, n_rounds=3)
        for name in ("exact", "sparse", "statistics", "sets", "oblivious")
    ),
)

#: For estimates of time: rounds and set-up take so many times the time of moving their least bytes
#: (2 busy cores, PoCL: 10 to 30), plus a time per launch. Rough guesses, to announce the wait.
_TIMES_FLOOR = 10.0
_LAUNCH_SECONDS = 5e-5
_LAUNCHES = 60
_SETUP_PASSES = 150
_START_SECONDS = 1.0
#: Bytes per bin: sums of gradients and Hessians.
_BIN_BYTES = 16
#: Bytes per row that a round moves besides codes; see `floor_bytes`.
_GRADIENT_BYTES, _QUANTA_BYTES, _ROW_ID_BYTES, _LEAF_BYTES = 16, 8, 4, 12


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes
    ----------
    repeats : int
        Timed fits of every shape on every device, after one fit to warm up.
    seed : int
        Seed of the data.
    quick : bool
        Whether to use the shapes of ``--quick``.
    """

    repeats: int = 3
    seed: int = 0
    quick: bool = False


def floor_bytes(shape: Shape) -> int:
    """Return the least bytes that a round must move between memory and device.

    Gradients are computed from margins and labels, and written. The root reads all codes, one
    or two bytes each; every later level reads at most half of them (the smaller siblings). A level
    reads each row's id and one code, and writes the id. Leaves update the margins. Histograms do
    not count: they may stay in the device's local memory.
    """
    code_bytes = 1 if shape.max_bin <= 256 else 2
    codes = shape.n_features * (1 - shape.missing) * code_bytes
    root = codes + _QUANTA_BYTES
    later = (shape.max_depth - 1) / 2 * (root + _ROW_ID_BYTES)
    partition = shape.max_depth * (2 * _ROW_ID_BYTES + code_bytes)
    return round(shape.n_rows * (_GRADIENT_BYTES + root + later + partition + _LEAF_BYTES))


def estimated_seconds(shape: Shape, bytes_per_second: float, repeats: int) -> float:
    """Estimate the seconds for a shape on a device that copies ``bytes_per_second``."""
    histograms = _BIN_BYTES * shape.n_features * shape.max_bin << shape.max_depth
    moved = floor_bytes(shape) + min(histograms, _BIN_BYTES * shape.max_bin * shape.n_rows)
    per_round = _LAUNCHES * _LAUNCH_SECONDS + _TIMES_FLOOR * moved / bytes_per_second
    setup = _SETUP_PASSES * shape.expected_bytes() / bytes_per_second
    rounds = shape.n_rounds * shape.n_models
    return _START_SECONDS + (repeats + 2) * setup + (repeats + 1) * rounds * per_round


def task_name(shape: Shape, device_id: str) -> str:
    """Return the name of the task of training a shape on a device, for progress."""
    return f"{shape.name} on {device_id}"


def choose_devices(text: str) -> list[DeviceInfo]:
    """Return the devices for ``all`` or for comma-separated device ids.

    The OpenCL and the CUDA driver of a card are two devices. ``all`` skips simulators.

    Raises
    ------
    DeviceError
        If no device fits.
    """
    if text.strip().lower() == "all":
        real = [i for i in devices() if i.usable and i.caps and not i.caps.is_simulator]
        return real or [find("auto")]  # raises an error that says what was found and what to do
    chosen: dict[str, DeviceInfo] = {}
    for spec in text.split(","):
        if not spec.strip():
            raise DeviceError(
                f"--devices {text}: expected all or device strings with commas between them; "
                f"pyopencl-gbdt devices lists them"
            )
        info = find(spec.strip())
        chosen.setdefault(info.device_id, info)
    return list(chosen.values())


def choose_shapes(text: str | None, *, quick: bool, n_rounds: int | None = None) -> list[Shape]:
    """Return the shapes to train.

    Parameters
    ----------
    text : str or None
        Comma-separated names or patterns such as ``rows-*``, or ``all``; None chooses
        `DEFAULT` or `QUICK`.
    quick : bool
        Use only the shapes of `QUICK`, in their sizes.
    n_rounds : int or None
        Replaces the number of rounds of each shape.

    Raises
    ------
    ParameterError
    """
    offered = {shape.name: shape for shape in QUICK} if quick else SHAPES
    names: Sequence[str] = list(offered) if quick else DEFAULT
    if text is not None:
        names = [name for word in text.split(",") for name in _matching(word.strip(), offered)]
    shapes = [offered[name] for name in dict.fromkeys(names)]
    return [replace(shape, n_rounds=n_rounds or shape.n_rounds) for shape in shapes]


def _matching(word: str, offered: dict[str, Shape]) -> list[str]:
    found = fnmatch.filter(offered, "*" if word == "all" else word)
    if found:
        return found
    near = difflib.get_close_matches(word, offered, n=1)
    move = f"did you mean {near[0]!r}?" if near else "give one of them"
    raise ParameterError(
        f"--shapes {word}: expected all, a pattern or one of {', '.join(offered)}; {move}"
    )
