"""The compilers that run without a GPU, by their rows of the matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.portability import clang, comgr, debian, nvrtc, ocloc
from tests.portability.targets import Target
from tests.portability.usage import CompileError, Made


@dataclass(frozen=True)
class Compiler:
    """A compiler of a maker's chips.

    Attributes
    ----------
    missing : callable
        Returns how to install it, or an empty string if it is here.
    version : callable
        Returns its name and version.
    compile_many : callable
        Compiles sources for work-groups of given sizes; yields what each program takes of a chip,
        or why it does not compile.
    build : callable
        Returns all that decides what becomes of a source for a chip: the compiler's version, its
        libraries and its options. It is empty where that is unknown, and nothing is recorded then.
    """

    missing: Callable[[], str]
    version: Callable[[], str]
    compile_many: Callable[[Sequence[tuple[str, int]], Target], Iterator[Made | CompileError]]
    build: Callable[[Target], str] = lambda _: ""


COMPILERS = {
    "amd": Compiler(clang.missing, clang.version, clang.compile_many, clang.build),
    "amd-comgr": Compiler(debian.why_not, comgr.version, comgr.compile_many),
    "intel-gpu": Compiler(
        ocloc.OLD.missing, ocloc.OLD.version, ocloc.OLD.compile_many, ocloc.build_of_debian
    ),
    "intel-gpu-new": Compiler(debian.why_not, ocloc.NEW.version, ocloc.NEW.compile_many),
    "nvidia": Compiler(nvrtc.missing, nvrtc.version, nvrtc.compile_many, nvrtc.build),
}
