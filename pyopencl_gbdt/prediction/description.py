"""A model in words, and as a card for a notebook."""

from __future__ import annotations

import textwrap
from collections import Counter
from html import escape

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model.best_round import BEST_ITERATION, first_of_history
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.explain import used_importances
from pyopencl_gbdt.model.node_labels import listed
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tables import tables_of
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree
from pyopencl_gbdt.prediction.inspection import Inspected

_WIDTH, _INDENT = 100, 12
#: How many features a card shows, and how many characters of a name.
_MOST_BARS, _LONGEST_NAME = 8, 60

#: A card takes the notebook's own colours of text and page; only bars have a colour.
_STYLE = """\
.gbdt-card{--gbdt-bar:#0072b2;max-width:46rem;font:13px/1.45 system-ui,sans-serif;color:inherit}
@media (prefers-color-scheme:dark){.gbdt-card{--gbdt-bar:#56b4e9}}
.gbdt-card table{border-collapse:collapse;width:100%;margin:.3em 0;color:inherit}
.gbdt-card td,.gbdt-card th{padding:.15em .6em .15em 0;text-align:left;vertical-align:top;
border:0;border-top:1px solid rgba(128,128,128,.3);background:none;overflow-wrap:anywhere;
font-weight:normal;color:inherit}
.gbdt-card th{opacity:.75;width:7em}
.gbdt-card i{display:block;height:.7em;margin-top:.4em;background:var(--gbdt-bar)}
.gbdt-card summary{cursor:pointer}"""

#: Most names, and most levels of a column, that a line lists.
_MOST_NAMES, _MOST_LEVELS = 8, 5
_TASKS = {
    "reg": "regression", "binary": "two classes", "rank": "ranking", "survival": "survival times",
    "count": "counts", "custom": "a loss of your own", "dist": "distributions",
}  # fmt: skip


