"""Several devices through ``train``, ``cv`` and estimators, with all that these offer."""

import gc
import threading

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, devices, train
from pyopencl_gbdt.callbacks import LearningRateScheduler, TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import base, find, open_device, selection
from pyopencl_gbdt.device.discovery import every_gpu
from pyopencl_gbdt.device.selection import find_several, main_device, names_several
from pyopencl_gbdt.errors import DeviceError, ParameterError
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import division
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, WEIGHT, X
from tests.training.test_team import TWO, listed

TWO_DEVICES, THREE = listed(TWO), listed([TEST_DEVICE] * 3, [1, 3, 2])
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def rows():
    margin = np.linspace(-1, 1, len(X), dtype=np.float32)
    return Dataset(X, LABELS["two classes"], WEIGHT, base_margin=margin)


class Seen(TrainingCallback):
    """Saves what a callback can see, and asks for the model within training."""

    def __init__(self):
        self.found = []

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 2:
            self.found.append(to_json(model.current().ensemble))
        self.found.append(evals_log["test"]["auc"][-1])
        return False


def fitted(device, *, eval_train=True, before=None, callbacks=(), rounds=9, **params):
    data, seen = rows(), Seen()
    test = Dataset(X[:200], 1 - LABELS["two classes"][:200])
    sets = [(data, "train")] * eval_train + [(test, "test")]
    params = {
        "objective": "binary:logistic", "max_depth": 3, "eval_metric": ["logloss", "auc"],
        "device": device, **params,
    }  # fmt: skip
    rates = LearningRateScheduler(lambda number: 0.5 / (1 + number))
    model = train(params, data, rounds, evals=sets, model=before, early_stopping_rounds=4,
                  callbacks=[rates, seen, *callbacks])  # fmt: skip
    return to_json(model.ensemble), model.history, seen.found


@pytest.fixture(scope="module")
def alone():
    return fitted(TEST_DEVICE)


def test_metrics_callbacks_and_early_stopping(alone):
    """Also of the training rows, which no device has all of."""
    assert fitted(THREE) == alone
    assert len(alone[1]["test"]["auc"]) < 9  # it stopped


def test_without_the_training_rows(alone):
    text, history, _ = fitted(TWO_DEVICES, eval_train=False)
    assert (text, history["test"]) == (alone[0], alone[1]["test"])


def test_models_are_continued():
    first = train({"max_depth": 3, "device": TEST_DEVICE}, rows(), 3)
    wanted = fitted(TEST_DEVICE, before=first, objective="reg:squarederror")
    assert fitted(TWO_DEVICES, before=first, objective="reg:squarederror") == wanted


