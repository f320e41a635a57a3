"""Contributions with names: of columns, of levels, and as a table."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.explain import explain, partial_dependence
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, model_of, numbers, rows_of, table

ON = {"device": TEST_DEVICE}


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_base_are_those_of_predict(kind):
    model, rows = model_of(kind), rows_of(kind)[:30]
    found = explain(model, rows, **ON)
    wanted = model.predict(rows, pred_contribs=True, **ON)
    assert_same_bits(np.concatenate([found.values, found.base[..., None]], axis=-1), wanted)
    assert found.feature_names == list(rows.columns)
    frame = found.to_frame()
    assert_same_bits(frame.to_numpy(), wanted.reshape(len(rows), -1))
    names = [*rows.columns, "base"]
    several = found.values.ndim == 3
    assert list(frame.columns) == ([(k, n) for k in range(3) for n in names] if several else names)


@pytest.mark.parametrize("kind", ["sets", "statistics"])
def test_levels_by_name(kind):
    rows = table()[:30]
    rows.loc[3, "town"] = "Paris"
    rows.loc[4, "town"] = None
    found = explain(model_of(kind), rows, **ON)
    assert found.data[:3, 1].tolist() == rows["town"][:3].tolist()
    assert found.data[3:5, 1].tolist() == [None, None]
    np.testing.assert_array_equal(found.data[:, 2].astype(np.float32), rows["floor"])


def test_unknown_levels_are_warned_of_once():
    rows = table()[:5].assign(town="Paris")
    for work in (explain, lambda *given, **on: partial_dependence(*given, "floor", **on)):
        with pytest.warns(UserWarning, match="the model knows no level") as caught:
            work(model_of("statistics"), rows, **ON)
        assert len(caught) == 1


def test_columns_without_names_and_an_estimator():
    X = numbers().to_numpy()
    X[0, 0] = -1
    model = GBDTClassifier(n_estimators=3, max_depth=2, missing=-1, **ON).fit(X, X[:, 2] > 40)
    found = explain(model, X[:5])
    assert found.feature_names == ["f0", "f1", "f2", "f3"]
    assert np.isnan(found.data[0, 0])
    margins = model.decision_function(X[:5])
    np.testing.assert_array_equal(found.values.sum(axis=1) + found.base, margins)


def test_a_background():
    model, rows = model_of("numbers"), numbers()
    found = explain(model, rows[:5], background=rows[5:15], **ON)
    wanted = model.predict(rows[:5], pred_contribs=True, background=rows[5:15], **ON)
    assert_same_bits(found.values, np.ascontiguousarray(wanted[:, :-1]))
    with pytest.raises(DataError, match="background has 0 sample"):
        explain(model, rows, background=rows[:0], **ON)
    with pytest.raises(DataError, match="background has 'years' as column 2"):
        explain(model, rows, background=rows.rename(columns={"age": "years"}), **ON)


def test_base_margins_of_a_data_set_are_part_of_the_base():
    model, rows = model_of("numbers"), numbers()
    data = Dataset(rows, base_margin=np.linspace(-3, 3, len(rows)))
    found = explain(model, data, **ON)
    margins = model.predict(data, output_margin=True, device=TEST_DEVICE)
    assert_same_bits(found.values.sum(axis=1) + found.base, margins.astype(np.float64))
