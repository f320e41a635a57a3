"""Which levels of a fit are added up by features: each member keeps the sums of its own."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.pages.page import Layout

#: Members keep sums of their own features alone from the first level on whose new histograms have
#: so many bytes for each member. Messages to every other member cost a rank about as much as this.
#: Loopback, ms of a sum of all features in slices, and of own ones with the exchange of 32 splits:
#: 2 processes: 64 KiB 0.19 and 0.19, 512 KiB 0.55 and 0.33, 2 MiB 4.9 and 1.0; 4 processes: 0.80
#: and 0.95, 2.2 and 1.6, 5.4 and 3.3 (2 cores of an AMD EPYC, ``python -m bench scaling``).
OWN_BYTES = 1 << 17


def feature_ends(layout: Layout, size: int) -> list[int]:
    """Return where the features of each of so many members begin, and the number of features.

    Neighbouring features, with about as many codes for each member; some may have none.
    """
    offset = layout.feature_offset.astype(np.int64)
    wanted = np.arange(size + 1) * offset[-1] // size
    ends: list[int] = np.searchsorted(offset, wanted).tolist()
    return ends


def keeps_own(team: Team, layout: Layout, n_new: int) -> bool:
    """Tell whether a team adds up so many new histograms by features.

    A member that has only the sums of its own features cannot go back to all of them, so ask this
    of numbers that do not fall from a step of a tree to the next.
    """
    return team.keeps_own and 16 * n_new * layout.n_codes >= team.size * OWN_BYTES
