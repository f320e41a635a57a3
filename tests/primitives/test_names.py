"""The names of ``primitives``, whose modules are imported when they are first used."""

import subprocess
import sys

import pytest

CODE = """
import sys
import pyopencl_gbdt.primitives.scan
from pyopencl_gbdt import primitives
from pyopencl_gbdt.primitives.reduce import Reduce
names = [name for name in sys.modules if name.startswith("pyopencl_gbdt.primitives.")]
assert "pyopencl_gbdt.primitives.compact" not in names, names
assert primitives.Reduce is Reduce
found = {name: getattr(primitives, name) for name in primitives.__all__}
modules = [name for name, one in found.items() if not callable(one)]
assert modules == ["quantile_summary"], modules
assert all(one.__name__ == name for name, one in found.items() if name not in modules)
assert found == {name: getattr(primitives, name) for name in primitives.__all__}
"""


def test_functions_keep_their_names_beside_modules():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_an_unknown_name_is_none():
    from pyopencl_gbdt import primitives

    with pytest.raises(AttributeError, match="has no attribute 'sort'"):
        primitives.sort  # noqa: B018
