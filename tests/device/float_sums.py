"""Find the floats that a loop of a rendered kernel builds up, such as sums.

A compiler that reorders such a sum changes its bits. Intel's CPU runtime does so, although the
standard forbids it without an option that allows it.

The reader knows as much C as the templates use: declarations, assignments, loops and functions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.device.vocabulary import strip_comments

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fuUlL]*"
    r"|->|\+\+|--|<<=|>>=|[-+*/%&|^]=|<<|>>|[<>=!]=|&&|\|\||\S"
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
#: A function in one line, or one whose last line is a brace alone.
_ROUTINE = re.compile(r"^FN\b[^\n]*\}$|^(?:FN|(?:\w+ )?KERNEL)\b.*?^\}", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(
    r"typedef\s+(?:struct\s*(?:\w+\s*)?\{([^}]*)\}\s*(\w+)|(\w+)\s+(\w+))\s*;", re.DOTALL
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_QUALIFIERS = frozenset({"const", "volatile", "GLOBAL", "LOCAL", "RESTRICT", "static", "PRIVATE"})
_LOCAL_ARRAYS = frozenset({"LOCAL_ARRAY", "LOCAL_LINES", "LOCAL_LARGE"})
_FLOATS = frozenset({"f32", "f64"})
_INTEGERS = ("u8", "u16", "i32", "u32", "i64", "u64", "int", "u32x4", "i64x2", "i32x2")
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/="})
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_LOOPS = frozenset({"for", "while", "do"})

#: Types by name, with the types of their members. An alias has one member without a name.
_Types = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, order=True)
class Running:
    """A float that outlives a turn of a loop and gets a value computed from its old one.

    What a function's pointer argument points to counts too, as a caller's loop may pass it.

    Attributes
    ----------
    function, variable : str
        Where it is; a variable comes with its members, ``node.value``.
    in_order : bool
        Whether all loops that it outlives are marked ``IN_ORDER``.
    """

    function: str
    variable: str
    in_order: bool


@dataclass
class _Variable:
    type: str
    depth: int
    """Number of loops around the declaration."""
    made_of: frozenset[str] = frozenset()
    """Variables that its value is computed from, directly or through others."""
    passed: bool = False
    """Whether it is a function's pointer argument."""


