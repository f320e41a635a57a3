"""Explain arguments that a method of an estimator lacks: most are parameters of the estimator."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.arguments import refusing
from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.estimators.spellings import INSTEAD
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS
from pyopencl_gbdt.parameters.names import unknown
from pyopencl_gbdt.prediction import foreign_arguments


def _refused(estimator: Any, method: str, name: str, value: Any, own: set[str]) -> ArgumentError:
    kind = type(estimator).__name__
    if method != "fit" and name in foreign_arguments.ANSWERS:
        return ArgumentError(f"{name}={show(value)}: {foreign_arguments.ANSWERS[name]}")
    try:
        parameter = estimator._known(name)
    except ParameterError as error:
        names = sorted(own - {"self"})
        other = unknown(name, names, f"argument of {kind}.{method}")
        return ArgumentError(str(error if name in INSTEAD else other))
    if parameter in ANSWERS:  # the constructor refuses most of its values, too
        return ArgumentError(f"{name}={show(value)}: {ANSWERS[parameter].text}")
    return ArgumentError(
        f"{name}={show(value)}: expected no such argument of {method}, as it is a parameter of the "
        f"estimator; give it to {kind}({name}=...), or to set_params"
    )


#: Lets a method of an estimator refuse unknown arguments with an error that helps.
explains_arguments = refusing(_refused)
