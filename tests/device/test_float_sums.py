"""No loop of a kernel builds up a float, except for those listed here with their reasons."""

import pytest

from pyopencl_gbdt.device.render import render
from tests.device.float_sums import Running, running_floats
from tests.device.plausible import combinations, few, templates

IN_ORDER = "its loops are marked IN_ORDER, so that no compiler reorders them"
EACH = "every turn of the innermost loop, or every work-item, has an element of its own"
LARGEST = "it becomes the larger of two, never a sum"
BOUND = "it is a bound, with room for the rounding of a sum in any order"

#: Every float that a loop of a kernel builds up: (function, variable) of each reason. A sum over
#: rows belongs in integers.
REASONS = {
    IN_ORDER: {
        # predictions and margins: tree by tree
        *(("add_leaves", "margin"), ("predict", "margin"), ("predict_sparse", "margin")),
        ("linear_term", "sum"),
        # equations of a leaf, an unknown after the other
        *(("unknown", "rest"), ("write_terms", "at_zero")),
        *(("solve", "factor_hi"), ("solve", "factor_lo")),
        # shares of classes: class by class
        *(("softmax", "total"), ("class_shares", "total"), ("loss_of", "total")),
        # a query's pairs, by ranks
        *(("lambdas", "sums"), ("scale_lambdas", "total")),
        *(("sum_precisions", "count"), ("sum_precisions", "sum")),
        # gains of a level's nodes, in two floats
        *(("exact_gain", "sum"), ("own_scores", "sum")),
        # sums of float32 that a user asks a primitive for
        *(("reduce_tiles", name) for name in "abcd"),
        *(("segment_level", "total"), ("tile_totals", "total"), ("segmented_totals", "total")),
        *(("tile_total", name) for name in ("run", "row", "tile", "total")),
        *(("segmented_totals", name) for name in ("run", "runs", "rows")),
        *(
            (function, name)
            for function in ("scan_tiles", "segmented_tiles")
            for name in ("run", "runs", "rows", "before_run", "before_row")
        ),
    },
    EACH: {
        # rows
        *(("add_leaves", "margins"), ("add_leaves", "own"), ("add_entries", "margins")),
        *(("predict", "margins"), ("predict_sparse", "margins"), ("predict_blocks", "sum")),
        *(("predict_codes", "sum"), ("predict_tables", "sum"), ("walk_cells", "margin")),
        ("predict_vectors", "margin"),
        ("predict_linear", "margin"),
        # sums of a node's leaves for each row, at each point; left and right in turn, by a stack
        *(("contributions", f"b_{point}") for point in range(5)),
        ("contributions", "above"),
        *(("exponential", "margins"), ("sigmoid", "margins"), ("softmax", "margins")),
        *(("softmax", "hessians"), ("scale_lambdas", "g"), ("scale_lambdas", "h")),
        ("gradients_of_run", "hessians"),
        # rows, whose classes come in order: class by class in the loop around
        ("gradients_of_run", "total"),
        # sketches of a row; the loop over outputs is marked IN_ORDER
        ("sketch", "sums"),
        # importances of a row in several outputs; the loop is marked IN_ORDER
        ("importance_of_row", "sum"),
        # nodes, and coefficients of their equations
        *(("step_leaves", "leaf_weights"), ("step_leaves", "nearest")),
        *(
            ("value_places", "nodes.gain"),
            ("value_split", "nodes.gain"),
        ),
        ("list_terms", "intercepts"),
        *(("eliminate", "hi"), ("eliminate", "lo")),
        # leaves that may split next, and candidates of a work-group
        *(("take_leaf", "trees.open_gain"), ("search_roughly", "found.rough_best")),
        *(("take_share", "own.score_hi"), ("take_share", "own.score_lo")),
        # lanes
        *(("reduce_tiles", "lanes"), ("reduce_tiles", "quads"), ("segment_level", "lanes")),
    },
    LARGEST: {
        *(("group_max", "shared"), ("best_rough", "most")),
        *(("bound_sums", "best"), ("search_roughly", "best"), ("find_roughly", "best")),
        *(("compare", "least"), ("least_best", "best")),
    },
    BOUND: {("add_roughly", "sums"), ("add_roughly", "errors"), ("bound_sums", "sums")},
}
ALLOWED = set().union(*REASONS.values())


def float_sums_of_primitives(template):
    """Return all sets of parameters with sums of float32, which users may ask for."""
    asked = {"type": "f32", "op": "sum"}.items()
    return [params for params in combinations(template) if asked <= params.items()]


def found_in(template):
    sets = [*few(template), *float_sums_of_primitives(template)]
    return set().union(*(running_floats(render(template, "opencl", **params)) for params in sets))


