"""ONNX as a format of model files, written by the package ``onnx``.

Opset 3 of ``ai.onnx.ml``, which all runtimes know, has no sets: one becomes a chain of nodes that
ask for a level each and share a child::

    x in {2, 5} ? R : L          x == 2 ? R : (x == 5 ? R : L)

Opset 5 has sets (``BRANCH_MEMBER``). Either asks ``x < threshold`` in float32, as this library.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import (
    OneOutputTrees,
    class_names,
    link_of,
    of_used_rounds,
)
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

#: Most levels of a set, or of its complement. ONNX Runtime 1.32 follows a chain by recursion, and
#: crashes at 100 000 nodes; sets of 1000 random levels in opset 5 are read in 5 ms.
MOST_LEVELS = {3: 1000, 5: 10_000}
_LEAF, _LESS, _EQUAL, _MEMBER = "LEAF", "BRANCH_LT", "BRANCH_EQ", "BRANCH_MEMBER"
_MODES = {_LESS: 1, _EQUAL: 4, _MEMBER: 6}  # their numbers in opset 5
#: A level that no row has.
_NO_LEVEL = -1.0


class Onnx(OneOutputTrees):
    """ONNX, of one opset of ``ai.onnx.ml``."""

    reads, writes = False, True

    def __init__(self, opset: int = 3) -> None:
        self.opset = opset
        self.name = "ONNX" if opset == 3 else f"ONNX of opset {opset}"
        self.suffixes = (".onnx",) if opset == 3 else (f".opset{opset}.onnx",)

    def sniff(self, head: bytes) -> bool:
        """Tell opset 3 from others by the version of the format that a file begins with."""
        return head[:1] == b"\x08" and (head[1:2] == b"\x0a") == (self.opset == 5)

    def _lacks(self, model: Ensemble) -> str:
        largest = max((_largest_set(model, tree) for tree in model.trees), default=0)
        most = MOST_LEVELS[self.opset]
        if largest > most:
            return f"sets of more than {most} levels, of {largest}"
        return ""

    def read(self, data: bytes, source: str) -> Ensemble:
        raise NotImplementedError

    def _write(self, model: Ensemble) -> bytes:
        return to_onnx(model, self.opset)


def _largest_set(model: Ensemble, tree: Tree) -> int:
    return max(
        (
            _listed(model, tree, node)[0].size
            for node in np.flatnonzero(tree.split_kind == CATEGORY_SPLIT).tolist()
        ),
        default=0,
    )


def _listed(model: Ensemble, tree: Tree, node: int) -> tuple[npt.NDArray[np.int64], bool]:
    """Return the codes of a split on the side that has fewer, and whether they go right."""
    right = np.flatnonzero(tree.right_set(node))
    levels = model.categories.get(int(tree.feature[node]))
    if levels is None or levels.n_levels - right.size >= right.size:
        return right, True
    return np.setdiff1d(np.arange(levels.n_levels), right), False


def to_onnx(ensemble: Ensemble, opset: int = 3) -> bytes:
    """Return a model in ONNX, as bytes.

    Its input is ``X``, float32 (n_rows, n_features): NaN is missing, and categorical columns have
    codes. A model for classes has the outputs ``label`` and ``probabilities``, another
    ``variable``, what ``predict`` returns.

    Parameters
    ----------
    opset : {3, 5}
        Of ``ai.onnx.ml``.

    Raises
    ------
    ParameterError
        If ``opset`` is another.
    ImportError
        If the package ``onnx`` is not installed.
    """
    if opset not in MOST_LEVELS:
        raise ParameterError(f"opset={opset!r}: expected 3 or 5; leave it out for 3")
    try:
        import onnx
        from onnx import helper
    except ImportError as error:
        raise ImportError(f"files of ONNX need onnx: {pip_install('onnx')}") from error
    model = of_used_rounds(ensemble)
    nodes, outputs = _graph(model, opset)
    float32 = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "pyopencl_gbdt",
        [helper.make_tensor_value_info("X", float32, [None, model.n_features])],
        [helper.make_tensor_value_info(name, *facts) for name, facts in outputs.items()],
    )
    versions = {3: (17, 8), 5: (21, 10)}[opset]
    made = helper.make_model(
        graph,
        producer_name="pyopencl_gbdt",
        opset_imports=[helper.make_opsetid("", versions[0]),
                       helper.make_opsetid("ai.onnx.ml", opset)],
        ir_version=versions[1],
    )  # fmt: skip
    names = [model.feature_name(i) for i in range(model.n_features)]
    levels = {str(c): levels.values.tolist() for c, levels in sorted(model.categories.items())}
    helper.set_model_props(made, {"feature_names": json.dumps(names), "levels": json.dumps(levels)})
    data: bytes = made.SerializeToString(deterministic=True)
    return data


def _graph(model: Ensemble, opset: int) -> tuple[list[Any], dict[str, Any]]:
    """Return the graph's nodes, and the type and shape of each output."""
    from onnx import TensorProto, helper

    make, link, n_outputs = helper.make_node, link_of(model), model.n_outputs
    margins = _margins(model, opset)
    classes = {"label": (TensorProto.INT64, [None])}
    two = model.objective == "binary:logistic" and n_outputs == 1
    if not two and link not in ("softmax", "class"):
        last = {
            "identity": [make("Identity", ["margins"], ["variable"])],
            "exp": [make("Exp", ["margins"], ["variable"])],
            "sigmoid": [make("Sigmoid", ["margins"], ["variable"])],
            "positive": [
                make("Constant", [], ["zero"], value_float=0.0),
                make("Greater", ["margins", "zero"], ["above"]),
                make("Cast", ["above"], ["variable"], to=TensorProto.FLOAT),
            ],
        }[link]
        return [*margins, *last], {"variable": (TensorProto.FLOAT, [None, n_outputs])}
    n_classes = 2 if two else n_outputs
    if two:
        nodes = [
            make("Sigmoid", ["margins"], ["second"]),
            make("Constant", [], ["one"], value_float=1.0),
            make("Sub", ["one", "second"], ["first"]),
            make("Concat", ["first", "second"], ["probabilities"], axis=1),
        ]
    else:
        nodes = [make("Softmax", ["margins"], ["probabilities"], axis=1)]
    source = "probabilities" if two else "margins"
    nodes.append(make("ArgMax", [source], ["place"], axis=1, keepdims=0))
    names = class_names(model, n_classes)
    if names == list(range(n_classes)):
        nodes.append(make("Identity", ["place"], ["label"]))
    else:
        text = isinstance(names[0], str)
        kind = TensorProto.STRING if text else TensorProto.INT64
        classes = {"label": (kind, [None])}
        nodes += [
            make("Constant", [], ["names"], value=helper.make_tensor(
                "names", kind, [n_classes],
                [name.encode() if isinstance(name, str) else name for name in names])),
            make("Gather", ["names", "place"], ["label"], axis=0),
        ]  # fmt: skip
    found = {**classes, "probabilities": (TensorProto.FLOAT, [None, n_classes])}
    return [*margins, *nodes], found


