"""Intel's compiler, run without a GPU: each source is parsed once for all chips.

There are two: Debian's, which is the last for skl, and the newest, of Debian sid.

``ocloc multi`` compiles a batch of programs in one process. The first chip that needs a batch has
it translated to SPIR-V, as ``ocloc compile`` does before it makes machine code; the others read
that. The binaries are the same as those of one process a program.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.portability import debian, timed
from tests.portability.targets import OPENCL_OPTIONS, Target
from tests.portability.usage import CompileError, Made, Usage, occupancy

_OPTIONS = "-options " + " ".join(OPENCL_OPTIONS)
#: Debian's packages that compile: the command, and the libraries behind it.
_PACKAGES = ("intel-opencl-icd", "libigc1", "libigdfcl1", "libopencl-clang*")
#: Programs that a process compiles.
_BATCH = 16
#: A quoted name is the newest compiler's.
_SPILL = re.compile(r"kernel '?(\w+)'?:? .*?spilled around (\d+)")
#: Of a hardware thread; one that takes more has fewer beside it.
_USUAL_REGISTERS = 128


@dataclass(frozen=True)
class _Output:
    """What became of one file: its binary, None if it has none, the log, and processor seconds."""

    binary: bytes | None
    log: str
    seconds: float


_NOTHING = _Output(None, "", 0.0)


@dataclass(frozen=True)
class Ocloc:
    """One version of the compiler.

    Attributes
    ----------
    missing, version : callable
        Return how to install it, or an empty string if it is here; its name and version.
    command : callable
        Returns how to call it.
    """

    missing: Callable[[], str]
    version: Callable[[], str]
    command: Callable[[], list[str]]
    _parsed: dict[tuple[str, ...], list[_Output]] = field(default_factory=dict)
    _locks: defaultdict[tuple[str, ...], threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock)
    )

    def compile_many(
        self, programs: Sequence[tuple[str, int]], target: Target
    ) -> Iterator[Made | CompileError]:
        """Compile OpenCL C to machine code; yield what each program takes, or the log."""
        words = _words(target)
        for begin in range(0, len(programs), _BATCH):
            batch = programs[begin : begin + _BATCH]
            parsed = self._parse(tuple(source for source, _ in batch), target)
            good = [one.binary for one in parsed if one.binary is not None]
            compiled = self._multi(good, "spv", words)
            for one, (_, wg_size) in zip(parsed, batch, strict=True):
                made = next(compiled) if one.binary is not None else one
                if made.binary is None:
                    yield CompileError(made.log)
                else:
                    found = _usages(made.binary, made.log, wg_size, target)
                    yield Made(found, one.seconds + made.seconds)

    def _parse(self, sources: tuple[str, ...], target: Target) -> list[_Output]:
        """Translate every source to SPIR-V, once for all chips.

        A chip that the compiler does not know must not fail the others, so what failed is tried
        again.
        """
        with self._locks[sources]:
            if any(one.binary is None for one in self._parsed.get(sources, [_NOTHING])):
                texts = [source.encode() for source in sources]
                words = f"-spv_only -device {target.chip} {_OPTIONS}"
                self._parsed[sources] = list(self._multi(texts, "cl", words))
            return self._parsed[sources]

    def _multi(self, contents: Sequence[bytes], suffix: str, words: str) -> Iterator[_Output]:
        """Compile files in one process."""
        with tempfile.TemporaryDirectory(prefix="portability-") as name:
            folder = Path(name)
            commands = []
            for number, content in enumerate(contents):
                (folder / f"{number}.{suffix}").write_bytes(content)
                commands.append(
                    f"-file {number}.{suffix} {words} "
                    f"-output_no_suffix -output k -out_dir {number}\n"
                )
            (folder / "commands").write_text("".join(commands), encoding="utf-8")
            _, log, seconds = timed.run([*self.command(), "multi", "commands"], folder)
            parts = re.split(r"^Command number (\d+):", log, flags=re.MULTILINE)
            logs = dict(zip(parts[1::2], parts[2::2], strict=True))
            for number in range(len(contents)):
                found = [path for path in (folder / str(number)).glob("k*") if path.is_file()]
                # a log that is not there: the process ended before this one
                text = logs.get(str(number + 1), log)[-4000:]
                binary = found[0].read_bytes() if found else None
                yield _Output(binary, text, seconds / len(contents))


def _words(target: Target) -> str:
    return f"-spirv_input -device {target.chip} {_OPTIONS} --format zebin"


def _usages(binary: bytes, log: str, wg_size: int, target: Target) -> list[Usage]:
    """Read a binary's own description of its kernels, and the log for spills."""
    spills = {name: int(n) for name, n in _SPILL.findall(log)}
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
        width, local, registers = number("simd_size"), number("slm_size"), number("grf_count")
        share = occupancy(target, wg_size, width=width, registers=0, local_bytes=local)
        found.append(
            Usage(
                kernel=kernel,
                registers=registers,
                spilled=spills.get(kernel, 0),
                scratch_bytes=sum(map(int, scratch)) // max(1, width),
                local_bytes=local,
                width=width,
                occupancy=share * min(1, _USUAL_REGISTERS / max(1, registers)),
            )
        )
    return found


def _missing() -> str:
    if shutil.which("ocloc"):
        return ""
    return "apt-get install --no-install-recommends intel-opencl-icd  (it brings ocloc)"


def _installed(form: str, *packages: str) -> str:
    """Return what dpkg says of packages that are installed; nothing where it is not here."""
    words = ["dpkg-query", "-W", "-f", form, *packages]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def _version() -> str:
    package = _installed("${Version}", "intel-opencl-icd")
    return f"ocloc of intel-opencl-icd {package or '(version unknown)'}"


def build_of_debian(target: Target) -> str:
    """Return the versions of Debian's compiler and its options; nothing where they are unknown."""
    lines = _installed("${Package} ${Version}\n", *_PACKAGES).splitlines()
    packages = [line for line in lines if len(line.split()) == 2]  # others are not installed
    return f"{', '.join(packages)}, {_words(target)}" if packages else ""


PACKAGES = debian.Packages("sid", ("intel-ocloc", "libigc2", "libigdfcl2"))


def _newest_version() -> str:
    driver, graphics = (debian.upstream(PACKAGES.version(p)) for p in ("intel-ocloc", "libigc2"))
    return f"ocloc {driver} with Intel's graphics compiler {graphics} (Debian sid)"


OLD = Ocloc(_missing, _version, lambda: ["ocloc"])
NEW = Ocloc(debian.why_not, _newest_version, lambda: PACKAGES.command("ocloc-*"))
