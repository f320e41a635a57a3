"""One place for each: kernels in the variant table, kinds of metrics in a list, bytes in arenas."""

import ast
import re

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import choose, open_device, runnable
from pyopencl_gbdt.device.variants import KERNELS, kernels
from pyopencl_gbdt.device.variants.tuning import sizes, tunable
from pyopencl_gbdt.device.variants.variant import Kernel, TriedSizes, Variant
from pyopencl_gbdt.evaluation.evaluation import (
    KINDS,
    Evaluation,
    has_kernels,
    kind_of,
    plan_evaluation,
)
from pyopencl_gbdt.evaluation.mean_loss import MeanKind, MeanLoss
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.fit.ways import fit_kernels
from pyopencl_gbdt.metrics import METRICS, get_metric, row_loss_of
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.calls import PACKAGE
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps

MADE_UP = Kernel(
    "made_up",
    (Variant("made_up", "portable", {"wg_size": 256, "depth": 3}, "a test"),),
    phase="rounds",
    tuned={"depth": TriedSizes(several=(2, 4), one=(8,))},
)

#: Functions outside ``device/``, formats and files that tell a number of bytes, by the reason.
TELL_BYTES = {
    "of arrays, asked on paper or of a plan": {
        "primitives/packed_codes.py bytes_of_codes", "primitives/radix_plan.py scratch_bytes",
        "training/memory_estimate.py peak_bytes", "training/joint_pages.py set_up_bytes",
    },
    "of one element, code or row of codes, or of an array that is there": {
        "primitives/checks.py nbytes", "primitives/packed_codes.py code_bytes",
        "primitives/packed_codes.py row_bytes", "primitives/tiled_codes.py nbytes",
        "primitives/tiled_codes.py row_bytes", "profiling/tree_facts.py code_bytes",
        "data/arrays/sparse.py nbytes", "data/batches/passes.py _bytes_of",
    },
    "traffic: what kernels read and write, and members send": {
        "training/division.py sum_bytes", "prediction/predict.py walk_bytes",
        "prediction/predict.py row_bytes", "prediction/predict_sparse.py searched_bytes",
        "comparison/plan.py floor_bytes", "profiling/traffic.py n_bytes",
        "profiling/profile.py _n_bytes",
    },
    "limits, which drivers and users set": {
        "fit/nodes.py forest_bytes", "pages/page.py most_page_bytes",
        "data/budget.py check_max_bytes", "data/budget.py _kilobytes",
        "parameters/row.py _in_bytes",
    },
    "of the host's arrays, which ask no arena, before they are made": {
        "training/memory_estimate.py _host_bytes", "training/memory_estimate.py batches_bytes",
        "pages/columns.py host_bytes", "pages/parted_cuts.py columns_bytes",
        "categories/statistic_sizes.py host_bytes", "comparison/shapes.py expected_bytes",
        "prediction/contributions/path_factors.py constant_bytes",
    },
}  # fmt: skip


def test_nobody_else_tells_bytes_of_sizes():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("device/", "data/files/", "model/formats/")) or "codecs" in name:
            continue
        text = path.read_text(encoding="utf-8")
        if not re.search(r"def \w*bytes", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and re.search("bytes", node.name):
                returned = ast.unparse(node.returns) if node.returns is not None else ""
                if {"int", "float"} & set(re.findall(r"\w+", returned)):
                    found.add(f"{name} {node.name}")
    assert found == set().union(*TELL_BYTES.values())


def test_a_kernel_is_registered_once(monkeypatch):
    before = kernels(), tunable(), fit_kernels()
    monkeypatch.setitem(KERNELS, "made_up", MADE_UP)
    (variant,) = runnable("made_up", make_caps())
    assert choose("made_up", make_caps()) is variant
    assert sizes(variant, "depth") == (2, 3, 4)
    for names, now in zip(before, (kernels(), tunable(), fit_kernels()), strict=True):
        assert now == [*names, "made_up"]


def test_only_its_own_variants_belong_to_a_kernel():
    with pytest.raises(ValueError, match="other: expected its own variants, got others"):
        Kernel("other", MADE_UP.variants)
    with pytest.raises(ValueError, match="other: expected its own variants"):
        Kernel("other", ())


def test_kernels_are_timed_with_kernels_of_the_table():
    for kernel in KERNELS.values():
        assert kernels().count(kernel.name) == 1
        assert set(kernel.timed_with) <= set(kernels() if kernel.fitted_with else fit_kernels())


def error_of_rows(label, prediction, weight):
    """A user's own metric, whose kernel is made up here; the host would return 17."""
    return 17.0


class MadeUpKind(MeanKind):
    """Computes the mean absolute error instead."""

    def takes(self, metric):
        return metric is error_of_rows

    def suits(self, metric, objective, rows):
        return True

    def prepare(self, data, rows, metrics):
        for name in metrics:
            rows.array("made up", 12_345, np.uint8)
            yield MeanLoss(rows, row_loss_of(get_metric("mae"))), [name]


def test_a_kind_of_metric_is_registered_once(monkeypatch):
    rng = np.random.default_rng(3)
    data = Dataset(rng.normal(size=(300, 2)), rng.integers(0, 2, 300))
    params = Parameters.from_dict({"device": TEST_DEVICE, "objective": "binary:logistic"})
    device, objective = open_device(TEST_DEVICE), get_objective(params.objective)
    metrics = {"own": error_of_rows, "mae": get_metric("mae")}
    sets = [(data, "train")]
    assert not has_kernels(error_of_rows, objective, data)
    plain = plan_evaluation(device, objective, metrics, sets, data).total_bytes
    monkeypatch.setattr("pyopencl_gbdt.evaluation.evaluation.KINDS", [*KINDS, MadeUpKind()])
    assert has_kernels(error_of_rows, objective, data)
    assert plan_evaluation(device, objective, metrics, sets, data).total_bytes > plain + 12_000
    fit = Fit(device, params, objective, data, 0.0)
    fit.watch(EvaluationSet.of_training_rows(fit.parts.rows, 0.0))
    evaluation = Evaluation(device, objective, metrics, sets, fit.evaluation)
    evaluation.launch()
    values = dict(evaluation.values())
    assert values["train", "own"] == values["train", "mae"] != 17.0


def test_every_metric_is_of_one_kind():
    for name, entry in METRICS.items():
        metric = get_metric(name + ("@1.5" if entry.default is None else ""))
        assert [kind.takes(metric) for kind in KINDS].count(True) == entry.has_kernels, name
        assert (kind_of(metric) is not None) == entry.has_kernels
