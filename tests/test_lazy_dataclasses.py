"""Classes of our ``dataclass`` behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
from typing import Any, ClassVar

import pytest

from pyopencl_gbdt import lazy_dataclasses
from pyopencl_gbdt.lazy_dataclasses import dataclass
from tests.processes import IMPORT_PATH


@dataclass(frozen=True)
class Point:
    """A frozen class, which pickle finds by its name."""

    x: int
    y: list[int] = dataclasses.field(default_factory=list)
    name: str = dataclasses.field(default="p", repr=False, compare=False)
    kind: ClassVar[str] = "point"


def _classes(decorate: Any) -> dict[str, Any]:
    """Return classes by a decorator, which use what it offers."""

    @decorate
    class Plain:
        a: int
        b: float = 2.0
        kind: ClassVar[int] = 7

    @decorate(frozen=True)
    class Frozen:
        a: int
        b: tuple[int, ...] = ()
        one: int = dataclasses.field(default=1, compare=False, repr=False)
        two: list[int] = dataclasses.field(default_factory=list, hash=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("a < 0")

    @decorate(frozen=True)
    class Derived(Frozen):
        c: str = "c"
        one: int
        b: tuple[int, ...] = (1,)
        only: int = dataclasses.field(kw_only=True)

    @decorate(eq=False)
    class Same:
        a: int = dataclasses.field(default=3, init=False)
        made: list[int] = dataclasses.field(default_factory=list, init=False)

    @decorate(frozen=True, repr=False, eq=False)
    class Bare:
        a: int

    @decorate(frozen=True)
    class OwnMethods:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 5

    @decorate(frozen=True)
    class OwnEquality:  # noqa: PLW1641
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, OwnEquality)  # and Python takes its hash away

    @decorate(init=False)
    class OwnInit:
        a: int

        def __init__(self) -> None:
            self.a = 4

    class Undecorated(Derived):
        """Has the methods of its base."""

        def __init__(self, a: int) -> None:
            super().__init__(a, only=a)

    @decorate
    class Empty:
        pass

    return {one.__name__: one for one in locals().values() if inspect.isclass(one)}


CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Plain": [((1,), {}), ((1, 3.0), {}), ((), {"b": 1, "a": 1}), ((), {}), ((1,), {"a": 2})],
    "Frozen": [((1,), {}), ((1, (2,), 3), {}), ((-1,), {}), ((1,), {"two": [3]})],
    "Derived": [((1,), {"only": 2}), ((1,), {}), ((1, (), 2, [], "d"), {"only": 3})],
    "Same": [((), {}), ((3,), {})],
    "Bare": [((1,), {}), ((1,), {})],
    "OwnMethods": [((1,), {}), ((1,), {}), ((2,), {})],
    "OwnEquality": [((1,), {}), ((2,), {})],
    "OwnInit": [((), {}), ((1,), {})],
    "Undecorated": [((1,), {}), ((1,), {}), ((2,), {})],
    "Empty": [((), {}), ((), {}), ((1,), {})],
}


def _tried(function: Any, *arguments: Any, **named: Any) -> Any:
    """Return what a function returns, or its error."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return type(error), str(error)


def _repr(value: Any) -> str:
    """Return the text of an object, without its address."""
    return repr(value).split(" at 0x")[0]


