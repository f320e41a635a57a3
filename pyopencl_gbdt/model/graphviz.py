"""Trees in the DOT language, as XGBoost's ``to_graphviz`` writes them; Graphviz is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.node_labels import (
    FeatureMap,
    NodeLabels,
    children,
    leaf_text,
    listed,
    nine_digits,
)
from pyopencl_gbdt.model.pictures import check_tree_number, ensemble_of
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

#: XGBoost's colours of the branch that missing values take, and of the other one.
_MISSING, _OTHER = "#0000FF", "#FF0000"
_Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class Dot:
    """A tree in the DOT language; ``str`` returns the text.

    Attributes
    ----------
    source : str
        What Graphviz's programs read: ``dot -Tsvg tree.dot``.
    """

    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True)
class DotStyle:
    """Attributes of a graph in the DOT language.

    Attributes
    ----------
    graph, split, leaf : mapping of str to object
        Attributes of the graph, of splits and of leaves.
    yes, no : str or None
        Colours of branches. None: blue is where missing values go, red the other, as in XGBoost.
    """

    graph: _Attributes
    split: _Attributes
    leaf: _Attributes
    yes: str | None = None
    no: str | None = None


_PLAIN = DotStyle({}, {}, {})


def to_graphviz(
    model: Any,
    tree_idx: int = 0,
    *,
    fmap: FeatureMap | None = None,
    with_stats: bool = False,
    rankdir: str | None = None,
    yes_color: str | None = None,
    no_color: str | None = None,
    condition_node_params: _Attributes | None = None,
    leaf_node_params: _Attributes | None = None,
    **graph: Any,
) -> Dot:
    """Return a tree in the DOT language, for Graphviz's programs and for web pages.

    Parameters
    ----------
    model : estimator, Model or Ensemble
    tree_idx : int, default 0
        Index of the tree.
    fmap : FeatureMap or None
        Names and kinds of columns; None takes the model's names.
    with_stats : bool, default False
        Add gain and cover (the sum of the Hessians).
    rankdir : str or None
        ``"LR"`` draws from left to right; None is ``"TB"``, from the top.
    yes_color, no_color : str or None
        Colours of the branches; by default blue is where missing values go, and red the other one.
    condition_node_params, leaf_node_params : dict or None
        Attributes of splits and of leaves, such as ``{"shape": "box"}``.
    **graph
        Further attributes of the graph.

    Returns
    -------
    Dot
        Its ``source`` is the text.

    Raises
    ------
    ParameterError
        If there is no such tree, or attributes are not a dict.
    """
    ensemble = ensemble_of(model)
    check_tree_number(ensemble, tree_idx, "tree_idx")
    parts = {"condition_node_params": condition_node_params, "leaf_node_params": leaf_node_params}
    for name, given in parts.items():
        if given is not None and not isinstance(given, Mapping):
            raise ParameterError(
                f"{name}={show(given)}: expected a dict of Graphviz's attributes; give one such as "
                "{'shape': 'box'}"
            )
    if rankdir is not None:
        graph = {"rankdir": rankdir, **graph}
    style = DotStyle(
        graph, condition_node_params or {}, leaf_node_params or {}, yes_color, no_color
    )
    labels = NodeLabels(ensemble, FeatureMap() if fmap is None else fmap)
    return Dot(dot_tree(ensemble.trees[tree_idx], labels, with_stats, style))


def dot_tree(
    tree: Tree, labels: NodeLabels, with_stats: bool = False, style: DotStyle = _PLAIN
) -> str:
    """Return a tree as the text of a graph; splits and leaves are numbered as in the model."""
    lines = ["digraph {", "    graph [ rankdir=TB ]"]
    lines += [f"    graph [ {name}={_quoted(value)} ]" for name, value in style.graph.items()]
    pending = [0]
    while pending:  # depth first, left before right
        node = pending.pop()
        is_leaf = tree.left[node] == NO_NODE
        label = _quoted(_label(tree, node, labels, with_stats))
        own = "".join(
            f" {name}={_quoted(value)}"
            for name, value in (style.leaf if is_leaf else style.split).items()
        )
        lines += ["", f"    {node} [ label={label}{own} ]"]
        if not is_leaf:
            lines += _branches(tree, node, labels, style)
            pending += [int(tree.right[node]), int(tree.left[node])]
    return "\n".join([*lines, "}"])


def _label(tree: Tree, node: int, labels: NodeLabels, with_stats: bool) -> str:
    cover = [f"cover={nine_digits(tree.sum_hessian[node])}"]
    if tree.left[node] == NO_NODE:
        formula = labels.formula(tree, node, nine_digits)
        linear = [f"linear={formula}"] if formula else []
        return "\n".join([f"leaf={leaf_text(tree, node)}", *linear, *(cover * with_stats)])
    name = labels.name(int(tree.feature[node]))
    if tree.split_kind[node] == CATEGORY_SPLIT:
        name += f":{listed(labels.levels(tree, node))}"
        with_stats = True  # as XGBoost does, here alone
    elif not labels.is_indicator(tree, node):
        name += f"<{labels.threshold(tree, node)}"
    stats = [f"gain={nine_digits(tree.gain[node])}", *cover]
    return "\n".join([name, *(stats * with_stats)])


def _branches(tree: Tree, node: int, labels: NodeLabels, style: DotStyle) -> Iterator[str]:
    left, right, missing = children(tree, node)
    yes = right if tree.split_kind[node] == CATEGORY_SPLIT else left
    if labels.is_indicator(tree, node):
        yes = left + right - missing
    for child in (left, right):
        answer, asked = ("yes", style.yes) if child == yes else ("no", style.no)
        color = asked or (_MISSING if child == missing else _OTHER)
        text = f"{answer}, missing" if child == missing else answer
        yield f'    {node} -> {child} [label="{text}" color={_quoted(color)}]'


def _quoted(value: object) -> str:
    """Return a string of the DOT language, in which a line may end."""
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
