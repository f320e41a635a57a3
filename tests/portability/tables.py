"""What is printed, and the pages of docs/portability/."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence

from tests.portability import targets
from tests.portability.matrix import Compiled
from tests.portability.null_device import FOR_CPUS
from tests.portability.offline import COMPILERS
from tests.portability.runtimes import ROOT, Outcome
from tests.portability.usage import Usage

WRITTEN = "<!-- Written by `python -m tests.portability --write-docs`: do not edit by hand. -->"
#: A page has a part for each row of the matrix, below this line.
_PART = "<!-- row: {} -->"
#: The rows of each page.
PAGES = {
    "amd": ("amd", "amd-comgr"),
    "intel-gpu": ("intel-gpu", "intel-gpu-new"),
    "nvidia": ("nvidia",),
}
_TITLES = {
    "amd": "AMD: VGPRs per work-item / occupancy in waves",
    "intel-gpu": "Intel GPUs: sub-group size / occupancy in hardware threads",
    "nvidia": "NVIDIA: registers per work-item / occupancy in warps",
}


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """The table of the matrix, one line a setting or chip."""
    rows = [(o.row, o.name, o.state, f"{o.seconds:.0f} s", o.skipped or o.detail) for o in outcomes]
    heads = ("row", "setting or chip", "state", "processor", "")
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
            variant += " ranges" if one.built.params["ranged"] else ""
        for usage in one.usages:
            found.setdefault((variant, usage.kernel, one.built.wg_size), []).append(usage)
    return found


def _summary(
    chips: Sequence[targets.Target], results: Mapping[str, Sequence[Compiled]]
) -> list[str]:
    """Return a table with one line a chip: how much was compiled, spilled, and how long it took."""
    lines = [
        "| chip | known as | programs | kernels | kernels that spill | only for CPUs, spill "
        "| scalars in lanes | CPU seconds, all | a program | the slowest |",
        "|---" * 10 + "|",
    ]
    for chip in chips:
        compiled = results[chip.chip]
        usages = [(one.built.label, usage) for one in compiled for usage in one.usages]
        spills = [label == FOR_CPUS for label, usage in usages if usage.spilled]
        seconds = [one.seconds for one in compiled]
        cells = (
            chip.chip, chip.people_say, len(compiled), len(usages), spills.count(False),
            spills.count(True), sum(usage.in_lanes > 0 for _, usage in usages),
            f"{sum(seconds):.0f}", f"{sum(seconds) / len(seconds):.2f}", f"{max(seconds):.1f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _commit() -> str:
    """Return the commit of this checkout whose kernels are compiled; empty outside of a clone."""
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def _part(row: str, page: str, results: Mapping[str, Sequence[Compiled]]) -> str:
    """Return a row's part of a page: the kernels' commit, kernels down, chips across."""
    commit = _commit()
    compiled_for = [target for target in targets.ALL[row] if target.chip in results]
    chips = [target.chip for target in compiled_for]
    kernels = {chip: _by_kernel(results[chip]) for chip in chips}
    lines = [
        f"## {COMPILERS[row].version()}",
        "",
        *([f"Kernels of commit `{commit}`.", ""] if commit else []),
        *_summary(compiled_for, results),
        "",
        "| template | kernel | work-group | local bytes | " + " | ".join(chips) + " |",
        "|---|---|---|---|" + "---|" * len(chips),
    ]
    for key in sorted({key for found in kernels.values() for key in found}):
        cells = [_worst(kernels[chip].get(key, []), page) for chip in chips]
        local = max(u.local_bytes for chip in chips for u in kernels[chip].get(key, []))
        lines.append(f"| {key[0]} | {key[1]} | {key[2]} | {local} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def renewed_page(
    page: str, text: str, results: Mapping[str, Mapping[str, Sequence[Compiled]]]
) -> str:
    """Return a maker's page with new parts for the rows that were compiled.

    Parameters
    ----------
    page : str
        Of ``PAGES``.
    text : str
        The page as it stands; empty if there is none.
    results : mapping
        Of rows; what they compiled for each chip.
    """
    parts = dict(re.findall(r"<!-- row: (\S+) -->\n(.*?)(?=\n\n<!-- row: |\n*\Z)", text, re.DOTALL))
    parts |= {row: _part(row, page, results[row]) for row in PAGES[page] if row in results}
    blocks = [f"{_PART.format(row)}\n{parts[row]}" for row in PAGES[page] if row in parts]
    return "\n\n".join([f"# {_TITLES[page]}", WRITTEN, *blocks]) + "\n"