class _Node(NamedTuple):
    """A node; ``tree`` and ``number`` are its own, ``yes`` and ``no`` numbers of its children."""

    tree: int
    number: int
    mode: str
    feature: int = 0
    value: float = 0.0
    yes: int = 0
    no: int = 0
    missing_yes: bool = False


def _nodes_of(model: Ensemble, opset: int) -> tuple[list[_Node], list[float]]:
    """Return the nodes of all trees, and the members of sets, of which NaN ends each."""
    nodes: list[_Node] = []
    members: list[float] = []
    for index, tree in enumerate(model.trees):
        n_nodes = tree.n_nodes  # the numbers of chains' nodes begin here
        for node in range(tree.n_nodes):
            left, right = int(tree.left[node]), int(tree.right[node])
            feature, default_left = int(tree.feature[node]), bool(tree.default_left[node])
            if left == NO_NODE:
                nodes.append(_Node(index, node, _LEAF))
                continue
            if tree.split_kind[node] != CATEGORY_SPLIT:
                value = float(tree.threshold[node])
                nodes.append(_Node(index, node, _LESS, feature, value, left, right, default_left))
                continue
            codes, to_right = _listed(model, tree, node)
            yes, no = (right, left) if to_right else (left, right)
            missing_yes = default_left != to_right
            values = codes.astype(float).tolist() or [_NO_LEVEL]
            if opset == 5:
                nodes.append(_Node(index, node, _MEMBER, feature, 0.0, yes, no, missing_yes))
                members += [*values, float("nan")]
                continue
            chain = [node, *range(n_nodes, n_nodes + len(values) - 1), no]
            n_nodes += len(values) - 1
            nodes += [
                _Node(index, own, _EQUAL, feature, value, yes, after, missing_yes and own == node)
                for own, value, after in zip(chain, values, chain[1:], strict=False)
            ]
    return nodes, members


