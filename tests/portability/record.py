"""What compilers made of programs before: what has changed is compiled, and a part of the rest.

An offline compiler makes the same of a source each time. ``compiled/`` has a file for each chip. It
names the compiler with its options, and says of each program's digest what its kernels take. A
program that is not there is compiled. So is each day another tenth of those that are there, which
must take what is recorded. Nothing recorded counts for another compiler, or for other options.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.portability.offline import COMPILERS
from tests.portability.targets import Target
from tests.portability.usage import CompileError, Made, Usage

FOLDER = Path(__file__).with_name("compiled")
#: A day's part of the recorded programs is one of so many.
PARTS = 10
#: A source, and the size of its work-groups.
Program = tuple[str, int]


@dataclass(frozen=True)
class Record:
    """What a compiler made of a chip's programs.

    Attributes
    ----------
    build : str
        The compiler's version and options, as it names them itself.
    renewed : str
        The day on which the record was written.
    usages : dict of str to list of Usage
        By the digests of programs.
    """

    build: str
    renewed: str
    usages: dict[str, list[Usage]] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What became of programs.

    Attributes
    ----------
    made : list of Made or CompileError
        Of each program.
    says : str
        How many were compiled, and why.
    gaps : list of str
        Where the record is wrong.
    """

    made: list[Made | CompileError]
    says: str
    gaps: list[str]


def digest(program: Program) -> str:
    """Return what a program is known by."""
    source, wg_size = program
    return hashlib.sha256(f"{wg_size} {source}".encode()).hexdigest()[:16]


def _rounded(usages: Sequence[Usage]) -> list[Usage]:
    """Return usages in the order and with the digits of the record."""
    ordered = sorted(usages, key=lambda usage: usage.kernel)
    return [replace(usage, occupancy=round(usage.occupancy, 3)) for usage in ordered]


def _values(usage: Usage) -> list[str | float]:
    return [
        usage.kernel, usage.registers, usage.spilled, usage.scratch_bytes, usage.local_bytes,
        usage.width, usage.occupancy, usage.in_lanes,
    ]  # fmt: skip


def file_of(target: Target) -> Path:
    """Return where a chip's record is, or would be."""
    return FOLDER / f"{target.row}.{target.chip}.jsonl"


def read(target: Target) -> Record | None:
    """Return the record of a chip, or None if it has none."""
    file = file_of(target)
    if not file.is_file():
        return None
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    programs = {key: [Usage(*values) for values in own] for key, *own in map(json.loads, lines)}
    return Record(**json.loads(head), usages=programs)


def write(target: Target, usages: Mapping[str, Sequence[Usage]]) -> None:
    """Write the record of a chip: one line a program, in the order of their digests.

    A compiler that does not know its version has no record.
    """
    build = COMPILERS[target.row].build(target)
    if build:
        file = file_of(target)
        file.parent.mkdir(exist_ok=True)
        lines = [{"build": build, "renewed": _today().isoformat()}]
        lines += [[key, *map(_values, _rounded(usages[key]))] for key in sorted(usages)]
        text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
        file.write_text(text, encoding="utf-8")


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def sample(keys: Collection[str], day: datetime.date) -> set[str]:
    """Return a tenth of the programs; ten days in turn have all of them."""
    ordered = sorted(keys)
    first = int(digest((" ".join(ordered), 0)), 16) + day.toordinal()
    return set(ordered[first % PARTS :: PARTS])


def _known(target: Target, keys: Sequence[str]) -> tuple[dict[str, list[Usage]], str]:
    """Return what is recorded of programs, and when it was, or why nothing counts."""
    recorded = read(target)
    if recorded is None:
        return {}, "all compiled now: this chip has no record"
    if recorded.build != COMPILERS[target.row].build(target):
        return {}, f"all compiled now: the record of {recorded.renewed} has another compiler"
    known = {key: recorded.usages[key] for key in keys if key in recorded.usages}
    when = f"the others as recorded on {recorded.renewed}"
    return known, when if known else "all compiled now: none is recorded"


def compile_new(programs: Sequence[Program], target: Target, *, anew: bool = False) -> Found:
    """Compile programs that are not recorded, and the day's part of those that are.

    Parameters
    ----------
    programs : sequence of Program
    target : Target
    anew : bool
        Whether to compile all of them.
    """
    keys = [digest(program) for program in programs]
    known, says = ({}, "all compiled now") if anew else _known(target, keys)
    again = sample(known, _today()) if known else set()
    now = [at for at, key in enumerate(keys) if key not in known or key in again]
    if known:
        says = f"{len(now)} compiled now, of which {len(again)} are recorded, {says}"
    made = COMPILERS[target.row].compile_many([programs[at] for at in now], target)
    compiled = dict(zip(now, made, strict=True))
    gaps = []
    for at, one in compiled.items():
        if keys[at] in known and isinstance(one, Made) and _rounded(one.usages) != known[keys[at]]:
            gaps.append(
                f"{target.chip}: program {keys[at]} takes {_shown(one.usages)}; recorded is "
                f"{_shown(known[keys[at]])}. Compile all of them with --anew --record"
            )
    every = [compiled.get(at) or Made(known[key], 0.0) for at, key in enumerate(keys)]
    return Found(every, says, gaps)


def _shown(usages: Sequence[Usage]) -> str:
    return "; ".join(" ".join(map(str, _values(usage))) for usage in _rounded(usages))
