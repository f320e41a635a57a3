"""``rank:ndcg``, ``rank:map`` and ``rank:pairwise``: LambdaMART over the rows of each query.

XGBoost 3.2, ``src/objective/lambdarank_obj.{h,cc}``, ``src/common/ranking_utils.{h,cc}``; Burges
2010, "From RankNet to LambdaRank to LambdaMART: an overview"; Hu et al. 2019, "Unbiased
LambdaMART".
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pyopencl_gbdt.data.targets import refuse
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives.base import F32, Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

#: Pair methods; their indices are stored in model files.
PAIR_METHODS = ("topk", "mean")
#: Largest label with exponential gain: 2^label must fit 32 bits.
MOST_RELEVANT = 31
#: Default number of pairs, by method.
_DEFAULT_PAIRS = {"topk": 32, "mean": 1}
#: Number of positions whose bias is estimated if pairs are made by ``mean``.
_POSITIONS = 32


@dataclass(frozen=True)
class LambdaRank(Objective):
    """LambdaMART: a pair of rows with different labels counts by what swapping it changes.

    Attributes
    ----------
    lambdarank_pair_method : str
        ``"topk"``: pairs in which at least one row is among the top rows by margin. ``"mean"``:
        pairs of each row with sampled rows.
    lambdarank_num_pair_per_sample : int
        Number of top rows, or of rows sampled per row; 0 is the method's default, 32 or 1.
    lambdarank_normalization : bool
        Multiply a query's gradients by log2(1 + s) / s, where s is the sum of its lambdas; for
        pairs by ``mean`` divide them by the number of pairs per row.
    lambdarank_score_normalization : bool
        A pair counts less, the larger the difference of its margins is.
    lambdarank_unbiased : bool
        Labels are clicks and rows are in the order shown: estimate and correct position bias.
    lambdarank_bias_norm : float
        p in the regularisation of the bias: ratios are raised to the power 1 / (1 + p).
    ndcg_exp_gain : bool
        The gain of a label is 2^label - 1, else the label itself.
    """

    given: ClassVar[bool] = True
    takes_pages: ClassVar[bool] = False

    lambdarank_pair_method: str = "topk"
    lambdarank_num_pair_per_sample: int = 0
    lambdarank_normalization: bool = True
    lambdarank_score_normalization: bool = True
    lambdarank_unbiased: bool = False
    lambdarank_bias_norm: float = 1.0
    ndcg_exp_gain: bool = True

    def __post_init__(self) -> None:
        """Convert the numbers that model files store for strings and booleans."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "lambdarank_pair_method":
                value = value if isinstance(value, str) else PAIR_METHODS[int(value)]
            elif isinstance(field.default, (bool, int)):
                value = type(field.default)(value or 0)
            object.__setattr__(self, field.name, value)

    @property
    def parameters(self) -> dict[str, float | str]:
        given = asdict(self)
        usual = asdict(type(self)())
        for values in (given, usual):
            values["lambdarank_pair_method"] = PAIR_METHODS.index(values["lambdarank_pair_method"])
        numbers = {name: float(np.float32(value)) for name, value in given.items()}
        return {k: v for k, v in numbers.items() if v != float(np.float32(usual[k]))}

    @property
    def is_mean(self) -> bool:
        return self.lambdarank_pair_method == "mean"

    @property
    def n_pairs(self) -> int:
        """Number of top rows whose pairs count, or of rows sampled per row."""
        asked = self.lambdarank_num_pair_per_sample
        return asked or _DEFAULT_PAIRS[self.lambdarank_pair_method]

    def n_positions(self, longest: int) -> int:
        """Return the number of leading positions of a query whose bias is estimated."""
        return min(longest, _POSITIONS if self.is_mean else self.n_pairs)

    @property
    def metric(self) -> str:
        return "ndcg" if self.is_mean else f"ndcg@{self.n_pairs}"

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return 0: only differences of margins matter."""
        return 0.0

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        raise NotImplementedError(f"{self.name} looks at the rows of a query: see source")

    def check_data(self, data: Dataset) -> None:
        super().check_data(data)
        if data.group_offsets is None:
            raise DataError(
                f"objective={self.name!r} ranks the rows of each query: expected qid= or group= in "
                "Dataset; group=[n_rows] makes all rows one query"
            )
        if self.name == "rank:ndcg" and self.ndcg_exp_gain:
            check_relevance(data.label)


@dataclass(frozen=True)
class RankNdcg(LambdaRank):
    """A pair is weighted by the change of NDCG if its rows were swapped."""

    name = "rank:ndcg"


@dataclass(frozen=True)
class RankPairwise(LambdaRank):
    """All pairs have the same weight: RankNet's loss."""

    name = "rank:pairwise"


@dataclass(frozen=True)
class RankMap(LambdaRank):
    """A pair is weighted by the change of mean average precision; labels are 0 and 1."""

    name = "rank:map"

    @property
    def metric(self) -> str:
        return "map" if self.is_mean else f"map@{self.n_pairs}"


def check_relevance(label: F32) -> None:
    """Raise an error unless labels are integers 0 to 31, which have an exponential gain."""
    wrong = (label != np.rint(label)) | (label < 0) | (label > MOST_RELEVANT)
    expected = f"whole numbers 0..{MOST_RELEVANT}, as their gain is 2^label - 1"
    refuse(wrong, label, "y", expected, "regrade them, or give ndcg_exp_gain=False")
