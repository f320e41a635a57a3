"""What is printed, and the pages of docs/portability/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.portability import targets
from tests.portability.matrix import Compiled
from tests.portability.offline import version
from tests.portability.runtimes import Outcome
from tests.portability.usage import Usage

WRITTEN = "<!-- Written by `python -m tests.portability --write-docs`: do not edit by hand. -->"
_TITLES = {
    "amd": "AMD: VGPRs per work-item / occupancy in waves",
    "intel-gpu": "Intel GPUs: sub-group size / occupancy in hardware threads",
    "nvidia": "NVIDIA: registers per work-item / occupancy in warps",
}


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """The table of the matrix, one line a setting or chip."""
    rows = [(o.row, o.name, o.state, f"{o.seconds:.0f} s", o.skipped or o.detail) for o in outcomes]
    heads = ("row", "setting or chip", "state", "time", "")
    widths = [max(len(str(row[i])) for row in (*rows, heads)) for i in range(4)]
    lines = [
        "  ".join(str(cell).ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))
        for row in (heads, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _worst(usages: list[Usage], maker: str) -> str:
    """One cell: the most that any dtype or code width of a kernel takes."""
    if not usages:
        return "-"
    spilled = max(u.spilled for u in usages)
    occupied = f"{100 * min(u.occupancy for u in usages):.0f} %"
    if maker == "intel-gpu":
        widths = sorted({u.width for u in usages})
        first = " or ".join(map(str, widths))
    else:
        first = str(max(u.registers for u in usages))
    lanes = max(u.in_lanes for u in usages)
    note = f" ({lanes} scalars in lanes)" if lanes else ""
    return f"{first} / {occupied}{note}" + (f" **{spilled} spilled**" if spilled else "")


def _by_kernel(compiled: Sequence[Compiled]) -> dict[tuple[str, str, int], list[Usage]]:
    """Usages by (template, kernel, work-group size), tools left out."""
    found: dict[tuple[str, str, int], list[Usage]] = {}
    for one in compiled:
        variant = one.built.template
        if variant in ("copy", "device_facts", "math_probe"):
            continue
        if variant == "histogram":
            p = one.built.params
            variant += " ranges" if p["ranged"] else " partials" if p["partials"] else ""
        for usage in one.usages:
            found.setdefault((variant, usage.kernel, one.built.wg_size), []).append(usage)
    return found


def maker_page(maker: str, results: Mapping[str, Sequence[Compiled]]) -> str:
    """One maker's chips as a page with a Markdown table: kernels down, chips across."""
    chips = [t.chip for t in targets.ALL[maker] if t.chip in results]
    people_say = {t.chip: t.people_say for t in targets.ALL[maker]}
    kernels = {chip: _by_kernel(results[chip]) for chip in chips}
    keys = sorted({key for found in kernels.values() for key in found})
    lines = [
        f"# {_TITLES[maker]}",
        "",
        WRITTEN,
        "",
        f"Compiled by {version(targets.ALL[maker][0].maker)}. "
        + "; ".join(f"{chip}: {people_say[chip]}" for chip in chips)
        + ".",
        "",
        "| template | kernel | work-group | local bytes | " + " | ".join(chips) + " |",
        "|---|---|---|---|" + "---|" * len(chips),
    ]
    for key in keys:
        cells = [_worst(kernels[chip].get(key, []), maker) for chip in chips]
        local = max(u.local_bytes for chip in chips for u in kernels[chip].get(key, []))
        lines.append(f"| {key[0]} | {key[1]} | {key[2]} | {local} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