def _behaviour(own: Any, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
    """Return all that can be seen of a class and of objects of it."""
    made = [_tried(own, *arguments, **named) for arguments, named in calls]
    objects = [one for one in made if isinstance(one, own)]
    assert objects
    found: list[Any] = [_repr(one) for one in made]
    for one in objects:
        found += [one == other for other in objects]
        found += [_tried(hash, one) == _tried(hash, other) for other in objects]
        found.append(own.__hash__ is None or own.__hash__ is object.__hash__)
        found += [vars(one), vars(copy.copy(one)) == vars(copy.deepcopy(one)), one == 1]
        found.append(_tried(dataclasses.asdict, one))
        found += [_repr(_tried(dataclasses.replace, one, **change)) for change in ({}, {"a": 9})]
        found += [_tried(setattr, copy.copy(one), name, 1) for name in ("a", "other")]
        found += [_tried(delattr, copy.copy(one), name) for name in ("a", "never")]
    facts = ("name", "type", "default", "init", "repr", "hash", "compare", "kw_only")
    found += [[getattr(one, fact) for fact in facts] for one in dataclasses.fields(own)]
    found += [own.__match_args__, dataclasses.is_dataclass(own)]
    found += [str(inspect.signature(own)), own.__init__.__qualname__]
    found += [getattr(own.__dataclass_params__, option) for option in ("init", "eq", "frozen")]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_class_behaves_as_by_the_standard_decorator(name):
    ours, theirs = _classes(dataclass)[name], _classes(dataclasses.dataclass)[name]
    assert _behaviour(ours, CALLS[name]) == _behaviour(theirs, CALLS[name])


def test_an_object_outlives_pickle_and_copies():
    for made in (pickle.loads(pickle.dumps(Point(1, [2]))), copy.deepcopy(Point(1, [2]))):
        assert (made, repr(made), Point.kind) == (Point(1, [2]), "Point(x=1, y=[2])", "point")
    assert Point(1).__replace__(x=2) == Point(2)  # what copy.replace calls
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        Point(1).x = 2
    match Point(3):
        case Point(x, [], name):
            assert (x, name) == (3, "p")


def test_an_object_that_holds_itself_has_a_text():
    held = Point(1)
    held.y.append(held)
    assert repr(held) == "Point(x=1, y=[...])"


def test_init_is_compiled_with_the_first_object():
    own = _classes(dataclass)["Frozen"]
    assert isinstance(vars(own)["__init__"], lazy_dataclasses._AtFirstUse)
    barrier, found = threading.Barrier(4), []

    def make() -> None:
        barrier.wait()
        found.append(own(1))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [own(1)] * 4
    assert inspect.isfunction(vars(own)["__init__"])
    assert isinstance(vars(own)["__match_args__"], lazy_dataclasses._AtFirstUse)


def test_what_it_does_not_offer_is_refused():
    with pytest.raises(TypeError, match="slots"):
        dataclass(slots=True)(Point)


#: Describes every such class of the package, by our decorator or by the standard one.
DESCRIBE = """
import dataclasses, importlib, inspect, json, pkgutil, re, sys
import pyopencl_gbdt.lazy_dataclasses as ours
if sys.argv[1] == "standard":
    ours.dataclass = dataclasses.dataclass
path = sys.modules["pyopencl_gbdt"].__path__
for module in pkgutil.walk_packages(path, "pyopencl_gbdt.", onerror=lambda name: None):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except (ImportError, ValueError):  # for want of a library
        pass
found = {}
methods = ("__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__", "__init__")
for name, module in sorted(sys.modules.items()):
    if name.startswith("pyopencl_gbdt."):
        for own in filter(inspect.isclass, vars(module).values()):
            if own.__module__ == name and "__dataclass_params__" in vars(own):
                text = [str(inspect.signature(own)), own.__match_args__]
                text += [[str(f), f.type] for f in dataclasses.fields(own)]
                text += [[m, m in vars(own), vars(own).get(m) is None] for m in methods]
                text.append(sorted(getattr(own, "__abstractmethods__", ())))
                text = re.sub(" at 0x[0-9a-f]+", "", repr(text))
                found[f"{name}.{own.__qualname__}"] = text
print(json.dumps(found))
"""


@pytest.mark.thorough
def test_every_class_of_the_package_is_as_by_the_standard_decorator():
    """That one also refuses what a class may not do, such as a default that can change."""
    found = []
    for decorator in ("ours", "standard"):
        done = subprocess.run(
            [sys.executable, "-c", DESCRIBE, decorator],
            env={**os.environ, "PYTHONPATH": IMPORT_PATH, "PYTHONHASHSEED": "0"},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    ours, standard = found
    assert len(ours) > 280
    assert [name for name in standard if ours.get(name) != standard[name]] == []
    assert len(ours) == len(standard)
