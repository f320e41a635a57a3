"""The classes that grow a fit's trees, as one place chooses them."""

import importlib
import pkgutil
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import growth
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.fit.ways import gathers_columns
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.growth.recipe import OF_SOME, choose_recipe
from pyopencl_gbdt.growth.split import GatheredSearch
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts, PageFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.device.fakes import FakeDevice

GPU = {"compute_units": 64, "int64_atomics": True}
CPU = {"kind": "cpu", "compute_units": 1, "max_work_group": 4096, "lookback": True}
SETS = {"cat_method": "sets"}
#: Parameters, the device, and the names of the classes.
CASES = [
    ({}, GPU, "HistogramSearch PartitionByCodes UpdateMargins"),
    ({}, CPU, "WholeTrees UpdateMargins"),
    ({"grow_policy": "lossguide", "max_leaves": 5}, CPU, "WholeBestFirst UpdateMargins"),
    (
        {"grow_policy": "lossguide", "max_leaves": 5}, GPU,
        "HistogramSearch PartitionByCodes UpdateMargins",
    ),
    ({"grow_policy": "symmetric"}, GPU, "SymmetricSearch PartitionByCodes UpdateMargins"),
    ({"grow_policy": "symmetric"}, CPU, "WholeSymmetric UpdateMargins"),
    ({"tree_method": "exact"}, GPU, "ExactSearch PartitionByColumns UpdateMarginsByNode"),
    ({"tree_method": "exact"}, CPU, "ColumnSearch PartitionOfRows UpdateMarginsByNode"),
    ({"tree_method": "approx"}, CPU, "ApproximateSearch PartitionByColumns UpdateMarginsByNode"),
    (SETS, GPU, "HistogramSearch PartitionByCodes UpdateMargins CategorySplit CategorySets"),
    (
        {**SETS, "grow_policy": "symmetric"}, GPU,
        "SymmetricSearch PartitionByCodes UpdateMargins LevelBorders CategorySets",
    ),
    (
        {"boosting_type": "ordered"}, CPU,
        "HistogramSearch PartitionByCodes UpdateMargins OrderedLeaves",
    ),
    (
        {"linear_tree": True}, CPU,
        "HistogramSearch PartitionByCodes UpdateMargins LinearLeaves",
    ),
    ({"objective": "reg:absoluteerror"}, CPU, "WholeTrees UpdateMargins RenewLeaves"),
]  # fmt: skip


def recipe_of(params, device):
    parameters = Parameters.from_dict({"max_depth": 3, **params})
    rows = np.arange(40, dtype=np.float32) % 8
    categorical = [0] if "cat_method" in params else None
    data = Dataset(np.tile(rows[:, None], 5), rows % 2, categorical_features=categorical)
    objective = get_objective(parameters.objective, parameters)
    fit = Fit(FakeDevice(**device), parameters, objective, data, 0.0)
    return fit.kernels.recipe


@pytest.mark.parametrize(("params", "device", "names"), CASES)
def test_the_classes_of_a_fit(params, device, names):
    recipe = recipe_of(params, device)
    leaves = () if recipe.leaves is LeafValues else (recipe.leaves,)
    parts = (
        recipe.whole, recipe.search, recipe.partition, recipe.update, *recipe.sets, *leaves,
    )  # fmt: skip
    found = [part.__name__ for part in parts if part is not None]
    assert found == names.split()


#: Pages of a fit that one launch grows, and others each of which asks for steps.
ALONE = {"n_features": 5, "most_bins": 64, "most_codes": 65}
BY_STEPS = [
    {"kind": "tiled"}, {"kind": "streamed"}, {"most_codes": 258}, {"most_bins": 257},
    {"n_features": 1 << 22}, {"has_sets": True}, {"has_monotone": True}, {"masks_columns": True},
    {"adds_histograms": True},
]  # fmt: skip


@pytest.mark.parametrize("other", [{}, *BY_STEPS])
def test_facts_alone_choose_the_classes(other):
    pages, params = PageFacts(**{**ALONE, **other}), Parameters.from_dict({"max_depth": 3})
    facts = FitFacts(params, n_rows=1000, device=FakeDevice(**CPU).caps, pages=pages)
    assert (choose_recipe(facts).search is None) == (not other)
    assert choose_recipe(replace(facts, n_rows=131073)).search is not None
    assert choose_recipe(replace(facts, device=FakeDevice(**GPU).caps)).search is not None


@pytest.mark.parametrize(
    ("n_joined", "n_rows", "whole"),
    [(2, 131073, True), (2, 1048577, False), (3, 131073, False), (0, 131073, False)],
)
def test_one_launch_takes_more_rows_with_joint_codes(n_joined, n_rows, whole):
    pages = PageFacts(**ALONE, n_joined=n_joined)
    facts = FitFacts(Parameters.from_dict({"max_depth": 3}), n_rows=n_rows, pages=pages)
    facts = replace(facts, device=FakeDevice(**CPU).caps)
    assert (choose_recipe(facts).search is None) == whole


