"""What a data set keeps for the next training: the base score of its mean label."""

import pickle

import numpy as np

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.objectives import base
from pyopencl_gbdt.training.preparing import prepare


def _score(data, **params):
    start = prepare(params, data, (), None, None).start
    assert start is not None
    return start.base_score


def test_labels_are_summed_once(monkeypatch):
    sums = []

    def mean(label, weight, own=base.exact_mean):
        sums.append(label)
        return own(label, weight)

    monkeypatch.setattr(base, "exact_mean", mean)
    label = np.arange(8, dtype=np.float32)
    data = Dataset(np.ones((8, 1)), label % 2, 1 + label)
    first = _score(data)
    assert _score(data, max_depth=3) == first
    assert len(sums) == 1
    assert _score(data.part(0, 4)) != first
    assert _score(data, objective="binary:logistic") == first
    assert _score(pickle.loads(pickle.dumps(data))) == first
    assert len(sums) == 4
    data.label = label
    assert _score(data) == (label * (1 + label)).sum() / (1 + label).sum()
    data.weight = None
    assert _score(data) == 3.5
    assert _score(data, base_score=0.25) == 0.25
    assert len(sums) == 6
