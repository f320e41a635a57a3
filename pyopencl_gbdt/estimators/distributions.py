"""What regressors predict of losses whose outputs are the parameters of a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.selection import main_device
from pyopencl_gbdt.estimators.spellings import explains_arguments

F32 = npt.NDArray[np.float32]


class Distributions:
    """The part of a regressor that predicts distributions."""

    @explains_arguments
    def predict_distribution(
        self: Any,
        X: Any,
        *,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> dict[str, F32]:
        """Return the parameters of each row's distribution, of a loss such as ``dist:normal``.

        Parameters
        ----------
        X, base_margin, iteration_range
            As for ``predict``; a row has two base margins.

        Returns
        -------
        dict of str to float32 array, shape (n_rows,)
            By names: ``mean`` and ``std`` of ``dist:normal``; ``mu`` and ``sigma`` of
            ``dist:lognormal``, those of the label's logarithm; ``mean`` and ``shape`` of
            ``dist:gamma``; ``mean`` and ``size`` of ``dist:negative_binomial``.

        Raises
        ------
        NotFittedError, DataError
        ParameterError
            If the model predicts no distribution.
        """
        found: dict[str, F32] = self._model_for(X).predict_distribution(
            X, base_margin=base_margin, iteration_range=iteration_range,
            missing=self.missing, device=main_device(self.device),
        )  # fmt: skip
        return found