@pytest.mark.parametrize(
    ("params", "pages", "n_drawn"),
    [
        ({"colsample_bytree": 0.5}, {}, 2), ({"colsample_bynode": 0.5}, {}, 0),
        ({"colsample_bytree": 0.5, "colsample_bylevel": 0.5}, {}, 0),
        ({"colsample_bytree": 0.5}, {"limits_paths": True}, 0), ({"colsample_bytree": 0.9}, {}, 4),
    ],
)  # fmt: skip
def test_trees_that_draw_columns_are_whole(params, pages, n_drawn):
    known = PageFacts(**ALONE, masks_columns=True, **pages)
    p = Parameters.from_dict({"max_depth": 3, **params})
    facts = FitFacts(p, n_rows=1000, device=FakeDevice(**CPU).caps, pages=known)
    assert facts.n_drawn == n_drawn
    assert (choose_recipe(facts).search is None) == (n_drawn > 0)


WIDE = {**ALONE, "n_features": 20, "n_codes": 20 * 65, "masks_columns": True}


@pytest.mark.parametrize(
    ("params", "facts", "pages", "gathers"),
    [
        ({}, {}, {}, True), ({"grow_policy": "lossguide", "max_leaves": 9}, {}, {}, True),
        ({"colsample_bytree": 0.75}, {}, {}, True), ({"colsample_bytree": 0.8}, {}, {}, False),
        ({"colsample_bylevel": 0.5}, {}, {}, True), ({"num_parallel_tree": 2}, {}, {}, True),
        ({"num_parallel_tree": 3}, {}, {}, False),
        ({"multi_strategy": "multi_output_tree"}, {"n_targets": 2}, {}, False),
        ({"colsample_bytree": 1, "colsample_bynode": 0.5}, {}, {}, False),
        ({"extra_trees": True}, {}, {}, True), ({"grow_policy": "symmetric"}, {}, {}, False),
        ({"boosting_type": "ordered"}, {}, {}, False),
        ({"histogram": "bin_range_passes"}, {}, {}, True),
        ({}, {"loss": LossFacts(n_outputs=3)}, {}, False), ({}, {}, {"limits_paths": True}, True),
        ({}, {}, {"kind": "tiled"}, False), ({}, {}, {"adds_histograms": True}, False),
        ({}, {}, {"has_sets": True}, False), ({}, {}, {"n_orders": 2}, False),
        ({}, {}, {"n_codes": 649}, False),  # one wide column among narrow ones
    ],
)  # fmt: skip
def test_steps_gather_the_columns_of_their_tree(params, facts, pages, gathers):
    p = Parameters.from_dict({"max_depth": 3, "colsample_bytree": 0.5, **params})
    caps, known = FakeDevice(**CPU).caps, PageFacts(**{**WIDE, **pages})
    of_fit = FitFacts(p, n_rows=131073, device=caps, pages=known, **facts)
    assert gathers_columns(of_fit) == gathers
    half = 2 * of_fit.columns_of_tree <= known.n_features
    assert gathers_columns(replace(of_fit, device=FakeDevice(**GPU).caps)) == (gathers and half)
    assert (choose_recipe(of_fit).search is GatheredSearch) == gathers


@pytest.mark.parametrize(("leaves", "rows", "whole"), [(31, 131073, False), (64, 262144, True)])
def test_many_leaves_are_worth_one_launch_for_more_rows(leaves, rows, whole):
    params = Parameters.from_dict({"grow_policy": "lossguide", "max_leaves": leaves})
    device = FakeDevice(**CPU).caps
    facts = FitFacts(params, n_rows=rows, device=device, pages=PageFacts(**ALONE))
    assert (choose_recipe(facts).whole is not None) == whole


#: Parameters, other facts, and how rows may lie on the device.
ROWS = [
    ({}, {}, (FitRows, RowsInTurn)),
    ({"page": "streamed"}, {}, (RowsInTurn,)),
    ({"page": "dense"}, {}, (FitRows,)),
    ({"histogram": "cpu"}, {}, (FitRows, RowsInTurn)),
    ({"tree_method": "exact"}, {}, (FitRows,)),
    ({"booster": "dart"}, {}, (FitRows,)),
    ({"linear_tree": True}, {}, (FitRows,)),
    ({}, {"sparse": True}, (FitRows,)),
    ({}, {"loss": LossFacts(takes_pages=False)}, (FitRows,)),
    ({}, {"pages": PageFacts(given="codes")}, (FitRows,)),
    ({}, {"pages": PageFacts(given="stored pages")}, (RowsInTurn,)),
    ({}, {"pages": PageFacts(kind="tiled")}, (FitRows,)),
    ({}, {"pages": PageFacts(has_statistics=True)}, (FitRows,)),
]


@pytest.mark.parametrize(("params", "others", "rows"), ROWS)
def test_facts_alone_choose_how_rows_lie(params, others, rows):
    assert choose_recipe(FitFacts(Parameters.from_dict(params), **others)).rows == rows


def test_a_kernel_is_taken_or_left_out():
    for params, device, _ in CASES:
        recipe = recipe_of(params, device)
        assert recipe.left_out == OF_SOME - {*recipe.kernels}
        assert {*recipe.kernels} <= OF_SOME


def test_all_kernels_of_classes_are_named():
    found = set()
    for module in pkgutil.iter_modules(growth.__path__, growth.__name__ + "."):
        classes = vars(importlib.import_module(module.name)).values()
        found |= {
            name
            for one in classes
            if isinstance(one, type) and isinstance(own := getattr(one, "kernels", None), tuple)
            for name in own
        }
    assert found == OF_SOME
