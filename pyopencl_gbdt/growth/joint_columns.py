"""Joint codes of a fit: columns of few codes that are read together.

``pages/joint_columns.py`` has a picture. Each column's histogram is a sum over the joint one, so
the search of splits, and all that follows, is as with plain codes.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.pages.joint_columns import MOST_CELLS
from pyopencl_gbdt.parameters.facts import FitFacts

ENVIRONMENT = "PYOPENCL_GBDT_JOINT_CODES"
#: Rows of a node from which on the columns of a place are read by their joint code. PoCL, 1 thread
#: beside other programs, processor ms a round from 32, 128, 256 and 1024 rows on: 100 k x 54, 44 of
#: them indicators, 7 classes, depth 6, 53, 51, 56 and 71; 60 k x 600 of 5 values, depth 8, 101, 99,
#: 118 and 201.
JOINT_ROWS = 64
#: Joint codes take at most this share of a device's memory.
MOST_MEMORY = 1 / 16


def asked() -> str:
    """Return the word in ``PYOPENCL_GBDT_JOINT_CODES``: ``"on"``, ``"off"`` or ``"auto"``.

    Raises
    ------
    ParameterError
        If it is another word.
    """
    word = os.environ.get(ENVIRONMENT, "").strip().lower() or "auto"
    if word not in ("auto", "on", "off"):
        raise ParameterError(
            f"{ENVIRONMENT}={word!r}: expected 'on', 'off' or 'auto'; unset it for 'auto'"
        )
    return word


def joins_columns(facts: FitFacts) -> bool:
    """Whether a fit whose trees are grown by one launch, level by level, reads joint codes.

    Raises
    ------
    ParameterError
        If joint codes were asked for, and the fit cannot have them.
    """
    word = asked()
    if word == "off":
        return False
    why = why_not(facts)
    if why and word == "on":
        raise ParameterError(f"{ENVIRONMENT}='on': {why}; unset it")
    return not why


def why_not(facts: FitFacts) -> str:
    """Return why a fit cannot have joint codes, as words of an error; "" if it can."""
    pages, caps = facts.pages, facts.device
    if pages.most_codes > MOST_CELLS:
        return f"max_bin={facts.parameters.max_bin} gives codes of two bytes"
    if pages.has_statistics:
        return "codes of statistics of categories change from round to round"
    if facts.columns_of_tree:
        return "trees draw columns, and read these by plain codes"
    if not pages.n_joined:
        return "no two columns have few enough values to share a code of a byte"
    needed = pages.n_joined * facts.n_rows
    if caps is None or needed > min(caps.max_alloc_bytes, MOST_MEMORY * caps.global_bytes):
        return f"joint codes need {needed} bytes, too much of the device's memory"
    return ""


def refuse_elsewhere() -> None:
    """Refuse joint codes for trees that grow otherwise than level by level in one launch.

    Raises
    ------
    ParameterError
        If they were asked for.
    """
    if asked() == "on":
        raise ParameterError(
            f"{ENVIRONMENT}='on': only a launch that grows whole trees level by level reads joint "
            "codes, on a CPU with dense data and few rows; unset it"
        )


class JointCodes:
    """The joint codes of a fit's rows, made once from the codes by feature."""

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows = parts.arena, parts.rows
        columns = self.columns = parts.features.joined
        self.program = parts.ways.build_kernel("plan", template="joint_codes")
        arena, sizes = self.arena, np.diff(parts.features.layout.feature_offset)
        cells = np.multiply.reduceat(sizes[columns.members], columns.begins[:-1])
        for name, values in (
            ("members", columns.members), ("member_begin", columns.begins), ("place_cells", cells),
        ):  # fmt: skip
            arena.array(name, values.size, np.uint32, values.astype(np.uint32))
        arena.array("joint_codes", (columns.n_joint, self.rows.n_rows), np.uint8, self.join)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of kernels that read joint codes."""
        names = ("members", "member_begin", "place_cells", "joint_codes")
        return {"n_joint": self.columns.n_joint, **self.arena.arguments(*names)}

    def join(self, codes: DeviceArray) -> None:
        """Fill the array of joint codes."""
        plain = self.rows.pages[0].codes.column_arguments()["codes"]
        self.program.bind(
            "join_codes", (self.rows.row_groups, self.columns.n_joint), n_rows=self.rows.n_rows,
            by_feature=plain, joint_codes=codes,
            **self.arena.arguments("members", "member_begin", "feature_offset"),
        )()  # fmt: skip
