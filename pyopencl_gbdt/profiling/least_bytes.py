"""The register of least bytes: every kernel of a program has one rule.

A kernel has the name of ``Program.label``: the kernel of the variant table and, if it differs,
the function of the program, such as ``histogram.reduce``. A rule says how to find its least bytes:

- ``of_tree``: from a finished tree (or several that were grown together);
- ``of_set_up``: from the data, for kernels that quantise them;
- ``whole_arrays``: from its arguments, as it reads or writes each of its arrays whole, once.

`tree_traffic`, `column_traffic`, `interleaved_traffic`, `category_traffic` and `traffic` hold the
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.profiling.tree_counts import TreeCounts

OfTree = Callable[[FitParts, TreeCounts], int]
OfSetUp = Callable[[FitParts, bool], int]


@dataclass(frozen=True)
class Rule:
    """How the least bytes of a kernel's launches are found.

    Attributes
    ----------
    of_tree : callable or None
        Returns the bytes for trees that were grown together.
    of_set_up : callable or None
        Returns the bytes of quantising; its second argument tells whether rows have weights.
        If both are None, the bytes are those of the kernel's arrays.
    """

    of_tree: OfTree | None = None
    of_set_up: OfSetUp | None = None

    @property
    def whole_arrays(self) -> bool:
        """Whether the kernel reads or writes each of its arrays whole, once."""
        return self.of_tree is None and self.of_set_up is None


#: The rule of every kernel, by its label.
RULES: dict[str, Rule] = {}


def register(kernel: str, rule: Rule) -> None:
    """Add a kernel's rule; raises ValueError if it has one already."""
    if kernel in RULES:
        raise ValueError(f"{kernel}: expected one rule for its least bytes, got a second one")
    RULES[kernel] = rule


def of_tree(*kernels: str) -> Callable[[OfTree], OfTree]:
    """Register a function of a fit and a tree for these kernels."""

    def add(function: OfTree) -> OfTree:
        for kernel in kernels:
            register(kernel, Rule(of_tree=function))
        return function

    return add


def of_set_up(*kernels: str) -> Callable[[OfSetUp], OfSetUp]:
    """Register a function of a fit and of whether rows have weights for these kernels."""

    def add(function: OfSetUp) -> OfSetUp:
        for kernel in kernels:
            register(kernel, Rule(of_set_up=function))
        return function

    return add


def whole_arrays(program: str, functions: Iterable[str]) -> None:
    """Register functions of a program that read or write each of their arrays whole, once."""
    for function in functions:
        register(f"{program}.{function}", Rule())
