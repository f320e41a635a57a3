"""The standard library's ``dataclass``, whose methods are made when they are first used.

The standard decorator writes and compiles the source of up to six methods for every class. A
process that trains once decorates 201 classes, makes objects of 87 of them, and compares, hashes
or prints almost none. Here the methods are shared, and only ``__init__`` is compiled, with the
first object. ``dataclasses.fields``, ``replace``, ``asdict`` and ``is_dataclass`` work as ever, and
type checkers see the standard decorator.

An object of a frozen class gets its fields in one call, past properties of the same name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cached_property, partial
from itertools import compress
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

#: What the default of a parameter looks like whose value a function makes.
_FACTORY = type("_FACTORY", (), {"__repr__": lambda self: "<factory>"})()


class _AtFirstUse:
    """Stands for an attribute of a class that is not made yet."""

    def __init__(self, plan: _Plan, name: str) -> None:
        self._plan, self._name = plan, name

    def __get__(self, instance: object, owner: type) -> Any:
        own = self._plan.own
        if own.__dict__[self._name] is self:  # another thread may have made it
            setattr(own, self._name, _MAKES[self._name](self._plan))
        # not by its name, since `super` of a class with another one asks for this one
        made = own.__dict__[self._name]
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


class _Plan:
    """The options and fields of a class; its ``__dataclass_params__``.

    Attributes
    ----------
    annotations : dict of str to str
        Those of the class itself.
    given : dict of str to object
        What the class has by these names: defaults, also of a base, and what ``field`` returned.
    """

    order = unsafe_hash = slots = weakref_slot = kw_only = False
    match_args = True

    def __init__(self, own: type, *, init: bool, repr: bool, eq: bool, frozen: bool) -> None:
        self.own = own
        self.init, self.repr, self.eq, self.frozen = init, repr, eq, frozen
        self.annotations = own.__annotations__
        values = ((name, getattr(own, name, MISSING)) for name in self.annotations)
        self.given = {name: value for name, value in values if value is not MISSING}

    def entries(self) -> dict[str, tuple[Any, Any]]:
        """Return the annotation and the default, or the field, of each name; of bases first."""
        found: dict[str, tuple[Any, Any]] = {}
        for base in reversed(self.own.__mro__):
            plan = base.__dict__.get("__dataclass_params__")
            if isinstance(plan, _Plan):
                for name, annotation in plan.annotations.items():
                    if not str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                        found[name] = annotation, plan.given.get(name, MISSING)
            elif plan is not None:  # by the standard decorator
                fields = dataclasses.fields(base)
                found |= {one.name: (one.type, one) for one in fields}
        return found

    def fields(self) -> tuple[Field[Any], ...]:
        return dataclasses.fields(self.own)

    @cached_property
    def compared(self) -> Callable[[Any], Any]:
        """A function that returns the values that decide whether an object equals another one."""
        return _getter([one.name for one in self.fields() if one.compare])

    @cached_property
    def hashed(self) -> Callable[[Any], Any]:
        """A function that returns the values of an object that its hash counts."""
        counted = [one.compare if one.hash is None else one.hash for one in self.fields()]
        return _getter([one.name for one in compress(self.fields(), counted)])


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that returns a tuple of attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _fields(plan: _Plan) -> dict[str, Any]:
    """Return the fields, as the standard library makes them for a class without methods."""
    names = {"__module__": plan.own.__module__, "__annotations__": plan.annotations}
    bare = type(plan.own.__name__, (), plan.given | names | {"__doc__": "Fields."})
    bare = dataclasses.dataclass(init=False, repr=False, eq=False)(bare)
    found: dict[str, Any] = {}
    for base in plan.own.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    found |= bare.__dict__["__dataclass_fields__"]
    return found


def _match_args(plan: _Plan) -> tuple[str, ...]:
    return tuple(one.name for one in plan.fields() if one.init and not one.kw_only)


def _init(plan: _Plan) -> Any:
    """Compile the ``__init__`` of a class."""
    own, types = plan.own, {}
    known: dict[str, Any] = {"_FACTORY": _FACTORY}
    usual: list[str] = ["self"]
    alone: list[str] = []
    values: list[tuple[str, str]] = []
    factory: Any
    for name, (annotation, given) in plan.entries().items():
        default, factory, is_given, is_alone = given, MISSING, True, False
        if isinstance(given, Field):
            default, factory = given.default, given.default_factory
            is_given, is_alone = given.init, given.kw_only is True
        text = value = name
        if factory is not MISSING:
            known[f"_make_{name}"] = factory
            text, value = f"{name}=_FACTORY", f"_make_{name}()"
            value += f" if {name} is _FACTORY else {name}" * is_given
        elif default is not MISSING:
            known[f"_usual_{name}"] = default
            text = f"{name}=_usual_{name}"
        if is_given:
            (alone if is_alone else usual).append(text)
            types[name] = annotation
        if is_given or factory is not MISSING:  # otherwise the class has the default
            values.append((name, value))
    if plan.frozen:
        lines = [f"self.__dict__.update({', '.join(map('='.join, values))})"]
    else:
        lines = [f"self.{name} = {value}" for name, value in values] or ["pass"]
    if hasattr(own, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join([*usual, *(["*", *alone] if alone else [])])
    exec("\n ".join([f"def __init__({head}):", *lines]), known)
    made: Any = known["__init__"]
    made.__qualname__, made.__module__ = f"{own.__qualname__}.__init__", own.__module__
    made.__annotations__ = types | {"return": None}
    return made


#: Attributes of a class that are made at their first use, and by what.
_MAKES: dict[str, Callable[[_Plan], Any]] = {
    "__init__": _init,
    "__dataclass_fields__": _fields,
    "__match_args__": _match_args,
}


def _replaced(self: Any, /, **changes: Any) -> Any:
    """Return a copy with other values."""
    return dataclasses.replace(self, **changes)


def _methods(plan: _Plan) -> dict[str, Any]:
    """Return the attributes that the decorator gives a class that has none of its own."""
    own: Any = plan.own

    @recursive_repr()
    def text(self: Any) -> str:
        values = (f"{one.name}={getattr(self, one.name)!r}" for one in plan.fields() if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(values)})"

    def equals(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return plan.compared(self) == plan.compared(other)

    def check(value: Any, name: str, verb: str) -> None:
        if type(value) is own or name in own.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def assign(self: Any, name: str, value: Any) -> None:
        check(self, name, "assign to")
        super(own, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        check(self, name, "delete")
        super(own, self).__delattr__(name)

    made: dict[str, Any] = {
        name: _AtFirstUse(plan, name) for name in _MAKES if plan.init or name != "__init__"
    }
    made |= {"__dataclass_params__": plan, "__replace__": _replaced}
    if plan.repr:
        made["__repr__"] = text
    if plan.eq:
        made["__eq__"] = equals
        made["__hash__"] = (lambda self: hash(plan.hashed(self))) if plan.frozen else None
    if plan.frozen:
        made |= {"__setattr__": assign, "__delattr__": delete}
    return made


def _decorate(
    own: type, *, init: bool = True, repr: bool = True, eq: bool = True, frozen: bool = False
) -> type:
    plan, held = _Plan(own, init=init, repr=repr, eq=eq, frozen=frozen), own.__dict__
    # Python gives a class that defines __eq__ alone the hash None
    has_hash = held.get("__hash__") is not None or ("__hash__" in held and "__eq__" not in held)
    for name, value in _methods(plan).items():
        if name not in held or (name == "__hash__" and not has_hash):
            setattr(own, name, value)
    for name, given in plan.given.items():
        if isinstance(given, Field):
            if given.default is MISSING:
                delattr(own, name)
            else:
                setattr(own, name, given.default)
    return own


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(own: type | None = None, /, **options: bool) -> Any:
        """Give a class the methods that its fields ask for.

        Parameters
        ----------
        own : type
            The class; None if options are given.
        **options : bool
            ``init``, ``repr``, ``eq`` (by default True) and ``frozen`` (False), as the standard
            library has them. A class with an order, slots or ``InitVar`` takes the standard
            decorator.

        Returns
        -------
        type
            The same class; with options a decorator.
        """
        return partial(_decorate, **options) if own is None else _decorate(own, **options)
