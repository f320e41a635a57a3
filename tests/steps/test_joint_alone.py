"""Fits that store joint codes alone: their trees are those of plain codes."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import staging
from pyopencl_gbdt.device.capabilities import CARD
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.parts import has_joint_codes
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.pages.joint_columns import join_columns
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives import histogram_kernel
from pyopencl_gbdt.training.joint_pages import stands_alone, why_not_alone
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.conftest import TEST_DEVICE
from tests.device.fakes import FakeDevice
from tests.steps.builders import make_layout
from tests.steps.test_joint_columns import GAPS, Y

CASES = {
    "drawn": {"colsample_bytree": 0.2, "colsample_bynode": 0.7},
    "by_row": {"monotone_constraints": [1, -1], "subsample": 0.7},
    "leaves": {"grow_policy": "lossguide", "max_leaves": 11, "objective": "reg:absoluteerror"},
    "forest": {"num_parallel_tree": 2, "colsample_bytree": 0.3},
    "sets": {"cat_method": "sets"},
    "dropped": {"booster": "dart", "rate_drop": 0.5},
}
GATHERED = ("drawn", "forest")  # the others read joint codes by row


def few_values(n=700, n_features=40):
    """Return columns of 1 to 5 values, of which some rows miss some."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, np.arange(n_features) % 5 + 1, (n, n_features))
    return np.where(rng.random(codes.shape) < 0.1, np.nan, codes).astype(np.float32)


def data_of(case):
    if case == "sets":
        return Dataset(np.nan_to_num(np.abs(np.round(GAPS))), Y, categorical_features=[0, 1])
    X = few_values()
    return Dataset(X, np.nan_to_num(X[:, 4] - X[:, 7] * X[:, 13] + X[:, 21]))


@pytest.fixture
def _gpu(monkeypatch):
    """Let the device have the kernels of GPUs, and join codes of 300 rows at a time."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    monkeypatch.setattr(staging, "PIECE_BYTES", 4 * 40 * 300)
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 0)


@pytest.mark.few(1)
@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_plain_codes(monkeypatch, case):
    data, models = data_of(case), []
    again = ["alone"] * (case in ("drawn", "by_row"))  # by column and by row
    for word in ("alone", *again, "off"):
        monkeypatch.setenv(JOINT_CODES, word)
        model = train({"device": TEST_DEVICE, "max_depth": 5, **CASES[case]}, data, 3)
        models.append(to_xgboost_json(model.ensemble))
        stored = "joint, by column" if case in GATHERED else "joint, by row"
        assert model.variants.get("codes", "") == (stored if word == "alone" else "")
        assert has_joint_codes(data.kept[1].pages[0]) == (word == "alone")
    assert len(set(models)) == 1


@pytest.mark.parametrize("sizes", [[5, 3, 2, 1], [2] * 9, [256, 16, 16], [85, 3, 7, 11]])
def test_digits_are_the_columns_codes(sizes):
    layout = make_layout(sizes, [False] * len(sizes))
    columns = join_columns(layout)
    table = columns.digit_table(layout, np.arange(columns.n_places))
    for place, cells in enumerate(columns.cells(layout)):
        codes, run = np.arange(cells), int(cells)
        for member in columns.members[columns.begins[place] : columns.begins[place + 1]]:
            of_place, part = map(int, table[member])
            run //= sizes[member]
            assert (of_place, part >> 16) == (place, sizes[member])
            digits = (codes * (part & 0xFFFF) & 0xFFFF) * (part >> 16) >> 16  # as in row_codes
            assert digits.tolist() == (codes // run % sizes[member]).tolist()


#: An H200, as far as the rule and the plan of memory need it.
H200 = {
    **CARD, "int64_atomics": True, "local_bytes": 49152, "warp_words": True, "compute_units": 132,
    "global_bytes": 141 << 30, "max_alloc_bytes": 35 << 30,
}  # fmt: skip
FACTS = {"most_codes": 5, "n_features": 2000, "n_joined": 667, "n_codes": 10_000}
ROOM = 1 << 36


@pytest.mark.parametrize(
    ("n_rows", "params", "known", "alone"),
    [
        (700_000, {}, {}, True), (700_000, {"colsample_bytree": 0.1}, {}, True),
        (200_000, {}, {}, False),  # the columns' own codes take little memory
        (700_000, {"max_depth": 11}, {}, False),  # leaves have few rows: plain codes are read
        (700_000, {}, {"n_joined": 1001}, False), (700_000, {}, {"given": "codes"}, False),
        (700_000, {"colsample_bytree": 0.1}, {"n_joined": 1001}, False),
    ],
)  # fmt: skip
def test_stored_alone_where_that_saves_memory(n_rows, params, known, alone):
    pages = {**FACTS, **known, "masks_columns": "colsample_bytree" in params}
    facts = FitFacts(Parameters.from_dict(params), n_rows=n_rows, device=FakeDevice(**H200).caps)
    facts = facts.with_pages(**pages)
    assert stands_alone(facts, ROOM) == alone
    assert not stands_alone(facts, 1)


@pytest.mark.parametrize(
    ("known", "params", "why"),
    [
        ({"given": "codes"}, {}, "codes that are given to a fit may serve others, too"),
        ({"n_orders": 2}, {}, "rows in several orders are moved by each column's own codes"),
        ({"kind": "streamed"}, {}, "only dense codes that stay on one device, in one page, are"),
        (
            {"masks_columns": True, "n_joined": 0},
            {"colsample_bytree": 0.1},
            "no two columns have few enough values to share a code of a byte",
        ),
    ],
)
def test_fits_that_need_plain_codes_say_why_if_others_were_asked_for(
    monkeypatch, known, params, why
):
    monkeypatch.setenv(JOINT_CODES, "alone")
    facts = FitFacts(Parameters.from_dict(params), n_rows=9000, device=FakeDevice(**H200).caps)
    assert not why_not_alone(facts.with_pages(**FACTS))
    with pytest.raises(ParameterError, match=rf"^{JOINT_CODES}='alone': {why}.*; unset it$"):
        stands_alone(facts.with_pages(**{**FACTS, **known}), ROOM)


@pytest.mark.parametrize(("share", "most"), [(1.0, 0.5e9), (0.1, 0.7e9)])
def test_memory_of_many_columns_of_few_values(share, most):
    """The line of few values: 3.3 and 3.0 GB with each column's own codes."""
    params = Parameters.from_dict({"max_depth": 5, "max_bin": 5, "colsample_bytree": share})
    planned = estimate_memory(FakeDevice(**H200), params, 700_000, 2000)
    assert planned.peak_bytes < most
    assert planned.classes["codes"] == ("joint, by row" if share == 1 else "joint, by column")
