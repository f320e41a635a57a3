"""Plausible parameters for every template, by the parameters' names.

A new template needs nothing here unless it declares a parameter of a new name or its parameters
do not go together freely.
"""

from __future__ import annotations

import itertools
from typing import Any

from pyopencl_gbdt.device.render import declared, template_files
from pyopencl_gbdt.metrics import METRICS, get_metric, row_loss_of
from pyopencl_gbdt.metrics.distributions import nll, row_loss_by_name
from pyopencl_gbdt.numerics.expressions import statements
from pyopencl_gbdt.numerics.random_numbers import SKETCHES
from pyopencl_gbdt.objectives import OBJECTIVES
from pyopencl_gbdt.objectives.classification import of_share
from pyopencl_gbdt.objectives.distributions import DISTRIBUTIONS
from pyopencl_gbdt.objectives.survival import Aft

#: Templates that others import: they have no parameters, since none of their kernels runs alone.
LIBRARIES = frozenset(name for name in template_files() if not declared(name))

#: Parameters that are true or false.
_FLAGS = (
    "sampled", "limited", "monotone", "masked", "ranked", "led", "missing", "interleaved",
    "clipped", "doubles", "shrunk", "listed", "few", "by_node", "sparse", "categories",
    "tables", "many", "pair", "ballots", "counted", "drawn", "gathered", "opened", "copied",
    "words", "noisy", "smooth", "squared", "clears", "linear", "ahead",
)  # fmt: skip

_ROW_LOSSES = {
    name: row_loss_of(get_metric(name))
    for name in (*METRICS, "tweedie-nloglik@1", "tweedie-nloglik@1.5")
    if name not in ("tweedie-nloglik", "ams")  # without a number
}
#: Metrics that are means over rows with a margin and a label each; and with classes.
MEANS = [
    name
    for name, loss in _ROW_LOSSES.items()
    if loss and not (loss.classes or loss.bounds or loss.distributed)
]
MEANS_OF_CLASSES = [name for name, loss in _ROW_LOSSES.items() if loss and loss.classes]

