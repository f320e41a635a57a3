"""What ``pyopencl-gbdt tune`` stored: found for its device and driver alone, ignored if damaged."""

import json
from dataclasses import replace

import pytest

from pyopencl_gbdt.device import TABLE, choose, find, runnable
from pyopencl_gbdt.device.variants import KERNELS, choosing, fallbacks, refusal, tuning
from pyopencl_gbdt.device.variants.tuning import Choice, sizes
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps

CAPS = make_caps(int64_atomics=True)
OWN = choose("histogram", CAPS)
CHOICE = Choice("local_atomic", {**runnable("histogram", CAPS)[1].params, "chunk": 8192})


@pytest.fixture(autouse=True)
def _folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(tuning.ENVIRONMENT)
    monkeypatch.setattr(choosing, "REFUSED", set())


def test_without_a_file_the_table_holds():
    assert tuning.load(CAPS) is None
    assert choose("histogram", CAPS) is OWN


def test_what_is_stored_is_chosen():
    assert CHOICE.variant != OWN.name
    path = tuning.store(CAPS, {"histogram": CHOICE})
    assert path == tuning.path_of(CAPS)
    variant = choose("histogram", CAPS)
    assert (variant.name, variant.params) == (CHOICE.variant, CHOICE.params)
    rows = fallbacks("histogram", CAPS)
    assert rows[0].params == CHOICE.params
    with tuning.using({}):
        assert rows[1:] == fallbacks("histogram", CAPS)
    assert choose("split", CAPS) is fallbacks("split", CAPS)[0]  # not tuned: the table's own
    assert choose("split", CAPS) in TABLE
    assert tuning.reset(CAPS)
    assert choose("histogram", CAPS) is OWN
    assert not tuning.reset(CAPS)


def test_a_variant_by_name_is_the_tables():
    tuning.store(CAPS, {"histogram": CHOICE})
    assert choose("histogram", CAPS, CHOICE.variant) in TABLE


def test_the_environment_switches_it_off(monkeypatch):
    tuning.store(CAPS, {"histogram": CHOICE})
    for word in ("off", " OFF "):
        monkeypatch.setenv(tuning.ENVIRONMENT, word)
        assert choose("histogram", CAPS) is OWN
    for word in ("", "on"):
        monkeypatch.setenv(tuning.ENVIRONMENT, word)
        assert choose("histogram", CAPS).name == CHOICE.variant
    monkeypatch.setenv(tuning.ENVIRONMENT, "maybe")
    with pytest.raises(DeviceError, match="PYOPENCL_GBDT_TUNING='maybe': expected 'on' or 'off'"):
        choose("histogram", CAPS)


@pytest.mark.parametrize(
    "change",
    [{"driver": "2.0"}, {"name": "Other"}, {"kind": "cpu"}, {"local_bytes": 1}],
    ids=lambda change: next(iter(change)),
)
def test_it_holds_for_its_device_and_driver_alone(change):
    tuning.store(CAPS, {"histogram": CHOICE})
    assert tuning.load(replace(CAPS, **change)) is None


def test_two_equal_cards_share_it():
    tuning.store(CAPS, {"histogram": CHOICE})
    other = replace(CAPS, device_id="opencl:3:1", global_bytes=17)
    assert choose("histogram", other).name == CHOICE.variant


def test_it_is_read_once_per_folder(monkeypatch, tmp_path):
    path = tuning.store(CAPS, {"histogram": CHOICE})
    assert choose("histogram", CAPS).name == CHOICE.variant
    path.unlink()
    assert choose("histogram", CAPS).name == CHOICE.variant
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "another"))
    assert choose("histogram", CAPS) is OWN


def test_a_block_looks_once_for_each_device(monkeypatch, tmp_path):
    tuning.store(CAPS, {"histogram": CHOICE})
    with tuning.read_once():
        assert choose("histogram", CAPS).name == CHOICE.variant
        monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "another"))
        assert choose("histogram", CAPS).name == CHOICE.variant
        assert choose("histogram", replace(CAPS)) is OWN
    assert choose("histogram", CAPS) is OWN


