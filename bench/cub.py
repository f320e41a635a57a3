"""NVIDIA's CUB as a peer: builds ``cub.cu`` once by nvcc and asks it for times."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from pyopencl_gbdt.device import owner_only_files
from pyopencl_gbdt.device.cache import cache_folder

SOURCE = Path(__file__).with_name("cub.cu")
_FLAGS = ("-O3", "-std=c++17", "-arch=native")


class Cub:
    """The built program, running until it is closed.

    Raises
    ------
    RuntimeError
        If there is no nvcc, or it fails.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(_built())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, case: tuple[str, str, int], n: int, repeats: int) -> list[float]:
        """Return the times of an operation, none where CUB does not know it or fails.

        Parameters
        ----------
        case : (str, str, int)
            Operation, type and even segments, as ``cub.cu`` names them.
        n : int
            Elements.
        repeats : int
        """
        operation, kind, segments = case
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{operation} {kind} {n} {segments} {repeats}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        try:
            return [float(ms) * 1e-3 for ms in answer]
        except ValueError:
            return []

    def close(self) -> None:
        """End the program."""
        self._process.communicate()


def _built() -> Path:
    """Return the program, built before or now: nvcc takes a minute and a half."""
    source = SOURCE.read_bytes()
    program = cache_folder() / "bench" / f"cub-{hashlib.sha256(source).hexdigest()[:16]}"
    with owner_only_files.opened(program.parent, make=True):  # it runs with our rights
        if program.is_file():
            return program
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise RuntimeError("nvcc is not on the path: expected CUDA's toolkit; or use --cub none")
    half = program.with_suffix(".part")
    print(f"nvcc builds {SOURCE.name}, once ...", flush=True)
    done = subprocess.run(
        [nvcc, *_FLAGS, "-o", str(half), str(SOURCE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"nvcc failed:\n{done.stderr[-2000:]}")
    half.replace(program)
    return program
