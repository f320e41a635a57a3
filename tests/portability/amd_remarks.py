"""What LLVM remarks about the resources of AMD's kernels."""

from __future__ import annotations

import re

from tests.portability.targets import Target
from tests.portability.usage import Usage

REMARKS = "-Rpass-analysis=kernel-resource-usage"
#: Before or behind the word, a place in the source may stand.
_REMARK = re.compile(r"remark:(?: \S+:\d+:\d+:)?\s+([A-Za-z ]+?)(?: \[[^\]]*\])?: (\S+) \[-Rpass")
#: Waves of a SIMD at most: gfx9 but gfx90a and gfx94 has 10, those 8, gfx10 and later 16.
_WAVES = {"gfx906": 10, "gfx90a": 8, "gfx942": 8}


def usages_of(log: str, target: Target) -> list[Usage]:
    """Return what each kernel takes, by the remarks in a compiler's log."""
    kernels: list[dict[str, str]] = []
    for name, value in _REMARK.findall(log):
        if name == "Function Name":
            kernels.append({})
        kernels[-1][name] = value
    return [_usage(facts, target.chip) for facts in kernels]


def _usage(facts: dict[str, str], chip: str) -> Usage:
    scratch = int(facts["ScratchSize"])
    scalars = int(facts["SGPRs Spill"])  # to lanes of a vector register, or else to scratch
    return Usage(
        kernel=facts["Function Name"],
        registers=int(facts["VGPRs"]),
        spilled=int(facts["VGPRs Spill"]) + (scalars if scratch else 0),
        scratch_bytes=scratch,
        in_lanes=0 if scratch else scalars,
        local_bytes=int(facts["LDS Size"]),
        width=64 if chip.startswith("gfx9") else 32,
        occupancy=int(facts["Occupancy"]) / _WAVES.get(chip, 16),
    )
