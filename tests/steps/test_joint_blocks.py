"""Histograms that read joint codes are those of plain codes, and so are the trees."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.growth import joint_columns
from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.growth.joint_columns import joins_blocks, why_no_blocks
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives import histogram_kernel
from tests.conftest import TEST_DEVICE
from tests.device.fakes import FakeDevice
from tests.reference.joint_columns import joint_codes
from tests.steps.builders import make_layout
from tests.steps.test_histogram import check
from tests.steps.test_histogram_pairs import pairs as with_pairs
from tests.steps.test_joint_columns import CASES as WHOLE
from tests.steps.test_joint_columns import GAPS, X, Y, open_fit

OPTIMISED = True
#: What is searched after the sums is that of the other cases; the twin proves the sums.
_ALSO_BY_COLUMNS = {"weights", "equal_scores", "sampled"}
THOROUGH = {"test_the_model_is_that_of_plain_codes": lambda case: case in _ALSO_BY_COLUMNS}
pairs = with_pairs  # a fixture
#: Columns that share codes beside others that do not: 1 block, 2, and 7, of which the last has no
#: neighbour.
LAYOUTS = {
    "1": make_layout([5, 3, 1, 2] * 6 + [200] * 3, [True, False, False] * 9),
    "2": make_layout([90] * 18 + [2] * 9, [False, False, True] * 9),
    "7": make_layout([200] * 90 + [3, 7, 1] * 18, [False] * 144),
}
CASES = {
    **{name: WHOLE[name] for name in ("gaps", "weights", "equal_scores", "classes", "sampled")},
    "high_words": WHOLE["high_words"],
    "leaf_wise": (Dataset(GAPS, Y), {"grow_policy": "lossguide", "max_leaves": 11}),
    "symmetric": (Dataset(X, Y), {"grow_policy": "symmetric"}),
    "vectors": (
        Dataset(X, np.column_stack([Y, -Y])),
        {"multi_strategy": "multi_output_tree", "max_depth": 3},
    ),
    "constraints": (Dataset(X, Y), {"monotone_constraints": [1, -1], "colsample_bynode": 0.6}),
    "most_columns": (Dataset(X, Y), {"colsample_bytree": 0.9}),
    "sets": (
        Dataset(np.nan_to_num(np.abs(np.round(GAPS))), Y, categorical_features=[0, 1]),
        {"cat_method": "sets"},
    ),
}  # fmt: skip


@pytest.fixture
def _joint(monkeypatch):
    monkeypatch.setenv(JOINT_CODES, "on")


@pytest.fixture
def _gpu(monkeypatch):
    """Let the device have the kernels of GPUs, whose codes lie otherwise."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 0)
    for data, _ in CASES.values():
        data.forget()
    yield
    for data, _ in CASES.values():
        data.forget()


@pytest.mark.few(3)
@pytest.mark.usefixtures("_joint")
@pytest.mark.parametrize("kind", ["small", "carry", "wide"])
@pytest.mark.parametrize("blocks", LAYOUTS)
def test_equals_twin(device, pairs, rng, blocks, kind):
    layout = LAYOUTS[blocks]
    for counts in ([1500], [700, 1, 64, 900]):
        parts, _ = check(device, rng, layout, counts, kind, **pairs)
    step = Histogram(parts)
    assert step.kernel.n_ranges == int(blocks)
    assert step.joint.codes.order.n_features < layout.n_features


