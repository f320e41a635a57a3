"""The bench of strings: every table has its times, in the report too."""

import json

from bench.strings import main


def test_every_table_is_measured(tmp_path, capsys):
    assert main(["--rows", "300", "--columns", "3", "--json", str(tmp_path / "a.json")]) == 0
    report = json.loads((tmp_path / "a.json").read_text())
    assert "numpy object" in capsys.readouterr().out
    assert {"pandas object", "pandas category", "numpy object"} <= set(report["seconds"])
    assert all(took > 0 for own in report["seconds"].values() for took in own.values())
    assert 3 <= report["n_levels"] <= 3 * 300
