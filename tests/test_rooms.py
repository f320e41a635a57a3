"""Which room may import which; imports inside functions and behind TYPE_CHECKING count too."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = "pyopencl_gbdt"
ROOT = Path(__file__).resolve().parents[1] / PACKAGE


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _nodes(source: str) -> Iterator[ast.AST]:
    """Yield a module's statements, and its expressions only where one may import."""
    if re.search("import_module|__import__", source):
        yield from ast.walk(parsed(source))
        return
    nodes: list[ast.AST] = [parsed(source)]
    while nodes:
        node = nodes.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, name, [])


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[str]:
    """Yield the dotted name of all that a module imports, at any depth.

    ``from a import b`` counts as ``a.b``, since b may be a module.
    """
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                above = above[: len(above) - node.level + is_package]
                base = ".".join([*above, base] if base else above)
            yield from (f"{base}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            first = node.args[0]
            if name in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)


def within(name: str, room: str) -> bool:
    return name == room or name.startswith(room + ".")


@pytest.fixture(scope="module")
def imported():
    """Every module of the package, and what it imports."""
    return {
        module_of(path): set(
            imports_of(
                path.read_text(encoding="utf-8"),
                module_of(path),
                is_package=path.name == "__init__.py",
            )
        )
        for path in ROOT.rglob("*.py")
    }


def test_the_reader_of_imports_finds_all():
    source = """
import a.b, c
from pyopencl_gbdt import d
from . import e
from ..f import g
if TYPE_CHECKING:
    from h import i
def function():
    from j.k import l as m
    importlib.import_module("n.o")
"""
    found = set(imports_of(source, "pyopencl_gbdt.room.module"))
    assert found == {
        "a.b", "c", "pyopencl_gbdt.d", "pyopencl_gbdt.room.e", "pyopencl_gbdt.f.g", "h.i", "j.k.l",
        "n.o",
    }  # fmt: skip
    inside = set(imports_of("from . import e", "pyopencl_gbdt.room", is_package=True))
    assert inside == {"pyopencl_gbdt.room.e"}


@pytest.mark.thorough
def test_the_package_imports_nothing_beside_it(imported):
    """Neither its tests nor its benches are installed."""
    for module, names in imported.items():
        assert [name for name in names if name.split(".")[0] in ("tests", "bench")] == [], module


#: Rooms that launch kernels: a twin that imported from them would share their bugs.
OF_KERNELS = ("device", "primitives", "fit", "gradients", "growth", "prediction", "training")


def test_twins_share_no_code_with_kernels():
    folder = ROOT.parent / "tests" / "reference"
    twins = {
        path: imports_of(path.read_text(encoding="utf-8"), "tests.reference.twin")
        for path in folder.glob("*.py")
    }
    assert len(twins) > 40
    for path, names in twins.items():
        assert [name for name in names if room_of(name) in OF_KERNELS] == [], path.name


def test_numerics_import_numpy_alone(imported):
    room = f"{PACKAGE}.numerics"
    bare = (f"{PACKAGE}.errors", f"{PACKAGE}.dtypes", f"{PACKAGE}.lazy_dataclasses")
    below = (room, *bare, "numpy")
    modules = [module for module in imported if within(module, room)]
    assert len(modules) > 5
    for module in modules:
        for name in imported[module]:
            standard = name.split(".")[0] in sys.stdlib_module_names
            assert standard or any(within(name, other) for other in below), (module, name)


#: The rooms from the ground up: a room imports from itself and from those above it in this list.
ROOMS = (
    (
        "_version",
        "errors",
        "messages",
        "logger",
        "dtypes",
        "arguments",
        "garbage",
        "lazy_dataclasses",
        "owners",
        "public_names",
    ),
    ("numerics",),
    ("device",),
    ("primitives",),
    ("data",),
    ("pages",),
    ("model",),
    ("parameters",),
    ("categories",),
    ("objectives",),
    ("metrics",),
    ("fit",),
    ("gradients",),
    ("growth",),
    ("profiling",),
    ("prediction",),
    ("evaluation",),
    ("callbacks",),
    ("training",),
    ("estimators",),
    ("explain",),
    ("dask",),
    ("compat",),
    ("doctor",),
    ("comparison",),
    ("cards",),
    ("cli",),
    ("", "__main__"),
)
FLOOR = {name: floor for floor, names in enumerate(ROOMS) for name in names}


