"""A row of the variant table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyopencl_gbdt.device.capabilities import Capabilities, Kind

#: What a row may need: fields of ``Variant``, facts of ``Capabilities``, and what they are called.
NEEDS = {
    "int64_atomics": "64-bit integer atomics",
    "lookback": "a driver with which decoupled look-back was run",
    "warp_words": "NVIDIA's votes and matches of 32 work-items",
}


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    kernel: str
    name: str
    params: Mapping[str, int]
    """What the template and its launcher are given."""
    measured: str
    """Where the choice comes from: device, size, ratio to the next row, bench."""
    int64_atomics: bool = False
    """Needs 64-bit integer atomics on global memory."""
    lookback: bool = False
    """Needs a driver with which decoupled look-back was run."""
    warp_words: bool = False
    """Needs NVIDIA's votes and matches of 32 work-items."""
    template: str = ""
    """The template that it is built from; default: that of the kernel's name."""
    chosen_on: frozenset[Kind] = frozenset({"gpu", "cpu", "accelerator"})
    """Kinds of device on which it is taken unasked; it runs wherever its needs are met."""

    def needs(self) -> list[str]:
        """Return the needs of this variant beyond the baseline, as ``NEEDS`` calls them."""
        return [text for name, text in NEEDS.items() if getattr(self, name)]

    def suits(self, caps: Capabilities) -> bool:
        """Tell whether a device of this kind takes the variant unasked."""
        return caps.kind in self.chosen_on

    def lacks(self, caps: Capabilities) -> str:
        """Return what a device lacks for this variant, or an empty string."""
        for name, text in NEEDS.items():
            if getattr(self, name) and not getattr(caps, name):
                return text
        return ""
