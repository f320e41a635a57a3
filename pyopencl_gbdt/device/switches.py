"""Variables of the environment that take the place of a rule; models are the same."""

from __future__ import annotations

import os

from pyopencl_gbdt.errors import ParameterError

COMMAND_BUFFERS = "PYOPENCL_GBDT_COMMAND_BUFFERS"
#: ``"products"`` is ``"on"`` where exclusive columns are joined as others are. ``"alone"`` is
#: ``"on"`` where the columns' own codes are let go, see ``training/joint_pages.py``.
JOINT_CODES = "PYOPENCL_GBDT_JOINT_CODES"
LAST_GROUP = "PYOPENCL_GBDT_LAST_GROUP"
LEVEL_COLUMNS = "PYOPENCL_GBDT_LEVEL_COLUMNS"
PACKED_ARGUMENTS = "PYOPENCL_GBDT_PACKED_ARGUMENTS"
SENT_COLUMNS = "PYOPENCL_GBDT_SENT_COLUMNS"
SMALL_FITS = "PYOPENCL_GBDT_SMALL_FITS"
#: Words beside "auto", by which the rule decides.
_WORDS = {
    COMMAND_BUFFERS: ("on", "off"),
    JOINT_CODES: ("on", "alone", "products", "off"),
    LAST_GROUP: ("on", "off"),
    LEVEL_COLUMNS: ("on", "off"),
    PACKED_ARGUMENTS: ("on", "off"),
    SENT_COLUMNS: ("on", "runs", "together", "off"),
    SMALL_FITS: ("on", "off"),
}


def asked(environment: str) -> str:
    """Return the word in one of these variables: "auto", or one that ``docs/devices.md`` explains.

    Raises
    ------
    ParameterError
        If it is another word.
    """
    word = os.environ.get(environment, "").strip().lower() or "auto"
    words = _WORDS[environment]
    if word not in (*words, "auto"):
        expected = ", ".join(map(repr, words))
        raise ParameterError(
            f"{environment}={word!r}: expected {expected} or 'auto'; unset it for 'auto'"
        )
    return word
