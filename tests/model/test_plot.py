from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import feature_importances, plot_importances, plot_tree
from pyopencl_gbdt.model.tree_layout import lay_out
from tests.model.samples import make_ensemble


@pytest.mark.parametrize("n_splits", [0, 1, 2, 30])
@pytest.mark.parametrize("max_depth", [0, 1, 4, 100])
def test_layout(n_splits: int, max_depth: int) -> None:
    ensemble = make_ensemble([n_splits])
    tree = ensemble.trees[0]
    layout = lay_out(ensemble, 0, max_depth, 30)
    assert sorted(box.node for box in layout.boxes) == (
        np.flatnonzero(tree.depth <= max_depth).tolist()
    )
    for level in range(len(layout.level_widths)):
        slots = sorted(box.slot for box in layout.boxes if box.level == level)
        assert all(b - a >= 1.0 for a, b in pairwise(slots))
    assert all(0.0 <= box.slot <= layout.n_slots - 1 for box in layout.boxes)
    hidden = tree.n_nodes - len(layout.boxes)
    assert (f"{hidden} of {tree.n_nodes} nodes" in layout.note) == (hidden > 0)


def test_layout_names_where_missing_values_go() -> None:
    ensemble = make_ensemble([6])
    tree = ensemble.trees[0]
    for box in lay_out(ensemble, 0, 9, 30).boxes[1:]:
        goes_left = box.node == tree.left[box.parent.node]
        assert box.answer.startswith("yes" if goes_left else "no")
        assert ("missing" in box.answer) == (tree.default_left[box.parent.node] == goes_left)


@pytest.mark.parametrize("suffix", ["png", pytest.param("svg", marks=pytest.mark.thorough)])
def test_pictures(tmp_path: Path, suffix: str) -> None:
    names = ["$a", "b$ with $", "c" * 90, "d_1"]
    ensemble = make_ensemble([12, 0], feature_names=names)
    for tree in range(2):
        plot_tree(ensemble, tree, tmp_path / f"tree{tree}.{suffix}")
    figure = plot_importances(ensemble, tmp_path / f"bars.{suffix}", top=2, kind="total_gain")
    assert "2 of 4 features" in " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(p.stat().st_size > 2000 for p in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 3


def test_labels_stay_inside_their_boxes() -> None:
    names = ["W" * 40, "x", "income per year", "m_m_m_m_m"]
    figure = plot_tree(make_ensemble([12], feature_names=names))
    axes = figure.axes[0]
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    texts = [text.get_window_extent() for text in axes.texts]
    for box in boxes:
        inside = [t for t in texts if box.contains((t.x0 + t.x1) / 2, (t.y0 + t.y1) / 2)]
        assert len(inside) == 2
        assert all(box.x0 <= t.x0 and t.x1 <= box.x1 for t in inside)
    frame = figure.bbox
    assert all(frame.x0 <= t.x0 and t.x1 <= frame.x1 for t in texts)


def test_importances_say_what_they_leave_out() -> None:
    def note(figure: Figure) -> str:
        return figure.axes[0].texts[1].get_text()

    ensemble = make_ensemble([12])
    share = np.sort(feature_importances(ensemble))
    assert note(plot_importances(ensemble)) == "all 4 features"
    assert note(plot_importances(ensemble, top=3)) == (
        f"not drawn: 1 of 4 features, {share[0]:.1%} in all"
    )
    assert note(plot_importances(make_ensemble([0]))) == "the model has no splits"


def test_pyplot_is_not_touched() -> None:
    sys.modules.pop("matplotlib.pyplot", None)
    plot_tree(make_ensemble([2]))
    assert "matplotlib.pyplot" not in sys.modules


def test_parameters_out_of_range() -> None:
    ensemble = make_ensemble([1])
    with pytest.raises(ParameterError, match=r"tree=1: expected 0..0"):
        plot_tree(ensemble, 1)
    with pytest.raises(ParameterError, match="max_depth=-1"):
        plot_tree(ensemble, max_depth=-1)
    with pytest.raises(ParameterError, match="top=0"):
        plot_importances(ensemble, top=0)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'pyopencl_gbdt\[plot\]'"):
        plot_tree(make_ensemble([1]))
