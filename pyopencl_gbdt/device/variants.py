"""Which row of the variant table a device gets."""

from __future__ import annotations

from pyopencl_gbdt.device import tuning
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.variant import NEEDS, Variant
from pyopencl_gbdt.device.variant_table import LOCAL_HEADROOM, TABLE
from pyopencl_gbdt.errors import ParameterError

__all__ = [
    "LOCAL_HEADROOM", "NEEDS", "REFUSED", "TABLE", "Variant", "choose", "fallbacks", "kernels",
    "refusal", "runnable",
]  # fmt: skip


def kernels() -> list[str]:
    """Return the kernels that have rows, in table order."""
    return list(dict.fromkeys(row.kernel for row in TABLE))


def runnable(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return every variant of a kernel that a device can run."""
    return [row for row in TABLE if row.kernel == kernel and not row.lacks(caps)]


#: What did not build in this process, as ``refusal`` spells it: not tried again.
REFUSED: set[tuple[str, str, str, str]] = set()


def refusal(row: Variant, caps: Capabilities) -> tuple[str, str, str, str]:
    """Return how ``REFUSED`` spells that a device's driver does not build a row."""
    return caps.device_id, caps.driver, row.kernel, row.name


def fallbacks(kernel: str, caps: Capabilities) -> list[Variant]:
    """Return the variants that a device can run, those that its kind gets first.

    What was tuned for the device, see ``tuning``, comes before them. Those that its driver did not
    build are left out, as long as one is left.
    """
    rows = sorted(runnable(kernel, caps), key=lambda row: not row.suits(caps))
    rows = tuning.tuned(kernel, rows, caps)
    return [row for row in rows if refusal(row, caps) not in REFUSED] or rows


def choose(kernel: str, caps: Capabilities, name: str = "auto") -> Variant:
    """Return the row a device gets.

    Parameters
    ----------
    kernel : str
        Kernel name, as in the table.
    caps : Capabilities
        The device.
    name : str, default "auto"
        A variant to take instead of the first that fits.

    Raises
    ------
    ParameterError
        If there is no such kernel, ``name`` is no variant of it, or the device lacks what it needs.
    """
    if not isinstance(kernel, str) or kernel not in kernels():
        raise ParameterError(f"kernel={kernel!r}: expected one of {kernels()}; choose one")
    rows = [row for row in TABLE if row.kernel == kernel]
    if isinstance(name, str) and name == "auto":
        return fallbacks(kernel, caps)[0]
    for row in rows:
        if isinstance(name, str) and row.name == name:
            if row.lacks(caps):
                raise ParameterError(
                    f"{kernel}={name!r}: {caps.label} lacks {row.lacks(caps)}; use 'auto'"
                )
            return row
    raise ParameterError(
        f"{kernel}={name!r}: expected 'auto' or one of {[row.name for row in rows]}"
    )
