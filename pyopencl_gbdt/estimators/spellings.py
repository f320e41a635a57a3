"""Parameters of an estimator by any of their spellings, whatever its constructor names."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.signatures import (
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
from pyopencl_gbdt.parameters.names import unknown
from pyopencl_gbdt.parameters.table import XGBOOST_ONLY

#: Parameters that some estimators have by another name.
_INSTEAD = {
    "num_class": "leave it out, y has the classes",
    "num_parallel_tree": "give n_estimators",
}


class Spelled(BaseEstimator):  # type: ignore[misc]
    """An estimator whose parameters have several spellings.

    Those of XGBoost that change nothing are attributes too, where they were given. Constructors
    are looked at from a subclass up to this class.
    """

    #: Parameters that an estimator does without, though its constructor's base has them.
    _absent: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show a subclass's parameters with those that it hands on by ``**``."""
        super().__init_subclass__(**kwargs)
        show_signature(cls, Spelled, cls._absent)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse two spellings of one parameter."""
        refuse_twice(kwargs)
        return super().__new__(cls)

    def _take_other(self, name: str, value: Any) -> None:
        """Take what the constructor has no name for."""
        own = self._known(name)
        usual = every_parameter(type(self), Spelled).get(own)
        if usual is not None and not alike(getattr(self, own), usual.default):
            refuse_twice({own: getattr(self, own), name: value})
        setattr(self, own, value)

    @classmethod
    def _known(cls, name: str) -> str:
        """Return a parameter's own name, for any spelling of it.

        Raises
        ------
        ParameterError
            If there is no such parameter.
        """
        own, names = own_name(name), every_parameter(cls, Spelled).keys() - {*cls._absent}
        if own in names or own in XGBOOST_ONLY:
            return own
        if name in _INSTEAD:
            raise ParameterError(f"{name}: no parameter of {cls.__name__}; {_INSTEAD[name]}")
        raise unknown(name, [*names, *SPELLINGS, *XGBOOST_ONLY], f"parameter of {cls.__name__}")

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the constructor's parameters, and of those it hands on by ``**``."""
        return sorted(parameters_of(cls, Spelled).keys() - {*cls._absent})

    def _given_of_xgboost(self) -> dict[str, Any]:
        """Return what was given of parameters that XGBoost alone has."""
        others = XGBOOST_ONLY.keys() - every_parameter(type(self), Spelled).keys()
        return {name: self.__dict__[name] for name in sorted(others & self.__dict__.keys())}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by their own names, and XGBoost's others where they were given.

        Those of a subclass are its own; with ``**`` in its constructor also those behind that.
        """
        params: dict[str, Any] = {**super().get_params(deep), **self._given_of_xgboost()}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, by any of their spellings.

        Raises
        ------
        ParameterError
            If one is unknown or spelled twice; then none is set.
        """
        refuse_twice(params)
        own = super().get_params(deep=True).keys()
        others = {name: v for name, v in params.items() if name not in own and "__" not in name}
        known = {self._known(name): value for name, value in others.items()}
        super().set_params(**{name: v for name, v in params.items() if name not in others})
        for name, value in known.items():
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy, also of parameters that a subclass has set by itself."""
        named = {*self.get_params(deep=False)}
        try:
            copy = super().__sklearn_clone__()
        except TypeError:  # the constructor hands on by ** what it also sets itself
            named = {*own_parameters(type(self), Spelled)}
            copy = type(self)(**{name: clone(getattr(self, name), safe=False) for name in named})
        for name in every_parameter(type(self), Spelled).keys() - named:
            if hasattr(self, name):
                setattr(copy, name, clone(getattr(self, name), safe=False))
        return copy


def _by_alias(own: str) -> property:
    """Return an attribute that is another spelling of one."""
    return property(
        lambda self: getattr(self, own),
        lambda self, value: setattr(self, own, value),
        doc=f"Another spelling of ``{own}``.",
    )


for _spelling, _name in SPELLINGS.items():
    setattr(Spelled, _spelling, _by_alias(_name))
