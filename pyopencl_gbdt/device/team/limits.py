"""How long the members of a team wait for each other."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from pyopencl_gbdt.errors import ParameterError

#: Environment variables, in seconds.
SILENCE, PATIENCE = "PYOPENCL_GBDT_TEAM_SILENCE", "PYOPENCL_GBDT_TEAM_PATIENCE"


_MOST_SECONDS = 1e6


@dataclass(frozen=True)
class Limits:
    """Seconds after which a member gives up another one.

    Attributes
    ----------
    silence : float
        Without a sign of life. A member gives one every second, also while it computes; one that
        died or was stopped gives none.
    patience : float
        Without the value that it owes, though it gives signs of life: longer than any member
        computes between two exchanges.
    """

    silence: float = 30.0
    patience: float = 600.0

    @classmethod
    def of_environment(cls) -> Limits:
        """Return the limits that environment variables set, or the defaults.

        Raises
        ------
        ParameterError
        """
        return cls(_of_variable(SILENCE, cls.silence), _of_variable(PATIENCE, cls.patience))

    @property
    def beat(self) -> float:
        """Seconds between two signs of life."""
        return min(1.0, self.silence / 10)


def _of_variable(name: str, default: float) -> float:
    text = os.environ.get(name)
    return seconds(text, name, default) if text else default


def seconds(given: object, name: str, default: float) -> float:
    """Return a number of seconds that clocks can wait.

    Raises
    ------
    ParameterError
    """
    try:
        found = float(str(given))
    except ValueError:
        found = math.nan
    if not 0 < found <= _MOST_SECONDS:
        raise ParameterError(
            f"{name}={given}: expected seconds above 0, at most {_MOST_SECONDS:g}, such as "
            f"{default:g}"
        )
    return found
