"""The digests that the doctor knows are those of the twins' results.

After a wanted change of the algorithm, or of the doctor's inputs, write them anew::

    PYOPENCL_GBDT_UPDATE_GOLDEN=1 python -m pytest tests/doctor/test_digests.py
    git diff pyopencl_gbdt/doctor/digests.py
"""

import importlib
import os
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
        lines.append(f'    "{name}": {{')
        lines += [f'        "{what}": "{value}",' for what, value in known.items()]
        lines.append("    },")
    return "\n".join([*lines, "}\n"])


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
