"""AMD's run-time compiler (comgr), which AMD's drivers call: of Debian sid, run without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.portability import debian
from tests.portability.amd_remarks import REMARKS, usages_of
from tests.portability.targets import OPENCL_OPTIONS, Target
from tests.portability.usage import CompileError, Made

_COMGR = "libamd-comgr3"
PACKAGES = debian.Packages("sid", (_COMGR, "python3-minimal", "libpython3-stdlib"))
_CHILD = Path(__file__).with_name("comgr_child.py")
#: The declarations of OpenCL C: where Debian's library looks for its header, it is not unpacked.
_HEADERS = ("-Xclang", "-finclude-default-header", "-Xclang", "-fdeclare-opencl-builtins")

#: Times of programs that it has kept would say nothing.
_NO_CACHE = {"AMD_COMGR_CACHE": "0"}


def version() -> str:
    """Return the compiler's name and version."""
    return f"AMD's comgr {debian.upstream(PACKAGES.version(_COMGR))} (Debian sid)"


class _Compiler:
    """A process that compiles for one chip; it is started again if a program ends it."""

    def __init__(self, chip: str) -> None:
        (include,) = PACKAGES.folder.glob("usr/lib/llvm-*/lib/clang/*/include")
        options = [*OPENCL_OPTIONS, "-O3", "-w", REMARKS, *_HEADERS]
        self.words = [
            *PACKAGES.command("python3.*"), str(_CHILD), chip, *options,
            f"-resource-dir={include.parent}",
        ]  # fmt: skip
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, file: Path) -> dict[str, Any]:
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.words, env={**os.environ, **_NO_CACHE}, stdin=pipe, stdout=pipe, text=True
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if line:
            return dict(json.loads(line))
        code = self.close()
        return {"good": False, "log": f"the compiler ended with {code}", "seconds": 0.0}

    def close(self) -> int | None:
        """End the process; return its exit code."""
        if self.process is None:
            return None
        self.process.communicate()
        code, self.process = self.process.returncode, None
        return code


def compile_many(
    programs: Sequence[tuple[str, int]], target: Target
) -> Iterator[Made | CompileError]:
    """Compile OpenCL C to executables; yield what each program takes, or the compiler's log."""
    compiler = _Compiler(target.chip)
    with tempfile.TemporaryDirectory(prefix="portability-") as folder:
        file = Path(folder) / "k.cl"
        try:
            for source, _ in programs:
                file.write_text(source, encoding="utf-8")
                answer = compiler(file)
                if answer["good"]:
                    yield Made(usages_of(answer["log"], target), answer["seconds"])
                else:
                    yield CompileError(answer["log"][-4000:])
        finally:
            compiler.close()
