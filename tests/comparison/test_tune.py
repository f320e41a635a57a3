"""``tune``: every candidate gives the same model, the fastest one is chosen and stored."""

import warnings

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.output import WIDTH
from pyopencl_gbdt.comparison import tuning_fits
from pyopencl_gbdt.comparison.tuning_fits import BY_STEPS, PLAIN, TuningData, grows_whole, way_of
from pyopencl_gbdt.device import bandwidth, find, runnable, variants
from pyopencl_gbdt.device.drivers import fallback
from pyopencl_gbdt.device.variants import KERNELS, choosing, search, tuning
from pyopencl_gbdt.device.variants.search import Contest
from pyopencl_gbdt.device.variants.tuning import Choice, sizes, tunable, using
from pyopencl_gbdt.errors import DeviceError, GBDTError, KernelBuildError, KernelFallbackWarning
from pyopencl_gbdt.model import to_json, to_xgboost_json
from tests.conftest import TEST_DEVICE

PARAMS = {"objective": "binary:logistic", "device": TEST_DEVICE, "n_estimators": 2, "max_depth": 5}
ALL_DATA = TuningData(1000, 6)
DATA = ALL_DATA.of("numbers")


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.delenv(tuning.ENVIRONMENT)
    monkeypatch.setattr(choosing, "REFUSED", set())
    for module in (search, fallback):
        monkeypatch.setattr(module, "REFUSED", choosing.REFUSED)
    small = dict.fromkeys(("cpu", "gpu", "accelerator"), 8_000_000)
    monkeypatch.setattr(bandwidth, "_MOST_BYTES", small)


def result(choices):
    """The model and its predictions under some choices, and what did not run on this device."""
    fresh = Dataset(DATA.values, DATA.label)
    with using({**BY_STEPS, **choices}), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", KernelFallbackWarning)
        model = train(PARAMS, fresh)
        predicted = model.predict(DATA.values[:500], device=TEST_DEVICE)
    failed = [str(w.message) for w in said if w.category is KernelFallbackWarning]
    return model, failed, [to_xgboost_json(model.ensemble), predicted.tobytes()]


def grid(kernel, caps):
    """Choices in which every size of the variants for this kind of device occurs.

    Of other variants the greatest sizes alone: PoCL takes seconds to build a kernel for GPUs.
    """
    choices = []
    for variant in runnable(kernel, caps):
        tuned = [name for name in KERNELS[kernel].tuned if name in variant.params]
        values = {name: sizes(variant, name) for name in tuned}
        few = caps.kind == "cpu" and variant.params["wg_size"] > 1
        if caps.kind not in variant.chosen_on or few:
            values = {name: some[-1:] for name, some in values.items()}
        for i in range(max(map(len, values.values()), default=1)):
            changed = {name: some[i % len(some)] for name, some in values.items()}
            choices.append(Choice(variant.name, {**variant.params, **changed}))
    return choices


@pytest.mark.thorough
def test_every_candidate_gives_the_same_model(device):
    _, _, expected = result({})
    every = {kernel: grid(kernel, device.caps) for kernel in tunable() if kernel not in BY_STEPS}
    for i in range(max(map(len, every.values()))):
        choices = {kernel: some[i % len(some)] for kernel, some in every.items()}
        model, failed, got = result(choices)
        assert got == expected, choices
        for kernel, name in model.variants.items():  # a size may exceed the device's local memory
            if kernel not in choices:
                continue
            refused = any(text.startswith(f"{kernel}: ") for text in failed)
            assert refused or name == choices[kernel].variant
        choosing.REFUSED.clear()


WAYS = sorted({way_of(kernel) for kernel in tunable()})


@pytest.mark.more(3)
@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_every_candidate_of_other_fits_gives_the_same_model(way, device):
    few, caps = TuningData(1000, 8).of(way.rows), device.caps
    mine = BY_STEPS if way == PLAIN else [name for name in tunable() if way_of(name) == way]
    every = {kernel: grid(kernel, caps) for kernel in mine}
    if caps.kind == "cpu":  # PoCL takes seconds to build a kernel for GPUs
        every = {
            kernel: [one for one in some if one.params["wg_size"] == 1]
            for kernel, some in every.items()
        }
    expected = None
    for i in range(max(map(len, every.values()))):
        few.forget()
        with using({kernel: some[i % len(some)] for kernel, some in every.items()}):
            model = train({**way.parameters(TEST_DEVICE), "n_estimators": 2}, few)
        text = to_json(model.ensemble)
        expected = expected or text
        assert text == expected, i


