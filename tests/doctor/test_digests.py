"""The digests that the doctor knows are those of the twins' results.

After a wanted change of the algorithm, or of the doctor's inputs, write them anew::

    PYOPENCL_GBDT_UPDATE_GOLDEN=1 python -m pytest tests/doctor/test_digests.py
    git diff pyopencl_gbdt/doctor/digests.py
"""

import importlib
import os
import textwrap
from pathlib import Path

from pyopencl_gbdt.doctor import digests, samples
from pyopencl_gbdt.doctor.primitive_cases import RESULTS
from tests.doctor.twins import TWINS, digests_of_twins

UPDATE = bool(os.environ.get("PYOPENCL_GBDT_UPDATE_GOLDEN"))


def written(found):
    """Return the source of the module that holds the digests."""
    source = Path(digests.__file__).read_text(encoding="utf-8")
    lines = [source[: source.index("DIGESTS: ")] + "DIGESTS: dict[str, dict[str, str]] = {"]
    for name, known in found.items():
        pairs = [f'"{what}": "{value}"'.replace(" ", "\0") for what, value in known.items()]
        text = f'"{name}":'.replace(" ", "\0") + f"\0{{{', '.join(pairs)}}},"
        lines += textwrap.wrap(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join([*lines, "}  # fmt: skip\n"]).replace("\0", " ")


def test_they_are_the_twins():
    found = {}
    for sizes in (samples.SIZES, samples.SIMULATED_SIZES):
        found |= digests_of_twins(*sizes)
    if UPDATE:
        Path(digests.__file__).write_text(written(found), encoding="utf-8")
        importlib.reload(digests)
    assert found == digests.DIGESTS


def test_every_primitive_has_a_twin():
    assert TWINS.keys() == RESULTS.keys()
