"""NVIDIA's run-time compiler without a card or a driver, through ctypes."""

from __future__ import annotations

import ctypes
import importlib.metadata
from pathlib import Path

#: The oldest architecture that every release of the compiler since CUDA 12 knows. Its front end
#: reads the whole source; without link-time optimisation it would write PTX, too, which takes ten
#: times as long and which NVIDIA's rows of ``tests.portability`` do.
_OPTIONS = ("--gpu-architecture=compute_75", "--dlink-time-opt")


def library() -> ctypes.CDLL | None:
    """The compiler of an installed ``nvidia-cuda-nvrtc`` wheel, or None."""
    for wheel in ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"):
        try:
            files = importlib.metadata.files(wheel) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name.startswith("libnvrtc.so") and "alt" not in file.name:
                path = Path(str(file.locate()))
                if path.is_file():
                    return ctypes.CDLL(str(path))
    return None


def compile_cuda(nvrtc: ctypes.CDLL, source: str, options: tuple[str, ...]) -> tuple[bool, str]:
    """Return whether CUDA C compiles, and the compiler's log."""
    program = ctypes.c_void_p()
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
    )
    assert created == 0
    given = [option.encode() for option in (*options, *_OPTIONS)]
    result = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return result == 0, log.value.decode(errors="replace")
