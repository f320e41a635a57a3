"""Splits of vector leaves by sketched gradients: the bits of the twin, and what sketches are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pyopencl_gbdt as gbdt
from pyopencl_gbdt.gradients import gradients
from pyopencl_gbdt.gradients.gradients import are_computed_again
from pyopencl_gbdt.growth import sketched_leaves
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.profiling import tree_facts
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.reference.sketch import signs, sketched
from tests.reference.train import train_reference
from tests.training.test_vector_leaves import (
    CLASSES,
    LEAF_WISE,
    PARAMS,
    RISES,
    SOFTPROB,
    TARGETS,
    WEIGHTS,
    X,
)
from tests.training.test_vector_leaves import KINDS as VECTORS

#: More outputs than sketches, of every kind of fit.
SKETCHED = (
    "targets", "weights", "classes", "light sides", "regularised", "clipped", "sampled columns",
    "sampled rows", "least rows", "forests", "tiled", "symmetric", "symmetric targets",
    "symmetric forests", "few leaves", "leaf by leaf", "leaf by leaf, targets",
    "leaf by leaf, forests", "monotone", "monotone, leaf by leaf", "monotone, symmetric",
    "no column at all", "one output is 0",
)  # fmt: skip
#: Leaves whose values do not follow from the sums of gradients that the tree was grown by.
LATER = {
    "steps": ({**SOFTPROB, "leaf_estimation_iterations": 3}, CLASSES, None),
    "steps, monotone": (
        {**RISES, **LEAF_WISE, "leaf_estimation_iterations": 2, "subsample": 0.6,
         "num_parallel_tree": 2}, TARGETS, WEIGHTS,
    ),
    "three quantiles": (
        {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.5, 0.7]}, TARGETS[:, 0], None
    ),
    "absolute errors": (
        {**LEAF_WISE, "objective": "reg:absoluteerror", "subsample": 0.7}, TARGETS, WEIGHTS
    ),
    "ordered": ({**SOFTPROB, "boosting_type": "ordered"}, CLASSES, None),
    "ordered, sampled": (
        {"boosting_type": "ordered", "subsample": 0.7, "grow_policy": "symmetric"}, TARGETS, WEIGHTS
    ),
}  # fmt: skip
KINDS = {**VECTORS, **LATER}


def twin(params, y, weight=None):
    return train_reference(Parameters.from_dict(params), X, y, weight)


@pytest.mark.few(3)
@pytest.mark.more(6)
@pytest.mark.parametrize("kind", [*SKETCHED, *LATER])
def test_bits_are_those_of_the_twin(kind):
    given, y, weight = KINDS[kind]
    found = trained_as_twin({**PARAMS, **given, "sketch": 2}, X, y, weight).ensemble
    assert found.leaves.name == "vectors"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["weights", "high words", "classes", "forests"])
def test_quanta_may_be_computed_again(monkeypatch, kind):
    """As on a device that hides latency: those of all outputs are not stored then."""
    given, y, weight = KINDS.get(kind, ({}, TARGETS.copy(), None))
    if kind == "high words":
        y[:2] = 1e9

    def hiding(facts, rows):
        device = replace(facts.device, hides_latency=True)
        return are_computed_again(replace(facts, device=device), rows)

    for module in (gradients, sketched_leaves, tree_facts):
        monkeypatch.setattr(module, "are_computed_again", hiding)
    params = {**PARAMS, **given, "sketch": 2}
    found = gbdt.train(params, gbdt.Dataset(X, y, weight), profile=True)
    assert found.ensemble == twin(params, y, weight)
    (quantize,) = (k for k in found.profile if k.kernel == "gradients.quantize_gradients")
    assert quantize.bytes < 8 * len(X) * y.shape[-1] * params["n_estimators"]


@pytest.mark.few(1)
@pytest.mark.parametrize("n_sketches", [1, 3, 5])
def test_any_number_of_sketches(n_sketches):
    y = np.concatenate([TARGETS, TARGETS[:, ::-1] ** 2], axis=1)
    trained_as_twin({**PARAMS, "sketch": n_sketches}, X, y)


def test_every_output_obeys_monotone_constraints():
    """Splits do not know the order of outputs; weights of leaves do."""
    params = {**PARAMS, **KINDS["monotone"][0], "sketch": 1}
    model = gbdt.train(params, gbdt.Dataset(X, TARGETS), 8)
    for column, sign in ((0, 1), (1, -1)):
        rows = np.repeat(X[:40], 30, axis=0)
        rows[:, column] = np.tile(np.linspace(-3, 3, 30), 40)
        found = model.predict(rows, device=TEST_DEVICE).reshape(40, 30, -1)
        assert (sign * np.diff(found, axis=1) >= 0).all()


def test_as_many_sketches_as_outputs_are_none():
    data, params = gbdt.Dataset(X, CLASSES), {**PARAMS, **SOFTPROB}
    plain = gbdt.train(params, data)
    assert gbdt.train({**params, "sketch": 4}, data).ensemble == plain.ensemble
    assert gbdt.train({**params, "sketch": 3}, data).ensemble != plain.ensemble


def test_large_gradients_have_high_words():
    """A few rows are so large that quanta need more than 32 bits; the fit starts anew then."""
    y = TARGETS.copy()
    y[:2] = 1e9
    trained_as_twin({**PARAMS, "sketch": 2}, X, y)


def test_a_model_is_continued_and_watched():
    params = {**PARAMS, **SOFTPROB, "sketch": 1, "subsample": 0.7}
    data = gbdt.Dataset(X, CLASSES)
    whole = gbdt.train({**params, "n_estimators": 4}, data, evals=[(data, "rows")])
    first = gbdt.train({**params, "n_estimators": 2}, data)
    both = gbdt.train({**params, "n_estimators": 2}, data, model=first, evals=[(data, "rows")])
    assert both.ensemble == whole.ensemble
    assert both.history["rows"]["mlogloss"] == whole.history["rows"]["mlogloss"][2:]


def test_a_profile_counts_the_kernels_of_sketches():
    params = {**PARAMS, "sketch": 1}
    profile = gbdt.train(params, gbdt.Dataset(X, TARGETS), profile=True).profile
    found = {time.kernel: time.bytes for time in profile}
    rows = PARAMS["n_estimators"] * X.shape[0]  # of every round
    assert found["gradients.sketch"] == rows * (2 * 3 + 1 + 1) * 4
    assert found["sketched_leaves.sum_places"] == rows * (4 + 3 * 8)
    assert found["histogram"] > 0


def test_signs_are_drawn_anew_and_sums_are_of_all_outputs():
    found = signs(7, 3, 4, 1000)
    assert (np.abs(found.mean(axis=1) - 0.5) < 0.06).all()
    assert (found != signs(7, 4, 4, 1000)).any(axis=1).all()
    g = np.float32([[1.5], [2.0], [-4.0]])
    assert sketched(g, np.array([[False, True, False], [True, True, True]])).tolist() == [
        [-4.5],
        [0.5],
    ]
