"""How many modules beside its own DART touches, which is a user of the seam ``Boosting``."""

import ast
import re
from pathlib import Path

import pytest

import pyopencl_gbdt

ROOT = Path(pyopencl_gbdt.__file__).parent
WORDS = re.compile("dart|dropout|n_dropped|weight_drop|drop_schedule|kept_trees", re.IGNORECASE)
#: The modules of DART itself.
OWN = {
    "growth/dropout.py", "growth/drop_schedule.py", "growth/kept_trees.py",
    "growth/coded_trees.py", "numerics/tree_weights.py", "training/weighted_sums.py",
}  # fmt: skip
#: Tables of parameters, and of what is refused or has no effect; other libraries' names and files.
TABLES = "parameters/", "data/remarks.py", "estimators/refusals.py", "compat/", "model/formats/"
#: The seam, what chooses a booster, how many trees a round dropped, the parameter of a model, the
#: table of kernels, and the bytes that each kernel moves.
MOST = 6


def said(source: str) -> list[str]:
    """Return the names and strings of a module, without docstrings."""
    found, docs = list[str](), set[int]()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for inner in body if isinstance(body, list) else []:
            if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
                docs.add(id(inner.value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found.append(node.value)
        for name in ("id", "attr", "name", "arg", "module", "asname"):
            if isinstance(value := getattr(node, name, None), str):
                found.append(value)
    return found


def touched() -> set[str]:
    """Return the modules that name DART, but for its own and tables."""
    every = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    assert every.keys() >= OWN
    return {
        name
        for name, path in every.items()
        if name not in OWN and not name.startswith(TABLES)
        if any(WORDS.search(one) for one in said(path.read_text("utf-8")))
    }


def test_dart_touches_few_modules_beside_its_own():
    found = touched()
    assert {"growth/recipe.py", "growth/boosting.py"} <= found
    assert len(found) <= MOST, sorted(found)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("if params.booster == 'dart':\n    pass", True),
        ('def f():\n    """As for DART."""\n    return 0', False),
        ("from pyopencl_gbdt.growth.dropout import DropoutBoosting", True),
        ("x = self.n_dropped", True),
        ("# dart\nx = params.weighs_trees", False),
    ],
)
def test_what_names_it(source, names):
    assert any(WORDS.search(one) for one in said(source)) == names
