"""A fitted model: trees, starting score and what is needed to read its output."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.tree import Tree

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass
class Ensemble:
    """Trees that are summed; NumPy only, so it pickles and predicts on any machine.

    Attributes
    ----------
    trees : list of Tree
        In boosting order; the margin of a row is the float32 sum, from left to right, of
        ``base_margin`` and every tree's leaf value.
    objective : str
        Name of the loss, as in ``pyopencl_gbdt.objectives``.
    n_features : int
        Columns that the model was trained on.
    base_margin : float
        Starting score in margin space, exactly representable in float32.
    base_score : float
        The same in the space of the prediction (a probability for ``binary:logistic``), float32;
        rounded to it here.
    feature_names : list of str or None
    attributes : dict of str to str
        Facts of our own, kept in XGBoost's ``attributes``.
    objective_parameters : dict of str to float or str
        Parameters of the loss that are not its defaults, numbers as float32 holds them.

    Raises
    ------
    ModelFormatError
        See ``check``, which runs here and again before a model is written.
    """

    trees: list[Tree]
    objective: str
    n_features: int
    base_margin: float
    base_score: float
    feature_names: list[str] | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    n_outputs: int = 1
    objective_parameters: dict[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base_margin = float(self.base_margin)
        if abs(self.base_score) <= _MAX_FLOAT32:
            self.base_score = float(np.float32(self.base_score))
        self.check()

    def check(self) -> None:
        """Raise ``ModelFormatError`` where parts of the model contradict each other."""
        if not 1 <= self.n_features < 2**31:
            raise ModelFormatError(
                f"n_features={self.n_features}: expected 1..2147483647; train on a column or more"
            )
        for name in ("base_margin", "base_score"):
            score = getattr(self, name)
            if not math.isfinite(score) or abs(score) > _MAX_FLOAT32:
                raise ModelFormatError(
                    f"{name}={score}: expected a finite float32; look for infinities in the target"
                )
        if float(np.float32(self.base_margin)) != self.base_margin:
            raise ModelFormatError(
                f"base_margin={self.base_margin!r}: expected a float32; round it by np.float32"
            )
        names = self.feature_names
        if names is not None and len(names) != self.n_features:
            raise ModelFormatError(
                f"feature_names has {len(names)} entries: expected n_features={self.n_features}; "
                f"name every column or none"
            )
        for index, tree in enumerate(self.trees):
            highest = int(tree.feature.max())
            if highest >= self.n_features or tree.n_outputs != self.n_outputs:
                raise ModelFormatError(
                    f"trees[{index}] uses feature {highest} and has {tree.n_outputs} outputs: "
                    f"expected features 0..{self.n_features - 1} and {self.n_outputs} outputs; "
                    f"keep trees of one training only"
                )

    def feature_name(self, feature: int) -> str:
        """Name of a column: its own, or ``f0``, ``f1``, ... as XGBoost calls it."""
        return f"f{feature}" if self.feature_names is None else self.feature_names[feature]