@pytest.fixture
def clock(monkeypatch):
    """``clock(f)``: a kernel takes ``f(kernel, choice or None)`` seconds."""

    def pretend(seconds):
        monkeypatch.setattr(
            tuning_fits.KernelTimes,
            "seconds",
            lambda self, kernel, choices: seconds(kernel, choices.get(kernel)),
        )

    return pretend


def kernel_times():
    return tuning_fits.KernelTimes(find(TEST_DEVICE).device_id, ALL_DATA, repeats=1)


def tuned():
    return search.tune(find(TEST_DEVICE).caps, kernel_times())


def outcome_of(kernel, outcomes):
    (found,) = [outcome for outcome in outcomes if outcome.kernel == kernel]
    return found


def test_the_fastest_is_chosen_parameter_by_parameter(device, clock):
    best = {"chunk": 4096, "wg_size": 128, "items": 256}

    def seconds(kernel, choice):
        return 1.0 + sum(choice.params.get(name) != value for name, value in best.items())

    clock(seconds)
    for outcome in tuned():
        params = outcome.chosen.params
        (variant,) = [
            r for r in runnable(outcome.kernel, device.caps) if r.name == outcome.chosen.variant
        ]
        for name, value in best.items():
            if (
                name in KERNELS[outcome.kernel].tuned
                and name in params
                and value in sizes(variant, name)
            ):
                assert params[name] == value
        assert outcome.chosen_seconds <= outcome.table_seconds
        assert outcome.failed == ()


def test_what_is_hardly_faster_or_fast_by_chance_is_not_chosen(clock):
    clock(lambda kernel, choice: 0.98 if choice.params.get("chunk") == 4096 else 1.0)
    assert all(o.chosen == o.table for o in tuned())
    asked = []

    def once(kernel, choice):
        first = (kernel, choice) not in asked
        asked.append((kernel, choice))
        return 0.5 if first and choice.params.get("chunk") == 4096 else 1.0

    clock(once)
    assert all(o.chosen == o.table for o in tuned())


def test_a_candidate_that_fails_is_named_and_passed_over(clock):
    def seconds(kernel, choice):
        if choice.params.get("chunk") == 8192:
            raise KernelBuildError("error: too large\nsecond line")
        return 0.1 if choice.params.get("chunk") == 4096 else 1.0

    clock(seconds)
    outcome = outcome_of("partition", tuned())
    assert outcome.chosen.params["chunk"] == 4096
    assert all(text.endswith("error: too large") for text in outcome.failed)
    assert outcome.failed


def test_a_table_that_fails_is_an_error(clock):
    def seconds(kernel, choice):
        raise DeviceError("gone")

    clock(seconds)
    with pytest.raises(DeviceError, match="gone"):
        tuned()


def test_quick_tries_neighbours():
    caps = find(TEST_DEVICE).caps
    variant = runnable("partition", caps)[-1]
    for name in {name for name, _ in search.candidates(variant, quick=True)}:
        tried = [value for other, value in search.candidates(variant, quick=True) if other == name]
        every = [value for other, value in search.candidates(variant, quick=False) if other == name]
        assert len(tried) <= 2
        assert set(tried) <= set(every)
        assert variant.params[name] not in every


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    "kernel", ["quantize", "predict", "symmetric", "tiled_histogram", "whole_trees"]
)
def test_times_are_measured(kernel):
    measurement = kernel_times()
    assert 0 < measurement.seconds(kernel, {}) < 60


def test_a_measurement_refuses_another_model_and_restores_what_was_refused(device, monkeypatch):
    measurement = kernel_times()
    measurement.expected = {PLAIN: "another"}
    with pytest.raises(GBDTError, match="gives another model"):
        measurement.seconds("split", {})
    kind, build = type(device), type(device)._build
    size = min(variants.choose("split", device.caps).params["wg_size"], device.caps.max_work_group)

    def refuse(self, template, wg_size, params):
        if template.startswith("split") and wg_size == size:
            raise KernelBuildError("error: no")
        return build(self, template, wg_size, params)

    monkeypatch.setattr(kind, "_build", refuse)
    with pytest.raises(GBDTError, match=r"split: .* does not build"):
        measurement.seconds("split", {})
    assert not choosing.REFUSED


