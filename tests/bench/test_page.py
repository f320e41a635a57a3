"""``python -m bench page``: tables between the marks, and nothing else touched."""

import json

import pytest

from bench.page import main

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

DEVICE = {"label": "Card A", "name": "A", "driver": "1.2", "copy_bytes_per_second": 5e11}
OURS = {
    "name": "ours", "ours": True, "problem": "", "version": "1", "setup_seconds": 0.5,
    "round_seconds": 0.002, "times_floor": 1.5, "predict_seconds": None, "quality": {"auc": 0.75},
    "peak_bytes": 3_000_000, "sampled_bytes": None,
}  # fmt: skip
PEER = {**OURS, "name": "peer", "ours": False, "version": "9.9", "round_seconds": 0.006}
BROKEN = {"name": "other", "ours": False, "problem": "failed: no memory", "version": ""}
RESULT = {
    "date": "2026-01-02T03:04:05", "versions": {"numpy": "2"}, "devices": [DEVICE],
    "host": {"cpu": "Some CPU", "n_cpus": 4, "python": "3.12"},
    "shapes": [
        {
            "name": "small", "n_rows": 10_000, "n_features": 20, "max_bin": 256, "max_depth": 6,
            "n_rounds": 9, "n_models": 1, "problem": "", "systems": [OURS, PEER, BROKEN],
            "ratios": [{"ours": "ours", "peer": "peer", "setup": 1, "round": 3, "predict": None}],
        },
    ],
}  # fmt: skip


def test_tables_stand_between_the_marks(tmp_path):
    result, page = tmp_path / "r.json", tmp_path / "page.md"
    result.write_text(json.dumps(RESULT), encoding="utf-8")
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        assert main([str(result), "--into", str(page)]) == 0
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"before\n{BEGIN}\n")
        assert text.endswith(f"{END}\nafter\n")
        assert "old" not in text
        data = "| small, 10,000 x 20 |"
        assert f"{data} **ours** | 0.500 | 2.000 | 1.5 | - | auc 0.75000 | 3 |  |" in text
        assert f"{data} peer 9.9 | 0.500 | 6.000 |" in text
        assert "failed: no memory" in text
        assert "| 1.00, 3.00, - |" in text
        assert "Card A, driver 1.2, copies 500 GB/s" in text


@pytest.mark.parametrize("content", ["no marks", f"{BEGIN} only", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_page_without_its_marks_is_left_alone(tmp_path, capsys, content):
    result, page = tmp_path / "r.json", tmp_path / "page.md"
    result.write_text(json.dumps(RESULT), encoding="utf-8")
    page.write_text(content, encoding="utf-8")
    assert main([str(result), "--into", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == content
    assert "expected one" in capsys.readouterr().err
