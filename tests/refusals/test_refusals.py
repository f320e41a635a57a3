"""The table of refusals: its rows raise before a device is used; what is no row trains."""

import random
import re
import warnings
from pathlib import Path

import pytest

from pyopencl_gbdt import train
from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.estimators.refusals import OF_ESTIMATORS
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.refusals import OF_CUTS, REFUSED
from pyopencl_gbdt.parameters.refused_parameters import OF_PARAMETERS
from pyopencl_gbdt.parameters.row import Refusal, refusal_of
from pyopencl_gbdt.training import preparing
from pyopencl_gbdt.training.preparing import prepare
from tests.refusals.cases import CASES
from tests.refusals.options import OPTIONS, Training, pairs
from tests.teams import members

#: Pairs of options that train: '+' for a pair of the line's option with that of an earlier line,
#: '-' if it is refused, '.' if it contradicts itself. The last sign is that of the option alone.
TRAINED = Path(__file__).with_name("trained_pairs.txt")
N_SAMPLED, SEED = 60, 4
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def outcome(training, arguments):
    """Return the model of a training, or its error."""

    def work(team=None, rank=0):
        more = {} if team is None else {"communicator": team}
        try:
            return train(training.params, training.data(), **arguments, **more)
        except Exception as error:
            return error

    return members(1, work)[0] if training.in_hosts else work()


def no_arrays(*arguments, **named):
    raise AssertionError("an array is allocated on a device")


def test_each_row_has_a_case():
    names = [row.name for row in REFUSED]
    assert list(CASES) == names
    assert len(set(names)) == len(names)


def test_a_way_out_names_what_to_change():
    """Not: leave it out."""
    vague = r"\b(leave|give|change|lower|raise|train) (it|them|as many(?! \w)|the same)\b"
    for row in (*REFUSED, *OF_CUTS, *OF_ESTIMATORS):
        assert not re.search(vague, row.way_out), row.way_out


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
def test_a_row_raises_before_anything_is_allocated(row, monkeypatch):
    case = CASES[row.name]
    arguments = case.arguments()
    monkeypatch.setattr(DeviceArray, "__init__", no_arrays)
    if case.limit is not None:
        monkeypatch.setattr(*case.limit)
    error = outcome(case.training(), arguments)
    assert isinstance(error, row.error), error
    assert error.refusal == row.name
    text = str(error)
    assert text.startswith(case.says)
    assert text.partition("; ")[2] == row.way_out
    assert not re.search(r"[{}]", text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("sorted, devices", "on dense data of several devices"),
        ("sorted, many levels", "on dense data with statistics of categories"),
        ("sorted, symmetric, sparse", "on sparse data with grow_policy='symmetric'"),
        ("tiled, symmetric, sparse", ""),
        ("sorted, sparse", ""),
    ],
)
def test_a_page_that_is_not_used_is_told(options, said):
    training = Training.of([OPTIONS[name] for name in options.split(", ")])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        prepare(training.params, training.data(), [], None, None)
    (*told,) = (str(one.message) for one in seen if "has no effect" in str(one.message))
    assert len(told) == bool(said)
    assert all(text.startswith(f"page='sorted' has no effect {said}") for text in told)


def test_the_double_fails_where_a_training_allocates(monkeypatch):
    monkeypatch.setattr(DeviceArray, "__init__", no_arrays)
    with pytest.raises(AssertionError, match="an array is allocated"):
        raise outcome(Training.of([]), {})


def test_defaults_are_refused_by_no_row():
    assert refusal_of(FitFacts(Parameters.from_dict({})), REFUSED) is None


def test_parameters_alone_are_refused_by_their_rows():
    for row in OF_PARAMETERS:
        training = CASES[row.name].training()
        with pytest.raises(row.error) as error:
            Parameters.from_dict(training.params)
        assert error.value.refusal == row.name


def is_prepared(names):
    """Tell whether all checks let a training pass that come before a device is opened."""
    training = Training.of([OPTIONS[name] for name in names])
    given = training.arguments()
    try:
        prepare(
            training.params, training.data(), given.get("evals"), None, given.get("model"),
            is_part=training.in_hosts, profile=given.get("profile", False),
        )  # fmt: skip
    except GBDTError:
        return False
    return True


def known():
    """Return what TRAINED says of each pair, and of each option as a pair with itself."""
    found = {}
    for line, name in zip(TRAINED.read_text().splitlines(), OPTIONS, strict=True):
        signs, _, written = line.partition(" ")
        assert written == name
        found |= {(name, other): sign for other, sign in zip(OPTIONS, signs, strict=False)}
    return found


def test_what_trained_is_refused_by_no_row():
    """A combination that trains cannot become a row; one that was refused may train later."""
    trained = {pair for pair, sign in known().items() if sign == "+"}
    assert len(trained) > 1200
    assert {pair for pair in trained if not is_prepared(pair)} == set()


def test_a_row_for_what_trains_is_found(monkeypatch):
    row = Refusal("forests of a sample", lambda f: f.parameters.num_parallel_tree > 1, "no", "no")
    monkeypatch.setattr(preparing, "REFUSED", (*REFUSED, row))
    assert not is_prepared(["forest", "subsample"])


def sampled():
    """Return some pairs that no row refuses, drawn from a seed."""
    signs = known()
    trained = [pair for pair in pairs() if signs[pair] == "+"]
    return random.Random(SEED).sample(trained, N_SAMPLED)


@pytest.mark.few(3)
@pytest.mark.more(10)
@pytest.mark.parametrize("names", sampled(), ids=" and ".join)
def test_what_is_no_row_trains(names):
    training = Training.of([OPTIONS[name] for name in names])
    model = outcome(training, training.arguments())
    if isinstance(model, Exception):
        raise model
    assert model.ensemble.n_rounds == 2 + ("continued" in names)