@pytest.mark.thorough
def test_command_line(capsys, clock, monkeypatch, tmp_path):
    caps = find(TEST_DEVICE).caps
    arguments = ["tune", "--device", TEST_DEVICE, "--quick"]
    table = {kernel: variants.choose(kernel, caps) for kernel in tunable()}

    def seconds(kernel, choice):
        variant = table[kernel]
        return 1.0 if choice == Choice(variant.name, dict(variant.params)) else 0.5

    clock(seconds)
    faster = Contest("a fit", frozenset(tunable()), lambda choices: 0.5 if choices else 1.0)
    monkeypatch.setattr(tuning_fits, "contests", lambda *_: [faster])
    assert main([*arguments, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "Nothing was stored." in said
    assert "2.00x" in said
    lines = [line.split() for line in said.splitlines()]
    assert lines.count(["kernel", "tried", "table", "ms", "tuned", "ms", "gain", "chosen"]) == 1
    heads = "fit table ms tuned ms gain kernels with other choices"
    at = lines.index(heads.split())
    assert lines[at + 1][:5] == ["a", "fit", "1000.000", "500.000", "2.00x"]
    assert list(tmp_path.glob("tuning*")) == []

    _, _, expected = result({})
    assert main(arguments) == 0
    said = capsys.readouterr().out
    (path,) = tmp_path.glob("tuning*.json")
    assert str(path) in said
    assert all(len(line) <= WIDTH for line in said.splitlines() if str(path) not in line)
    assert variants.choose("partition", caps).params != table["partition"].params
    model = train(PARAMS, Dataset(DATA.values, DATA.label))  # what was stored is used
    predicted = model.predict(DATA.values[:500], device=TEST_DEVICE)
    assert [to_xgboost_json(model.ensemble), predicted.tobytes()] == expected

    assert main(["tune", "--device", TEST_DEVICE, "--reset"]) == 0
    assert f"removed {path}" in capsys.readouterr().out
    assert main(["tune", "--device", TEST_DEVICE, "--reset"]) == 0
    assert "nothing is stored" in capsys.readouterr().out
    assert variants.choose("partition", caps) is table["partition"]


def test_nothing_faster_is_stored_too(capsys, clock, monkeypatch, tmp_path):
    clock(lambda kernel, choice: 1.0)
    monkeypatch.setenv(tuning.ENVIRONMENT, "off")
    assert main(["tune", "--device", TEST_DEVICE, "--quick"]) == 0
    captured = capsys.readouterr()
    assert "Nothing is faster than the table" in captured.out
    assert "PYOPENCL_GBDT_TUNING is off" in captured.err
    monkeypatch.delenv(tuning.ENVIRONMENT)
    assert "the table holds" in find(TEST_DEVICE).describe()


def test_the_time_is_limited(capsys, clock):
    clock(lambda kernel, choice: 1.0)
    arguments = ["tune", "--device", TEST_DEVICE, "--dry-run", "--limit"]
    assert main([*arguments, "1e-9"]) == 0
    assert "note: the time was over before histogram, tiled_histogram" in capsys.readouterr().err
    assert main([*arguments, "0"]) == 2
    assert "--limit 0: expected more than 0 and at most 1440; raise it" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.usefixtures("cut_by_kernels")
def test_contests_time_every_tuned_kernel():
    caps = find(TEST_DEVICE).caps
    found = tuning_fits.contests(caps, ALL_DATA)
    idle = {"exact", "columns", "column_search", "interleaved"}  # some, by device
    assert set(tunable()) - idle <= set().union(*(contest.kernels for contest in found))
    names = [contest.name for contest in found]
    assert ("a fit by steps" in names) == grows_whole(caps)
    symmetric = "grow_policy=symmetric" + " by steps" * grows_whole(caps)
    assert "histogram" in found[names.index(symmetric)].beside
    for name in ("a small fit", "categories, cat_method=sets", "prediction"):
        assert 0 < found[names.index(name)].seconds({}) < 60


def test_data_are_the_same_every_time():
    for rows in ("numbers", "missing", "categories"):
        one, other = ALL_DATA.of(rows), TuningData(1000, 6).of(rows)
        assert np.array_equal(other.values, one.values, equal_nan=True)
        assert np.array_equal(other.label, one.label)
        assert 0.2 < one.label.mean() < 0.8
    assert np.isnan(ALL_DATA.of("missing").values).mean() > 0.7
    assert len(ALL_DATA.of("categories").categories) == 5