@dataclass(frozen=True)
class ModelSummary:
    """The size and the columns of a model.

    Attributes
    ----------
    task, growth : str
        What is predicted, and of what kind the trees are, in words.
    depths, leaves : list of int
        Depth and number of leaves of every tree.
    used : list of str
        Names of the columns that have a split, the most important by total gain first.
    n_set_splits : int
        Splits by sets of levels.
    """

    ensemble: Ensemble
    task: str
    growth: str
    depths: list[int]
    leaves: list[int]
    used: list[str]
    n_set_splits: int

    def lines(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a text."""
        own = self.ensemble
        starts = ", ".join(f"{score:.6g}" for score in each(own.base_score)[:_MOST_NAMES])
        starts += ", ..." if own.n_outputs > _MOST_NAMES else ""
        found = [
            ("kind", f"{self.task}, by {self.growth}"),
            ("objective", f"{own.objective}, starts from {starts}"),
            ("rounds", str(own.n_rounds)),
            ("trees", f"{len(own.trees)}, {own.round_trees} a round{self._weights()}"),
            ("depth", _range(self.depths)),
            ("leaves", f"{sum(self.leaves)}, a tree has {_range(self.leaves)}{self._vectors()}"),
            ("features", self._features()),
        ]
        if own.categories:
            found.append(("categories", self._categories()))
        if own.statistics is not None:
            counted = plural(own.statistics.n_features, "feature")
            found.append(("statistics", f"{counted} made of categorical columns"))
        return found

    def _vectors(self) -> str:
        n_values = self.ensemble.tree_outputs
        return f"; each is a vector of {n_values} numbers" if n_values > 1 else ""

    def _weights(self) -> str:
        weights = self.ensemble.tree_weights
        if not weights:
            return ""
        kind = self.ensemble.booster.upper()
        return f", weighted by {min(weights):.3g} to {max(weights):.3g} ({kind})"

    def _features(self) -> str:
        n_used, n_features = len(self.used), self.ensemble.n_features
        names = ", ".join(shorten(name) for name in self.used[:_MOST_NAMES])
        more = f", and {n_used - _MOST_NAMES} more" if n_used > _MOST_NAMES else ""
        return f"{n_used} of {n_features} used" + (f": {names}{more}" if names else "")

    def _categories(self) -> str:
        columns = []
        for column, levels in self.ensemble.categories.items():
            few = listed([shorten(str(one)) for one in levels.values[:_MOST_LEVELS]])
            more = f" and {levels.n_levels - _MOST_LEVELS} more levels"
            own = shorten(self.ensemble.feature_name(column)) + f" {few}"
            columns.append(own + (more if levels.n_levels > _MOST_LEVELS else ""))
        hidden = len(columns) - _MOST_NAMES
        text = "; ".join(columns[:_MOST_NAMES]) + (f"; and {hidden} more" if hidden > 0 else "")
        return f"{text}; {plural(self.n_set_splits, 'split')} by sets"


def summarize(ensemble: Ensemble) -> ModelSummary:
    """Return the summary of a model."""
    used, gains = used_importances(ensemble, "total_gain")
    strongest = used[np.argsort(-gains, kind="stable")].tolist()
    kind = ensemble.objective.partition(":")[0]
    task = "several classes" if kind == "multi" else _TASKS.get(kind, kind)
    by_set = sum(int((tree.split_kind == CATEGORY_SPLIT).sum()) for tree in ensemble.trees)
    return ModelSummary(
        ensemble,
        task + (f", {ensemble.n_outputs} outputs" if ensemble.n_outputs > 1 else ""),
        _growth(ensemble),
        [_depth(tree) for tree in ensemble.trees],
        [(tree.n_nodes + 1) // 2 for tree in ensemble.trees],
        [ensemble.feature_name(feature) for feature in strongest],
        by_set,
    )


def _growth(ensemble: Ensemble) -> str:
    symmetric = "symmetric " if tables_of(ensemble.trees) is not None else ""
    if ensemble.n_parallel == 1:
        return f"boosted {symmetric}trees"
    forest = "a random forest" if ensemble.n_rounds == 1 else "boosted random forests"
    return f"{forest} of {ensemble.n_parallel} {symmetric}trees"


def _depth(tree: Tree) -> int:
    """Return the depth of the deepest leaf."""
    depth, nodes = -1, np.zeros(1, np.int32)
    while nodes.size:
        left = tree.left[nodes]
        left = left[left >= 0]
        nodes, depth = np.concatenate([left, left + 1]), depth + 1
    return depth


def _range(numbers: list[int]) -> str:
    """Return the least and the largest of numbers, and their mean."""
    if not numbers:
        return "none"
    low, high = min(numbers), max(numbers)
    mean = sum(numbers) / len(numbers)
    return str(low) if low == high else f"{low} to {high}, {mean:.1f} on average"


def grouped_variants(variants: dict[str, str]) -> str:
    """Return how many kernels had each variant: ``portable 9, private 2``."""
    counts = Counter(variants.values()).most_common()
    return ", ".join(f"{name} {count}" for name, count in counts)


def facts_of(model: Inspected) -> list[tuple[str, str]]:
    """Return pairs of a heading and a text: what the model is, and how it was trained."""
    facts = summarize(model.ensemble).lines()
    if BEST_ITERATION in model.ensemble.attributes:
        best, score = model.best_iteration, model.best_score
        facts.append(("best round", f"{best}, counted from 0; its score is {score:.6g}"))
    scores = _scores(model)
    if scores:
        facts.append(("metrics", scores))
    facts.append(("device", model.training_device or "not known: the model was read from a file"))
    if model.variants:
        facts.append(("variants", f"kernels by variant: {grouped_variants(model.variants)}"))
    return facts


def _scores(model: Inspected) -> str:
    """Return every metric of every evaluation set, after the last round that predictions use."""
    last = model.rounds_to_predict - 1 - first_of_history(model)
    return "; ".join(
        f"{name}: " + ", ".join(f"{metric} {values[last]:.6g}" for metric, values in own.items())
        for name, own in model.history.items()
        if all(0 <= last < len(values) for values in own.values())
    )


def describe(model: Inspected) -> str:
    """Return the facts of a model, a paragraph for each."""
    return "\n".join(
        textwrap.fill(
            text, _WIDTH, initial_indent=heading.ljust(_INDENT), subsequent_indent=" " * _INDENT,
            break_long_words=False, break_on_hyphens=False,
        )
        for heading, text in facts_of(model)
    )  # fmt: skip


def card(model: Inspected, title: str = "Model", settings: str = "") -> str:
    """Return a model as HTML for a notebook, without scripts; all names are escaped.

    ``settings``: what an estimator was made with; empty leaves it out.
    """
    facts = ([("settings", settings)] if settings else []) + facts_of(model)
    shown = "".join(
        f"<tr><th>{escape(heading)}</th><td>{escape(text)}</td></tr>" for heading, text in facts
    )
    return (
        f'<div class="gbdt-card"><style>{_STYLE}</style><b>{escape(title)}</b>'
        f"<table>{shown}</table>{_bars(model)}</div>"
    )


def _bars(model: Inspected) -> str:
    """Return the most important features with bars; empty without splits."""
    ensemble = model.ensemble
    used, gains = used_importances(ensemble, "total_gain")
    pairs = sorted(zip(gains.tolist(), used.tolist(), strict=True), key=lambda pair: -pair[0])
    whole = sum(gains.tolist()) or 1.0
    if not pairs:
        return ""
    longest = pairs[0][0] or 1.0
    rows = "".join(
        f"<tr><td>{escape(shorten(ensemble.feature_name(feature), _LONGEST_NAME))}</td>"
        f'<td style="width:40%"><i style="width:{100 * gain / longest:.1f}%"></i></td>'
        f'<td style="width:4em">{gain / whole:.1%}</td></tr>'
        for gain, feature in pairs[:_MOST_BARS]
    )
    what = f"features by total gain, {min(len(pairs), _MOST_BARS)} of {ensemble.n_features}"
    return f"<details><summary>{what}</summary><table>{rows}</table></details>"
