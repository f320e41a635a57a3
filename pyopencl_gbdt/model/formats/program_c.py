"""A model as a program in C: one file, no dependency, the bits of this library.

Margins are float32 sums in the order of the trees. Links are the operations of
``numerics/portable_math.py`` in their order; ``keep`` rounds each product to float32 and stops
compilers from joining it with a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import (
    bits_of,
    link_of,
    of_used_rounds,
)
from pyopencl_gbdt.model.formats.flat_nodes import FlatNodes, WrittenProgram, flat_nodes

_START = "/* Gradient-boosted trees in C99"
_PER_LINE = 8

_HEAD = """{start}, written by pyopencl_gbdt {version}.

     float row[GBDT_FEATURES], found[GBDT_PREDICTIONS];
     gbdt_predict(row, found);            what Model.predict returns{bits}
     gbdt_margins(row, margins);          GBDT_OUTPUTS margins{bits}

   NaN in a row is a missing value. A categorical column has the code of its level, which
   gbdt_code_of_text or gbdt_code_of_number returns; NaN if training has not seen the level.
   For other names of functions, define GBDT(name), for example as mine_##name. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2 || defined(__FAST_MATH__)
#error "float arithmetic has to be that of IEEE 754: compile without -ffast-math, and with SSE2"
#endif
#ifndef GBDT
#define GBDT(name) gbdt_##name
#endif
#define GBDT_FEATURES {n_features}
#define GBDT_OUTPUTS {n_outputs}
#define GBDT_PREDICTIONS {n_predictions}

