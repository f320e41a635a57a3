"""``python -m bench sweep``: every primitive at every size, checked, as JSON and a picture."""

import json

import numpy as np
import pytest

from bench.common import Case
from bench.primitives import PRIMITIVES
from pyopencl_gbdt.device import Launch
from tests.conftest import TEST_DEVICE

sweep = pytest.importorskip("bench.sweep", reason="needs matplotlib", exc_type=ImportError)
LINES = {
    ("reduce", "int32 sum"), ("reduce", "float32 sum"), ("scan", "int32 sum"),
    ("scan", "float32 sum"), ("segmented_reduce", "int32 of 1000"),
    ("segmented_scan", "int32 sum, flags"), ("radix_sort", "uint32"),
    ("radix_sort", "uint32 + uint32"),
}  # fmt: skip


@pytest.mark.exhaustive
def test_every_line_at_every_size(tmp_path, capsys):
    folder = tmp_path / "new"
    words = [str(folder), "--name", "here", "--first", "10", "--last", "11", "--repeats", "1"]
    assert sweep.main([*words, "--device", TEST_DEVICE]) == 0
    report = json.loads((folder / "here.json").read_text())
    found = {(r["kernel"], r["detail"], r["n"]) for r in report["results"]}
    assert found == {(*some, n) for some in LINES for n in (1024, 2048)}
    assert all(r["fastest"] <= r["seconds"] <= r["slowest"] for r in report["results"])
    assert all(r["peer"] == "NumPy" and r["peer_fastest"] > 0 for r in report["results"])
    assert (folder / "here.png").read_bytes().startswith(b"\x89PNG")
    assert "radix_sort" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_wrong_result_is_seen(device):
    """What leaves its output as it was is refused by every line's check."""
    every = [*sweep.cases(device, 3000)]
    rng = np.random.default_rng(0)
    for primitive in PRIMITIVES.values():
        every += primitive(device, 3000, rng, "auto")
    for case in every:
        assert isinstance(case, Case)
        assert all(isinstance(launch, Launch) for launch in case.launches)
        with pytest.raises(AssertionError):
            case.check()
        case.prepare()
        for launch in case.launches:
            launch()
        case.check()
