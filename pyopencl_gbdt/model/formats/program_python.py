"""A model as a program in Python that needs the standard library alone, with this one's bits.

A float32 is a number of ``array("f")``: storing a sum or a product of two of them there rounds it
as float32 arithmetic does, since Python's numbers have more than twice their digits.
"""

from __future__ import annotations

import base64

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import (
    bits_of,
    link_of,
    of_used_rounds,
)
from pyopencl_gbdt.model.formats.flat_nodes import WrittenProgram, flat_nodes

_START = '"""Gradient-boosted trees in Python'

_HEAD = '''{start}, written by pyopencl_gbdt {version}.

    found = predict([[0.5, None, 2.0, ...], ...])        what Model.predict returns{bits}
    found = margins([0.5, None, 2.0, ...])               of one row, for each output

None and NaN in a row are missing values. A categorical column has its levels, as in training; one
that training has not seen is missing. It needs the standard library alone.
"""

import base64
import bisect
import math
import sys
from array import array


def _numbers(kind, text):
    found = array(kind, base64.b64decode(text))
    if sys.byteorder == "big":
        found.byteswap()
    return found


'''

_WALK = '''

def _value(tree, row):
    """Return the value of the leaf that a row comes to."""
    at = tree
    while _LEFT[at]:
        x = row[_FEATURE[at]]
        if x != x:
            right = not _FLAGS[at] & 1
        elif _FLAGS[at] & 2:
            right = _in_set(_SET[at], x)
        else:
            right = not x < _NUMBER[at]
        at = tree + _LEFT[at] + right
    return _NUMBER[at]


def _in_set(begin, code):
    if not 0 <= code < 32 * _SETS[begin]:
        return False
    return _SETS[begin + 1 + int(code) // 32] >> int(code) % 32 & 1


def _code(column, value):
    """Return the code of a level; NaN if training has not seen it."""
    levels = LEVELS[column]
    if value is None or value != value or isinstance(value, str) != isinstance(levels[0], str):
        return math.nan
    place = bisect.bisect_left(levels, value)
    return place if place < len(levels) and levels[place] == value else math.nan


def margins(row):
    """Return the margin of each output for one row."""
    if len(row) != FEATURES:
        raise ValueError("a row has %d values: expected %d" % (len(row), FEATURES))
    values = array("f")
    for column, value in enumerate(row):
        if LEVELS.get(column):
            values.append(_code(column, value))
        else:
            values.append(math.nan if value is None else value)
    sums = array("f", _BASE)
    each = len(_ROOTS) // len(sums)
    for output in range(len(sums)):
        for root in _ROOTS[output * each : (output + 1) * each]:
            sums[output] += _value(root, values)
    return sums.tolist()


def predict(rows, output_margin=False):
    """Return the prediction of each row: a number, or a list if there are several."""
    found = []
    for row in rows:
        sums = margins(row)
        own = sums if output_margin else _linked(sums)
        found.append(own[0] if len(own) == 1 else own)
    return found
'''

_MATH = '''

def _f(x):
    """Return a number rounded to float32."""
    return array("f", [x])[0]


def _exponential(x):
    if x != x:
        return x
    c = max(-80.0, min(x, 80.0))
    n = _f(_f(_f(c * _f(1.44269502)) + 12582912.0) - 12582912.0)
    r = _f(_f(c - _f(n * 0.693359375)) - _f(n * _f(-2.12194442e-4)))
    total = _f(1.98412701e-4)
    for factor in (
        1.38888892e-3, 8.33333377e-3, 4.16666679e-2, 1.66666672e-1, 0.5, 1.0, 1.0,
    ):
        total = _f(_f(total * r) + _f(factor))
    return _f(total * 2.0**n)


def _reciprocal(x):
    bits = 0x7EF311C7 - array("I", array("f", [x]).tobytes())[0]
    r = array("f", array("I", [bits]).tobytes())[0]
    for _ in range(4):
        r = _f(r + _f(r * _f(1.0 - _f(x * r))))
    return r
'''

_LINKS = {
    "identity": "    return sums",
    "exp": "    return [_exponential(x) for x in sums]",
    "sigmoid": """    near = (max(-50.0, min(x, 50.0)) for x in sums)
    return [_reciprocal(_f(1.0 + _exponential(-x))) for x in near]""",
    "positive": "    return [float(x > 0) for x in sums]",
    "softmax": """    most = max(sums)
    powers = [_exponential(_f(x - most)) for x in sums]
    total = 0.0
    for power in powers:
        total = _f(total + power)
    share = _reciprocal(total)
    return [_f(power * share) for power in powers]""",
    "class": "    return [float(sums.index(max(sums)))]",
}


class ProgramPython(WrittenProgram):
    """A program in Python that predicts rows."""

    name = "a program in Python"
    suffixes = (".py",)
    start = _START

    def _write(self, model: Ensemble) -> bytes:
        return to_python(model).encode("ascii")


def to_python(ensemble: Ensemble) -> str:
    """Return a model as a program in Python 3, in ASCII."""
    from pyopencl_gbdt._version import __version__

    model = of_used_rounds(ensemble)
    link, flat = link_of(model), flat_nodes(model)
    names = [model.feature_name(i) for i in range(model.n_features)]
    levels = {c: levels.values.tolist() for c, levels in sorted(model.categories.items())}
    parts = [
        _HEAD.format(start=_START, version=__version__, bits=bits_of(ensemble, ", the same bits")),
        f"FEATURES = {model.n_features}\n",
        f"NAMES = {_literal(names)}\n",
        f"LEVELS = {_literal(levels)}  # of categorical columns, by the column's number\n",
        _packed("_BASE", "f", np.array(each(model.base_margin), np.float32)),
        _packed("_ROOTS", "i", flat.begin),
        "# Of each node: a leaf's value, or rows below it go left; the left child, counted from\n"
        "# the root, 0 in leaves; 1 if missing values go left, plus 2 if a set's codes go right.\n",
        _packed("_NUMBER", "f", flat.number),
        _packed("_LEFT", "i", flat.left),
        _packed("_FEATURE", "i", flat.feature),
        _packed("_FLAGS", "b", flat.flags),
        _packed("_SET", "i", flat.set_begin),
        _packed("_SETS", "I", flat.sets),
        _WALK,
    ]
    if link in ("exp", "sigmoid", "softmax"):
        parts.append(_MATH)
    parts.append(f"\n\ndef _linked(sums):\n{_LINKS[link]}\n")
    return "".join(parts)


def _literal(value: list[str] | dict[int, list[object]]) -> str:
    """Return a literal in ASCII, an entry a line."""
    if isinstance(value, dict):
        lines = [f"    {key}: {entries!a},\n" for key, entries in value.items()]
        return "{\n" + "".join(lines) + "}" if lines else "{}"
    return "[\n" + "".join(f"    {entry!a},\n" for entry in value) + "]"


def _packed(name: str, kind: str, values: npt.NDArray[np.generic]) -> str:
    dtype = {"f": "<f4", "i": "<i4", "b": "<i1", "I": "<u4"}[kind]
    text = base64.encodebytes(values.astype(dtype).tobytes()).decode()
    return f'{name} = _numbers("{kind}", """\n{text}""")\n'
