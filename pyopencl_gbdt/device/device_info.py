"""`DeviceInfo`: what is known of a device before it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import measured_facts
from pyopencl_gbdt.device.variants import TABLE, choose, kernels, summary, tuning


@dataclass(frozen=True)
class DeviceInfo:
    """A device as ``devices()`` lists it.

    Attributes
    ----------
    device_id : str
        The string that selects it.
    caps : Capabilities or None
        None if the driver did not answer.
    problem : str
        Why it cannot be used; empty if it can.
    handle : object
        The driver's object that opens it; internal.
    notes : tuple of str
        Known faults of its driver, from ``device/drivers/faults.py``.
    """

    device_id: str
    caps: Capabilities | None
    problem: str
    handle: Any = None
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return self.caps is not None and not self.problem

    def variants(self) -> dict[str, str]:
        """Return, for every kernel, the variant that the device would use."""
        if self.caps is None:
            return {}
        return {kernel: choose(kernel, self.caps).name for kernel in kernels()}

    def tuned(self) -> dict[str, tuning.Choice]:
        """Return what ``pyopencl-gbdt tune`` stored for the device, by kernel."""
        stored = None if self.caps is None else tuning.load(self.caps)
        return {} if stored is None else dict(stored.choices)

    def describe(self, *, verbose: bool = False) -> str:
        """Return the text that ``pyopencl-gbdt devices`` prints for the device.

        Parameters
        ----------
        verbose : bool, default False
            Name every kernel's variant, instead of a summary in one line.
        """
        if self.caps is None:
            return f"{self.device_id}  not usable: {self.problem}"
        state = "usable" if self.usable else f"not usable: {self.problem}"
        if self.caps.is_simulator:
            state += " (a simulator: slow, never chosen by 'auto')"
        lines = [f"{self.device_id}  {self.caps.name} ({self.caps.platform})  {state}"]
        lines += [f"    {line}" for line in self.caps.describe()]
        lines += [f"    note: {note}" for note in self.notes]
        measured = measured_facts.texts(self.caps)
        lines += [f"    measured: {'; '.join(measured)}"] if measured else []
        if verbose:
            chosen = ", ".join(f"{k}: {v}" for k, v in self.variants().items())
            lines.append(f"    kernels: {chosen}")
        else:
            lines.append(f"    {summary(self.variants(), self.caps)}")
        stored = tuning.load(self.caps)
        if stored is not None:
            said = stored.problem or ", ".join(tuning.describe(stored.choices, TABLE))
            lines.append(f"    tuned by {stored.path}: {said or 'the table holds'}")
        return "\n".join(lines)
