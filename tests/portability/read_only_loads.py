"""Reads of kernels' own stores through NVIDIA's cache of read-only data.

What a kernel stores may not be there when it is read through that cache. NVIDIA's compilers take it
for arrays that a kernel only reads; they do so, too, where one read has two possible places, and
only one of them is in such an array (``chosen ? written[i] : given[j]`` as one read at a chosen
address).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_ENTRY = re.compile(r"\.entry (\w+)\(.*?\)\s*(?:\.\w+[^\n]*\n)*\{(.*?)\n\}", re.S)
_PARAMETER = re.compile(r"ld\.param\.\w+64\s+(%rd\d+), \[(\w+)")
_MADE = re.compile(r"(?:add|sub|mad|mov|selp|cvta)\S*\s+(%rd\d+), (.*);")
_READ = re.compile(r"ld\.global\.nc\S*\s+.*\[(%rd\d+)")
_WRITTEN = re.compile(r"(?:st|red|atom)\.global\S*\s+(?:%\w+, )?\[(%rd\d+)")
_POINTER = re.compile(r"cvta\.to\.global\.u64\s+%rd\d+, (%rd\d+)")
_ADDRESS = re.compile(r"%rd\d+")


def _behind(register: str, made_of: Mapping[str, set[str]]) -> set[str]:
    """Return the parameters that an address may be made of."""
    seen, left, found = {register}, [register], set()
    while left:
        for one in made_of.get(left.pop(), ()):
            if not one.startswith("%"):
                found.add(one)
            elif one not in seen:
                seen.add(one)
                left.append(one)
    return found


def _of_all(registers: Iterable[str], made_of: Mapping[str, set[str]]) -> set[str]:
    return set().union(*(_behind(one, made_of) for one in registers))


def stale_reads(ptx: str) -> list[tuple[str, str]]:
    """Return kernels, each with a parameter that it stores to and reads through that cache.

    Parameters
    ----------
    ptx : str
        NVIDIA's assembly language, as its run-time compiler gives it.
    """
    found = []
    for kernel, body in _ENTRY.findall(ptx):
        made_of = defaultdict(set)
        for register, parameter in _PARAMETER.findall(body):
            made_of[register].add(parameter)
        for register, operands in _MADE.findall(body):
            made_of[register].update(_ADDRESS.findall(operands))
        pointers = _of_all(_POINTER.findall(body), made_of)
        stored = _of_all(_WRITTEN.findall(body), made_of) & pointers
        read = _of_all(_READ.findall(body), made_of)
        found += [(kernel, parameter) for parameter in sorted(read & stored)]
    return found
