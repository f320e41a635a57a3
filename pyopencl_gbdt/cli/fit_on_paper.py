"""Tell which classes make up a fit and what memory they take, or what refuses it; nothing trains.

    python -m pyopencl_gbdt.cli.fit_on_paper n_rows=1000000 n_features=28 grow_policy=symmetric

Keys are parameters, and facts about the rows: ``n_rows``, ``n_features``, ``n_queries``,
``batch_rows`` and ``evaluation_rows``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyopencl_gbdt.cli.output import say
from pyopencl_gbdt.device import Device, open_device
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.refusals import REFUSED
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.training.memory_estimate import MemoryEstimate, estimate_memory
from pyopencl_gbdt.training.paper_data import DataFacts
from pyopencl_gbdt.training.preparing import fit_facts

_ROWS = {"n_rows": 100_000, "n_features": 20, "n_queries": 1, "batch_rows": 0, "evaluation_rows": 0}


def main(arguments: Sequence[str]) -> int:
    """Print the fit of some ``KEY=VALUE``; return 1 if it is refused."""
    try:
        device, fit = built(arguments)
    except GBDTError as error:
        say(f"refused: {error}")
        return 1
    for line in _lines(fit):
        say(line)
    fits = fit.peak_bytes <= device.caps.global_bytes - device.allocated_bytes
    if not fits:
        say(f"refused: more than the {device.caps.global_bytes:,} bytes of {device.caps.label}")
    return 0 if fits else 1


def built(arguments: Sequence[str]) -> tuple[Device, MemoryEstimate]:
    """Build the fit of some ``KEY=VALUE`` on paper, for the device that it names.

    Raises
    ------
    GBDTError
        If the fit is refused, or a key or a value is wrong.
    """
    given = dict(_pair(argument) for argument in arguments)
    rows: dict[str, Any] = {
        name: _number(name, given.pop(name, usual)) for name, usual in _ROWS.items()
    }
    params, evaluated = Parameters.from_dict(given), rows.pop("evaluation_rows")
    data = DataFacts(**rows).dataset(max(2, params.num_class))
    objective = get_objective(params.objective, params)
    refuse(fit_facts(params, objective, data, limits_of(params, data)), REFUSED)
    device = open_device(params.device)
    limit_memory(device, params.device_memory)
    return device, estimate_memory(device, params, **rows, evaluation_rows=evaluated)


def _pair(argument: str) -> tuple[str, str]:
    key, found, value = argument.partition("=")
    if not found:
        raise ParameterError(f"{show(argument)}: expected KEY=VALUE; give a parameter's name first")
    return key, value


def _number(name: str, value: str | int) -> int:
    if not str(value).isdecimal():
        raise ParameterError(f"{name}={show(value)}: expected a number of 0 or more; give one")
    return int(value)


def _lines(fit: MemoryEstimate) -> Iterator[str]:
    """Yield the classes by their parts, then the arrays, largest first."""
    for part, name in fit.classes.items():
        yield f"{part:<12}{name}"
    yield ""
    for name, n_bytes in sorted(fit.arrays.items(), key=lambda pair: -pair[1]):
        yield f"{n_bytes:>16,}  {name}"
    yield f"{fit.training_bytes:>16,}  bytes in training, codes included"
    yield f"{fit.set_up_bytes:>16,}  bytes at most while the data are prepared"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
