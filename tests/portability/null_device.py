"""A device on paper that remembers, and checks, all kernels that it was asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Capabilities, DeviceArray, Launch, Program
from pyopencl_gbdt.device.paper import PaperDevice, PaperProgram
from pyopencl_gbdt.device.program import Groups
from pyopencl_gbdt.device.render import Param, render
from pyopencl_gbdt.device.signature import arrange
from pyopencl_gbdt.pages.quantize import FullBins

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_KERNEL = re.compile(r"^KERNEL\((\d+)\)\s+(\w+)\s*\(([^)]*)\)", re.MULTILINE)
_SCALARS = {
    "u8": np.uint8, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
    "u64": np.uint64, "f32": np.float32,
}  # fmt: skip
_SIZES = {name: np.dtype(dtype).itemsize for name, dtype in _SCALARS.items()}

#: Rows of what is prepared.
N_ROWS = 9000
#: The label of what no GPU gets.
FOR_CPUS = "for CPUs"

Key = tuple[str, int, tuple[tuple[str, Param], ...]]


@dataclass
class Built:
    """A template as a device was asked to build it.

    Attributes
    ----------
    label : str
        The variant that asked for it.
    kernels : dict of str to list of str
        Kernels of its source, with the declarations of their arguments.
    bound : set of str
        Kernels that were given arguments.
    """

    template: str
    wg_size: int
    params: dict[str, Param]
    label: str
    kernels: dict[str, list[str]]
    bound: set[str] = field(default_factory=set)

    def source(self, dialect: str) -> str:
        return render(self.template, dialect, wg_size=self.wg_size, **self.params)

    @property
    def name(self) -> str:
        """The template with its parameters, for people."""
        shown = ", ".join(f"{k}={str(v)[:24]!r}" for k, v in sorted(self.params.items()))
        return f"{self.template}[wg_size={self.wg_size}, {shown}]"


def kernels_of(source: str) -> dict[str, list[str]]:
    """Names and argument declarations of the kernels in a rendered source."""
    found = _KERNEL.findall(_COMMENT.sub(" ", source))
    return {name: [part.strip() for part in args.split(",")] for _, name, args in found}


def mismatch(declared: list[str], given: tuple[Any, ...]) -> str:
    """What is wrong with a kernel's arguments, or an empty string.

    A scalar must be a NumPy scalar of the declared type; an array of a scalar type must have
    elements of its size.
    """
    if len(declared) != len(given):
        return f"{len(given)} arguments for {len(declared)}: {declared}"
    for text, value in zip(declared, given, strict=True):
        word = next((w for w in re.findall(r"\w+", text) if w in _SCALARS), "")
        if "*" in text:
            if not isinstance(value, DeviceArray):
                return f"{text!r} was given a {type(value).__name__}"
            if word and value.dtype.names is None and value.dtype.itemsize != _SIZES[word]:
                return f"{text!r} was given an array of {value.dtype}"
        elif type(value) is not _SCALARS[word]:
            return f"{text!r} was given a {type(value).__name__}"
    return ""


class NullProgram(PaperProgram):
    """Checks the arguments that its kernels are given."""

    def __init__(self, device: NullDevice, built: Built) -> None:
        super().__init__(device, built.template, built.wg_size)
        self.complaints, self.built = device.complaints, built
        self.source = built.source("opencl")

    def bind(self, kernel_name: str, groups: Groups, /, *args: Any, **named: Any) -> Launch:
        built = self.built
        if kernel_name not in built.kernels:
            self.complaints.append(f"{built.name}: there is no kernel {kernel_name!r}")
            return Launch(kernel_name, lambda: None)
        wrong = mismatch(built.kernels[kernel_name], arrange(self.source, kernel_name, args, named))
        if wrong:
            self.complaints.append(f"{built.name}, {kernel_name}: {wrong}")
        built.bound.add(kernel_name)
        return super().bind(kernel_name, groups, *args, **named)

    prepare = bind


class NullDevice(PaperDevice):
    """A device on paper that renders kernels, and checks the arguments that they are given.

    Attributes
    ----------
    built : dict of Key to Built
    complaints : list of str
        Kernels that do not exist and arguments that do not fit.
    label : str
        Put into what is built from now on.
    """

    holds_memory = True  # arrays get contents, some of them by kernels

    def __init__(self, caps: Capabilities) -> None:
        super().__init__(caps)
        self.built: dict[Key, Built] = {}
        self.complaints: list[str] = []
        self.label = ""
        FullBins(n_missing=1).tell(self)

    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        key = (template, wg_size, tuple(sorted(params.items())))
        if key not in self.built:
            dialect = "cuda" if self.caps.api == "cuda" else "opencl"
            kernels = kernels_of(render(template, dialect, wg_size=wg_size, **params))
            self.built[key] = Built(template, wg_size, dict(params), self.label, kernels)
        return NullProgram(self, self.built[key])
