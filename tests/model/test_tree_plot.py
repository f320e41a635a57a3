"""``plot_tree``: where boxes lie, what they say, on which axes they are drawn."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model import CATEGORY_SPLIT, Ensemble, Tree, plot_importances, plot_tree
from pyopencl_gbdt.model.tree_layout import lay_out
from tests.model.samples import make_ensemble

mpl.use("Agg")


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
    plot_importances(ensemble, tmp_path / f"bars.{suffix}", top=2, kind="total_gain")
    assert all(p.stat().st_size > 2000 for p in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 3


def assert_labels_inside(axes) -> None:
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    texts = [text.get_window_extent() for text in axes.texts]
    for box in boxes:
        inside = [t for t in texts if box.contains((t.x0 + t.x1) / 2, (t.y0 + t.y1) / 2)]
        assert len(inside) == 2
        assert all(box.x0 <= t.x0 and t.x1 <= box.x1 for t in inside)
    frame = axes.figure.bbox if len(axes.figure.axes) == 1 else axes.get_window_extent()
    extents = [*texts, axes.get_legend().get_window_extent()]
    assert all(frame.x0 <= t.x0 and t.x1 <= frame.x1 for t in extents)


NAMES = ["W" * 40, "x", "income per year", "m_m_m_m_m"]


@pytest.mark.parametrize("n_splits", [0, 12])
def test_labels_stay_inside_their_boxes(n_splits) -> None:
    axes = plot_tree(make_ensemble([n_splits], feature_names=NAMES))
    assert axes.figure is plt.gcf()
    assert_labels_inside(axes)
    plt.close("all")


def test_the_users_axes() -> None:
    figure = Figure(figsize=(12, 5))
    left, right = figure.subplots(1, 2)
    assert plot_tree(make_ensemble([6], feature_names=NAMES), ax=right) is right
    assert not left.patches
    assert_labels_inside(right)


def test_a_legend_says_what_boxes_mean() -> None:
    def meanings(ensemble: Ensemble, **options: int) -> list[str]:
        legend = plot_tree(ensemble, ax=Figure().subplots(), **options).get_legend()
        return [text.get_text() for text in legend.get_texts()]

    both = ["leaf above 0", "leaf below 0", "split"]
    assert meanings(make_ensemble([12]), max_depth=20) == both
    assert meanings(make_ensemble([12]), max_depth=0) == ["split, branches not drawn"]
    assert meanings(make_ensemble([0])) in (both[:1], both[1:2])


def by_set(right_set: list[int], towns: list[str]) -> Ensemble:
    """Return a tree of one split: towns of the set go right, missing values left."""
    f32, i32 = np.float32, np.int32
    tree = Tree(
        left=np.array([1, -1, -1], i32), right=np.array([2, -1, -1], i32),
        parent=np.array([-1, 0, 0], i32), feature=np.zeros(3, i32), threshold=np.zeros(3, f32),
        default_left=np.array([True, False, False]),
        split_kind=np.array([CATEGORY_SPLIT, 0, 0], np.uint8),
        value=np.array([[0], [-1], [1]], f32), weight=np.zeros((3, 1), f32),
        gain=np.array([1, 0, 0], f32), sum_hessian=np.array([3, 1, 2], f32),
        sets=np.array([sum(1 << code for code in right_set)], np.uint32),
        set_begin=np.array([0, 1, 1, 1], i32),
    )  # fmt: skip
    names = {"feature_names": ["town", "b", "c", "d"]}
    levels = {0: Levels(np.array(towns, object))} if towns else {}
    return make_ensemble([], trees=[tree], categories=levels, **names)


TOWNS = ["Bern", "Oslo", "Riga", "Turin", "Ulm"]


@pytest.mark.parametrize(
    ("right_set", "towns", "condition", "answer_of_right"),
    [
        ([0, 4], TOWNS, "town in {Bern, Ulm}", "yes"),
        ([1, 2, 3], TOWNS, "town in {Bern, Ulm}", "no"),
        ([0, 1, 2, 3, 4], TOWNS, "town in {Bern, Oslo, Riga, 2 more}", "yes"),
        ([2, 7], [], "town in {2, 7}", "yes"),
        ([0], ["a" * 30, "b"], "town in {aaaaaaaaaaaaa…}", "yes"),
    ],
)
def test_levels_by_name(right_set, towns, condition, answer_of_right) -> None:
    """Of both sides, the one with fewer levels is named; "yes" is the upper branch."""
    ensemble = by_set(right_set, towns)
    root, upper, lower = lay_out(ensemble, 0, 6, 34).boxes
    assert root.lines[0] == condition
    assert (upper.answer.split(",")[0], lower.answer.split(",")[0]) == ("yes", "no")
    assert upper.slot < lower.slot
    (right,) = (box for box in (upper, lower) if box.node == 2)
    assert right.answer == answer_of_right
    drawn = plot_tree(ensemble, ax=Figure().subplots())
    assert condition in [text.get_text() for text in drawn.texts]


def test_pictures_for_files_do_not_touch_pyplot(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    plot_tree(make_ensemble([2]), 0, tmp_path / "a.png")
    plot_importances(make_ensemble([2]), tmp_path / "b.png")


def test_parameters_out_of_range() -> None:
    ensemble = make_ensemble([1])
    with pytest.raises(ParameterError, match=r"tree=1: expected a whole number, 0..0"):
        plot_tree(ensemble, 1)
    with pytest.raises(ParameterError, match="max_depth=-1"):
        plot_tree(ensemble, max_depth=-1)
    with pytest.raises(ParameterError, match="top=0"):
        plot_importances(ensemble, top=0)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=re.escape(pip_install("plot"))):
        plot_tree(make_ensemble([1]), path="a.png")
