"""The spellings of an estimator's parameters, and answers to arguments that a method lacks."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from pyopencl_gbdt.arguments import refusing
from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.estimators.sklearn_names import BaseEstimator, clone
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS, OWN_NAMES
from pyopencl_gbdt.parameters.parameters import ROWS, check_answered, renamed, unknown
from pyopencl_gbdt.parameters.table import TABLE, XGBOOST_ONLY
from pyopencl_gbdt.prediction import foreign_arguments

#: The attribute of a class that keeps its constructor's signature as written.
_WRITTEN = "_written_signature"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: From every other spelling to the parameter's name.
SPELLINGS = {name: row.name for name, row in ROWS.items() if name != row.name} | OWN_NAMES
#: Those that are attributes too: XGBoost's, and those of ``fit``.
ATTRIBUTES = [name for row in TABLE for name in row.aliases]
ATTRIBUTES += ["nthread", "categorical_feature", "cat_features"]


def own_name(name: str) -> str:
    """Return a parameter's name for one of its spellings; return other names unchanged."""
    return SPELLINGS.get(name, name)


def _constructors(cls: type, base: type) -> Iterator[dict[str, inspect.Parameter]]:
    """Yield the parameters of each constructor from ``cls`` up to ``base``, without ``self``."""
    for ancestor in cls.__mro__:
        if "__init__" in vars(ancestor):
            written = vars(ancestor).get(_WRITTEN) or inspect.signature(vars(ancestor)["__init__"])
            yield dict(list(written.parameters.items())[1:])
        if ancestor is base:
            return


def _named(parameters: Mapping[str, inspect.Parameter]) -> dict[str, inspect.Parameter]:
    return {name: p for name, p in parameters.items() if p.kind in _NAMED}