@dataclass
class _Reader:
    """Reads one function."""

    tokens: list[str]
    types: dict[str, dict[str, str]]
    at: int = 0
    function: str = ""
    found: set[Running] = field(default_factory=set)
    scopes: list[dict[str, _Variable]] = field(default_factory=lambda: [{}])
    loops: list[bool] = field(default_factory=list)
    """Whether each loop around the current place is marked."""

    def peek(self, ahead: int = 0) -> str:
        return next(iter(self.tokens[self.at + ahead : self.at + ahead + 1]), "")

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def until(self, end: str) -> list[str]:
        """Take the tokens before ``end`` outside of any bracket, and ``end`` itself."""
        begin, level = self.at, 0
        while self.at < len(self.tokens):
            token = self.take()
            if not level and token == end:
                return self.tokens[begin : self.at - 1]
            level += (token in "([{") - (token in ")]}")
        return self.tokens[begin:]

    def read(self) -> set[Running]:
        of_kernel = "KERNEL" in self.tokens[:2]
        if of_kernel:
            self.until("(")
            self.until(")")
        self.function = self.until("(")[-1]
        for argument in _split(self.until(")")):
            words = [word for word in argument if _WORD.fullmatch(word)]
            kind = next((word for word in words if word in self.types), None)
            if kind:
                passed = "*" in argument and not of_kernel
                self.scopes[0][words[-1]] = _Variable(kind, 0, passed=passed)
        self.statement()
        return self.found

    def statement(self, marked: bool = False) -> None:
        word = self.take()
        if word == "{":
            self.scopes.append({})
            while self.peek() not in ("}", ""):
                self.statement()
            self.take()
            self.scopes.pop()
        elif word == "for":
            self.take()
            self.scopes.append({})
            self.simple(self.until(";"))
            self.loops.append(marked)
            self.simple(self.until(";"))
            step = self.until(")")
            self.statement()
            self.simple(step)
            self.loops.pop()
            self.scopes.pop()
        elif word in ("while", "if", "switch"):
            self.take()
            self.loops += [marked] * (word == "while")
            self.simple(self.until(")"))
            self.statement()
            del self.loops[len(self.loops) - (word == "while") :]
        elif word == "do":
            self.loops.append(marked)
            self.statement()
            self.loops.pop()
            self.until(";")
        elif word == "else" or (_WORD.fullmatch(word) and self.peek() in _LOOPS):
            self.statement(word == "IN_ORDER")
        else:
            self.at -= 1
            self.simple(self.until(";"))

    def simple(self, tokens: list[str]) -> None:
        """Read a declaration or an expression."""
        words = [word for word in tokens if word not in _QUALIFIERS]
        if len(words) > 4 and words[0] in _LOCAL_ARRAYS:
            self.scopes[-1][words[4]] = _Variable(words[2], len(self.loops))
        elif len(words) > 1 and words[0] in self.types:
            for part in _split(words[1:]):
                made = self.made_of(part[part.index("=") + 1 :]) if "=" in part else frozenset()
                name = next((word for word in part if _WORD.fullmatch(word)), "")
                self.scopes[-1][name] = _Variable(words[0], len(self.loops), made)
        else:
            for part in _split(words):
                self.assign(part)

    def made_of(self, tokens: list[str]) -> frozenset[str]:
        names = _names(tokens)
        return frozenset(names).union(*(v.made_of for v in map(self.lookup, names) if v))

    def lookup(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def assign(self, tokens: list[str]) -> None:
        place = next((i for i, token in enumerate(tokens) if token in _ASSIGNS), len(tokens))
        target, sign, value = (
            tokens[:place],
            "".join(tokens[place : place + 1]),
            tokens[place + 1 :],
        )
        names = _names(target)
        variable = self.lookup(names[0]) if names and sign else None
        if variable is None:
            return
        self.assign(value)  # of a chain
        made = self.made_of(value)
        again = sign != "=" or (names[0] in made and _computes(value, names[0]))
        outlived = self.loops[variable.depth :]
        if again and (outlived or variable.passed) and self.holds_floats(target, variable.type):
            marked = bool(outlived) and all(outlived) and not variable.passed
            self.found.add(Running(self.function, _path(target), marked))
        if len(target) == 1:
            variable.made_of |= made

    def holds_floats(self, target: list[str], kind: str) -> bool:
        for member in _path(target).split(".")[1:]:
            kind = self.types.get(kind, {}).get(member, "")
        if kind in _FLOATS:
            return True
        members = self.types.get(kind, {})
        return bool(members) and all(self.holds_floats([], part) for part in members.values())


def _split(tokens: list[str]) -> Iterator[list[str]]:
    """Yield the parts between commas that are in no bracket."""
    part: list[str] = []
    level = 0
    for token in tokens:
        level += (token in "([{") - (token in ")]}")
        if token == "," and not level:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _names(tokens: list[str]) -> list[str]:
    """Return the variables of an expression, in order, without members and functions."""
    around = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    return [
        word
        for before, word, behind in around
        if _WORD.fullmatch(word) and before not in (".", "->") and behind != "("
    ]


def _path(target: list[str]) -> str:
    """Return ``a.b`` for ``a[i].b`` and for ``a->b``."""
    level, path = 0, ""
    for token in target:
        level += token == "["
        if not level and token not in ("*", "(", ")", "&"):
            path += "." if token == "->" else token
        level -= token == "]"
    return path


def _computes(value: list[str], name: str) -> bool:
    """Tell whether an expression computes with a variable, beyond choosing between values."""
    calls = any(_WORD.fullmatch(a) and b == "(" for a, b in itertools.pairwise(value))
    return calls or not _ARITHMETIC.isdisjoint(value) or name not in _names(value)


@cache
def _of_routine(text: str, types: _Types) -> set[Running]:
    return _Reader(_TOKEN.findall(text), {name: dict(of) for name, of in types}).read()


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def running_floats(source: str) -> set[Running]:
    """Return the floats that loops of a rendered source build up."""
    text = _DIRECTIVE.sub(" ", strip_comments(source))
    types: dict[str, dict[str, str]] = {name: {} for name in (*_FLOATS, *_INTEGERS)}
    floats = set(_FLOATS)
    for match in _TYPE.finditer(text):
        body, name, alias = match[1], match[2] or match[4], match[3]
        lines = [_WORD.findall(line) for line in body.split(";")] if body else [[alias, ""]]
        members = [[word for word in line if word not in _QUALIFIERS] for line in lines]
        types[name] = {member: words[0] for words in members for member in words[1:]}
        if not floats.isdisjoint(types[name].values()):
            floats.add(name)
    found: set[Running] = set()
    for match in _ROUTINE.finditer(text):
        words = _words(match[0])
        if not floats.isdisjoint(words):
            named = words | {kind for name in words & types.keys() for kind in types[name].values()}
            own = tuple((name, tuple(of.items())) for name, of in types.items() if name in named)
            found |= _of_routine(match[0], own)
    return found