def edited(**changes):
    """The text of a file, changed."""

    def edit(text):
        return json.dumps({**json.loads(text), **changes})

    return edit


def kernels(entry):
    return edited(kernels={"histogram": entry})


PARAMS = dict(CHOICE.params)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda text: text[: len(text) // 2], "damaged"),
        (lambda text: "", "damaged"),
        (lambda text: "\x00\xff", "damaged"),
        (lambda text: "[1, 2]", "damaged"),
        (lambda text: "[" * 100_000, "damaged"),
        (lambda text: "{}", "damaged"),
        (edited(format="pyopencl_gbdt tuning 2"), "another format"),
        (edited(device={}), "another device or driver"),
        (edited(table="0"), "another version"),
        (edited(kernels=[]), "damaged"),
        (edited(kernels={"no kernel": {"variant": "cpu", "params": {}}}), "damaged"),
        (edited(kernels={"scan": {"variant": "portable", "params": {"wg_size": 256}}}), "damaged"),
        (kernels({"variant": "no variant", "params": PARAMS}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {}}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {**PARAMS, "more": 1}}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {**PARAMS, "chunk": 0}}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {**PARAMS, "chunk": 3000}}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {**PARAMS, "chunk": "8192"}}), "damaged"),
        (kernels({"variant": CHOICE.variant, "params": {**PARAMS, "chunk": True}}), "damaged"),
    ],
)
def test_a_file_that_says_something_else_is_ignored(edit, words):
    path = tuning.store(CAPS, {"histogram": CHOICE})
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="latin-1")
    tuning._loaded.clear()
    assert choose("histogram", CAPS) is OWN
    stored = tuning.load(CAPS)
    assert words in stored.problem
    assert "run `pyopencl-gbdt tune` again" in stored.problem


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        DeviceError, match=r"file: cannot be written: .*; choose another folder by PYOPENCL"
    ):
        tuning.store(CAPS, {})


def test_a_variant_that_lacks_its_needs_is_never_chosen():
    able, weaker = (make_caps(warp_words=words) for words in (True, False))
    with tuning.using({"partition": Choice("ballots", {"wg_size": 64, "chunk": 512})}):
        assert choose("partition", able).params["chunk"] == 512
        assert choose("partition", weaker).name == "portable"


def test_a_variant_that_was_refused_is_never_chosen():
    tuning.store(CAPS, {"histogram": CHOICE})
    variant = choose("histogram", CAPS)
    choosing.REFUSED.add(refusal(variant, CAPS))
    assert choose("histogram", CAPS) is OWN


def test_instead_of_what_is_stored():
    tuning.store(CAPS, {"histogram": CHOICE})
    with tuning.using({}):
        assert choose("histogram", CAPS) is OWN
    assert choose("histogram", CAPS).name == CHOICE.variant


def test_every_tuned_parameter_is_one_of_the_kernel():
    for kernel in KERNELS.values():
        for name in kernel.tuned:
            having = [variant for variant in kernel.variants if name in variant.params]
            assert having, (kernel.name, name)
            for variant in having:
                assert variant.params[name] in sizes(variant, name)


def test_devices_say_what_is_tuned(capsys):
    from pyopencl_gbdt.cli import main

    caps = find(TEST_DEVICE).caps
    variant = choose("split", caps)
    value = next(v for v in (512, 64) if v != variant.params["wg_size"])
    portable = runnable("split", caps)[-1]
    choice = Choice(portable.name, {**portable.params, "wg_size": value})
    path = tuning.store(caps, {"split": choice})
    info = find(TEST_DEVICE)
    assert info.tuned() == {"split": choice}
    assert f"tuned by {path}: split: portable wg_size={value}" in info.describe()
    main(["devices", "--json"])
    listed = json.loads(capsys.readouterr().out)["devices"]
    (mine,) = [entry for entry in listed if entry["device"] == info.device_id]
    assert mine["tuned"]["split"]["params"]["wg_size"] == value
    path.write_text("{", encoding="utf-8")
    tuning._loaded.clear()
    assert f"tuned by {path}: it is damaged; run" in find(TEST_DEVICE).describe()
