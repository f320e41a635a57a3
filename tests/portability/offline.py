"""AMD's, Intel's and NVIDIA's compilers, run without a GPU."""

from __future__ import annotations

import atexit
import ctypes
import importlib.metadata
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from pyopencl_gbdt.device.render import header
from tests.portability import ocloc
from tests.portability.targets import Target
from tests.portability.usage import CompileError, Usage, occupancy

_CLANG = "clang-22"
_LIBCLC = Path("/usr/lib/clc/amdgcn-amd-amdhsa.bc")
#: What ``device/opencl.py`` and ``device/cuda.py`` build with; a test compares them.
OPENCL_OPTIONS = ("-cl-std=CL1.2",)
CUDA_OPTIONS = ("-fmad=false", "-ftz=false", "--std=c++14")
_REMARK = re.compile(r"remark:\s+([A-Za-z ]+?)(?: \[[^\]]*\])?: (\S+) \[-Rpass")
#: What a kernel has beyond the local memory that it declares, in words of 4 bytes.
_LARGE_LOCAL = re.compile(r"LOCAL_LARGE\(i32, \w+, (\d+)\);")
_NAME = re.compile(r"remark: Function Name: (\w+)")
#: Waves of a SIMD at most: gfx9 but gfx90a and gfx94 has 10, those 8, gfx10 and later 16.
_WAVES = {"gfx906": 10, "gfx90a": 8, "gfx942": 8}


def missing(maker: str) -> str:
    """Return how to install what compiles for a maker's chips, or an empty string if it is here."""
    if maker == "amd" and not (shutil.which(_CLANG) and _LIBCLC.is_file()):
        return "apt-get install --no-install-recommends clang-22 lld-22 llvm-22 libclc-22"
    if maker == "intel" and not shutil.which("ocloc"):
        return "apt-get install --no-install-recommends intel-opencl-icd  (it brings ocloc)"
    if maker == "nvidia" and find_nvrtc() is None:
        return "pip install nvidia-cuda-nvrtc-cu12"
    return ""


def version(maker: str) -> str:
    """Return the compiler's name and version."""
    if maker == "nvidia":
        return f"NVRTC {importlib.metadata.version('nvidia-cuda-nvrtc-cu12')}"
    words = [_CLANG, "--version"] if maker == "amd" else ["ocloc", "query", "OCL_DRIVER_VERSION"]
    if maker == "intel":
        package = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "intel-opencl-icd"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return f"ocloc of intel-opencl-icd {package.stdout or '(version unknown)'}"
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return text.splitlines()[0].strip()


def _run(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    if done.returncode:
        raise CompileError(log[-4000:])
    return log


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


def compile_amd(source: str, wg_size: int, target: Target, folder: Path) -> list[Usage]:
    """Compile OpenCL C 1.2 to an object file; read clang's remarks."""
    file = folder / "k.cl"
    file.write_text(source, encoding="utf-8")
    log = _run(
        [
            _CLANG, "-x", "cl", *OPENCL_OPTIONS, "-target", "amdgcn-amd-amdhsa",
            f"-mcpu={target.chip}", "-O3", "-nogpulib", "-Xclang", "-mlink-builtin-bitcode",
            "-Xclang", str(_functions_of_libclc()), "-Rpass-analysis=kernel-resource-usage", "-w",
            "-c", str(file), "-o", str(file.with_suffix(".o")),
        ]
    )  # fmt: skip
    lacking = _undefined(file.with_suffix(".o").read_bytes())
    if lacking:
        raise CompileError(f"undefined: {', '.join(lacking)}")
    found = []
    for part in re.split(r"(?=remark: Function Name:)", log)[1:]:
        name = _NAME.search(part)
        facts = dict(_REMARK.findall(part))
        assert name is not None
        waves, scratch = int(facts["Occupancy"]), int(facts["ScratchSize"])
        scalars = int(facts["SGPRs Spill"])  # to lanes of a vector register, or else to scratch
        found.append(
            Usage(
                kernel=name.group(1),
                registers=int(facts["VGPRs"]),
                spilled=int(facts["VGPRs Spill"]) + (scalars if scratch else 0),
                scratch_bytes=scratch,
                in_lanes=0 if scratch else scalars,
                local_bytes=int(facts["LDS Size"]),
                width=64 if target.chip.startswith("gfx9") else 32,
                occupancy=waves / _WAVES.get(target.chip, 16),
            )
        )
    return found


def compile_intel(source: str, wg_size: int, target: Target, folder: Path) -> list[Usage]:
    """Compile OpenCL C 1.2 to machine code; read the binary's own description of its kernels."""
    (found,) = ocloc.compile_many([(source, wg_size)], " ".join(OPENCL_OPTIONS), target)
    if isinstance(found, CompileError):
        raise found
    return found


@cache
def find_nvrtc() -> ctypes.CDLL | None:
    """Load NVRTC of PyPI's ``nvidia-cuda-nvrtc-cu12``; it needs no driver."""
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc-cu12") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(f.locate())) for f in files if ".so" in f.name and ".alt." not in f.name]
    paths = [path for path in paths if path.is_file()]
    for path in sorted(paths, key=lambda p: "builtins" not in p.name):  # it looks for them itself
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return library if paths else None


def compile_nvidia(source: str, wg_size: int, target: Target, folder: Path) -> list[Usage]:
    """Compile the CUDA dialect to machine code; read the assembler's report."""
    nvrtc = find_nvrtc()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    words = (*CUDA_OPTIONS, f"--gpu-architecture={target.chip}", "--ptxas-options=-v")
    options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(words), options)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, buffer)
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
    return found


def compile_many(
    programs: Sequence[tuple[str, int]], target: Target
) -> Iterator[list[Usage] | CompileError]:
    """Compile sources for work-groups of given sizes; yield usages, or why there are none."""
    if target.maker == "intel":
        yield from ocloc.compile_many(programs, " ".join(OPENCL_OPTIONS), target)
        return
    for source, wg_size in programs:
        with tempfile.TemporaryDirectory(prefix="portability-") as folder:
            try:
                yield COMPILERS[target.maker](source, wg_size, target, Path(folder))
            except CompileError as error:
                yield error


#: For one program.
COMPILERS: dict[str, Callable[[str, int, Target, Path], list[Usage]]] = {
    "amd": compile_amd,
    "intel": compile_intel,
    "nvidia": compile_nvidia,
}