@pytest.mark.usefixtures("_joint")
def test_codes_are_those_of_the_twin(device, pairs, rng):
    parts, _ = check(device, rng, LAYOUTS["2"], [300, 90], "small", **pairs)
    joint, columns = Histogram(parts).joint, parts.features.joined
    joint.join(joint.codes.codes)
    rows = np.concatenate(joint.codes.order.blocks(joint.codes.codes.get()), axis=1)
    plain, sizes = parts.rows.codes.by_feature.get(), np.diff(parts.features.layout.feature_offset)
    for at, place in enumerate(joint.codes.order.places):
        members = columns.members[columns.begins[at] : columns.begins[at + 1]]
        assert (rows[:, place] == joint_codes(plain[members].T, sizes[members])).all()
    padding = np.setdiff1d(np.arange(rows.shape[1]), joint.codes.order.places)
    assert not rows[:, padding].any()


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_plain_codes(monkeypatch, case):
    data, params = CASES[case]
    models = []
    for word in ("on", "off"):
        monkeypatch.setenv(JOINT_CODES, word)
        search = open_fit(data, params).kernels.grower.search
        assert (search.histogram.joint is not None) == (word == "on")
        model = train({"device": TEST_DEVICE, "max_depth": 5, **params}, data, 3)
        models.append(to_xgboost_json(model.ensemble))
    assert models[0] == models[1]


@pytest.mark.usefixtures("_gpu", "_joint")
@pytest.mark.parametrize(
    ("params", "share", "why"),
    [
        ({"colsample_bytree": 0.05}, 1, "trees gather the plain codes of the columns that they"),
        (
            {"histogram": "local_atomic"},
            1,
            r"trees grow by steps, whose histograms \('local_atomic'\) read plain codes, all but",
        ),
        ({}, 0, "joint codes need .* bytes, too much of the device's"),
    ],
)
def test_fits_that_read_plain_codes_say_why_if_joint_ones_were_asked_for(
    monkeypatch, params, share, why
):
    monkeypatch.setattr(joint_columns, "MOST_MEMORY", share)
    with pytest.raises(ParameterError, match=rf"^{JOINT_CODES}='on': {why}.*; unset it$"):
        open_fit(Dataset(X, Y), {"max_bin": 64, **params})


@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"kind": "streamed"}, "only dense codes that stay on one device, in one page, are joined"),
        ({"adds_histograms": True}, "only dense codes that stay on one device, in one page, are"),
        ({"has_statistics": True}, "codes of statistics of categories change from round to round"),
        ({"n_joined": 0}, "no two columns have few enough values to share a code of a byte"),
    ],
)
def test_other_codes_are_not_joined(known, why):
    facts = open_fit(Dataset(X, Y), {"max_bin": 64}).parts.ways.facts
    assert why_no_blocks(facts) == ""
    assert why_no_blocks(facts.with_pages(**known)).startswith(why)
    small = replace(facts, device=replace(facts.device, local_bytes=32768))
    assert why_no_blocks(small) == "local memory of 32768 bytes has no room for 256 joint codes"


#: Fits on a GPU of NVIDIA whose histograms read joint codes, and what they need.
H200 = {
    "int64_atomics": True, "local_bytes": 49152,
    "global_bytes": 1 << 37, "max_alloc_bytes": 1 << 35,
}  # fmt: skip
FACTS = {"n_rows": 700_000, "most_codes": 5, "n_features": 2000, "n_joined": 667, "n_codes": 10_000}


@pytest.mark.parametrize(
    ("other", "params", "joins"),
    [
        ({}, {"max_depth": 10}, True), ({}, {"max_depth": 11}, False),
        ({}, {"max_depth": 0, "max_leaves": 1024}, True), ({"n_rows": 1}, {}, False),
        ({"n_joined": 1000}, {}, True), ({"n_joined": 1001}, {}, False),
        ({"warp_words": False}, {}, False), ({"kind": "streamed"}, {}, False),
        ({"masks_columns": True}, {"colsample_bytree": 0.16}, False),
        ({"masks_columns": True}, {"colsample_bytree": 0.17}, True),
    ],
)  # fmt: skip
def test_histograms_join_codes_where_that_pays(other, params, joins):
    known = {**FACTS, **other}
    n_rows, words = known.pop("n_rows"), known.pop("warp_words", True)
    caps = FakeDevice(warp_words=words, **H200).caps
    facts = FitFacts(Parameters.from_dict(params), n_rows=n_rows, device=caps)
    assert joins_blocks(facts.with_pages(**known)) == joins