def test_checkpoints_resume_on_other_devices(alone, tmp_path):
    class Stop(TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            if epoch == 4:
                raise KeyboardInterrupt
            return False

    def saver():
        return TrainingCheckPoint(tmp_path, interval=2)

    for number, device in enumerate((TEST_DEVICE, TWO_DEVICES, THREE)):
        stop = [Stop()] if number < 2 else []
        try:
            found = fitted(device, callbacks=[saver(), *stop])
        except KeyboardInterrupt:
            assert number < 2
    assert found[:2] == alone[:2]


@pytest.mark.thorough
def test_an_interrupted_training_leaves_nothing(monkeypatch):
    """Neither threads nor memory of a device, although the error is kept."""
    opened = []
    kept = lambda name: opened.append(open_device(name)) or opened[-1]  # noqa: E731
    monkeypatch.setattr(division, "open_device", kept)

    class Interrupt(TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 2:
                raise KeyboardInterrupt
            return False

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt) as error:
        fitted(TWO_DEVICES, callbacks=[Interrupt()])
    gc.collect()
    assert set(threading.enumerate()) <= before
    assert [device.allocated_bytes for device in opened] == [0, 0]
    assert error.value.__traceback__ is not None


def test_estimators():
    """They predict on the first of the devices."""
    X_there, y = np.nan_to_num(X), LABELS["two classes"]
    found = []
    for device in (TEST_DEVICE, {TEST_DEVICE: 1}, [TEST_DEVICE, TEST_DEVICE]):
        model = GBDTClassifier(n_estimators=3, device=device).fit(X_there, y)
        found.append(model.predict_proba(X_there))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_host_waits_once_a_level(monkeypatch):
    """For sums; and for the table of levels, while the kernels run."""
    counts, levels, original = [], 5, Fit.step

    def step(self, pace):
        device = self.parts.arena.device
        before = device.n_waits, device.n_pauses
        original(self, pace)
        counts.append((device.n_waits - before[0], device.n_pauses - before[1]))

    monkeypatch.setattr(Fit, "step", step)
    params = {"max_depth": levels, "device": TWO_DEVICES, "objective": "binary:logistic"}
    train(params, rows(), 8)
    later = counts[4:-4]  # the first round also asks for high words, the last one reads the trees
    own = 2 + levels  # exponents, sums of the roots, histograms
    assert {waits for waits, _ in later} == {0}
    assert max(pauses for _, pauses in later) <= own + levels + 1  # one is the pace's


# -- names ---------------------------------------------------------------------------------


def test_forms_of_the_parameter():
    for given, text in (
        (["gpu:0", "cuda:1"], "gpu:0,cuda:1"),
        (("gpu:0",), "gpu:0"),
        ({"gpu:0": 3, "cpu": 1}, "gpu:0=3.0,cpu=1.0"),
        ("gpu:all", "gpu:all"),
    ):
        assert Parameters.from_dict({"device": given}).device == text
    assert [names_several(name) for name in ("auto", "gpu:all", "a,b", "a=1", "cuda:0")] == [
        False, True, True, True, False,
    ]  # fmt: skip
    names = (["cuda:1", "cpu"], {"cuda:1": 2}, "cuda:1=2,cpu=1", "gpu:all", "cpu")
    assert [main_device(name) for name in names] == ["cuda:1", "cuda:1", "cuda:1", "gpu", "cpu"]


@pytest.mark.parametrize(
    "given", [[], {}, ["a,b"], [3], {"cpu": 0}, {"cpu": "much"}, [""]], ids=str
)
def test_lists_that_are_no_devices(given):
    with pytest.raises(ParameterError, match=r"^device=.*: expected "):
        Parameters.from_dict({"device": given})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{0},{0}", "is named twice: expected different devices; name it once"),
        ("{0}=1,opencl:99:0", "expected a weight for every device"),
        ("{0}=0", "the weight '0': expected a number above 0"),
        ("{0},,", "a name is empty"),
        ("{0},opencl:99:0", "no usable device fits"),
    ],
)
def test_devices_that_cannot_train_together(monkeypatch, spec, said):
    monkeypatch.setattr(selection, "ALLOWS_TWICE", False)
    if spec.startswith("{0}=1,"):
        spec = "{0}=1,{0}"
    with pytest.raises(DeviceError, match=said):
        train({"device": spec.format(TEST_DEVICE)}, rows())


