"""Compile all that a chip can be asked for, and say what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.device.variants import TABLE
from tests.portability import cover, record
from tests.portability.null_device import FOR_CPUS, Built
from tests.portability.targets import Target
from tests.portability.usage import CompileError, Made, Usage
from tests.portability.workload import everything


@dataclass
class Compiled:
    """What a chip's compiler made of one rendered template, which its digest stands for."""

    built: Built
    usages: list[Usage] = field(default_factory=list)
    seconds: float = 0.0
    gaps: list[str] = field(default_factory=list)
    digest: str = ""


@dataclass
class Chip:
    """What a compiler made for one chip: ``gaps`` empty is good.

    Attributes
    ----------
    compiled : list of Compiled
    gaps : list of str
    says : str
        How many programs were compiled now.
    """

    compiled: list[Compiled]
    gaps: list[str]
    says: str = ""


def gaps_of(built: Built, usages: Iterable[Usage], target: Target) -> list[str]:
    """Return what a chip cannot or should not run: spills, too much local memory, lost kernels.

    What no GPU gets may spill: it has to compile.
    """
    found = {usage.kernel: usage for usage in usages}
    gaps = [f"{built.name}: no word of kernel {k}" for k in built.kernels if k not in found]
    for usage in found.values():
        where = f"{target.chip}: {built.name}, {usage.kernel}"
        if usage.spilled > target.most_spilled and built.label != FOR_CPUS:
            gaps.append(f"{where}: {usage.spilled} registers or bytes spilled")
        if usage.local_bytes > max(target.caps.local_bytes, target.caps.unit_local_bytes):
            gaps.append(
                f"{where}: {usage.local_bytes} bytes local memory of {target.caps.local_bytes}"
            )
    return gaps


def _judge(
    built: Built, program: record.Program, found: Made | CompileError, target: Target
) -> Compiled:
    result = Compiled(built, digest=record.digest(program))
    if isinstance(found, CompileError):
        result.gaps.append(f"{target.chip}: {built.name} does not compile:\n{found}")
    else:
        result.usages, result.seconds = found.usages, found.seconds
        result.gaps = gaps_of(built, found.usages, target)
        result.gaps += [f"{target.chip}: {built.name}: {fault}" for fault in found.faults]
    return result


def wanted(target: Target) -> tuple[list[Built], list[str]]:
    """Return what a chip gets, and complaints about arguments that do not fit their kernels.

    That is every variant that is chosen on its kind of device, and every variant of the histogram
    that it can run, as users may name one.
    """
    device = everything(target.caps)
    on_request = {r.name for r in TABLE if target.caps.kind not in r.chosen_on} - {"cpu"}
    built = [b for b in device.built.values() if b.label not in on_request]
    return built, device.complaints


def grows_trees(template: str) -> bool:
    """Tell whether a template's kernels grow trees: gradients, histograms and what follows."""
    folder = source_folder("templates")
    rooms = [
        room
        for room in ("growth", "gradients")
        if (folder / room / f"{template}.cl.mako").is_file()
    ]
    return bool(rooms) or template.startswith("histogram")


def longest(built: Iterable[Built]) -> list[Built]:
    """Return the program with the longest source of each template and variant.

    It has all branches, so it takes most registers, or nearly so: for gfx906, 57 of 68 take as
    many as any program of their template and variant.
    """
    found: dict[tuple[str, str], Built] = {}
    for one in sorted(built, key=lambda one: len(one.source("opencl"))):
        found[one.template, one.label] = one
    return list(found.values())


def telling(built: Iterable[Built]) -> list[Built]:
    """Return programs that show each kernel, and each value of each parameter, of a template.

    Among them is the longest of each template, which takes most registers. Of kernels that no GPU
    gets, which have to compile and may spill, they show each kernel alone: compilers of GPUs take
    as long for the programs that grow whole trees on CPUs as for a quarter of all others.
    """
    every = list(built)
    lengths = [len(one.source("opencl")) for one in every]
    shown = {at: _shown(one) for at, one in enumerate(every)}
    dearest_first = sorted(shown, key=lambda at: -lengths[at])
    longest_of = {every[at].template: at for at in reversed(dearest_first)}
    kept = {at for at in longest_of.values() if every[at].label != FOR_CPUS}
    return [every[at] for at in cover.cover(shown, dearest_first, kept)]


def _shown(one: Built) -> set[cover.Fact]:
    if one.label == FOR_CPUS:
        return {(one.template, kernel) for kernel in one.kernels}
    return cover.shown(one)


def compile_all(target: Target, *, every: bool = False, anew: bool = False) -> Chip:
    """Compile the programs of one chip, or take what is recorded of them.

    Of one that is ``whole``, those that show each kernel and each value of each parameter. Of one
    that is not, the longest program of each template and variant that grows trees.

    Parameters
    ----------
    target : Target
    every : bool
        Whether to compile all that the chip can be asked for, recorded or not.
    anew : bool
        Whether to compile programs that are recorded, too.
    """
    built, complaints = wanted(target)
    if target.whole and not every:
        built = telling(built)
    elif not every:
        grown = [one for one in built if grows_trees(one.template)]
        built = longest(one for one in grown if one.label != FOR_CPUS)
    dialect = "cuda" if target.maker == "nvidia" else "opencl"
    programs = [(one.source(dialect), one.wg_size) for one in built]
    found = record.compile_new(programs, target, anew=every or anew)
    results = [_judge(*one, target) for one in zip(built, programs, found.made, strict=True)]
    gaps = complaints + found.gaps + [gap for result in results for gap in result.gaps]
    return Chip(results, gaps, found.says)
