"""Sources of two kernels as one: the last work-group of the first does what the second does.

    KERNEL(64) find(..) {         KERNEL(64) decide(..) {        KERNEL(64) find_decide(..) {
        body of find                  body of decide                 body of find
    }                             }                                  if (is_last_group(..)) {
                                                                         body of decide
                                                                     }
                                                                 }

Both sources are rendered for work-groups of one size. The second kernel is one that is launched
with one work-group; its functions get other names, as both sources may have some of one name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.signature import without_comments
from pyopencl_gbdt.lazy_dataclasses import dataclass

_KERNEL = re.compile(
    r"^(?:BRIEF\s+)?KERNEL\((\s*\d+\s*)\)\s*(\w+)\s*\(([^()]*)\)\s*\{\n(.*?)^\}\n?", re.M | re.S
)
# a pattern that begins with a letter is found 16 times as fast as one that begins with \b
_FUNCTION = re.compile(r"FN\s+[\w\s*]*?\b(\w+)\s*\(")
_TYPE = re.compile(r"^\}\s*(\w+)\s*;|^typedef[^;{}]*\b(\w+)\s*;", re.M)
_LOCAL = re.compile(r"\bLOCAL_ARRAY\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\d+)\s*\);")
_MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
_WORD = re.compile(r"\w+")
#: Words that get a value, but no fields.
_CHANGED = re.compile(r"(?<![\w.>])(\w+)(?=\s*(?:[-+*/%&|^]?=[^=]|<<=|>>=|\+\+|--))")
#: What a work-group asks for, as the only one of a launch has it.
_ALONE = {
    "GROUP_ID_Y": "0u", "N_GROUPS_Y": "1u", "GROUP_ID": "0u", "N_GROUPS": "1u",
    "GLOBAL_ID": "((u64)LOCAL_ID)",
}  # fmt: skip
#: Behind the names of what the second kernel brings.
_THEN = "_then"
#: The counter of work-groups, and the answer whether a group is the last one.
_ARRIVED, _ANSWER = "arrived_groups", "last_group"


class NotFollowedError(Exception):
    """A kernel cannot become the end of another one."""


def without_kernels(source: str, kept: Collection[str] = ()) -> str:
    """Return a source without comments, without its kernels but those whose names are kept."""
    return _KERNEL.sub(lambda found: found.group() if found[2] in kept else "", source)


@dataclass(frozen=True)
class KernelText:
    """A kernel in a source without comments.

    Attributes
    ----------
    begin : int
        Its place in the source.
    declared : tuple of str
        Its parameters.
    """

    begin: int
    wg_size: str
    declared: tuple[str, ...]
    body: str

    @classmethod
    def of(cls, source: str, name: str) -> KernelText:
        """Return a kernel of a source by its name.

        Raises
        ------
        NotFollowedError
            If there is none, or it is not written as the library's kernels are.
        """
        for found in _KERNEL.finditer(source):
            if found[2] == name:
                declared = tuple(" ".join(text.split()) for text in found[3].split(","))
                return cls(found.start(), found[1], declared, found[4])
        raise NotFollowedError(f"no kernel {name!r} is found")


@lru_cache(maxsize=64)
def fixed_parameters(source: str, name: str) -> frozenset[str]:
    """Return the parameters to which a kernel of a rendered source gives no other value."""
    kernel = KernelText.of(without_comments(source), name)
    return frozenset(map(_name, kernel.declared)) - {*_CHANGED.findall(kernel.body)}


@lru_cache(maxsize=64)
def followed_source(
    source: str,
    name: str,
    then: str,
    follower: str,
    headers: tuple[str, ...],
    shared: tuple[tuple[str, str], ...],
    alone: bool,
) -> str:
    """Return a source with one kernel, ``name_follower``.

    Its parameters are those of the first kernel, those of the second one that are not shared, and
    the counter of work-groups.

    Parameters
    ----------
    source, name : str
        A rendered source, and its kernel that begins.
    then, follower : str
        Another one, and its kernel that follows.
    headers : tuple of str
        The files of ``cl_kernels`` that the sources may contain.
    shared : tuple of (str, str)
        Parameters of ``follower``, and those of ``name`` that have the same arguments.
    alone : bool
        Whether the first launch has one work-group, too.

    Raises
    ------
    NotFollowedError
        If the kernels cannot be joined.
    """
    source, known = without_comments(source), dict(shared)
    first = KernelText.of(source, name)
    missing, own = _without_headers(without_comments(then), headers)
    own = _renamed(own)
    second = KernelText.of(own, follower)
    if re.search(r"\breturn\b", first.body):
        raise NotFollowedError(f"{name!r} returns before its end")
    defined = {*_MACRO.findall(_without_headers(source, headers)[1])}
    if defined & {*_WORD.findall(own)}:
        raise NotFollowedError(f"{name!r} defines words of {follower!r}")
    added = [text for text in second.declared if _name(text) not in known]
    parameters = [
        *_first_parameters(first, second, known),
        *(_declared(text, _name(text) + _THEN) for text in added),
        f"GLOBAL u32* {_ARRIVED}",
    ]
    aliases = [_alias(text, _name(text) + _THEN) for text in added] + [
        _alias(text, known[_name(text)])
        for text in second.declared
        if known.get(_name(text), _name(text)) != _name(text)
    ]
    arrays = _LOCAL.findall(second.body)
    aliases += [f"LOCAL {kind}* {word} = {word}{_THEN};" for kind, word, _ in arrays]
    local = [f"LOCAL_ARRAY({kind}, {word}{_THEN}, {size});" for kind, word, size in arrays]
    begin = [f"(void){_ARRIVED};", "BARRIER();", "{"]
    if not alone:
        local.append(f"LOCAL_ARRAY(u32, {_ANSWER}, 1);")
        begin = [f"if (is_last_group({_ARRIVED}, {_ANSWER})) {{"]
    return "\n".join([
        without_kernels(source[: first.begin]),
        *(text for text in missing if text not in source),
        without_comments(header("last_group.h")),
        without_kernels(own),
        f"KERNEL({first.wg_size}) {name}_{follower}({', '.join(parameters)}) {{",
        *local, first.body, *begin, *aliases, _LOCAL.sub("", second.body), "    }", "}", "",
    ])  # fmt: skip


def _without_headers(source: str, headers: Sequence[str]) -> tuple[list[str], str]:
    """Return the headers of a source in its order, and the rest."""
    texts = [without_comments(header(file)) for file in headers]
    found = sorted((source.find(text), text) for text in texts if text in source)
    for _, text in found:
        source = source.replace(text, "", 1)
    return [text for _, text in found], source


def _renamed(text: str) -> str:
    """Return what one work-group runs, with other names of functions, types and macros."""
    names = {*_FUNCTION.findall(text), *_MACRO.findall(text)}
    names |= {word for pair in _TYPE.findall(text) for word in pair if word}
    instead = {name: name + _THEN for name in names} | _ALONE
    return _WORD.sub(lambda found: instead.get(found[0], found[0]), text)


def _name(declared: str) -> str:
    return declared.rsplit(maxsplit=1)[-1].lstrip("*")


def _declared(text: str, name: str) -> str:
    """Return a declaration with another name, and without the promise that no other reads it."""
    return text.replace("RESTRICT ", "")[: -len(_name(text))] + name


def _alias(text: str, name: str) -> str:
    return f"{_declared(text, _name(text))} = {name};"


def _first_parameters(
    first: KernelText, second: KernelText, shared: Mapping[str, str]
) -> list[str]:
    """Return the first kernel's declarations, for what both kernels read and write."""
    of_second = {shared[_name(text)]: text for text in second.declared if _name(text) in shared}
    found = []
    for text in first.declared:
        other, own = of_second.get(_name(text), ""), text
        if other or "const" not in text.split():
            own = own.replace("RESTRICT ", "")
        if other and "*" in text and "const" not in other.split():
            own = own.replace("const ", "")
        found.append(own)
    return found
