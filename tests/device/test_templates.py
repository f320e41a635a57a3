"""Every template renders in both dialects, builds, and keeps to the kernels' vocabulary."""

import itertools
import re

import pyopencl as cl
import pytest

from pyopencl_gbdt.device import TABLE
from pyopencl_gbdt.device.opencl.pocl import NO_HEADER, POCL
from pyopencl_gbdt.device.render import declared, render, template_files, template_text
from tests.device.plausible import LIBRARIES, VALUES, combinations, few, templates
from tests.device.vocabulary import complaints, header, strip_comments


def parts(template, params):
    """The rendered body with the shared C that it uses, without the dialect's header."""
    source = render(template, "opencl", **params)
    return source.removeprefix(header("dialect_opencl"))


def test_the_list_of_templates_is_not_empty():
    assert {"histogram", "scan", "split", "predict"} <= set(templates())


def test_every_parameter_has_plausible_values():
    for template in templates():
        assert "wg_size" in declared(template), template
        assert declared(template) <= VALUES.keys(), template


def many(template):
    """Return all plausible sets of parameters, or fifteen to thirty spread over them."""
    every = combinations(template)
    return every[:: max(1, len(every) // 15) | 1]


@pytest.mark.parametrize("choose", [few, pytest.param(many, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("template", templates())
def test_every_template_renders(template, choose):
    for dialect, params in itertools.product(("opencl", "cuda"), choose(template)):
        source = render(template, dialect, **params)
        assert f"KERNEL({params['wg_size']})" in source
        assert "${" not in source
        assert not re.search(r"\b(None|True|False|nan)\b", strip_comments(source))


@pytest.mark.few(6)
@pytest.mark.parametrize("template", templates())
def test_bodies_use_the_kernels_words_alone(template):
    for params in few(template):
        assert complaints(parts(template, params)) == []


@pytest.mark.few(6)
@pytest.mark.parametrize("template", templates())
def test_every_template_builds(template, device):
    own = [v.lacks(device.caps) for v in TABLE if (v.template or v.kernel) == template]
    if own and all(own):
        pytest.skip(f"the device lacks {own[0]}")
    sets = few(template)
    if device.caps.kind == "cpu":
        sets = sets[:1]  # barriers cost a CPU's compiler many seconds; the kernels' tests build all
    for params in sets:
        if params.get("match") and not device.caps.warp_words:
            continue  # NVIDIA's own words
        if params.get("prefetch") and not device.caps.prefetches:
            continue  # a word of CPUs' compilers
        if params.get("pairs") and device.caps.kind != "cpu":
            continue  # local memory of a CPU's size
        program = device.build(template, **params)
        assert 1 <= program.wg_size <= params["wg_size"]
        if device.caps.platform == POCL and not params.get("statements"):
            built_with = cl.program_build_info.OPTIONS
            options = program.program.get_build_info(device.cl_device, built_with)
            assert NO_HEADER in options, "takes a built-in function that is not declared"


def test_a_template_says_what_it_computes():
    for template in templates():
        text = template_text(template)
        assert text.startswith(f"## {template}: ")
        assert "## params:" in text, template
        described = text.split("## params:")[1].split("<%page")[0]
        for name in declared(template):
            assert re.search(rf"\b{name}\b", described), f"{template}: {name} is not described"


def test_every_kernel_of_the_variant_table_has_a_template():
    names = {"plan": "level"}  # the table's word for the kernels that plan a level
    kernels = {names.get(variant.kernel, variant.kernel) for variant in TABLE}
    assert kernels <= {"last_group", "arguments", "small_fits", *templates()}


def test_no_template_is_longer_than_a_sitting():
    for file in template_files().values():
        assert len(file.read_text().splitlines()) <= 250, file.name


def bodies(source):
    """Yield the name of every kernel of a template, and the number of lines of its body."""
    for match in re.finditer(r"^KERNEL\(.*?\) (\S+)\(.*?\) \{\n(.*?)^\}", source, re.M | re.S):
        yield match[1], match[2].count("\n")


def test_a_kernel_of_a_tree_fits_a_screen():
    """Longer ones are made of named parts; 65 lines are a screen."""
    found = 0
    for file in template_files().values():
        room, name = file.parent.name, file.name
        if room in ("growth", "pages") or name.startswith("histogram"):
            for kernel, lines in bodies(file.read_text(encoding="utf-8")):
                assert lines <= 65, f"{name}: {kernel} has {lines} lines; take it apart"
                found += 1
    assert found > 20


def test_libraries_have_no_kernels_that_run_alone():
    for name in LIBRARIES:
        assert "KERNEL" not in parts(name, {})


def test_histograms_share_the_frame_of_their_tasks():
    """Their arguments, a group's tasks and its pieces of nodes stand in ``pieces`` alone."""
    found = [name for name in template_files() if re.match(r"(tiled_)?histogram", name)]
    assert len(found) == 6
    for name in found:
        text = template_files()[name].read_text(encoding="utf-8")
        assert not re.search(r"\bfirst_task\(|\bpiece_of\(|\bpartial\b.*GROUP_ID_Y", text), name


def test_rows_walk_a_tree_by_codes_in_one_place():
    """``row_codes`` has the walk of training rows; six templates use it."""
    walks = {
        file.name.partition(".")[0]: text.count("codes.walk(")
        for file in template_files().values()
        if "codes.walk(" in (text := file.read_text(encoding="utf-8"))
    }
    of_trees = {
        "leaf_of_rows", "renew_leaves", "update_margins", "leaves_by_next_order", "dropout",
        "sketched_leaves",
    }  # fmt: skip
    assert walks.keys() == of_trees
    for file in template_files().values():
        walk = re.search(r"while \(step\.x\)", file.read_text(encoding="utf-8"))
        assert not walk or file.name.startswith("row_codes"), file.name
