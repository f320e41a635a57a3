"""A device's place among those that train one model, each with some of the rows."""

from __future__ import annotations

from dataclasses import field

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.team.member import Alone, Team
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import Layout, QuantizedData
from pyopencl_gbdt.pages.stored import StoredPages


@dataclass(frozen=True)
class Share:
    """A member of a team, and where its rows lie among those of all members.

    Attributes
    ----------
    first_row : int
        Rows of the members before this one: what random numbers depend on is a row's number among
        all rows.
    all_rows : int
        Rows of all members.
    codes : QuantizedData, StoredPages or None
        The codes of the member's own rows; None if they are still to be computed. Stored pages take
        turns on the device.
    layout : Layout or None
        Of the codes of all rows, where the member's own codes are still to be computed: then they
        may take turns on the device. None: the member has codes, or trains alone.
    whole : Dataset or None
        All rows, where the members lie in one process.
    keeps_trees : bool
        Whether the member is asked for its trees, as the first one is.
    """

    team: Team = field(default_factory=Alone)
    first_row: int = 0
    all_rows: int = 0
    codes: QuantizedData | StoredPages | None = None
    layout: Layout | None = None
    whole: Dataset | None = None
    keeps_trees: bool = False
