"""Structs: the host's dtypes lie in memory as the kernels' structs do, field by field."""

import re

import numpy as np
import pytest

from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.dtypes import NO_NODE, NO_SCORE, STRUCTS, WALK_BY_SET, c_type
from pyopencl_gbdt.prediction.code_trees import ABOVE_ALL
from pyopencl_gbdt.primitives.packed_codes import code_dtype
from tests.compare import assert_same_bits

FIELDS = ";".join(f"{name}:{','.join(dtype.names)}" for name, dtype in STRUCTS.items())


@pytest.mark.parametrize("name", STRUCTS)
def test_struct_on_device_equals_dtype(device, name):
    dtype = STRUCTS[name]
    rng = np.random.default_rng(1)
    records = np.zeros(5, dtype)
    for field in dtype.names:
        records[field] = rng.integers(-(2**30), 2**31, 5).astype(dtype[field])
    n_fields = len(dtype.names)
    places = device.zeros(1 + 2 * n_fields, np.uint32)
    values = device.zeros((5, n_fields), np.float32)
    program = device.build("math_probe", wg_size=64, fields=FIELDS)
    source = device.upload(records)
    program.launch(f"fields_{name}", 1, np.uint32(5), source, places, values)
    expected = [dtype.itemsize]
    for field in dtype.names:
        expected += [dtype.fields[field][1], dtype[field].itemsize]
    assert_same_bits(places.get(), np.array(expected, np.uint32), f"places of {name}")
    columns = [records[field].astype(np.float32) for field in dtype.names]
    assert_same_bits(values.get(), np.stack(columns, axis=1), f"values of {name}")


def test_structs_have_no_hidden_padding():
    for name, dtype in STRUCTS.items():
        assert sum(dtype[field].itemsize for field in dtype.names) == dtype.itemsize, name


def test_code_dtype_is_the_smallest():
    assert [code_dtype(n).itemsize for n in (1, 255, 256, 257, 65536)] == [1, 1, 1, 2, 2]


def test_words_of_the_kernels():
    dtypes = (np.uint8, np.uint16, np.int32, np.uint32, np.int64, np.float32)
    words = [c_type(np.dtype(dtype)) for dtype in dtypes]
    assert words == ["u8", "u16", "i32", "u32", "i64", "f32"]


#: Constants that headers and the host have under one name; those of templates are parameters.
SHARED = {
    "NO_NODE": NO_NODE,
    "NO_SCORE": NO_SCORE,
    "WALK_BY_SET": WALK_BY_SET,
    "ABOVE_ALL": ABOVE_ALL,
}


@pytest.mark.parametrize("name", SHARED)
def test_constants_of_headers_are_those_of_the_host(name):
    text = "\n".join(
        file.read_text(encoding="utf-8") for file in source_folder("cl_kernels").glob("*.h")
    )
    (written,) = re.findall(rf"^#define {name} \(?([^\s)]+)", text, re.MULTILINE)
    value = np.float32(written.rstrip("f")) if "." in written else int(written.rstrip("u"), 0)
    assert value == SHARED[name]