def _hands_on(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def own_parameters(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the parameters that the constructor of ``cls`` names."""
    return _named(next(_constructors(cls, base)))


def parameters_of(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the constructor's parameters, including those it passes on by ``**``.

    ``cls``, ``base``: the estimator, and the base class at which to stop.

    Returns
    -------
    dict of str to inspect.Parameter
        In the order of ``base``; parameters that ``base`` lacks come last.
    """
    found: list[dict[str, inspect.Parameter]] = []
    for parameters in _constructors(cls, base):
        found.append(_named(parameters))
        if not _hands_on(parameters):
            break
    return _merged(found)


def every_parameter(cls: type, base: type) -> dict[str, inspect.Parameter]:
    """Return the parameters that any constructor from ``cls`` up to ``base`` names."""
    return _merged([_named(parameters) for parameters in _constructors(cls, base)])


def _merged(found: list[dict[str, inspect.Parameter]]) -> dict[str, inspect.Parameter]:
    merged: dict[str, inspect.Parameter] = {}
    for parameters in reversed(found):
        merged |= parameters
    return merged


def show_signature(cls: type, base: type, absent: tuple[str, ...]) -> None:
    """Set the signature of a class and its constructor to include parameters passed on by ``**``.

    scikit-learn's ``repr`` and checks read names and defaults from the signature, and do not
    count ``**`` as parameters.
    """
    if "__init__" in vars(cls):
        setattr(cls, _WRITTEN, inspect.signature(vars(cls)["__init__"]))
    own = next(_constructors(cls, base))
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    first = [p for p in own.values() if p.kind < keyword_only]
    given = {p.name for p in first} | {*absent}
    rest = [p for name, p in parameters_of(cls, base).items() if name not in given]
    shown = [*first, *(p.replace(kind=keyword_only) for p in rest)]
    cls.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    if "__init__" in vars(cls):
        me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        vars(cls)["__init__"].__signature__ = inspect.Signature([me, *shown])


def alike(one: object, other: object) -> bool:
    """Tell whether two values of a parameter are the same object, or equal numbers or strings."""
    if one is other:
        return True
    if isinstance(one, numbers.Real) and isinstance(other, numbers.Real):
        return bool(one == other) or (math.isnan(one) and math.isnan(other))
    return isinstance(one, str) and isinstance(other, str) and one == other


def refuse_twice(given: Mapping[str, Any]) -> None:
    """Raise ``ParameterError`` if two spellings of one parameter have different values."""
    first: dict[str, str] = {}
    for name, value in given.items():
        other = first.setdefault(own_name(name), name)
        if not alike(value, given[other]):
            raise ParameterError(
                f"{other} and {name} are two spellings of one parameter; give one of them"
            )


#: Parameters that some estimators lack, and what to use instead.
INSTEAD = {
    "num_class": "leave it out, y has the classes",
    "num_parallel_tree": "give n_estimators",
}


class AliasedParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator whose parameters have several spellings.

    XGBoost's parameters without an effect become attributes if they are given. Constructors
    are examined from a subclass up to this class.
    """

    #: Parameters of the base constructor that an estimator does not have.
    _absent: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make a subclass's signature show the parameters that it passes on by ``**``."""
        super().__init_subclass__(**kwargs)
        show_signature(cls, AliasedParameters, cls._absent)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise an error for parameters without names, or one in two spellings."""
        named = inspect.Parameter.KEYWORD_ONLY
        if not any(one.kind < named for one in inspect.signature(cls).parameters.values()):
            cls._refuse_unnamed(args)
        cls._refuse_twice(kwargs)
        return super().__new__(cls)

    @classmethod
    def _refuse_unnamed(cls, unnamed: tuple[Any, ...]) -> None:
        if unnamed:
            raise TypeError(
                f"{cls.__name__}({show(unnamed[0])}): expected parameters by their names; give "
                f"{cls.__name__}(n_estimators=100), say"
            )

    @classmethod
    def _refuse_twice(cls, given: Mapping[str, Any]) -> None:
        own = every_parameter(
            cls, AliasedParameters
        )  # a subclass may use another library's name itself
        refuse_twice({n: v for n, v in given.items() if n not in OWN_NAMES or n not in own})

    def _take_other(self, name: str, value: Any) -> None:
        """Store a parameter that the constructor does not name."""
        name, value = renamed(name, value)
        own = self._known(name)
        if own in ANSWERS:
            self._keep_answered({own: value})
            return
        usual = every_parameter(type(self), AliasedParameters).get(own)
        if usual is not None and not alike(getattr(self, own), usual.default):
            refuse_twice({own: getattr(self, own), name: value})
        setattr(self, own, value)

    @classmethod
    def _known(cls, name: str) -> str:
        """Return a parameter's name for any spelling of it.

        Raises
        ------
        ParameterError
            If there is no such parameter.
        """
        own, names = own_name(name), every_parameter(cls, AliasedParameters).keys() - {*cls._absent}
        if own in names or own in XGBOOST_ONLY or own in ANSWERS:
            return own
        if name in INSTEAD:
            raise ParameterError(f"{name}: no parameter of {cls.__name__}; {INSTEAD[name]}")
        known = [*names, *(other for other, one in SPELLINGS.items() if one in names)]
        raise unknown(name, known, f"parameter of {cls.__name__}")

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the constructor's parameters, including those passed on by ``**``."""
        return sorted(parameters_of(cls, AliasedParameters).keys() - {*cls._absent})

    def _given_of_xgboost(self) -> dict[str, Any]:
        """Return the given parameters that only XGBoost has."""
        others = XGBOOST_ONLY.keys() - every_parameter(type(self), AliasedParameters).keys()
        return {name: self.__dict__[name] for name in sorted(others & self.__dict__.keys())}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and the given ones that only other libraries have.

        A subclass has the parameters of its constructor; if that takes ``**``, the base's too.
        """
        own: dict[str, Any] = super().get_params(deep)
        return {**own, **self._given_of_xgboost(), **vars(self).get("_answered", {})}

    def _keep_answered(self, given: dict[str, Any]) -> None:
        """Keep parameters that have no meaning here, or raise if one would have an effect."""
        for name, value in given.items():
            check_answered(name, value)
        if given:
            self._answered = {**vars(self).get("_answered", {}), **given}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, in any spelling.

        Raises
        ------
        ParameterError
            If one is unknown or given in two spellings; then none is set.
        """
        own = super().get_params(deep=True).keys()
        params = dict((n, v) if n in own else renamed(n, v) for n, v in params.items())
        self._refuse_twice(params)
        others = {name: v for name, v in params.items() if name not in own and "__" not in name}
        known = {self._known(name): value for name, value in others.items()}
        self._keep_answered({name: known.pop(name) for name in ANSWERS.keys() & known.keys()})
        super().set_params(**{name: v for name, v in params.items() if name not in others})
        for name, value in known.items():
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy, including parameters that a subclass sets itself."""
        named = {*self.get_params(deep=False)}
        try:
            copy = super().__sklearn_clone__()
        except TypeError:  # the subclass sets a parameter that it also accepts by **
            named = {*own_parameters(type(self), AliasedParameters)}
            copy = type(self)(**{name: clone(getattr(self, name), safe=False) for name in named})
        for name in every_parameter(type(self), AliasedParameters).keys() - named:
            if hasattr(self, name):
                setattr(copy, name, clone(getattr(self, name), safe=False))
        return copy


def _by_alias(own: str) -> property:
    """Return a property that is another spelling of the attribute ``own``."""
    return property(
        lambda self: getattr(self, own),
        lambda self, value: setattr(self, own, value),
        doc=f"Another spelling of ``{own}``.",
    )


for _spelling in ATTRIBUTES:
    setattr(AliasedParameters, _spelling, _by_alias(SPELLINGS[_spelling]))


def _refused(estimator: Any, method: str, name: str, value: Any, own: set[str]) -> ArgumentError:
    kind = type(estimator).__name__
    if (method, name) == ("predict_interval", "alpha"):
        return ArgumentError(
            f"alpha={show(value)}: expected coverage, the share of labels within; give "
            "coverage=0.9 for an alpha of 0.1"
        )
    if method != "fit" and name in foreign_arguments.ANSWERS:
        return ArgumentError(f"{name}={show(value)}: {foreign_arguments.ANSWERS[name]}")
    try:
        parameter = estimator._known(name)
    except ParameterError as error:
        names = sorted(own - {"self"})
        other = unknown(name, names, f"argument of {kind}.{method}")
        return ArgumentError(str(error if name in INSTEAD else other))
    taken = every_parameter(type(estimator), AliasedParameters)
    if parameter in ANSWERS and parameter not in taken:  # the constructor refuses most, too
        return ArgumentError(f"{name}={show(value)}: {ANSWERS[parameter].text}")
    return ArgumentError(
        f"{name}={show(value)}: expected no such argument of {method}, as it is a parameter of the "
        f"estimator; give it to {kind}({name}=...), or to set_params"
    )


#: Lets a method of an estimator refuse unknown arguments with an error that helps.
explains_arguments = refusing(_refused)
