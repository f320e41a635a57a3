"""Let the package shap explain models of this library: ``import pyopencl_gbdt.explain.shap``.

After the import, ``shap.TreeExplainer(model)`` and ``shap.Explainer(model)`` make a
`ModelExplainer` for a ``Model`` or an estimator, and what they did before for any other model. The
values are this library's contributions, so sets of levels and statistics are no exception.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.rows import ExplainedRows, device_of, model_of, rows_of
from pyopencl_gbdt.messages import pip_install, show
from pyopencl_gbdt.prediction.model import Model

try:
    import shap
except ImportError as error:
    raise ImportError(f"explain.shap needs shap: {pip_install('explain')}") from error

F64 = npt.NDArray[np.float64]
PERTURBATIONS = ("auto", "interventional", "tree_path_dependent")
#: What ``shap.Explainer`` may be asked for that ends here.
ALGORITHMS = ("auto", "tree")


class ModelExplainer(shap.TreeExplainer):  # type: ignore[misc]  # shap has no types
    """Explains margins of models of this library, with the methods of ``shap.TreeExplainer``.

    Parameters
    ----------
    model : Model or fitted estimator
    data, masker : as X of ``predict``, ``shap.maskers.Independent``, or None
        Background rows; ``masker`` is the name that ``shap.Explainer`` has for them.
    model_output : {"raw"}
    feature_perturbation : {"auto", "interventional", "tree_path_dependent"}
        With a background, or without; "auto" takes it if there is one.
    feature_names, output_names : list of str or None
        Names in plots; None: the model's names of columns, and none of outputs.
    algorithm : {"auto", "tree"}
    link : shap.links.identity or None
        Margins are explained, so there is no other one.
    seed, linearize_link : optional
        They have no effect, as nothing here is random or has a link.

    Attributes
    ----------
    expected_value : float, or float64 array, shape (n_outputs,)
        The base.

    Raises
    ------
    ParameterError
        If another output or link is asked for, or the background does not suit the perturbation.
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        model_output: str = "raw",
        feature_perturbation: str = "auto",
        feature_names: list[str] | None = None,
        *,
        masker: Any = None,
        algorithm: str = "auto",
        output_names: list[str] | None = None,
        link: Any = None,
        seed: Any = None,
        linearize_link: Any = None,
    ) -> None:
        model = _own(model)
        own, background = model_of(model), _background(data if masker is None else masker)
        _check(model_output, feature_perturbation, background, link)
        ensemble = own.ensemble
        if feature_names is None:
            feature_names = [ensemble.feature_name(column) for column in range(ensemble.n_features)]
        self.model, self.model_output, self.algorithm = model, model_output, algorithm
        self.data, self.masker, self.feature_perturbation = background, masker, feature_perturbation
        self.feature_names = self.data_feature_names = feature_names
        self.output_names = output_names
        nothing = np.full((1, ensemble.n_features), np.nan, np.float32)
        self._rows = ExplainedRows(
            own, Features(nothing, categories=own.categories), device_of(model)
        )
        base = self._contributions(self._rows, pred_contribs=True)[0, ..., -1]
        self.expected_value = base if base.ndim else float(base)

    def shap_values(self, X: Any, *, approximate: bool = False, **options: Any) -> F64:
        """Return contributions, shape (n_rows, n_features), or (n_rows, n_features, n_outputs).

        Parameters
        ----------
        X : as for ``explain``
        approximate : bool
            Return the changes of the mean along each row's path instead.
        **options
            ``check_additivity`` has no effect, as values always add up; others are refused.
        """
        _check_options(options)
        rows = rows_of(self.model, X, missing=None, device=None)
        asked = {"pred_contribs": True, "approx_contribs": approximate}
        return _outputs_last(self._contributions(rows, **asked)[..., :-1], 2)

    def shap_interaction_values(self, X: Any, **options: Any) -> F64:
        """Return interactions: as ``shap_values``, with a second dimension of features."""
        _check_options(options)
        rows = rows_of(self.model, X, missing=None, device=None)
        return _outputs_last(self._contributions(rows, pred_interactions=True)[..., :-1, :-1], 3)

    def __call__(
        self, X: Any, y: Any = None, interactions: bool = False, **options: Any
    ) -> shap.Explanation:
        """Return a ``shap.Explanation``, with names of columns and of levels."""
        _check_options({"y": y})
        start = time.time()
        values = (self.shap_interaction_values if interactions else self.shap_values)(X, **options)
        return shap.Explanation(
            values,
            base_values=np.repeat(np.asarray(self.expected_value)[None], len(values), axis=0),
            data=rows_of(self.model, X, missing=None, device=None).table(),
            feature_names=list(self.feature_names),
            output_names=self.output_names,
            compute_time=time.time() - start,
        )

    def _contributions(self, rows: ExplainedRows, **asked: Any) -> F64:
        background = None
        if self.data is not None and self.feature_perturbation != "tree_path_dependent":
            given = rows_of(self.model, self.data, missing=None, device=None, name="background")
            background = given.features
        found: F64 = rows.model.predict(
            rows.features, background=background, device=rows.device, **asked
        )
        return found


def _background(given: Any) -> Any:
    """Return the rows of a background."""
    if not isinstance(given, shap.maskers.Masker):
        return given
    if isinstance(given, shap.maskers.Independent):
        return given.data
    raise ParameterError(
        f"masker={type(given).__name__}: expected shap.maskers.Independent or rows; give such a one"
    )


def _check(model_output: Any, perturbation: Any, background: Any, link: Any) -> None:
    if link is not None and link is not shap.links.identity:
        raise ParameterError(
            f"link={show(getattr(link, '__name__', link))}: expected shap.links.identity, as "
            "contributions add up to margins; leave it out"
        )
    if model_output != "raw":
        raise ParameterError(
            f"model_output={show(model_output)}: expected 'raw', as contributions add up to "
            "margins; shap.TreeExplainer(to_shap(model), data, model_output=...) explains others"
        )
    if perturbation not in PERTURBATIONS:
        raise ParameterError(
            f"feature_perturbation={show(perturbation)}: expected one of "
            f"{', '.join(PERTURBATIONS)}; choose one of these"
        )
    if perturbation == "interventional" and background is None:
        raise ParameterError(
            "feature_perturbation='interventional': expected background rows in data; give some "
            "rows of training"
        )


def _check_options(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name != "check_additivity" and value is not None:
            raise ParameterError(
                f"{name}={show(value)}: expected None, as margins of whole models are explained; "
                "leave it out"
            )


def _outputs_last(found: F64, n_dimensions: int) -> F64:
    """Move the dimension of outputs, the second one if there are several, to the end."""
    return found if found.ndim == n_dimensions else np.moveaxis(found, 1, -1)


def _is_ours(model: Any) -> bool:
    known = isinstance(model, Model) or isinstance(getattr(model, "model_", None), Model)
    return known or hasattr(model, "_as_model")


def _own(model: Any) -> Any:
    """Return the ``Model`` of what an interface of another library trained, else the argument."""
    return model._as_model() if hasattr(model, "_as_model") else model


def _new(cls: type[Any], model: Any = None, *args: Any, **options: Any) -> Any:
    """Make the explainer that suits the model; Python then calls its ``__init__``."""
    ours = cls in (shap.Explainer, shap.TreeExplainer) and _is_ours(model)
    if ours and options.get("algorithm", "auto") in ALGORITHMS:
        return object.__new__(ModelExplainer)
    return object.__new__(cls)


shap.Explainer.__new__ = staticmethod(_new)