def _margins(model: Ensemble, opset: int) -> list[Any]:
    """Return the nodes of the graph that make margins, (n_rows, n_outputs), of ``X``."""
    from onnx import TensorProto, helper

    n_outputs = model.n_outputs
    base = helper.make_tensor("base", TensorProto.FLOAT, [n_outputs], each(model.base_margin))
    if not model.trees:  # a product with zeros has as many rows; missing values are no factor
        zeros = helper.make_tensor(
            "z", TensorProto.FLOAT, [model.n_features, n_outputs],
            [0.0] * model.n_features * n_outputs,
        )  # fmt: skip
        make = helper.make_node
        return [
            make("Constant", [], ["zeros"], value=zeros),
            make("IsNaN", ["X"], ["missing"]),
            make("Cast", ["missing"], ["bits"], to=TensorProto.FLOAT),
            make("MatMul", ["bits", "zeros"], ["sums"]),
            make("Constant", [], ["base"], value=base),
            make("Add", ["sums", "base"], ["margins"]),
        ]
    nodes, members = _nodes_of(model, opset)
    output = [i // model.n_parallel % n_outputs for i in range(len(model.trees))]
    if opset == 5:
        return [
            _ensemble_5(model, nodes, members, output),
            helper.make_node("Constant", [], ["base"], value=base),
            helper.make_node("Add", ["sums", "base"], ["margins"]),
        ]
    leaves = [node for node in nodes if node.mode == _LEAF]
    return [
        helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["margins"], domain="ai.onnx.ml",
            n_targets=n_outputs,
            base_values=[float(one) for one in each(model.base_margin)],
            nodes_treeids=[node.tree for node in nodes],
            nodes_nodeids=[node.number for node in nodes],
            nodes_featureids=[node.feature for node in nodes],
            nodes_values=[node.value for node in nodes],
            nodes_modes=[node.mode for node in nodes],
            nodes_truenodeids=[node.yes for node in nodes],
            nodes_falsenodeids=[node.no for node in nodes],
            nodes_missing_value_tracks_true=[int(node.missing_yes) for node in nodes],
            target_treeids=[node.tree for node in leaves],
            target_nodeids=[node.number for node in leaves],
            target_ids=[output[node.tree] for node in leaves],
            target_weights=[float(model.trees[n.tree].value[n.number, 0]) for n in leaves],
        )
    ]  # fmt: skip


def _ensemble_5(
    model: Ensemble, nodes: list[_Node], members: list[float], output: list[int]
) -> Any:
    """Return the node of opset 5, in which leaves are a list of their own."""
    from onnx import TensorProto, helper

    leaves = [node for node in nodes if node.mode == _LEAF]
    # a tree of a leaf asks something, and goes to that leaf
    asked = [node._replace(mode=_LESS) for node in leaves if node.number == 0]
    inner = [node for node in nodes if node.mode != _LEAF] + asked
    leaf_at = {(node.tree, node.number): i for i, node in enumerate(leaves)}
    inner_at = {(node.tree, node.number): i for i, node in enumerate(inner)}
    children: dict[str, list[int]] = {}
    for side in ("true", "false"):
        found = [(node.tree, node.yes if side == "true" else node.no) for node in inner]
        children[f"nodes_{side}leafs"] = [int(one in leaf_at) for one in found]
        children[f"nodes_{side}nodeids"] = [
            leaf_at[one] if one in leaf_at else inner_at[one] for one in found
        ]

    def tensor(kind: int, values: list[Any]) -> Any:
        return helper.make_tensor("t", kind, [len(values)], values)

    sets = {"membership_values": tensor(TensorProto.FLOAT, members)} if members else {}
    return helper.make_node(
        "TreeEnsemble", ["X"], ["sums"], domain="ai.onnx.ml",
        n_targets=model.n_outputs,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[inner_at[tree, 0] for tree in range(len(model.trees))],
        nodes_featureids=[node.feature for node in inner],
        nodes_modes=tensor(TensorProto.UINT8, [_MODES[node.mode] for node in inner]),
        nodes_splits=tensor(TensorProto.FLOAT, [node.value for node in inner]),
        nodes_missing_value_tracks_true=[int(node.missing_yes) for node in inner],
        leaf_targetids=[output[node.tree] for node in leaves],
        leaf_weights=tensor(
            TensorProto.FLOAT, [float(model.trees[n.tree].value[n.number, 0]) for n in leaves]
        ),
        **children,
        **sets,
    )  # fmt: skip