def room_of(module: str) -> str:
    """Return the room of a dotted name of the package; its first part below the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def test_every_module_has_a_room(imported):
    assert {room_of(module) for module in imported} == FLOOR.keys()


def upwards(imported: dict[str, set[str]]) -> list[str]:
    """Return every import of a room that lies higher than the importing module's."""
    found = []
    for module, names in sorted(imported.items()):
        for name in sorted(names):
            if not within(name, PACKAGE):
                continue
            # `from pyopencl_gbdt import x`: a room, or a name that the package's top has
            target = room_of(name) if room_of(name) in FLOOR else ""
            if FLOOR[target] > FLOOR[room_of(module)]:
                found.append(f"{module} imports {name}")
    return found


def test_rooms_import_rooms_below_them(imported):
    assert upwards(imported) == []


def test_an_import_upwards_is_found(imported):
    added = {**imported, f"{PACKAGE}.data.check": {f"{PACKAGE}.growth.split.Split"}}
    assert upwards(added) == [f"{PACKAGE}.data.check imports {PACKAGE}.growth.split.Split"]


def circle(graph: dict[str, set[str]]) -> set[str]:
    """Return modules that import each other in a circle; none if there is no circle."""
    left = dict(graph)
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    return set(left)


def test_no_modules_import_each_other_in_a_circle(imported):
    graph = {
        module: {
            other
            for name in names
            for other in (name, name.rsplit(".", 1)[0])
            if other in imported and other != module
        }
        for module, names in imported.items()
    }
    # a package's __init__ imports its modules, which may import the package's neighbours
    packages = {module_of(path) for path in ROOT.rglob("__init__.py")}
    graph = {module: names - packages for module, names in graph.items() if module not in packages}
    assert circle(graph) == set()
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == {"a", "b", "c"}


def test_no_module_imports_from_the_package_that_it_is_in(imported):
    """Its ``__init__`` imports its modules, so that would be a circle."""
    for module, names in imported.items():
        package, _, _ = module.rpartition(".")
        if package and package != PACKAGE:
            own = [name for name in names if name.rpartition(".")[0] == package]
            assert [name for name in own if name not in imported] == [], module


def twice(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the names that classes of several modules have, with the modules."""
    found: dict[str, list[str]] = {}
    for module, source in sources.items():
        for node in parsed(source).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_two_classes_share_a_name():
    """In the library, and in each folder of ``compat``, whose names are another library's."""
    rooms: dict[str, dict[str, str]] = {}
    for path in ROOT.rglob("*.py"):
        module = module_of(path)
        room = ".".join(module.split(".")[:3]) if room_of(module) == "compat" else PACKAGE
        rooms.setdefault(room, {})[module] = path.read_text(encoding="utf-8")
    assert [found for sources in rooms.values() if (found := twice(sources))] == []
    assert twice({"a": "class A: pass", "b": "class A: pass\nclass B: pass"}) == {"A": ["a", "b"]}


#: Libraries that only one room may know.
DEVICE_LIBRARIES = ("pyopencl", "cupy", "cupy_backends")


def test_one_room_knows_devices(imported):
    for module, names in imported.items():
        if room_of(module) != "device":
            assert [n for n in names if n.split(".")[0] in DEVICE_LIBRARIES] == [], module


#: Every spelling of a question for the kind of a device, where a fact about it is meant.
ASKS_FOR_A_KIND = re.compile(
    r"""(caps|capabilities)\.(kind|vendor)\b|\[["']kind["']\] *[=!]= *["']|get\(["']kind["']\)"""
    r"""|getattr\([^)]*["'](kind|vendor)["']\)|kind *(==|!=|in) *[({]?["'](cpu|gpu|accelerator)"""
    r"""|["'](cpu|gpu|accelerator)["'] *[=!]= *\w*kind|side_by_side|\bis_(cpu|gpu)\b"""
)


def test_no_room_but_the_devices_asks_for_a_kind():
    for path in ROOT.rglob("*.py"):
        if room_of(module_of(path)) != "device":
            assert not ASKS_FOR_A_KIND.search(path.read_text(encoding="utf-8")), path
    for spelling in (
        "device.caps.kind", 'd.capabilities["kind"] == "gpu"', 'capabilities.get("kind")',
        'getattr(device.caps, "kind")', 'kind in ("cpu", "gpu")', "side_by_side", "info.is_gpu",
    ):  # fmt: skip
        assert ASKS_FOR_A_KIND.search(spelling), spelling
