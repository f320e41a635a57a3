"""The two dialect headers define the same words, and shared C uses nothing else."""

import pytest

from pyopencl_gbdt.device.render import source_folder
from tests.device.vocabulary import complaints, header, vocabulary, words

SHARED = sorted(
    file.stem
    for file in source_folder("cl_kernels").glob("*.h")
    if not file.stem.startswith("dialect_")
)


def test_both_dialects_define_the_same_words_with_as_many_arguments():
    opencl, cuda = (words(header(f"dialect_{name}")) for name in ("opencl", "cuda"))
    assert opencl == cuda
    assert {"KERNEL", "FN", "GLOBAL", "LOCAL", "BARRIER", "u32", "i64", "f32"} <= opencl.keys()


def test_words_are_read_with_their_arguments():
    text = (
        "typedef unsigned int u32; /* typedef int no; */\n"
        "#define A\n#define B(x) x\n#define C(x, y) (x)\n#define D() f()\n"
        "#ifdef X\n#  define E (1)\n#endif\n"
    )
    assert words(text) == {"u32": None, "A": None, "B": 1, "C": 2, "D": 0, "E": None}


def test_contraction_is_off_in_opencl():
    assert "#pragma OPENCL FP_CONTRACT OFF" in header("dialect_opencl")


@pytest.mark.parametrize("name", SHARED)
def test_shared_c_uses_the_kernels_words_alone(name):
    others = "".join(header(other) for other in SHARED)
    assert complaints(others + header(name)) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("u32 i = get_global_id(0);", "calls get_global_id"),
        ("__kernel void f() {}", "word __kernel"),
        ("u32 i = threadIdx.x;", "word threadIdx"),
        ("__syncthreads();", "calls __syncthreads"),
        ("barrier(1);", "calls barrier"),
        ("atomic_add(p, 1);", "calls atomic_add"),
        ("atomicAdd(p, 1);", "calls atomicAdd"),
        ("float x;", "type float"),
        ("long x;", "type long"),
        ("size_t n;", "type size_t"),
        ("f32 x = exp(y);", "calls exp"),
        ("f32 x = fma(a, b, c);", "calls fma"),
        ("f32 x = 0.5;", "literal 0.5 without f"),
        ("f32 x = 1e-3;", "literal 1e-3 without f"),
        ("f32 x = 2.;", "literal 2. without f"),
        ("f32 x = as_float(y);", "calls as_float"),
        ("GLOBAL int* p; local int q;", "word local"),
        ("undefined_helper(1);", "calls undefined_helper"),
    ],
)
def test_the_check_sees_what_is_foreign(line, complaint):
    assert complaint in complaints(f"FN void f() {{ {line} }}")


@pytest.mark.parametrize(
    "line",
    [
        "FN i32 g(const i32 x) { return x; } KERNEL(64) k(GLOBAL u32* p) { p[LOCAL_ID] = g(1); }",
        "#define TWICE(x) (2 * (x))\nFN f32 g(const f32 x) { return TWICE(x) + 0.5f + 1e-3f; }",
        "FN u32 g(const f32 x) { /* get_global_id(0) */ return as_u32(x) & 0x7f800000u; }",
        "typedef struct { i32 a; } pair; FN int g(const pair p) { if (p.a) return 1; return 0; }",
    ],
)
def test_the_check_lets_pass_what_is_ours(line):
    assert complaints(line) == []


def test_the_vocabulary_is_small():
    assert len(vocabulary()) <= 60
