"""NVIDIA's run-time compiler, of PyPI; it needs no driver."""

from __future__ import annotations

import ctypes
import importlib.metadata
import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.portability.read_only_loads import stale_reads
from tests.portability.targets import CUDA_OPTIONS, Target
from tests.portability.usage import CompileError, Made, Usage, occupancy

_WHEEL = "nvidia-cuda-nvrtc-cu12"
#: What a kernel has beyond the local memory that it declares, in words of 4 bytes.
_LARGE_LOCAL = re.compile(r"LOCAL_LARGE\(i32, \w+, (\d+)\);")


def missing() -> str:
    """Return how to install the compiler, or an empty string if it is here."""
    return f"pip install {_WHEEL}" if find_nvrtc() is None else ""


def version() -> str:
    """Return the compiler's name and version."""
    return f"NVRTC {importlib.metadata.version(_WHEEL)}"


def _options(target: Target) -> tuple[str, ...]:
    return (*CUDA_OPTIONS, f"--gpu-architecture={target.chip}", "--ptxas-options=-v")


def build(target: Target) -> str:
    """Return the compiler's version and its options."""
    return f"{version()}, {' '.join(_options(target))}"


@cache
def find_nvrtc() -> ctypes.CDLL | None:
    """Load NVRTC of PyPI's ``nvidia-cuda-nvrtc-cu12``; it needs no driver."""
    try:
        files = importlib.metadata.files(_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(f.locate())) for f in files if ".so" in f.name and ".alt." not in f.name]
    paths = [path for path in paths if path.is_file()]
    for path in sorted(paths, key=lambda p: "builtins" not in p.name):  # it looks for them itself
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return library if paths else None


def _compile(source: str, wg_size: int, target: Target) -> Made:
    """Compile to machine code; read the assembler's report."""
    start = time.thread_time()
    nvrtc = find_nvrtc()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    words = _options(target)
    options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(words), options)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, buffer)
        nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
        ptx = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetPTX(program, ptx)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    log = buffer.value.decode("utf-8", "replace")
    if status:
        raise CompileError(log[-4000:])
    asked = sum(4 * int(n) for n in _LARGE_LOCAL.findall(source))  # by the launch
    found = []
    for part in re.split(r"(?=Compiling entry function)", log)[1:]:

        def number(pattern: str, part: str = part) -> int:
            match = re.search(pattern, part)
            return int(match.group(1)) if match else 0

        name = re.search(r"entry function '(\w+)'", part)
        assert name is not None
        registers, local = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem") + asked
        stores, loads = number(r"(\d+) bytes spill stores"), number(r"(\d+) bytes spill loads")
        found.append(
            Usage(
                kernel=name.group(1),
                registers=registers,
                spilled=stores + loads,
                scratch_bytes=number(r"(\d+) bytes stack frame"),
                local_bytes=local,
                width=32,
                occupancy=occupancy(
                    target, wg_size, width=32, registers=registers, local_bytes=local
                ),
            )
        )
    faults = [
        f"{kernel} may read what it stores to {parameter} through the cache of read-only data"
        for kernel, parameter in stale_reads(ptx.value.decode())
    ]
    return Made(found, time.thread_time() - start, faults)


def compile_many(
    programs: Sequence[tuple[str, int]], target: Target
) -> Iterator[Made | CompileError]:
    """Compile the CUDA dialect; yield what each program takes, or the compiler's log."""
    for source, wg_size in programs:
        try:
            yield _compile(source, wg_size, target)
        except CompileError as error:
            yield error
