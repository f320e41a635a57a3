"""The notebooks of the docs run from top to bottom, and show what their cells end with.

Cells are executed without Jupyter; the last expression of a cell is shown as Jupyter does.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TEST_DEVICE
from tests.html_pages import check_page

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def run_cell(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Execute a cell; return its last expression, or None if it ends with a statement."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, name, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def show(value: Any) -> tuple[str, str]:
    """Return the text of a value and its HTML, as a notebook asks for them."""
    bundle = getattr(value, "_repr_mimebundle_", None)
    shown = bundle() if bundle else {}
    html = shown.get("text/html") or getattr(value, "_repr_html_", lambda: "")()
    return repr(value), html or ""


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch, capsys):
    mpl = pytest.importorskip("matplotlib", reason="needs matplotlib")
    pytest.importorskip("pandas", reason="needs pandas")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", TEST_DEVICE)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    figures, cards = 0, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what a run shows belongs to the reader's machine
        assert cell["execution_count"] is None
        value = run_cell("".join(cell["source"]), cell["id"], namespace)
        if hasattr(value, "figure"):
            value.figure.savefig(tmp_path / "figure.png")
            figures += 1
        cards += [html for html in [show(value)[1]] if "gbdt-card" in html]
    plt.close("all")
    assert figures >= 5
    assert "best round" in check_page(cards[0], 8000).text
    assert "where it errs most" in capsys.readouterr().out


def test_there_are_notebooks():
    assert NOTEBOOKS
