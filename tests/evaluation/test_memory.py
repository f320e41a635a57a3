"""What evaluation sets and metrics take is planned before a fit allocates anything."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.evaluation.evaluation import Evaluation, plan_evaluation
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.paged import paged
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.predict_sparse import SparseRows
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.evaluation.test_evaluated_metrics import CASES, problem


def parts_of(case):
    params, names, evals = problem(case)
    p = Parameters.from_dict(params)
    return p, get_objective(p.objective, p), {m: get_metric(m, p) for m in names}, evals


@pytest.mark.parametrize("case", CASES)
def test_the_plan_is_what_is_taken(case):
    device = open_device(TEST_DEVICE)
    p, objective, metrics, evals = parts_of(case)
    (data, _), (test, _) = evals
    plan = plan_evaluation(device, objective, metrics, evals, data)
    fit = Fit(device, p, objective, data, 0.0, beside=plan)
    before = device.allocated_bytes
    fit.watch(EvaluationSet.of_training_rows(fit.parts.rows, 0.0))
    fit.watch(EvaluationSet.of(fit.parts.rows, test.values, 0.0))
    labels = fit.parts.arena["labels"]
    evaluation = Evaluation(device, objective, metrics, evals, fit.evaluation, labels)
    evaluation.launch()
    assert plan.total_bytes == device.allocated_bytes - before


@pytest.mark.parametrize("borrows", [False, True])
def test_the_plan_of_sparse_rows(monkeypatch, borrows):
    device = open_device(TEST_DEVICE)
    if borrows and not device.borrows:
        pytest.skip("the device does not work in the host's memory")
    monkeypatch.setattr(device, "borrows", borrows)
    rows = SparseMatrix(
        (5, 9), np.arange(6) * 2, np.int32(np.arange(10) % 9), np.ones(10, np.float32)
    )
    train_rows = Dataset(np.zeros((5, 9), np.float32), np.zeros(5, np.float32))
    sets = [(Dataset(Features(rows), np.zeros(5, np.float32)), "test")]
    objective, before = get_objective("reg:squarederror"), device.allocated_bytes
    plan = plan_evaluation(device, objective, {}, sets, train_rows)
    there = SparseRows.of(device, rows)
    taken = device.allocated_bytes - before
    assert plan.total_bytes == taken + 5 * 4  # with the margins
    assert there.values.get().tolist() == [1] * 10


def test_a_fit_that_does_not_fit_with_its_sets_takes_nothing(monkeypatch):
    device = open_device(TEST_DEVICE)
    p, objective, metrics, evals = parts_of("times")
    data = evals[0][0]
    plan = plan_evaluation(device, objective, metrics, evals, data)
    alone = Fit(device, p, objective, data, 0.0).parts.arena.plan.total_bytes
    device = open_device(TEST_DEVICE)
    packed = paged(data, device, "hist", p.max_bin).pages[0].codes
    room = device.allocated_bytes + alone + packed.codes.nbytes
    device.caps = replace(device.caps, global_bytes=room + plan.total_bytes // 2 + 200_000)
    taken = device.allocated_bytes
    plan.add("a large set", (1 << 20,), np.uint8)
    with pytest.raises(MemoryPlanError, match="or leave out an evaluation set, or metrics"):
        Fit(device, p, objective, data, 0.0, beside=plan)
    assert device.allocated_bytes == taken


def test_training_plans_its_sets(monkeypatch):
    params, names, evals = problem("queries")
    seen = []
    plan = MemoryPlanError("planned")

    def remember(self, *arguments, beside, **_):
        seen.append(beside)
        raise plan

    monkeypatch.setattr("pyopencl_gbdt.training.running_task.Fit.__init__", remember)
    with pytest.raises(MemoryPlanError, match="planned"):
        train(params, evals[0][0], 1, evals=evals, eval_metric=names)
    assert "evals 'test': values" in seen[0].arrays
    assert "evals 'train': queries.keys" in seen[0].arrays