VALUES: dict[str, list[Any]] = {
    "wg_size": [1, 64, 256],
    "items": [1, 4],
    "rows": [128, 0],
    "columns": (1, 128),
    "chunk": [4096],
    "points": [1, 5],
    "joint": [0, 256],
    "dot": [False, True],
    "roots_at_once": [0, 4],
    "root_places": [8],
    "levels": [0, 4],
    "interactions": [False, True],
    "most_nodes": [128],
    "local_nodes": [0, 128],
    "local_words": [4, 8],
    "row_chunk": [2048],
    "hist_chunk": [2048],
    "search_chunk": [512],
    "leaf_chunk": [2048],
    "places": [4],
    "prefetch": [0, 24],
    "pieces": [32],
    "run": [256],
    "cells": [1024],
    "pairs": [8192, 0],
    "most_cells": [1024],
    "codes": [256],
    "copies": [1, 4],
    "split_blocks": [False, True],
    "walk": [False, True],
    "radix_bits": [4, 8],
    "digit": [4, 8],
    "code": ["u8", "u16", "tiled"],
    "own": ["u8", "u16"],
    "index": ["u8", "u16"],
    "part": ["build", "merge", "prune"],
    "type": ["u32", "u64"],
    "key": ["u32", "i32", "f32", "u64", "i64", "f64"],
    "value_bytes": [0, 4, 8],
    "place": ["u32", "u64"],
    "take": [4, 1],
    "match": [0, 2, 1],
    "window": [1, 4],
    "spin": [4096, 0],
    "offset": ["u32", "i64"],
    "op": ["sum"],
    "tiny": [64],
    "numbers": [1, 2],
    "bucket": ["u8", "u32"],
    "large_tiles": [4],
    "n_sketches": [1, 5],
    "first_stream": [SKETCHES],
    "descending": [False, True],
    "value": ["", "u32", "u64"],
    "loss": [
        *(objective.kernel for objective in OBJECTIVES.values() if not objective.given),
        "g = margin; h = label;",
    ],
    "link": sorted({objective.link for objective in OBJECTIVES.values()}),
    "row_loss": sorted(
        {loss.kernel for loss in _ROW_LOSSES.values() if loss}
        | {row_loss_by_name(nll, one.name).kernel for one in DISTRIBUTIONS}
    ),
    "curve": ["auc", "aucpr"],
    "fields": ["", "walk_t:left,number"],
    "fact": [
        *("subnormals", "skipped_loads", "int64_atomics", "int64_cost", "compute_units"),
        "wave_width",
    ],
    "metric": ["ndcg", "map", "pairwise", "pre"],
    **{
        name: [False, True]
        for name in ("classes", "exp_gain", "mean", "unbiased", "spread", "normed")
    },
    "rank": ["gain", "-(f32)(node->path << (20u - node->depth))"],
    "statements": ["", "g = margin - label; h = 1.0f;"],
    "gradient_between": [
        Aft(aft_loss_distribution=name).kernel_between for name in ("normal", "logistic", "extreme")
    ],
    "gradient_of_row": [one.row_kernel for one in DISTRIBUTIONS],
    "n_outputs": [2],
    "gradient_of_share": [statements(of_share, ("p", "label", "class_k"), ("g", "h"))],
    "weighted": [False, True],
    "has_values": [False, True],
    "parts": [False, True],
    "together": [1, 4],
    "leaves": ["", "u8", "u16"],
    "ranged": [False, True],
    "block": [16, 8],
    "unroll": [False, True],
    "in_registers": [False, True],
    "alone": (False, True),
    "adds": [False, True],
    "stages": ["", "tree level node"],
    "bins": ["values", "tree", "node"],
    "max_bin": [256],
    "picked": [0, 1, 4],
    "most_codes": [257],
    "at_once": [4],
    "by_row": [0, 16],
    "few_rows": [256],
    "most_features": [32],
    "staged": [1024],
    "added_rows": [2048],
    "phases": [2],
    "counter_words": [32],
    "n_facts": [6],
    "n_exponents": [512],
    "n_counts": [512],
    "n_classes": [2048],
    "fine": [8],
    "coarse": [4],
    "most_open": [512],
    "finds": ["walk", "by_rows", "by_node", "alone", ""],
    "method": ["goss", "gradient_based", "uniform", "bayesian"],
    "most": [1, 16],
    **{name: [False, True] for name in _FLAGS},
}

_TYPE_AND_OP = [
    {"type": kind, "op": op}
    for kind, op in (
        *itertools.product(("u32", "u64", "i32", "i64", "f32", "i64x2"), ("sum",)),
        *itertools.product(("i32", "u32", "i64", "f32"), ("max", "min")),
    )
    if (kind, op) not in {("i32", "sum"), ("i64", "sum")}  # sums of integers are unsigned
]


def templates() -> list[str]:
    """Names of all templates with kernels."""
    return sorted(template_files().keys() - LIBRARIES)


def combinations(template: str) -> list[dict[str, Any]]:
    """All plausible sets of parameters of a template."""
    names = sorted(declared(template))
    fixed: list[dict[str, Any]] = _TYPE_AND_OP if {"type", "op"} <= set(names) else [{}]
    free = [name for name in names if name not in fixed[0]]
    every = [
        {**some, **dict(zip(free, values, strict=True))}
        for some in fixed
        for values in itertools.product(*(VALUES[name] for name in free))
    ]
    return [params for params in every if _together(template, params)]


def few(template: str) -> list[dict[str, Any]]:
    """A few sets of parameters in which every value of every parameter comes up."""
    chosen: list[dict[str, Any]] = []
    seen: set[tuple[str, Any]] = set()
    for params in combinations(template):
        if not seen.issuperset(params.items()):
            seen.update(params.items())
            chosen.append(params)
    return chosen


