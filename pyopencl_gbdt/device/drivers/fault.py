"""What is known of a fault of a driver; ``faults`` has the table."""

from __future__ import annotations

from collections.abc import Callable

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.lazy_dataclasses import dataclass

MEASURED = "measured for this library; see docs/portability.md"


@dataclass(frozen=True)
class Fault:
    """A known fault of a driver.

    Attributes
    ----------
    driver, fault, remedy : str
        Text for people.
    matches : callable
        Tells whether a device has the fault.
    source : str
        Address of a public description, or ``MEASURED``.
    limit : callable or None
        Returns the capabilities without those that do not work.
    refuse : bool
        Whether the device cannot be used; the fault and the remedy say why.
    warn : bool
        Whether the user is warned.
    """

    driver: str
    fault: str
    remedy: str
    matches: Callable[[Capabilities], bool]
    source: str = MEASURED
    limit: Callable[[Capabilities], Capabilities] | None = None
    refuse: bool = False
    warn: bool = False

    @property
    def text(self) -> str:
        """The fault, its remedy and its source in one sentence."""
        return f"{self.driver}: {self.fault}; {self.remedy} ({self.source})"
