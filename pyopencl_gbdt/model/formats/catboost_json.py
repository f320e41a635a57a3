"""CatBoost's JSON of symmetric trees on numbers as a format of model files.

A tree is a table, see ``model.tables``: ``splits`` ask ``x > border``, and bit i of a leaf's place
is the answer of split i, so that the first split has the lowest bit; here it has the highest.
``leaf_values`` have a number for each output, leaf by leaf, and ``leaf_weights`` the sums of
Hessians. A margin is ``bias + scale * sum``.

CatBoost sends the missing values of a feature one way (``nan_value_treatment``). A column whose
missing values go left at some splits and right at others is written as two features.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import (
    OneOutputTrees,
    class_names,
    first_key,
    link_of,
    of_used_rounds,
    splits_by_sets,
)
from pyopencl_gbdt.model.formats.catboost_reader import LOSSES, read_catboost
from pyopencl_gbdt.model.formats.loose_nodes import last_below
from pyopencl_gbdt.model.tables import Table, table_of

F32 = npt.NDArray[np.float32]
#: CatBoost's loss for those that it lacks, by the link.
_BY_LINK = {"identity": "RMSE", "exp": "Poisson", "sigmoid": "CrossEntropy",
            "softmax": "MultiClass", "class": "MultiClass"}  # fmt: skip


class CatBoostJson(OneOutputTrees):
    """JSON that ``CatBoost.save_model(format="json")`` writes."""

    name = "CatBoost's JSON"
    suffixes = (".catboost.json", ".catboost")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return first_key(head) in ("features_info", "ctr_data", "model_info")

    def _lacks(self, model: Ensemble) -> str:
        if link_of(model) not in _BY_LINK:
            return f"a loss that predicts as {model.objective} does"
        if splits_by_sets(model):
            return "sets of levels"
        if any(table_of(tree) is None for tree in model.trees):
            return "trees that are not symmetric"
        return ""

    def read(self, data: bytes, source: str) -> Ensemble:
        return read_catboost(data, source)

    def _write(self, model: Ensemble) -> bytes:
        return to_catboost_json(model).encode("utf-8")


def to_catboost_json(ensemble: Ensemble) -> str:
    """Return a model of symmetric trees as CatBoost's JSON.

    A tree of one of several outputs is written with zeros for the others.
    """
    model = of_used_rounds(ensemble)
    tables = [table for tree in model.trees if (table := table_of(tree)) is not None]
    covers = [
        tree.sum_hessian[-table.values.size :]
        for tree, table in zip(model.trees, tables, strict=True)
    ]
    features = _Features(model, tables)
    output = [i // model.n_parallel % model.n_outputs for i in range(len(tables))]
    trees = [
        _written(table, cover, own, model.n_outputs, features)
        for table, cover, own in zip(tables, covers, output, strict=True)
    ] or [{"leaf_values": [0.0] * model.n_outputs, "leaf_weights": [0], "splits": []}]
    document = {
        "features_info": {"float_features": features.written()},
        "model_info": _info(model),
        "oblivious_trees": trees,
        "scale_and_bias": [1, list(each(model.base_margin))],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


class _Features:
    """CatBoost's features: a column's for each way of missing values, and their borders."""

    def __init__(self, model: Ensemble, tables: list[Table]) -> None:
        self._model = model
        borders: dict[tuple[int, bool], set[float]] = {}
        for table in tables:
            for feature, left, border in self._splits(table):
                borders.setdefault((feature, left), set()).add(border)
        used = {feature for feature, _ in borders}
        for column in range(model.n_features):
            if column not in used:
                borders[column, True] = set()
        self._borders = {key: sorted(borders[key]) for key in sorted(borders)}
        self._number = {key: i for i, key in enumerate(self._borders)}
        sizes = np.cumsum([0, *map(len, self._borders.values())]).tolist()
        self._first = dict(zip(self._borders, sizes, strict=False))

    @staticmethod
    def _splits(table: Table) -> list[tuple[int, bool, float]]:
        border = last_below(table.threshold)
        return list(
            zip(table.feature.tolist(), table.default_left.tolist(), border.tolist(), strict=True)
        )

    def written(self) -> list[dict[str, Any]]:
        return [
            {
                "borders": borders,
                "feature_id": self._model.feature_name(column)
                if self._model.feature_names is not None
                else "",
                "feature_index": number,
                "flat_feature_index": column,
                "has_nans": True,
                "nan_value_treatment": "AsFalse" if left else "AsTrue",
            }
            for number, ((column, left), borders) in enumerate(self._borders.items())
        ]

    def splits(self, table: Table) -> list[dict[str, Any]]:
        """Return the splits of a tree; ``split_index`` counts all borders of all features."""
        return [
            {
                "border": border,
                "float_feature_index": self._number[feature, left],
                "split_index": self._first[feature, left]
                + self._borders[feature, left].index(border),
                "split_type": "FloatFeature",
            }
            for feature, left, border in self._splits(table)
        ]


def _written(
    table: Table, cover: F32, output: int, n_outputs: int, features: _Features
) -> dict[str, Any]:
    order = np.arange(table.values.size).reshape((2,) * table.depth).transpose().ravel()
    values = np.zeros((table.values.size, n_outputs))
    values[:, output] = table.values[order]
    return {
        "leaf_values": values.ravel().tolist(),
        "leaf_weights": cover[order].tolist(),
        "splits": features.splits(table),
    }


def _info(model: Ensemble) -> dict[str, Any]:
    """Return the loss and the classes; nothing for the margins of identity."""
    link, n_outputs = link_of(model), model.n_outputs
    known = {ours: (theirs, own, name) for theirs, (ours, own, name) in reversed(LOSSES.items())}
    loss, own, name = known.get(model.objective, (_BY_LINK[link], "", ""))
    if n_outputs > 1 and loss == "RMSE":
        loss = "MultiRMSE"
    if model.objective == "custom" and link == "identity":
        return {}
    value = model.objective_parameters.get(own)
    parameters = {name: f"{value:.9g}"} if isinstance(value, float) else {}
    info: dict[str, Any] = {"params": {"loss_function": {"type": loss, "params": parameters}}}
    n_classes = 2 if loss == "Logloss" else n_outputs
    if loss in ("Logloss", "MultiClass"):
        names = class_names(model, n_classes)
        text = isinstance(names[0], str)
        info["class_params"] = {
            "class_label_type": "String" if text else "Integer",
            "class_names": names,
            "class_to_label": list(range(n_classes)),
            "classes_count": 0,
        }
    return info