def _together(template: str, params: dict[str, Any]) -> bool:
    """Whether the values go together.

    Offsets in registers belong to unrolled loops; a work-item alone searches splits its own way;
    leaf-wise growth counts its leaves by its steps. Rows are counted alike whatever nodes may
    search, so few sets of parameters do.
    """
    if params.get("counted") and params.get("masked"):
        return False
    if params.get("smooth") and (
        not params.get("counted", True) or params.get("tables") or params.get("monotone")
    ):
        return False
    if (params.get("drawn") or params.get("noisy")) and (
        params.get("counted") or params.get("clipped")
    ):
        return False
    if params.get("finds") and (params["finds"] == "by_node") == bool(params["code"]):
        return False
    if params.get("finds") == "alone" and (
        template != "renew_leaves" or params["wg_size"] > 1 or params["weighted"]
    ):
        return False
    if params.get("gathered") and any(map(params.get, ("sparse", "categories"))):
        return False
    if params.get("opened") and any(
        map(params.get, ("sparse", "categories", "gathered", "copied"))
    ):
        return False
    if params.get("words") and any(map(params.get, ("opened", "copied", "sampled"))):
        return False
    if params.get("words") and (not params.get("pairs") or params["block"] != 16):
        return False
    if template.startswith("split"):
        inexact = params.get("monotone") or params.get("shrunk") or params.get("clipped")
        if params.get("doubles") and inexact:
            return False
        return (params["wg_size"] == 1) == (template == "split_cpu")
    if params.get("ahead"):  # quanta of rows that all count, each once
        others = ("weighted", "sampled", "counted", "squared", "linear")
        if not (params["loss"] and params.get("walk", True)) or any(map(params.get, others)):
            return False
    if template == "update_margins":
        local = params["walk"] and params["code"] == "u8" and not params["categories"]
        if params["local_nodes"]:
            return local and not params["linear"]
        return (params["walk"] or not params["linear"]) and params["local_words"] == 4
    if template == "histogram_banks":
        return not params["joint"] or (params["block"] == 16 and not params["copied"])
    if template == "renew_leaves" and params["finds"] not in ("", "by_rows", "alone"):
        return False
    if template == "joint_codes" and not params["by_row"]:
        return False
    if params.get("roots_at_once") and not params["by_row"]:
        return False
    if params.get("drawn") and bool(params.get("by_row")) != bool(params.get("joint")):
        return False
    if params.get("drawn") and params.get("roots_at_once"):
        return False
    if params.get("joint") and (not params["by_row"] or params["code"] != "u8"):
        return False
    if template in ("whole_trees", "whole_symmetric", "whole_best_first", "drawn_places"):
        return params["wg_size"] == 1 and params.get("code") != "tiled"
    if template == "category_split":
        return (params["wg_size"] == 1) == (params["digit"] == 8)
    if template == "pair_scores":
        return (params["wg_size"] == 1) == params["alone"]
    if template in (
        "contributions",
        "contribution_tables",
        "proximities",
        "walk_cells",
        "predict_vectors",
    ):
        return params["rows"] > 0
    if template in ("predict_tables", "predict_codes"):
        return params["code"] != "tiled" and params["rows"] > 0
    if template in ("quantize", "pack_codes", "gather_columns"):
        return params["code"] != "tiled"
    if template == "order_codes":  # codes of some features are no wider than those of all
        return params["own"] <= params["code"] and params["code"] != "tiled"
    if template == "exact":  # bins of nodes are marked along each node's own entries
        return not (params["interleaved"] and params["bins"] == "node")
    if template == "level":
        return not (params["picked"] and params["limited"])
    if template == "symmetric_sets":
        return params["led"] or not params["picked"]
    if template == "best_leaves":
        return params["picked"] > 1
    if template == "symmetric":
        return not (params["clipped"] and (params["monotone"] or params["shrunk"]))
    if params.get("metric") == ("pre" if template == "lambda_gradients" else "pairwise"):
        return False
    if template.endswith("_lookback") and params["type"] == "f32":  # a sum's order would be free
        return params["op"] != "sum"
    if template == "radix_onesweep":
        return params["wg_size"] > 1
    return not params.get("in_registers") or params["unroll"]