def test_the_environment_names_several(monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", TWO_DEVICES)
    assert train({"max_depth": 2}, rows(), 1).variants["devices"].count("50 %") == 2


class _Card:
    def __init__(self, device_id, name, api="opencl", units=10):
        info = find(TEST_DEVICE)
        facts = {"device_id": device_id, "name": name, "api": api, "kind": "gpu"}
        self.caps = base.Capabilities(**{**vars(info.caps), **facts, "compute_units": units})
        self.device_id, self.usable, self.problem = device_id, True, ""


def test_every_gpu_once():
    """A card that OpenCL and CUDA list is taken through OpenCL; one that only CUDA lists, too."""
    cards = [_Card("cuda:0", "A"), _Card("opencl:0:0", "A"), _Card("cuda:1", "B", units=50)]
    for card in cards[::2]:
        card.caps = base.Capabilities(**{**vars(card.caps), "api": "cuda"})
    assert [card.device_id for card in every_gpu("gpu", cards)] == ["opencl:0:0", "cuda:1"]
    assert [card.device_id for card in every_gpu("cuda", cards)] == ["cuda:1", "cuda:0"]
    with pytest.raises(DeviceError, match=r"^device='gpu:all': no usable device fits"):
        every_gpu("gpu", [])


def test_each_process_of_a_host_takes_another_gpu(monkeypatch):
    """Names that stand for any GPU take turns; others are taken as they are."""
    cards = [_Card("opencl:0:0", "A"), _Card("opencl:0:1", "B", units=50)]
    monkeypatch.setattr(selection, "find", lambda name: cards[0])
    monkeypatch.setattr(selection, "every_gpu", lambda kind: cards)
    names = [selection.name_in_turn("gpu", place) for place in range(3)]
    assert names == ["opencl:0:0", "opencl:0:1", "opencl:0:0"]
    assert selection.name_in_turn("opencl:0:1", 0) == "opencl:0:1"


# -- who trains ----------------------------------------------------------------------------


def test_a_rule_decides_without_weights(monkeypatch):
    """Few rows: the fastest device alone. Many: as many as are faster together."""
    p = Parameters.from_dict({"max_depth": 8})
    fast, slow = 6e10, 4e8
    assert division.best_team([slow, fast], p, 10_000, 28) == [1]
    assert division.best_team([fast, fast], p, 100_000_000, 28) == [0, 1]
    assert division.best_team([fast, slow], p, 100_000, 28) == [0]
    of_h200 = [7e11, 7e11], p, 11_000_000, 28
    assert division.best_team(*of_h200) == [0] or division.best_team(*of_h200) == [1]
    assert division.best_team(*of_h200, joined=True) == [0, 1]  # NCCL adds up on the cards
    opened = [open_device(TEST_DEVICE)] * 2
    if opened[0].caps.kind == "cpu":  # two runtimes share its cores
        assert division.with_own_cores(opened, [1, 2]) == [1]
    monkeypatch.setattr(division, "with_own_cores", lambda *given: [0, 1])
    monkeypatch.setattr(division, "histogram_speed", lambda device: 1e6)
    device = f"{TEST_DEVICE},{TEST_DEVICE}"
    together = train({"device": device, "max_depth": 2, "max_bin": 4}, rows(), 1)
    assert "devices" in together.variants
    monkeypatch.setattr(division, "histogram_speed", lambda device: 1e12)
    assert "devices" not in train({"device": device, "max_depth": 2}, rows(), 1).variants


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize(("n_rows", "n_outputs"), [(10**4, 1), (10**6, 10), (10**7, 1), (10**9, 1)])
def test_more_devices_are_never_expected_to_be_slower(joined, n_rows, n_outputs):
    """Of eight made-up cards as many train as are expected to be fastest; weak ones do not."""
    params = Parameters.from_dict({"max_depth": 8})
    link = division.ON_CARDS if joined else division.THROUGH_HOST

    def seconds(speeds):
        facts = speeds, params, n_rows, 28, link
        return division.round_cost(*facts, n_outputs=n_outputs).seconds

    more = {"joined": joined, "n_outputs": n_outputs}
    taken = division.best_team([7e11] * 8, params, n_rows, 28, **more)
    expected = [seconds([7e11] * size) for size in range(1, 9)]
    assert expected[len(taken) - 1] == min(expected)
    with_weak = division.best_team([7e11, 1e8, 7e11], params, n_rows, 28, **more)
    assert 1 not in with_weak
    if n_rows == 10**9:
        assert len(taken) == (8 if joined else 5)  # all share the memory of the host
    if n_rows == 10**4:
        assert len(taken) == 1


@pytest.mark.parametrize(
    ("rows_features_depth", "classes", "measured"),
    [
        ((11, 28, 6), 1, (1.436, 1.006, 0.737)),
        ((11, 28, 8), 1, (1.792, 1.399, 1.031)),
        ((100, 28, 6), 1, (13.06, 6.859, 3.621)),
        ((100, 28, 8), 1, (15.24, 8.260, 4.903)),
        ((1, 2000, 6), 1, (4.186,)),
        ((1, 28, 6), 10, (1.615,)),
    ],
)
def test_the_model_of_costs_beside_four_cards(rows_features_depth, classes, measured):
    """Milliseconds of a round of 1, 2 and 4 H100, of ``docs/scaling.md``."""
    millions, n_features, depth = rows_features_depth
    params = Parameters.from_dict({"max_depth": depth})
    facts = params, millions * 10**6, n_features, division.ON_CARDS
    more = {"n_outputs": classes, "launches": division.LAUNCHES}
    for size, ms in zip((1, 2, 4), measured, strict=False):
        cost = division.round_cost([4.4e11] * size, *facts, **more)
        assert 1e3 * cost.seconds == pytest.approx(ms, rel=0.17)


def test_a_measured_speed():
    assert 1e3 < division.histogram_speed(open_device(TEST_DEVICE)) < 1e13


def test_queries_stay_whole():
    data = Dataset(X[:10], LABELS["grades"][:10], group=[1, 6, 3])
    assert division.row_bounds(data, [1, 1]) == [(0, 7), (7, 10)]
    assert division.row_bounds(data, [1, 9]) == [(0, 1), (1, 10)]
    assert find_several(TWO_DEVICES)[0].weight == 1
    assert devices()


def test_the_command_line(tmp_path, capsys):
    """``--device`` takes several names; the output tells each one's rows."""
    table = tmp_path / "rows.csv"
    np.savetxt(table, np.column_stack([LABELS["number"], np.nan_to_num(X)]), delimiter=",")
    models = []
    for device in (TEST_DEVICE, TWO_DEVICES):
        models.append(tmp_path / f"{len(models)}.json")
        options = ["--label-column", "0", "--param", "n_estimators=2", "--device", device]
        assert main(["train", str(table), "--model", str(models[-1]), *options]) == 0
    assert models[0].read_bytes() == models[1].read_bytes()
    said = capsys.readouterr().out
    assert "Devices" in said
    assert "50 %" in said
