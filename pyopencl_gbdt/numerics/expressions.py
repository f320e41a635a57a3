"""Arithmetic of a row, written once: a kernel runs its C, the host runs it with NumPy.

A function of ``Number`` is an expression::

    def derivatives(margin: Number, label: Number) -> tuple[Term, Term]:
        p = sigmoid(margin)
        return p - label, at_least(p * (1 - p), 1e-16)

``statements`` traces it to C and ``evaluate`` computes it for arrays. Both give the same bits:

- Every operation of the expression is one float32 operation, in the order that Python runs them.
  In C each is a statement of its own, so that no compiler contracts two. Comparisons are written
  where they are used.
- Functions are those of the headers ``portable_*.h``, and on the host their twins.
- A comparison with NaN is false. ``at_least``, ``at_most`` and ``clamped`` return NaN for NaN.
- A Python number is rounded to float32. Arithmetic of two Python numbers is not part of the
  expression: Python computes it, when the expression is traced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics import portable_loss, portable_math

F32 = npt.NDArray[np.float32]


def _number(text: str, twin: Callable[..., Any]) -> Callable[[Number, Term], Number]:
    return lambda one, other: one.way.number(text, twin, one, other)


def _truth(text: str, twin: Callable[..., Any]) -> Callable[[Number, Term], Truth]:
    return lambda one, other: one.way.truth(text, twin, one, other)


class Number:
    """A float32 of each row. Its operators and functions are those of kernels."""

    __array_ufunc__ = None  # a NumPy scalar on the left leaves the operation to this class

    def __init__(self, way: Backend, content: Any) -> None:
        self.way, self.content = way, content

    __add__ = _number("{} + {}", operator.add)
    __radd__ = _number("{1} + {0}", lambda one, other: other + one)
    __sub__ = _number("{} - {}", operator.sub)
    __rsub__ = _number("{1} - {0}", lambda one, other: other - one)
    __mul__ = _number("{} * {}", operator.mul)
    __rmul__ = _number("{1} * {0}", lambda one, other: other * one)
    __lt__ = _truth("{} < {}", operator.lt)
    __le__ = _truth("{} <= {}", operator.le)
    __gt__ = _truth("{} > {}", operator.gt)
    __ge__ = _truth("{} >= {}", operator.ge)
    equals = _truth("{} == {}", operator.eq)
    """Return whether both are equal; 0 equals -0."""

    def __neg__(self) -> Number:
        return self.way.number("-{}", operator.neg, self)


class Truth:
    """A comparison of each row."""

    def __init__(self, way: Backend, content: Any) -> None:
        self.way, self.content = way, content

    def __and__(self, other: Truth) -> Truth:
        return self.way.truth("({}) && ({})", operator.and_, self, other)

    def __or__(self, other: Truth) -> Truth:
        return self.way.truth("({}) || ({})", operator.or_, self, other)

    def __invert__(self) -> Truth:
        return self.way.truth("!({})", operator.invert, self)

    def __bool__(self) -> bool:
        raise TypeError("a comparison differs from row to row: write where(comparison, this, that)")


#: A number of each row, or the same number for all rows.
Term = Number | float | np.float32
#: What ``where`` takes: a term, or a function that computes one only for the rows that need it.
Arm = Term | Callable[[], Term]


class _InC:
    """Writes an expression as C: a statement for each operation."""

    def __init__(self, prefix: str) -> None:
        self.lines: list[str] = []
        self._prefix, self._n_names = prefix, 0

    def content(self, term: Term | Truth) -> str:
        return str(term.content) if isinstance(term, Number | Truth) else constant(term)

    def _name(self) -> str:
        self._n_names += 1
        return f"{self._prefix}{self._n_names}"

    def _named(self, text: str) -> Number:
        name = self._name()
        self.lines.append(f"const f32 {name} = {text};")
        return Number(self, name)

    def number(self, text: str, twin: Callable[..., Any], *terms: Term) -> Number:
        return self._named(text.format(*map(self.content, terms)))

    def truth(self, text: str, twin: Callable[..., Any], *terms: Term | Truth) -> Truth:
        return Truth(self, text.format(*map(self.content, terms)))

    def chosen(self, truth: Truth, first: Arm, second: Arm) -> Number:
        if not callable(first) and not callable(second):
            picked = f"{self.content(first)} : {self.content(second)}"
            return self._named(f"{truth.content} ? {picked}")
        name = self._name()
        self.lines.append(f"f32 {name}; if ({truth.content}) {{")
        self._arm(name, first)
        self.lines.append("} else {")
        self._arm(name, second)
        self.lines.append("}")
        return Number(self, name)

    def _arm(self, name: str, arm: Arm) -> None:
        value = arm() if callable(arm) else arm
        self.lines.append(f"{name} = {self.content(value)};")

    def of_output(self, values: F32) -> Number:
        chosen = constant(values[-1])
        for output in range(values.size - 2, -1, -1):
            chosen = f"output == {output}u ? {constant(values[output])} : ({chosen})"
        return self._named(chosen)


class _OnHost:
    """Computes an expression with arrays of float32, and both arms of a choice."""

    def content(self, term: Term | Truth) -> Any:
        return term.content if isinstance(term, Number | Truth) else np.float32(term)

    def number(self, text: str, twin: Callable[..., Any], *terms: Term) -> Number:
        return Number(self, twin(*map(self.content, terms)))

    def truth(self, text: str, twin: Callable[..., Any], *terms: Term | Truth) -> Truth:
        return Truth(self, twin(*map(self.content, terms)))

    def chosen(self, truth: Truth, first: Arm, second: Arm) -> Number:
        arms = (self.content(arm() if callable(arm) else arm) for arm in (first, second))
        return Number(self, np.where(truth.content, *arms))

    def of_output(self, values: F32) -> Number:
        return Number(self, values[0] if values.size == 1 else values[:, None])


Backend = _InC | _OnHost


def statements(
    expression: Callable[..., Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    prefix: str = "v",
) -> str:
    """Return C statements that set variables to the values of an expression.

    Parameters
    ----------
    expression : callable
        Takes a ``Number`` for each input; returns a term, or a tuple of one for each output.
    inputs, outputs : sequence of str
        Names of float32 variables of the kernel. Outputs are declared already, and not read.
    prefix : str
        What names of new variables begin with; two expressions of one block need two prefixes.
    """
    trace = Trace(prefix)
    return trace.statements(expression(*trace.inputs(*inputs)), outputs)


class Trace:
    """Follows an expression: numbers to compute it with, then the C statements that do the same."""

    def __init__(self, prefix: str = "v") -> None:
        self._way = _InC(prefix)

    def inputs(self, *names: str) -> list[Number]:
        """Return a number for each float32 variable of the kernel."""
        return [Number(self._way, name) for name in names]

    def statements(self, found: Any, outputs: Sequence[str]) -> str:
        """Return the statements that set variables to what was computed: a term, or a tuple."""
        values, way = found if isinstance(found, tuple) else (found,), self._way
        assigned = (
            f"{name} = {way.content(value)};" for name, value in zip(outputs, values, strict=True)
        )
        return "\n    ".join((*way.lines, *assigned))


def evaluate(expression: Callable[..., Any], *inputs: F32 | np.float32) -> Any:
    """Return the values of an expression as float32 arrays, with the bits of its kernel.

    Parameters
    ----------
    expression : callable
        As for ``statements``.
    *inputs : float32 array or float32
        Their shapes are broadcast to one.

    Returns
    -------
    float32 array, or tuple of them
        As the expression returns one term or a tuple.
    """
    arrays = [np.asarray(values, np.float32) for values in inputs]
    shape = arrays[0].shape
    if len(arrays) > 1:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    way = _OnHost()
    with np.errstate(all="ignore"):  # as on devices
        found = expression(*(Number(way, array) for array in arrays))

    def of_rows(term: Term) -> F32:
        value = np.asarray(way.content(term))
        return value if value.shape == shape else np.array(np.broadcast_to(value, shape))

    return tuple(map(of_rows, found)) if isinstance(found, tuple) else of_rows(found)


def literal(number: float | np.float32) -> str:
    """Return the float32 nearest to a number as an exact constant for kernels."""
    return f"as_f32(0x{np.float32(number).view(np.uint32):08X}u)"


def constant(number: float | np.float32) -> str:
    """Return ``literal``, or decimals for whole numbers and 0.5, which are easier to read."""
    value = float(np.float32(number))
    plain = abs(value) == 0.5 or (abs(value) < 1000 and value.is_integer())
    return f"{value}f" if plain else literal(number)


def where(truth: Truth, first: Arm, second: Arm) -> Number:
    """Return ``first`` where a comparison holds, else ``second``.

    Terms are computed for all rows. An arm that is a function of no argument is a branch of the
    kernel: choose it where a costly arm is seldom needed.
    """
    return truth.way.chosen(truth, first, second)


def at_least(number: Number, low: Term) -> Number:
    """Return the number, or ``low`` if it is below; NaN stays."""
    return where(number < low, low, number)


def at_most(number: Number, high: Term) -> Number:
    """Return the number, or ``high`` if it is above; NaN stays."""
    return where(number > high, high, number)


def clamped(number: Number, low: Term, high: Term) -> Number:
    """Return the number, or the limit that it exceeds; NaN stays."""
    return at_least(at_most(number, high), low)


def size_of(number: Number) -> Number:
    """Return the absolute value; that of -0 is -0."""
    return where(number < 0, -number, number)


def of_output(number: Number, values: F32) -> Number:
    """Return ``values[k]`` for rows of output k; ``number`` is an input of the expression."""
    return number.way.of_output(values)


def _function(name: str, twin: Callable[..., F32]) -> Callable[..., Number]:
    def call(first: Number, *others: Term) -> Number:
        text = f"{name}({', '.join('{}' for _ in (first, *others))})"
        return first.way.number(text, twin, first, *others)

    call.__name__, call.__doc__ = name, twin.__doc__
    return call


reciprocal = _function("reciprocal", portable_math.reciprocal)
exp = _function("portable_exp", portable_math.portable_exp)
sigmoid = _function("portable_sigmoid", portable_math.portable_sigmoid)
log = _function("portable_log", portable_math.portable_log)
log1p = _function("portable_log1p", portable_math.portable_log1p)
rsqrt = _function("portable_rsqrt", portable_math.portable_rsqrt)
sqrt = _function("portable_sqrt", portable_loss.portable_sqrt)
divergence = _function("divergence", portable_loss.divergence)
bernoulli = _function("bernoulli", portable_loss.bernoulli)
bernoulli_rest = _function("bernoulli_rest", portable_loss.bernoulli_rest)
decay = _function("decay", portable_loss.decay)
mills_ratio = _function("mills_ratio", portable_loss.mills_ratio)
mills_rest = _function("mills_rest", portable_loss.mills_rest)
mills_right = _function("mills_right", portable_loss.mills_right)
minus_log1p = _function("minus_log1p", portable_loss.minus_log1p)
digamma_rest = _function("digamma_rest", portable_loss.digamma_rest)
trigamma_rest = _function("trigamma_rest", portable_loss.trigamma_rest)
gamma_rest = _function("gamma_rest", portable_loss.gamma_rest)
minus_log_decay = _function("minus_log_decay", portable_loss.minus_log_decay)
