"""Sources and programs that are kept for the next process."""

import threading

import pytest

from pyopencl_gbdt.device import cache, kept_programs
from pyopencl_gbdt.device.kept_programs import Bundle, contents
from pyopencl_gbdt.device.render import render

PARAMS = {"wg_size": 1, "items": 1, "rows": 0, "categories": False}


@pytest.fixture
def bundle(monkeypatch, tmp_path):
    """Call it as a new process does; returns its bundle."""
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_programs, "_bundles", {})

    def opened(*kind):
        kept_programs._bundles.clear()
        return kept_programs.bundle(*(kind or ("a card", "a loss")))

    return opened


def never(*_, **__):
    pytest.fail("renders")


def test_a_kept_source_is_what_would_be_rendered(bundle, monkeypatch):
    first = bundle()
    text = first.source("predict", "opencl", **PARAMS)
    first.save()
    assert text == render("predict", "opencl", **PARAMS)
    monkeypatch.setattr(kept_programs, "render", never)
    assert first.source("predict", "opencl", **PARAMS) == text
    assert bundle().source("predict", "opencl", **PARAMS) == text


def test_templates_of_rounds_are_loaded_where_nothing_is_kept(bundle, monkeypatch):
    """While the host waits for a program; once a process, in a thread."""
    loaded, done = [], threading.Event()
    monkeypatch.setattr(
        kept_programs, "load_templates", lambda names: (loaded.append(names), done.set())
    )
    kept_programs._load_round.cache_clear()
    first = bundle()
    assert first.is_new
    first.load_templates()
    assert not loaded  # nothing was rendered: a fit that builds nothing
    first.source("predict", "opencl", **PARAMS)
    first.load_templates()
    first.load_templates()
    assert done.wait(20)
    first.save()
    kept_programs._load_round.cache_clear()
    again = bundle()
    assert not again.is_new
    again.source("predict", "opencl", **PARAMS)
    again.load_templates()
    (names,) = loaded
    assert {"split", "candidates"} <= set(names)  # what is pasted, too


@pytest.mark.parametrize(
    ("dialect", "change"),
    [("cuda", {}), ("opencl", {"items": 2}), ("opencl", {"items": True}), ("opencl", None)],
)
def test_another_source_is_rendered(bundle, monkeypatch, dialect, change):
    first = bundle()
    first.source("predict", "opencl", **PARAMS)
    first.save()
    if change is None:
        monkeypatch.setattr(kept_programs, "contents", lambda *_: "an edited file")
    made = []
    monkeypatch.setattr(kept_programs, "render", lambda *a, **k: made.append(k) or "text")
    params = {**PARAMS, **(change or {})}
    assert bundle().source("predict", dialect, **params) == "text"
    assert made == [params]


def test_wrong_parameters_are_errors_although_the_source_is_kept(bundle):
    first = bundle()
    first.source("predict", "opencl", **PARAMS)
    with pytest.raises(TypeError, match="undeclared"):
        first.source("predict", "opencl", **PARAMS, colour=1)


def test_every_file_that_may_be_pasted_counts(monkeypatch):
    assert {"split", "candidates", "group"} <= kept_programs._pasted("split")
    before = contents("split", "opencl")
    for name, part in (("template_text", "candidates"), ("header", "gain.h")):
        own = getattr(kept_programs, name)
        changed = lambda asked, own=own, part=part: own(asked) + " " * (asked == part)  # noqa: E731
        contents.cache_clear()
        with monkeypatch.context() as patched:
            patched.setattr(kept_programs, name, changed)
            assert contents("split", "opencl") != before
        contents.cache_clear()
    assert contents("split", "opencl") == before != contents("split", "cuda")


def test_programs_of_a_fit_lie_in_one_file(bundle, monkeypatch):
    first = bundle()
    first.store("a" * 64, b"machine code")
    cache.store("b" * 64, b"of another kind of fit")
    assert first.load("b" * 64) == b"of another kind of fit"
    first.save()
    read = []
    load = cache.load
    monkeypatch.setattr(cache, "load", lambda key: read.append(key) or load(key))
    second = bundle()
    assert second.load("a" * 64) == b"machine code"
    assert second.load("b" * 64) == b"of another kind of fit"
    assert len(read) == 1
    assert second.load("c" * 64) is None
    assert bundle("a card", "another loss").load("a" * 64) == b"machine code"


def test_a_process_writes_a_bundle_after_its_first_fit_and_at_its_end(bundle, monkeypatch):
    ends, stored = [], []
    monkeypatch.setattr(kept_programs.atexit, "register", ends.append)
    monkeypatch.setattr(cache, "store", lambda key, data: stored.append(key))
    first = bundle()
    first.store("a", b"1")
    first.save()
    first.store("b", b"2")
    first.save()
    assert [name.startswith("bundle-") for name in stored] == [False, True, False]
    for end in ends + ends:
        end()
    assert len(stored) == 4
    kept_programs._bundles.clear()  # as in a forked process
    first.store("c", b"3")
    ends[0]()
    assert len(stored) == 5


def test_what_was_used_last_stays(bundle, monkeypatch):
    monkeypatch.setattr(kept_programs, "_MOST_ENTRIES", 2)
    first = bundle()
    for key in "abc":
        first.store(key, key.encode())
    first.load("b")
    first.save()
    (file,) = cache.cache_folder().glob("bundle-*")
    cache_of = {key for key in "abc" if key in kept_programs._entries(file.read_bytes()[32:])}
    assert cache_of == {"b", "c"}


def test_a_damaged_bundle_is_replaced(bundle):
    first = bundle()
    text = first.source("predict", "opencl", **PARAMS)
    first.save()
    (file,) = cache.cache_folder().iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    second = bundle()
    assert second.source("predict", "opencl", **PARAMS) == text
    second.save()
    assert file.read_bytes() == whole


def test_without_a_kind_nothing_is_bundled(bundle):
    bundle()
    plain = Bundle()
    plain.source("predict", "opencl", **PARAMS)
    plain.store("a" * 64, b"machine code")
    plain.save()
    assert [file.name for file in cache.cache_folder().iterdir()] == ["a" * 64 + ".bin"]
    assert plain.load("a" * 64) == b"machine code"
