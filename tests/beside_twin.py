"""Trainings beside the NumPy twin: each has the twin's model, bit by bit."""

from dataclasses import replace

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_trees
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference


def trained_as_twin(params, X, label, weight=None, **columns):
    """Train on the device of the tests; return the model, which has to be the twin's.

    Parameters
    ----------
    params : dict
        Of ``train``, with the number of rounds.
    X, label, weight : array
    **columns
        What ``Dataset`` and the twin take beside these.
    """
    data = Dataset(X, label, weight, **columns)
    model = train({"device": TEST_DEVICE, **params}, data)
    rows = data.values, data.label, data.weight
    twin = train_reference(Parameters.from_dict(params), *rows, **columns)
    twin = replace(twin, categories=model.ensemble.categories)  # the twin knows codes alone
    assert_same_trees(model.ensemble.trees, twin.trees)
    assert model.ensemble == twin
    assert to_json(model.ensemble) == to_json(twin)
    return model
