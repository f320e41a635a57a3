"""The part of a model that predicts the parameters of a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError

F32 = npt.NDArray[np.float32]


class Distributed:
    """Predicts distributions; the other parts of a model hold it and predict numbers."""

    def predict_distribution(self: Any, X: Any, **options: Any) -> dict[str, F32]:
        """Return the parameters of each row's distribution, of a loss such as ``dist:normal``.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        **options
            ``base_margin``, ``iteration_range``, ``missing`` and ``device`` of ``predict``.

        Returns
        -------
        dict of str to float32 array, shape (n_rows,)
            By names: ``mean`` and ``std`` of ``dist:normal``; ``mu`` and ``sigma`` of
            ``dist:lognormal``, those of the label's logarithm; ``mean`` and ``shape`` of
            ``dist:gamma``; ``mean`` and ``size`` of ``dist:negative_binomial``.

        Raises
        ------
        ParameterError
            If the model predicts no distribution.
        DataError
            As for ``predict``.
        """
        from pyopencl_gbdt.objectives.distributions import DISTRIBUTIONS, Distribution

        objective = self.objective
        if not isinstance(objective, Distribution):
            names = ", ".join(one.name for one in DISTRIBUTIONS)
            raise ParameterError(
                f"predict_distribution: the model has objective={objective.name!r}: expected one "
                f"of {names}; train with one of these"
            )
        margins = self.predict(X, output_margin=True, **options)
        found = objective.to_probability(np.ascontiguousarray(margins.T))
        return dict(zip(objective.parameter_names, found, strict=True))