"""

_WALK = """
static int is_missing(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

/* Whether a code is in a set: of each set, the number of words, then a bit for each code. */
static int in_set(uint32_t set, float x) {
    uint32_t code;
    if (!(x >= 0.0f && x < (float)(32u * sets[set]))) return 0;
    code = (uint32_t)x;
    return (int)(sets[set + 1u + code / 32u] >> code % 32u & 1u);
}

static float value_of(const struct node *tree, const float *row) {
    const struct node *at = tree;
    while (at->left) {
        const float x = row[at->feature];
        const int right = is_missing(x) ? !(at->flags & 1)
                        : at->flags & 2 ? in_set(at->set, x) : !(x < at->number);
        at = tree + at->left + right;
    }
    return at->number;
}

void GBDT(margins)(const float *row, float *margins) {
    int output, tree;
    for (output = 0; output < GBDT_OUTPUTS; ++output) {
        float sum = base[output];
        for (tree = 0; tree < TREES; ++tree)
            sum += value_of(nodes + roots[output * TREES + tree], row);
        margins[output] = sum;
    }
}
"""

_EXP = """
/* x, rounded to float: a compiler does not join its product with a sum. */
static float keep(float x) { volatile float kept = x; return kept; }

static float exponential(float x) {
    static const float factors[] = {1.38888892e-3f, 8.33333377e-3f, 4.16666679e-2f, 1.66666672e-1f,
                                    0.5f, 1.0f, 1.0f};
    const float c = x < -80.0f ? -80.0f : x > 80.0f ? 80.0f : x;
    const float n = keep(keep(keep(c * 1.44269502f) + 12582912.0f) - 12582912.0f);
    const float r = keep(c - keep(n * 0.693359375f)) - keep(n * -2.12194442e-4f);
    float sum = 1.98412701e-4f, power;
    uint32_t bits;
    int i;
    if (is_missing(x)) return x;
    for (i = 0; i < 7; ++i) sum = keep(sum * r) + factors[i];
    bits = (uint32_t)((int)n + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}
"""

_RECIPROCAL = """
static float reciprocal(float x) {
    uint32_t bits;
    float r;
    int i;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x7EF311C7u - bits;
    memcpy(&r, &bits, sizeof r);
    for (i = 0; i < 4; ++i) r = r + keep(r * keep(1.0f - keep(x * r)));
    return r;
}
"""

_LINKS = {
    "identity": """    GBDT(margins)(row, found);""",
    "exp": """    size_t output;
    GBDT(margins)(row, found);
    for (output = 0; output < GBDT_OUTPUTS; ++output)
        found[output] = exponential(found[output]);""",
    "sigmoid": """    size_t output;
    GBDT(margins)(row, found);
    for (output = 0; output < GBDT_OUTPUTS; ++output) {
        const float x = found[output], c = x < -50.0f ? -50.0f : x > 50.0f ? 50.0f : x;
        found[output] = reciprocal(1.0f + exponential(-c));
    }""",
    "positive": """    size_t output;
    GBDT(margins)(row, found);
    for (output = 0; output < GBDT_OUTPUTS; ++output) found[output] = found[output] > 0.0f;""",
    "softmax": """    size_t output;
    float most, sum = 0.0f, share;
    GBDT(margins)(row, found);
    most = found[0];
    for (output = 1; output < GBDT_OUTPUTS; ++output)
        if (found[output] > most) most = found[output];
    for (output = 0; output < GBDT_OUTPUTS; ++output)
        sum += found[output] = exponential(found[output] - most);
    share = reciprocal(sum);
    for (output = 0; output < GBDT_OUTPUTS; ++output) found[output] *= share;""",
    "class": """    size_t output, most = 0;
    float margins[GBDT_OUTPUTS];
    GBDT(margins)(row, margins);
    for (output = 1; output < GBDT_OUTPUTS; ++output)
        if (margins[output] > margins[most]) most = output;
    found[0] = (float)most;""",
}


class ProgramC(WrittenProgram):
    """A program in C that predicts a row."""

    name = "a program in C"
    suffixes = (".c",)
    start = _START

    def _write(self, model: Ensemble) -> bytes:
        return to_c(model).encode("ascii")


def to_c(ensemble: Ensemble) -> str:
    """Return a model as a program in C99, in ASCII.

    Raises
    ------
    ModelFormatError
        If a level has a character of the code 0, which no string of C can hold.
    """
    from pyopencl_gbdt._version import __version__

    model = of_used_rounds(ensemble)
    link = link_of(model)
    flat = flat_nodes(model)
    head = _HEAD.format(
        start=_START,
        version=__version__,
        bits=bits_of(ensemble, ", with the same bits"),
        n_features=model.n_features,
        n_outputs=model.n_outputs,
        n_predictions=1 if link == "class" else model.n_outputs,
    )
    parts = [head, _tables(model, flat), _WALK]
    if link in ("exp", "sigmoid", "softmax"):
        parts.append(_EXP)
    if link in ("sigmoid", "softmax"):
        parts.append(_RECIPROCAL)
    parts.append(f"\nvoid GBDT(predict)(const float *row, float *found) {{\n{_LINKS[link]}\n}}\n")
    return "".join([*parts, _names(model), _levels(model)])


def _tables(model: Ensemble, flat: FlatNodes) -> str:
    """Return the model's numbers; an array of C has an element at least."""
    columns = (flat.left, flat.feature, flat.flags, flat.set_begin)
    numbers = _floats(flat.number)
    nodes = [
        f"{{{number},{left},{feature},{flags},{begin}}}" if left else f"{{{number},0,0,0,0}}"
        for number, left, feature, flags, begin in zip(
            numbers, *(column.tolist() for column in columns), strict=True
        )
    ]
    n_trees = flat.begin.size // model.n_outputs
    return (
        "struct node {\n"
        "    float number;     /* a leaf's value, or rows below it go left */\n"
        "    int32_t left;     /* the left child, from the root; then the right one; 0: a leaf */\n"
        "    int32_t feature;\n"
        "    int32_t flags;    /* 1: missing values go left; 2: the codes of a set go right */\n"
        "    uint32_t set;\n"
        "};\n\n"
        f"enum {{ TREES = {n_trees} }}; /* of each output */\n"
        + _array("struct node", "nodes", nodes or ["{0}"])
        + _array("uint32_t", "roots", map(str, flat.begin.tolist() or [0]))
        + _array("uint32_t", "sets", [f"{word}u" for word in flat.sets.tolist() or [0]])
        + _array("float", "base", _floats(np.array(each(model.base_margin), np.float32)))
    )


def _names(model: Ensemble) -> str:
    names = [model.feature_name(i) for i in range(model.n_features)]
    shown = _array("char *const", "names", [_text(name) for name in names])
    return f"\n{shown}\nconst char *GBDT(name_of_column)(int column) {{ return names[column]; }}\n"


def _levels(model: Ensemble) -> str:
    """Return what finds the codes of levels; nothing if no column has levels."""
    tables, cases = [], {True: "", False: ""}
    for column, levels in sorted(model.categories.items()):
        n_levels = levels.n_levels
        if not n_levels:
            continue
        text, kind = levels.are_strings, "char *const" if levels.are_strings else "int64_t"
        values = [_text(v) if text else _whole(int(v)) for v in levels.values.tolist()]
        tables.append(_array(kind, f"levels_{column}", values))
        cases[text] += f"    case {column}: levels = levels_{column}; n = {n_levels}; break;\n"
    if not tables:
        return ""
    return "".join(tables) + "".join(
        f"""
float GBDT(code_of_{name})(int column, {kind}level) {{
    const {kind}{stars}levels = 0;
    size_t low = 0, n = 0;
    switch (column) {{
{cases[text]}    default: return NAN;
    }}
    while (n > 1) {{ /* the last level that is not above, if there is one */
        if ({above}) n = n / 2;
        else low += n / 2, n -= n / 2;
    }}
    return n && {same} ? (float)low : NAN;
}}
"""
        for text, name, kind, stars, above, same in (
            (True, "text", "char *", "const *", "strcmp(levels[low + n / 2], level) > 0",
             "!strcmp(levels[low], level)"),
            (False, "number", "int64_t ", "*", "levels[low + n / 2] > level",
             "levels[low] == level"),
        )
        if cases[text]
    )  # fmt: skip


def _array(kind: str, name: str, values: Iterable[str]) -> str:
    listed: Sequence[str] = list(values)
    lines = [
        "    " + ", ".join(listed[first : first + _PER_LINE])
        for first in range(0, len(listed), _PER_LINE)
    ]
    return f"static const {kind} {name}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def _floats(numbers: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[str]:
    """Return numbers with the fewest digits that give the same float32."""
    return [f"{text}f" for text in numbers.astype(str).tolist()]


def _whole(number: int) -> str:
    return f"INT64_C({number})" if number > -(2**63) else "INT64_MIN"


def _text(text: str) -> str:
    """Return a string of C, in which other than plain characters are written as numbers."""
    if "\0" in text:
        raise ModelFormatError(
            f"{text!r:.60} has a character of code 0: expected none in a program in C; rename it"
        )
    data = text.encode("utf-8", "surrogatepass")
    plain = frozenset(b" !#$%&'()*+,-./0123456789:;<=>@[]^_`{|}~") | frozenset(
        range(ord("A"), ord("Z") + 1)
    ) | frozenset(range(ord("a"), ord("z") + 1))  # fmt: skip
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in data) + '"'
