"""Intel's compiler, run without a GPU: each source is parsed once for all chips.

``ocloc multi`` compiles a batch of programs in one process. The first chip that needs a batch has
it translated to SPIR-V, as ``ocloc compile`` does before it makes machine code; the others read
that. The binaries are the same as those of one process a program.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.portability.targets import Target
from tests.portability.usage import CompileError, Usage, occupancy

#: Programs that a process compiles.
_BATCH = 16
_Parsed = list["bytes | CompileError"]
_parsed: dict[tuple[str, ...], _Parsed] = {}
_locks: defaultdict[tuple[str, ...], threading.Lock] = defaultdict(threading.Lock)


def compile_many(
    programs: Sequence[tuple[str, int]], options: str, target: Target
) -> Iterator[list[Usage] | CompileError]:
    """Compile OpenCL C to machine code; yield what each program takes, or the compiler's log.

    Parameters
    ----------
    programs : sequence of (str, int)
        Sources, and the sizes of their work-groups.
    options : str
        For the compiler of OpenCL C.
    target : Target
    """
    for begin in range(0, len(programs), _BATCH):
        batch = programs[begin : begin + _BATCH]
        parsed = _parse(tuple(source for source, _ in batch), options, target)
        good = [one for one in parsed if isinstance(one, bytes)]
        compiled = _multi(
            good, "spv", f"-spirv_input -device {target.chip} -options {options} --format zebin"
        )
        for one, (_, wg_size) in zip(parsed, batch, strict=True):
            if isinstance(one, CompileError):
                yield one
                continue
            binary, log = next(compiled)
            if binary is None:
                yield CompileError(log)
            else:
                yield _usages(binary, log, wg_size, target)


def _parse(sources: tuple[str, ...], options: str, target: Target) -> _Parsed:
    """Return every source as SPIR-V, or why it is none."""
    with _locks[sources]:
        if sources not in _parsed:
            texts = [source.encode() for source in sources]
            found = _multi(texts, "cl", f"-spv_only -device {target.chip} -options {options}")
            _parsed[sources] = [spirv or CompileError(log) for spirv, log in found]
        return _parsed[sources]


def _multi(
    contents: Sequence[bytes], suffix: str, words: str
) -> Iterator[tuple[bytes | None, str]]:
    """Compile files in one process; yield each one's output, None if it has none, and its log."""
    with tempfile.TemporaryDirectory(prefix="portability-") as name:
        folder = Path(name)
        commands = []
        for number, content in enumerate(contents):
            (folder / f"{number}.{suffix}").write_bytes(content)
            commands.append(
                f"-file {number}.{suffix} {words} -output_no_suffix -output k -out_dir {number}\n"
            )
        (folder / "commands").write_text("".join(commands), encoding="utf-8")
        done = subprocess.run(
            ["ocloc", "multi", "commands"],
            cwd=folder, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        log = done.stdout + done.stderr
        parts = re.split(r"^Command number (\d+):", log, flags=re.MULTILINE)
        logs = dict(zip(parts[1::2], parts[2::2], strict=True))
        for number in range(len(contents)):
            found = [path for path in (folder / str(number)).glob("k*") if path.is_file()]
            # a log that is not there: the process ended before this one
            text = logs.get(str(number + 1), log)[-4000:]
            yield (found[0].read_bytes() if found else None), text


def _usages(binary: bytes, log: str, wg_size: int, target: Target) -> list[Usage]:
    """Read a binary's own description of its kernels, and the log for spills."""
    spills = {name: int(n) for name, n in re.findall(r"kernel (\w+) .*?spilled around (\d+)", log)}
    begin = binary.index(b"---\nversion:")
    text = binary[begin : binary.index(b"kernels_misc_info", begin)].decode("utf-8", "replace")
    found = []
    for part in re.split(r"\n  - name: +", text)[1:]:

        def number(word: str, part: str = part) -> int:
            match = re.search(rf"^\s+{word}:\s+(\d+)", part, re.MULTILINE)
            return int(match.group(1)) if match else 0

        buffers = re.split(r"per_thread_memory_buffers:", part)
        scratch = re.findall(r"\bsize:\s+(\d+)", buffers[1]) if len(buffers) > 1 else []
        kernel = part.split("\n", 1)[0].strip()
        width, local = number("simd_size"), number("slm_size")
        found.append(
            Usage(
                kernel=kernel,
                registers=number("grf_count"),
                spilled=spills.get(kernel, 0),
                scratch_bytes=sum(map(int, scratch)) // max(1, width),
                local_bytes=local,
                width=width,
                occupancy=occupancy(target, wg_size, width=width, registers=0, local_bytes=local),
            )
        )
    return found
