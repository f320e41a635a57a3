"""The spellings of an estimator's parameters, and answers to arguments that a method lacks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pyopencl_gbdt.arguments import refusing
from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.estimators.signatures import (
    ATTRIBUTES,
    SPELLINGS,
    alike,
    every_parameter,
    own_name,
    own_parameters,
    parameters_of,
    refuse_twice,
    show_signature,
)
from pyopencl_gbdt.estimators.sklearn_names import BaseEstimator, clone
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import ANSWERS, OWN_NAMES
from pyopencl_gbdt.parameters.parameters import check_answered, renamed, unknown
from pyopencl_gbdt.parameters.table import XGBOOST_ONLY
from pyopencl_gbdt.prediction import foreign_arguments

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
