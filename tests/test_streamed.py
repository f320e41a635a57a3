"""Streamed training: pages that take turns on the device give the model of resident ones."""

from __future__ import annotations

import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training import booster

from .conftest import TEST_DEVICE
from .test_pages import GROWTH, LABELS, LOSSES, ORDER, WEIGHT, X, rows_with_categories

#: Losses whose gradients look at several rows.
ACROSS_ROWS = {"survival:cox", "rank:ndcg"}
FIRST = {"reg:squarederror", "multi:softprob", "reg:quantileerror", "level by level", "a forest",
         "leaf by leaf", "rows by gradient", "symmetric"}  # fmt: skip


def cases(names):
    marks = {True: (), False: (pytest.mark.thorough,)}
    return [pytest.param(name, marks=marks[name in FIRST]) for name in names]


def model_of(monkeypatch, n_pages, data, params):
    """Train in so many pages, two of them on the device at a time; 0 trains with all of them."""
    fits = []

    class InTurn(booster.Boosting):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, n_pages=n_pages, n_slots=2)
            fits.append(self)

    monkeypatch.setattr("pyopencl_gbdt.training.fitting.Boosting", InTurn)
    page = {"page": "streamed"} if n_pages else {}
    model = train(
        {"n_estimators": 2, "max_depth": 4, "device": TEST_DEVICE, **page, **params}, data
    )
    assert len(fits[0].ws.pages) == max(1, n_pages)
    assert (model.variants["page"] == "streamed") == (n_pages > 0)
    return to_json(model.ensemble)


def check(monkeypatch, params, make, pages=(3,)):
    whole = model_of(monkeypatch, 0, make(), params)
    for n_pages in pages:
        assert model_of(monkeypatch, n_pages, make(), params) == whole, n_pages


def rows(label, weight=None):
    return lambda: Dataset(X[ORDER], LABELS[label][ORDER], weight)


@pytest.mark.parametrize("loss", cases(sorted(LOSSES.keys() - ACROSS_ROWS)))
def test_every_loss_of_single_rows(monkeypatch, loss):
    label, more = LOSSES[loss]
    check(monkeypatch, {"objective": loss.split()[0], **more}, rows(label, WEIGHT))


@pytest.mark.parametrize("growth", cases(GROWTH))
def test_every_way_of_growing(monkeypatch, growth):
    check(monkeypatch, {"max_bin": 32, **GROWTH[growth]}, rows("number"))


def test_any_number_of_pages(monkeypatch):
    check(monkeypatch, {"subsample": 0.7}, rows("two classes"), pages=(1, 2, 7))


def test_sets_of_categories(monkeypatch):
    check(monkeypatch, {"cat_method": "sets"}, rows_with_categories)


def test_quanta_of_more_than_32_bits(monkeypatch):
    label = LABELS["number"].copy()
    label[::100] *= 1e6
    monkeypatch.setitem(LABELS, "outliers", label)
    check(monkeypatch, {}, rows("outliers"), pages=(7,))
