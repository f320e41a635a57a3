"""Rendering is strict about every name."""

import importlib

import pytest

from pyopencl_gbdt.device.render import declared, render, source_folder

rendering = importlib.import_module("pyopencl_gbdt.device.render")  # the package has a function
CACHES = ("template_files", "_lookup", "template_text", "declared", "header", "_render")


@pytest.fixture
def templates(tmp_path, monkeypatch):
    """A folder that stands for ``templates/``; the headers stay those of the library."""
    headers = source_folder("cl_kernels")
    places = {"templates": tmp_path, "cl_kernels": headers}
    for name in CACHES:
        getattr(rendering, name).cache_clear()
    monkeypatch.setattr(rendering, "source_folder", places.__getitem__)
    yield tmp_path
    for name in CACHES:
        getattr(rendering, name).cache_clear()


def write(folder, text, name="sample"):
    (folder / f"{name}.cl.mako").write_text(text)


def test_a_template_becomes_dialect_shared_c_and_body(templates):
    write(templates, '## uses: structs\n<%page args="wg_size"/>\nKERNEL(${wg_size}) f() {}\n')
    source = render("sample", "opencl", wg_size=64)
    places = [
        source.index("#pragma OPENCL FP_CONTRACT OFF"),
        source.index("node_t;"),
        source.index("KERNEL(64) f() {}"),
    ]
    assert places == sorted(places)
    assert "uses:" not in source


def test_dialects_differ_in_the_header_alone(templates):
    write(templates, '<%page args="wg_size"/>\nKERNEL(${wg_size}) f() {}\n')
    opencl, cuda = (render("sample", dialect, wg_size=8) for dialect in ("opencl", "cuda"))
    assert opencl != cuda
    headers = [
        (source_folder("cl_kernels") / f"dialect_{dialect}.h").read_text()
        for dialect in ("opencl", "cuda")
    ]
    assert opencl.removeprefix(headers[0]) == cuda.removeprefix(headers[1])


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({}, r"missing parameters \['items', 'wg_size'\]"),
        ({"wg_size": 1}, r"missing parameters \['items'\]"),
        ({"wg_size": 1, "items": 1, "item": 1}, r"undeclared parameters \['item'\]"),
        ({"wgsize": 1, "items": 1}, r"missing .*\['wg_size'\].* undeclared .*\['wgsize'\]"),
    ],
)
def test_parameters_must_be_exactly_those_declared(templates, params, complaint):
    write(templates, '<%page args="wg_size, items"/>\n${wg_size} ${items}\n')
    with pytest.raises(TypeError, match=complaint) as caught:
        render("sample", "opencl", **params)
    assert "it declares ['items', 'wg_size']" in str(caught.value)


@pytest.mark.parametrize("line", ["${wg_sise}", "% if wg_sise > 1:\n% endif", "${max(wg_sise, 1)}"])
def test_a_misspelled_name_in_a_template_is_an_error(templates, line):
    write(templates, f'<%page args="wg_size"/>\n{line}\n')
    with pytest.raises(NameError, match="wg_sise"):
        render("sample", "opencl", wg_size=1)


def test_a_template_without_parameters(templates):
    write(templates, "body\n")
    assert declared("sample") == frozenset()
    assert render("sample", "cuda").endswith("body\n")
    with pytest.raises(TypeError, match="undeclared"):
        render("sample", "cuda", wg_size=1)


def test_a_header_that_is_not_there(templates):
    write(templates, "## uses: no_such_header\nbody\n")
    with pytest.raises(FileNotFoundError, match="no_such_header"):
        render("sample", "opencl")


def test_a_template_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no_such_template"):
        render("no_such_template", "opencl", wg_size=1)


def test_a_missing_parameter_is_not_hidden_by_an_earlier_rendering():
    render("predict", "opencl", wg_size=1, items=1, rows=0, categories=False)
    with pytest.raises(TypeError, match="items"):
        render("predict", "opencl", wg_size=1)


@pytest.mark.parametrize("name", ["templates", "cl_kernels"])
def test_sources_are_found(name):
    folder = source_folder(name)
    assert folder.name == name
    assert list(folder.rglob("*.mako" if name == "templates" else "*.h"))


def test_sources_that_are_nowhere(tmp_path, monkeypatch):
    source_folder.cache_clear()
    monkeypatch.setattr(rendering, "__file__", str(tmp_path / "package" / "device" / "render.py"))
    try:
        with pytest.raises(FileNotFoundError, match="reinstall pyopencl_gbdt"):
            source_folder("templates")
    finally:
        source_folder.cache_clear()
