"""The bench of cold starts."""

import json

import pytest

from bench import cold
from tests.conftest import TEST_DEVICE


def test_the_parts_of_a_process_make_up_its_time(tmp_path, capsys, monkeypatch):
    ran = []
    own = {"all": 3.0, "Python": 0.5, "NumPy": 0.5, "import": 1.0, "train": 1.0}
    monkeypatch.setattr(cold, "run", lambda code, *a, **k: ran.append((code, a)) or own)
    monkeypatch.setattr(cold.importlib.util, "find_spec", lambda name: object())
    file = tmp_path / "turns.json"
    assert cold.main(["--device", "cpu,cuda:0", "--turns", "2", "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:32].strip() for line in lines] == [
        f"{system}, {state}"
        for system in ("cpu", "cuda:0", "XGBoost cpu", "XGBoost cuda")
        for state in ("empty", "kept")
    ]
    assert lines[0].endswith(
        "all 3.000 s  Python 0.500 s  NumPy 0.500 s  import 1.000 s  train 1.000 s"
    )
    assert len(ran) == 4 + 2 * 8
    assert json.loads(file.read_text())["cpu, kept"] == [own, own]


@pytest.mark.exhaustive
def test_a_process_tells_its_parts(tmp_path):
    found = cold.run(cold._OURS, [TEST_DEVICE, "200", "3", "2"], str(tmp_path))
    whole = sum(found[name] for name in ("Python", "NumPy", "import", "train"))
    assert found["all"] == whole
