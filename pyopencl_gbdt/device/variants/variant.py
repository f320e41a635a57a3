"""Entries of the variant table: a kernel, and its variants with what each needs from a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal

from pyopencl_gbdt.device.capabilities import Capabilities, Kind
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: What a variant may require of a device, with a text for people. For a new requirement, add a line
#: here, and a field of the same name to ``Variant`` and ``Capabilities``: a bool, or the least that
#: the device must have.
NEEDS = {
    "lookback": "a driver with which decoupled look-back was run",
    "warp_words": "NVIDIA's votes and matches of 32 work-items",
    "registers": "as many registers for a work-item as the variant takes",
}


@dataclass(frozen=True)
class Variant:
    """One entry of the variant table."""

    kernel: str
    name: str
    params: Mapping[str, int]
    """Sizes for the template and for the code that launches it."""
    measured: str
    """The measurement behind the choice: device, size, speed-up over the next variant."""
    atomic_sums: bool = False
    """Work-groups add to a node's 64-bit sums in global memory, where the device has no atomics of
    64 bits by two of 32. With others, a group writes own sums, and a launch adds them up."""
    lookback: bool = False
    """Needs a driver with which decoupled look-back was run."""
    warp_words: bool = False
    """Needs NVIDIA's votes and matches of 32 work-items."""
    registers: int = 0
    """Needs so many 32-bit registers for a work-item."""
    template: str = ""
    """The template's name; by default the kernel's name."""
    chosen_on: frozenset[Kind] = frozenset({"gpu", "cpu", "accelerator"})
    """Kinds of device that use it by default. It can run on any device that meets its needs."""

    def needs(self) -> list[str]:
        """Return what this variant needs beyond the baseline, in the words of ``NEEDS``."""
        return [text for name, text in NEEDS.items() if getattr(self, name)]

    def suits(self, caps: Capabilities) -> bool:
        """Tell whether a device of this kind uses the variant by default."""
        return caps.kind in self.chosen_on

    def lacks(self, caps: Capabilities) -> str:
        """Return what a device lacks to run this variant; empty if it can run it."""
        for name, text in NEEDS.items():
            if getattr(self, name) > getattr(caps, name):
                return text
        return ""


#: When a kernel runs: while data are quantised, in the rounds of every fit, or in predictions.
#: Empty if it runs in some fits only, or in none.
Phase = Literal["", "set-up", "rounds", "prediction"]

#: Data on which ``tune`` measures a kernel: numbers, numbers that are mostly missing, categories.
TunedRows = Literal["numbers", "missing", "categories"]


@dataclass(frozen=True)
class TriedSizes:
    """Values of a parameter that ``tune`` tries."""

    several: tuple[int, ...]
    """For work-groups of several work-items."""
    one: tuple[int, ...]
    """For work-groups of one work-item."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the variant table: all that the library has to know of it beside its source."""

    name: str
    variants: tuple[Variant, ...]
    """Best first; the last one needs only the baseline."""
    phase: Phase = ""
    """When it runs. A fit reports the variants of the kernels of its rounds."""
    tuned: Mapping[str, TriedSizes] = field(default_factory=dict)
    """Parameters that ``tune`` changes, in this order; without any, it leaves the kernel alone."""
    timed_with: tuple[str, ...] = ()
    """Further kernels whose time these parameters affect."""
    fitted_with: Mapping[str, str] = field(default_factory=dict)
    """Parameters of a fit that runs it, which ``tune`` measures; none if every fit does."""
    fitted_on: TunedRows = "numbers"
    """Data of that fit."""

    @classmethod
    def of(cls, name: str, *variants: Variant, **facts: Any) -> Kernel:
        """Return a kernel with these facts; its variants get its name."""
        return cls(name, tuple(replace(variant, kernel=name) for variant in variants), **facts)

    def __post_init__(self) -> None:
        """Check that all variants are of this kernel."""
        strangers = [variant.name for variant in self.variants if variant.kernel != self.name]
        if strangers or not self.variants:
            raise ValueError(f"{self.name}: expected its own variants, got others: {strangers}")
