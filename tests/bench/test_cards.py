"""The table of cards, from the files of reports."""

import pytest

from bench import cards
from pyopencl_gbdt.cards.trainings import TIMED
from pyopencl_gbdt.cards.worker import EXPECTED
from pyopencl_gbdt.comparison.schema import document, load, merge
from pyopencl_gbdt.errors import DataError
from tests.comparison.samples import make_machine, make_result, save
from tests.doctor.machines import GPU


def machine(by="", date="2026-02-03 04:05 UTC", digests=20):
    steps = [
        {"name": name, "way": "", "timed": False, "problem": "", "seconds": 0.5, "digest": digest,
         "equal": number < digests}
        for number, (name, digest) in enumerate(EXPECTED.items())
    ]  # fmt: skip
    case = {"case": "scan", "chosen": True, "problem": "", "seconds": 0.1}
    found = make_machine([make_result("opencl:0:0", "small")], date=date)
    device = {"device_id": "opencl:0:0", "capabilities": dict(GPU.capabilities)}
    test = {"device": "opencl:0:0", "passed": True, "cases": [case]}
    return {
        **found, "by": by, "doctor": {"devices": [device], "self_test": [test]},
        "cards": [{"device": "opencl:0:0", "steps": steps}],
    }  # fmt: skip


def test_reports_become_files_and_rows(tmp_path):
    folder = tmp_path / "cards"
    folder.mkdir()
    one = save(tmp_path / "a.json", document([machine("Jane | x")]))
    two = save(tmp_path / "b.json", document([machine(digests=19)]))
    (new,) = cards.add(one, folder)
    assert new.name.startswith("radeon-amd-accelerated-parallel-processing-")
    assert cards.add(one, folder) == []
    both = save(tmp_path / "both.json", merge([one, two]))
    assert len(cards.add(both, folder)) >= 1
    rows = cards.rows(folder)
    assert {len(row) for row in rows} == {len(cards.HEAD)}
    assert [row[0] for row in rows] == ["Radeon"] * len(rows)
    assert {row[3] for row in rows} == {"20 of 20", "19 of 20"}
    assert {row[4:7] == ["1.5", "-", "-"] for row in rows} == {True}
    assert {row[7] for row in rows} == {"Jane | x, 2026-02-03", "anonymous, 2026-02-03"}


def test_other_files_are_refused(tmp_path):
    plain = save(tmp_path / "a.json", document([make_machine([])]))
    with pytest.raises(DataError, match="holds no card; give a file of pyopencl-gbdt doctor"):
        cards.add(plain, tmp_path)
    with pytest.raises(DataError, match="not a comparison"):
        cards.add(save(tmp_path / "b.json", {}), tmp_path)


@pytest.mark.skipif(not cards.FOLDER.is_dir(), reason="needs a checkout")
def test_the_reports_of_the_repository():
    """Each is whole and small, and names no folder."""
    paths = sorted(cards.FOLDER.glob("*.json"))
    text = " ".join(path.read_text(encoding="utf-8") for path in paths)
    for platform in ("Portable Computing Language", "Intel(R) OpenCL", "rusticl"):
        assert f'"platform": "{platform}"' in text
    for path in paths:
        assert path.stat().st_size < 100_000
        assert load(str(path))["machines"][0]["cards"]
    assert "/home/" not in text
    assert len(cards.rows()) >= 3
    assert len(TIMED) == 3