@pytest.mark.parametrize("template", templates())
def test_no_loop_builds_up_a_float_that_is_not_listed(template):
    for one in found_in(template):
        place = f"{template}, {one.function}: a loop builds up the float {one.variable}"
        known = (one.function, one.variable)
        assert known in ALLOWED, f"{place}; sum integers, or list it here with its reason"
        if known in REASONS[IN_ORDER]:
            assert one.in_order, f"{place}, and is not marked IN_ORDER"


@pytest.mark.thorough
def test_the_list_has_nothing_that_is_gone():
    found = set().union(*(found_in(template) for template in templates()))
    assert {(one.function, one.variable) for one in found} == ALLOWED


def test_a_float_has_one_reason():
    assert sum(map(len, REASONS.values())) == len(ALLOWED)


STRUCTS = "typedef struct { f32 hi; f32 lo; } df;\ntypedef struct { u32 n; f32 x; } part;\n"
LOOP = "for (u32 i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("body", "variable"),
    [
        (f"f32 sum = 0.0f; {LOOP} sum += x[i];", "sum"),
        (f"f32 sum = 0.0f; {LOOP} {{ const f32 y = 2.0f * x[i]; sum = sum + y; }}", "sum"),
        (f"f32 sum = 0.0f; {LOOP} {{ const f32 next = sum + x[i]; sum = next; }}", "sum"),
        (f"f32 sum = 0.0f; {LOOP} if (x[i] > 0.0f) sum = add(sum, x[i]);", "sum"),
        (f"f32 a = 1.0f, b = 1.0f; {LOOP} a = 2.0f, b *= x[i];", "b"),
        ("f32 sum = 0.0f; u32 i = 0; while (i < n) { sum = sum - x[i]; i++; }", "sum"),
        ("f32 sum = 0.0f; u32 i = 0; do { sum = x[i] + sum; } while (++i < n);", "sum"),
        (f"f32 rows[8]; {LOOP} {{ for (u32 k = 0; k < 8; k++) rows[k] += x[8 * i + k]; }}", "rows"),
        (f"LOCAL_ARRAY(f32, own, 64); {LOOP} own[0] = own[0] + x[i];", "own"),
        (f"df sum = df_make(0.0f, 0.0f); {LOOP} sum = df_add(sum, df_make(x[i], 0.0f));", "sum"),
        (f"part all; {LOOP} {{ all.n += 1; all.x += x[i]; }}", "all.x"),
        ("for (f32 at = 0.0f; at < 1.0f; at += 0.1f) n++;", "at"),
        (f"{LOOP} {{ f32 s = 0.0f; IN_ORDER {LOOP} s += x[i]; {LOOP} s -= x[i]; }}", "s"),
    ],
)
def test_the_finder_sees_what_a_loop_builds_up(body, variable):
    source = f"{STRUCTS}KERNEL(64) k(GLOBAL const f32* RESTRICT x, u32 n) {{\n{body}\n}}\n"
    assert Running("k", variable, in_order=False) in running_floats(source)


@pytest.mark.parametrize(
    "body",
    [
        f"u32 sum = 0; {LOOP} sum += (u32)x[i];",
        f"i64 sum = 0; {LOOP} {{ const f32 y = x[i] + 1.0f; sum += to_quanta(y, 20); }}",
        f"f32 most = 0.0f; {LOOP} most = x[i] > most ? x[i] : most;",
        f"{LOOP} {{ f32 sum = x[i]; sum += 1.0f; sum = sum * 2.0f; }}",
        f"f32 last = 0.0f; {LOOP} {{ last = x[i] + 1.0f; }}",
        "f32 sum = x[0]; sum += x[1];",
        f"part all; {LOOP} all.n += (u32)x[i];",
    ],
)
def test_the_finder_lets_pass_what_is_no_float_or_no_loop(body):
    source = f"{STRUCTS}KERNEL(64) k(GLOBAL const f32* RESTRICT x, u32 n) {{\n{body}\n}}\n"
    assert running_floats(source) == set()


def test_the_finder_follows_pointers_into_functions():
    source = "FN void add(f32* sum, const f32 x) { *sum = *sum + x; }\n"
    assert running_floats(source) == {Running("add", "sum", in_order=False)}


def test_the_finder_sees_marks_of_all_loops():
    outer, inner = "IN_ORDER for (u32 i = 0; i < n; i++)", "IN_ORDER for (u32 k = 0; k < n; k++)"
    for before, marked in ((outer, True), (outer.removeprefix("IN_ORDER "), False)):
        body = f"f32 sum = 0.0f; {before} {{ {inner} sum += x[k]; }}"
        source = f"KERNEL(1) k(GLOBAL const f32* x, u32 n) {{\n{body}\n}}\n"
        assert running_floats(source) == {Running("k", "sum", in_order=marked)}
