"""Clang and libclc of Debian, for AMD's GPUs."""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from pyopencl_gbdt.device.render import header
from tests.portability import timed
from tests.portability.amd_remarks import REMARKS, usages_of
from tests.portability.targets import OPENCL_OPTIONS, Target
from tests.portability.usage import CompileError, Made

_CLANG = "clang-22"
_LIBCLC = Path("/usr/lib/clc/amdgcn-amd-amdhsa.bc")


def missing() -> str:
    """Return how to install the compiler, or an empty string if it is here."""
    if shutil.which(_CLANG) and _LIBCLC.is_file():
        return ""
    return "apt-get install --no-install-recommends clang-22 lld-22 llvm-22 libclc-22"


def version() -> str:
    """Return the compiler's name and version."""
    words = [_CLANG, "--version"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return text.splitlines()[0].strip()


def _options(target: Target) -> list[str]:
    return [
        "-x", "cl", *OPENCL_OPTIONS, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.chip}", "-O3",
        "-nogpulib", REMARKS, "-w",
    ]  # fmt: skip


@cache
def _digest_of_libclc() -> str:
    return hashlib.sha256(_LIBCLC.read_bytes()).hexdigest()[:16]


def build(target: Target) -> str:
    """Return the compiler's version, its options, and which libclc it is."""
    return f"{version()}, libclc {_digest_of_libclc()}, {' '.join(_options(target))}"


def _run(words: Sequence[str]) -> tuple[str, float]:
    code, log, seconds = timed.run(words)
    if code:
        raise CompileError(log[-4000:])
    return log, seconds


@cache
def _functions_of_libclc() -> Path:
    """Return the functions of libclc that kernels may call: all 8 MB take 0.1 s a program."""
    names = re.findall(r"\b(\w+)\([\w ,*]*\);", header("dialect_opencl_builtins.h"))
    folder = tempfile.mkdtemp(prefix="portability-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / "libclc.bc"
    mangled = rf"^_Z[0-9]+({'|'.join(sorted({*names, 'sqrt'}))})"
    _run(["llvm-extract-22", "--recursive", f"--rfunc={mangled}", str(_LIBCLC), "-o", str(file)])
    return file


def _undefined(binary: bytes) -> list[str]:
    """Return what an ELF object file needs and lacks, as a linker would find."""
    (sections,) = struct.unpack_from("<Q", binary, 0x28)
    size, count = struct.unpack_from("<HH", binary, 0x3A)
    heads = [struct.unpack_from("<IIQQQQI", binary, sections + k * size) for k in range(count)]
    found = []
    for _, kind, _, _, begin, length, link in heads:
        if kind == 2:  # symbols
            for at in range(begin, begin + length, 24):
                name, _, _, section = struct.unpack_from("<IBBH", binary, at)
                if name and not section:
                    start = heads[link][4] + name
                    found.append(binary[start : binary.index(b"\0", start)].decode())
    return found


def _compile(source: str, target: Target, file: Path) -> Made:
    file.write_text(source, encoding="utf-8")
    log, seconds = _run(
        [
            _CLANG, *_options(target),
            "-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(_functions_of_libclc()),
            "-c", str(file), "-o", str(file.with_suffix(".o")),
        ]
    )  # fmt: skip
    lacking = _undefined(file.with_suffix(".o").read_bytes())
    if lacking:
        raise CompileError(f"undefined: {', '.join(lacking)}")
    return Made(usages_of(log, target), seconds)


def compile_many(
    programs: Sequence[tuple[str, int]], target: Target
) -> Iterator[Made | CompileError]:
    """Compile OpenCL C 1.2 to object files; yield what each program takes, or the log."""
    with tempfile.TemporaryDirectory(prefix="portability-") as folder:
        for source, _ in programs:
            try:
                yield _compile(source, target, Path(folder) / "k.cl")
            except CompileError as error:
                yield error
