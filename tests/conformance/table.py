"""The axes, what a case is, and which values are taken already."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.xgboost_versions import PENALISES_BOUNDED_LEAVES

FEATURES = 6
#: Columns that hold categories where a case has some; none of them has a monotone constraint.
CATEGORICAL = (2, 4, 5)
#: Losses whose leaves are quantiles.
QUANTILES = ("reg:absoluteerror", "reg:quantileerror")


@dataclass(frozen=True)
class Value:
    """One value of an axis.

    Attributes
    ----------
    name : str
        As in reports.
    params : mapping
        Training parameters, the same for both.
    needs : tuple of str
        What has to be given beside the labels, by the names of XGBoost's ``DMatrix``.
    alike : bool
        Whether both can be asked for the same trees: no random numbers, and gradients that are
        functions of one row.
    ours : mapping
        Training parameters that XGBoost does not have.
    apart : tuple of str
        Values of other axes that it is in no case with.

    XGBoost up to 3.3 leaves ``reg_alpha`` out of a gain where leaf values are bounded by
    ``max_delta_step`` or a constraint (``CalcGainGivenWeight`` in its ``src/tree/param.h``). Later
    ones count it. Here it is counted too, but with a constraint not in full: a bound can demand a
    value that the penalty alone would make 0. So trees differ where all of them are given.
    """

    name: str
    params: Mapping[str, object] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    alike: bool = True
    ours: Mapping[str, object] = field(default_factory=dict)
    apart: tuple[str, ...] = ()


def _losses(*names: str, **more: object) -> list[Value]:
    own = (value for name, value in more.items() if name != "base_score")
    given = "-".join(f"{value:g}" for value in own if isinstance(value, float))
    return [Value(f"{n}-{given}" if given else n, {"objective": n, **more}) for n in names]


_SURVIVAL = ("survival:cox", "survival:aft")
_RANKS = [Value(name, {"objective": name}, ("qid",), alike=False)
          for name in ("rank:ndcg", "rank:pairwise", "rank:map")]  # fmt: skip

AXES: dict[str, list[Value]] = {
    "loss": [
        *_losses("reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:gamma",
                 "reg:tweedie", "reg:logistic", "count:poisson", "binary:logistic",
                 "binary:logitraw", "binary:hinge"),
        *_losses("reg:pseudohubererror", huber_slope=3.0),
        *_losses("reg:tweedie", tweedie_variance_power=1.3),
        *_losses("binary:logistic", scale_pos_weight=3.0),
        *_losses("count:poisson", max_delta_step=0.2),
        # a start that is no label: rounding would decide on which side of it that row lies
        *_losses("reg:absoluteerror", base_score=0.5),
        *_losses("reg:quantileerror", quantile_alpha=0.3, base_score=0.5),
        *_losses("multi:softprob", num_class=3),
        *_RANKS,
        Value("survival:cox", {"objective": "survival:cox"}, alike=False),
        Value("survival:aft", {"objective": "survival:aft"},
              ("label_lower_bound", "label_upper_bound")),
    ],
    "sampling": [
        Value("all rows and columns"),
        Value("subsample", {"subsample": 0.7}, alike=False),
        Value("colsample_bytree", {"colsample_bytree": 0.7}, alike=False),
        Value("colsample_bylevel", {"colsample_bylevel": 0.7}, alike=False),
        # XGBoost's exact search does not sample by node
        Value("colsample_bynode", {"colsample_bynode": 0.7}, alike=False, apart=("exact",)),
        Value("forest", {"num_parallel_tree": 3, "subsample": 0.7, "colsample_bynode": 0.7},
              alike=False, apart=("exact",)),
    ],
    "constraint": [
        Value("free"),
        Value("monotone", {"monotone_constraints": (1, -1, 0, 1, 0, 0)}),
        Value("interaction", {"interaction_constraints": [[0, 1, 2], [2, 3, 4, 5]]}),
    ],
    "missing": [Value("none"), Value("some")],
    "weights": [Value("equal"), Value("whole"), Value("fractions")],
    "growth": [
        Value("depth 3", {"max_depth": 3}),
        Value("depth 6", {"max_depth": 6}),
        Value("penalties", {"max_depth": 5, "reg_lambda": 3.0, "reg_alpha": 0.5, "gamma": 0.3,
                            "min_child_weight": 8.0}),
        Value("small steps", {"max_depth": 4, "max_delta_step": 0.3, "learning_rate": 0.1,
                              "max_bin": 16}),
        Value("exact", {"max_depth": 5, "tree_method": "exact"}),
        Value("approx", {"max_depth": 5, "tree_method": "approx", "max_bin": 32}),
        Value("lossguide", {"max_depth": 6, "grow_policy": "lossguide", "max_leaves": 12}),
        # XGBoost has symmetric trees of one level alone; deeper ones are in test_symmetric.py
        Value("symmetric", {"max_depth": 1}, ours={"grow_policy": "symmetric"}),
    ],
    "categories": [
        Value("numbers"),
        Value("one level", {"max_cat_to_onehot": 99}, ours={"cat_method": "sets"},
              apart=("exact", "approx", "symmetric")),
        Value("sets", ours={"cat_method": "sets"}, apart=("exact", "approx", "symmetric")),
        # XGBoost gets statistics of the test's own making, in another order of the rows
        Value("statistics", alike=False, apart=("exact", "approx", *_SURVIVAL),
              ours={"cat_method": "statistics", "max_ctr_complexity": 1, "permutation_count": 1}),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One value of every axis."""

    values: tuple[Value, ...]

    def __getitem__(self, axis: str) -> Value:
        return self.values[list(AXES).index(axis)]

    @property
    def name(self) -> str:
        return ", ".join(value.name for value in self.values)

    @property
    def places(self) -> list[tuple[str, str]]:
        """(axis, value's name) of every axis."""
        return [(axis, value.name) for axis, value in zip(AXES, self.values, strict=True)]

    @property
    def params(self) -> dict[str, object]:
        """Parameters of training that both have."""
        merged: dict[str, object] = {"learning_rate": 0.3}
        for value in reversed(self.values):  # a loss's own win
            merged.update(value.params)
        return merged

    @property
    def ours(self) -> dict[str, object]:
        """Parameters of our training."""
        own = (value.ours for value in self.values)
        return {**self.params, **{name: x for some in own for name, x in some.items()}}

    @property
    def differs(self) -> str:
        """Why the trees cannot be the same; empty if they can."""
        chance = [value.name for value in self.values if not value.alike]
        if chance:
            return f"{', '.join(chance)}: quality alone"
        if self["categories"].name == "sets" and int(str(self.params["max_depth"])) > 3:
            return "sets in nodes that lack levels: another order"
        limited = self.params.get("max_delta_step", self["loss"].name.startswith("count:"))
        unlike = (limited and not PENALISES_BOUNDED_LEAVES) or "monotone_constraints" in self.params
        if self.params.get("reg_alpha") and unlike:
            return "reg_alpha and bounded leaves: another gain"
        return ""


def refusal(params: Mapping[str, object], needs: tuple[str, ...] = ()) -> str:
    """Return why these are not taken yet, in the words of the refusal; empty if they are."""
    try:
        Parameters.from_dict(params)
    except ParameterError as error:
        return str(error)
    absent = [name for name in needs if name not in inspect.signature(Dataset).parameters]
    return f"Dataset has no {', '.join(absent)}" if absent else ""


def refused_values() -> dict[tuple[str, str], str]:
    """Return the reason for every (axis, value's name) that is not taken yet."""
    found = {
        (axis, value.name): refusal({**value.params, **value.ours}, value.needs)
        for axis, values in AXES.items()
        for value in values
    }
    return {place: reason for place, reason in found.items() if reason}
