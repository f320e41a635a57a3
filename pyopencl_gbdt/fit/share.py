"""The rows of a data set that one device trains on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyopencl_gbdt.device.team import Alone, Team
from pyopencl_gbdt.pages.page import QuantizedData


@dataclass(frozen=True)
class Share:
    """A member of a team, and its rows.

    Attributes
    ----------
    team : Team
    first_row, n_rows : int
        The member has the rows ``first_row .. first_row + n_rows - 1`` of the data set.
    codes : QuantizedData or None
        The codes of these rows; None if they are still to be computed.
    """

    team: Team = field(default_factory=Alone)
    first_row: int = 0
    n_rows: int = 0
    codes: QuantizedData | None = None
