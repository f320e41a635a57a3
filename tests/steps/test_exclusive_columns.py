"""Exclusive columns are one digit of a joint code, and trees are those of their own codes."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages import joint_columns
from pyopencl_gbdt.pages.joint_columns import join_columns
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import joint_columns as twin
from tests.reference.histogram import histogram

RNG = np.random.default_rng(7)
N = 1200
LEVEL, KIND = RNG.integers(0, 20, N), RNG.integers(-1, 4, N)
#: Indicators of two categories, one of which rows may lack; a column that is 1 or missing in the
#: rows that lack it; one that is 5 but for some of these; and numbers.
INDICATORS = np.hstack([LEVEL[:, None] == np.arange(20), KIND[:, None] == np.arange(4)])
RARE = np.where(KIND < 0, RNG.choice([0, 1, np.nan], N), 0)
X = np.column_stack([
    INDICATORS, RARE, np.where((KIND < 0) & (RARE == 0), RNG.integers(1, 6, N), 5),
    RNG.standard_normal((N, 2)),
]).astype(np.float32)  # fmt: skip
#: The columns of each category lie apart.
X = X[:, RNG.permutation(X.shape[1])]
Y = (np.nan_to_num(X) @ RNG.standard_normal(X.shape[1])).astype(np.float32)
CASES = {
    "numbers": (Y, {"max_bin": 64}),
    "classes": (np.digitize(Y, [-1, 1]), {"objective": "multi:softprob", "num_class": 3}),
    "drawn_rows": (Y, {"subsample": 0.5, "min_samples_leaf": 4}),
}


def open_fit(label, params):
    p = Parameters.from_dict({"max_depth": 4, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), Dataset(X, label), 0.0)


def layout_of(sizes, fullest):
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    bins, thresholds = np.array(sizes, np.uint32), np.zeros(offset[-1], np.float32)
    return Layout(bins, offset, thresholds, np.array(fullest, np.uint32))


def drawn(rng, n_rows=300):
    """Codes of 30 columns, most of which have their fullest code in most rows."""
    sizes = rng.integers(2, 9, 30)
    fullest = rng.integers(0, sizes)
    codes = np.tile(fullest, (n_rows, 1))
    for row, column in enumerate(rng.integers(0, 40, n_rows)):
        if column < 30:
            codes[row, column] = rng.integers(0, sizes[column])
    codes[:, :3] = rng.integers(0, sizes[:3], (n_rows, 3))
    return codes.astype(np.uint8), layout_of(sizes, fullest)


@pytest.mark.parametrize("some_rows", [4096, 50])
def test_groups_are_exclusive_in_all_rows(rng, monkeypatch, some_rows):
    monkeypatch.setattr(joint_columns, "_SOME_ROWS", some_rows)
    codes, layout = drawn(rng)
    groups = joint_columns.exclusive_columns(layout, np.ascontiguousarray(codes.T))
    others = codes != layout.fullest
    assert max(map(len, groups)) > 10
    assert all((others[:, group].sum(axis=1) <= 1).all() for group in groups)
    assert all(1 + (layout.feature_bins[group] - 1).sum() <= 256 for group in groups)
    members = [column for group in groups for column in group]
    assert len(set(members)) == len(members)


def test_one_row_of_two_codes_parts_columns():
    codes = np.eye(5, dtype=np.uint8)[np.arange(1000) % 5].T.copy()
    layout = layout_of([2] * 5, [0] * 5)
    assert joint_columns.exclusive_columns(layout, codes) == [[0, 1, 2, 3, 4]]
    codes[4, 995] = 1  # as has column 0, and is fuller now
    assert joint_columns.exclusive_columns(layout, codes) == [[1, 2, 3, 4]]


def test_terms_add_up_to_the_digits_of_a_place(rng):
    codes, layout = drawn(rng)
    groups = joint_columns.exclusive_columns(layout, np.ascontiguousarray(codes.T))
    columns = join_columns(layout, groups)
    terms, sizes = columns.terms(layout), np.diff(layout.feature_offset)
    cells, place_digits = columns.digit_cells(layout), columns.place_digits
    for place in range(columns.n_places):
        digits = []
        for digit in range(place_digits[place], place_digits[place + 1]):
            own = columns.members[columns.digits[digit] : columns.digits[digit + 1]]
            alone = codes[:, own[0]].astype(np.int64)
            several = [codes[:, own], sizes[own], layout.fullest[own]]
            digits.append(alone if own.size == 1 else twin.exclusive_digit(*several))
        values = cells[place_digits[place] : place_digits[place + 1]]
        members = columns.members[columns.begins[place] : columns.begins[place + 1]]
        found = terms[layout.feature_offset[members] + codes[:, members]].sum(axis=1)
        assert (found == np.ravel_multi_index(digits, values)).all()


def test_shares_of_a_digit_are_the_columns_histograms(rng):
    codes, layout = drawn(rng)
    own = max(joint_columns.exclusive_columns(layout, np.ascontiguousarray(codes.T)), key=len)
    sizes, fullest = np.diff(layout.feature_offset)[own], layout.fullest[own]
    quanta, rows = rng.integers(-(2**31), 2**31, (300, 2)), np.flatnonzero(rng.random(300) < 0.5)
    digit = twin.exclusive_digit(codes[:, own], sizes, fullest)[:, None]
    cells = histogram(digit, quanta, rows, layout_of([1 + (sizes - 1).sum()], [0]))
    expected = histogram(codes[:, own], quanta, rows, layout_of(sizes, fullest))
    assert (np.concatenate(twin.exclusive_shares(cells, sizes, fullest)) == expected).all()


@pytest.fixture
def _whole(device):
    if fallbacks("whole_trees", device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")


@pytest.mark.usefixtures("_whole")
def test_a_fit_has_a_place_for_exclusive_columns(monkeypatch):
    parts = open_fit(Y, {}).parts
    assert sorted(map(len, parts.features.exclusive)) == [6, 20]
    assert parts.features.places.n_places < parts.features.joined.n_places
    plain, blocks = parts.rows.codes.by_feature.get(), parts.arena["place_codes"].get()
    columns, layout = parts.features.places, parts.features.layout
    by_place = blocks.transpose(0, 2, 1).reshape(-1, N)[: columns.n_places]
    terms = columns.terms(layout)[layout.feature_offset[:-1, None] + plain]
    for place, codes in enumerate(by_place):
        members = columns.members[columns.begins[place] : columns.begins[place + 1]]
        assert (codes == terms[members].sum(axis=0)).all()
    monkeypatch.setenv(JOINT_CODES, "products")
    assert open_fit(Y, {}).parts.features.exclusive == []


@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_the_same_in_all_ways(monkeypatch, case):
    label, params = CASES[case]
    models = []
    for word in ("on", "products", "off"):
        monkeypatch.setenv(JOINT_CODES, word)
        found = {"device": TEST_DEVICE, "max_depth": 5, **params}
        models.append(to_xgboost_json(train(found, Dataset(X, label), 3).ensemble))
    assert models[0] == models[1] == models[2]
