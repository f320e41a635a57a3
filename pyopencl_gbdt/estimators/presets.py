"""Presets, and rates by rows: the values of parameters that an estimator was not given.

``PRESETS`` says what each preset sets. ``complete`` fills in the values for one fit.

Learning rate and number of rounds are found by the number of rows where they are ``"auto"``. A
training goes about as far with half the learning rate and twice the rounds. So the table holds the
product of both, the *length* of a training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.stopping import StoppingParameters
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters, unknown
from pyopencl_gbdt.parameters.refused_parameters import OF_DRAWS, OF_FORCED, OF_SMOOTHING
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.parameters.table import OBJECTIVES

#: The value of ``learning_rate`` and ``n_estimators`` that takes the table's.
AUTO = "auto"
#: XGBoost's learning rate, which is never exceeded.
LARGEST_RATE = 0.3
#: Bounds of rounds that are found for a given learning rate.
FEWEST_ROUNDS, MOST_ROUNDS = 50, 2000
#: Where early stopping ends a training: the learning rate, its longest length, and most rounds.
STOPPED_RATE, STOPPED_LENGTH, MOST_STOPPED = 0.06, 60.0, 10000


@dataclass(frozen=True)
class ByRows:
    """A step function of the number of training rows.

    Attributes
    ----------
    steps : tuple of (int, number)
        Number of rows, ascending, and the value up to it.
    beyond : number
        The value for more rows.
    """

    steps: tuple[tuple[int, float], ...]
    beyond: float

    def __str__(self) -> str:
        parts = [f"{value} up to {most} rows" for most, value in self.steps]
        return ", ".join([*parts, f"{self.beyond}" + (" above" if parts else "")])

    def of(self, n_rows: int) -> float:
        """Return the value for a number of rows."""
        return next((value for most, value in self.steps if n_rows <= most), self.beyond)


#: Learning rate times rounds, by task. Ranking has that of XGBoost's defaults.
LENGTHS: dict[str, ByRows] = {
    "regression": ByRows((), 15.0),
    "binary": ByRows((), 15.0),
    "multiclass": ByRows((), 15.0),
    "ranking": ByRows((), 30.0),
}
#: Rounds where neither they nor the learning rate are given, by task.
ROUNDS: dict[str, ByRows] = {
    "regression": ByRows((), 500),
    "binary": ByRows((), 500),
    "multiclass": ByRows((), 500),
    "ranking": ByRows((), 100),
}


def resolve_auto(
    params: Mapping[str, Any], task: str, n_rows: int, *, stops: bool = False
) -> dict[str, Any]:
    """Return parameters with numbers in place of ``"auto"``.

    Parameters
    ----------
    task : {"regression", "binary", "multiclass", "ranking"}
    stops : bool
        Whether early stopping ends the training; the rounds are then a bound.

    Raises
    ------
    ParameterError
        If a learning rate or number of rounds that is given is not a number in its bounds.
    """
    found = dict(params)
    rate, rounds = (found.get(name) for name in ("learning_rate", "n_estimators"))
    length = LENGTHS[task].of(n_rows)
    if stops and is_auto(rate) and is_auto(rounds):
        found["learning_rate"] = rate = STOPPED_RATE
    if is_auto(rounds):
        if is_auto(rate):
            rounds = int(ROUNDS[task].of(n_rows))
        else:
            rate = ROWS["learning_rate"].default if rate is None else rate
            rounds = _rounds_for(_number("learning_rate", rate), length, stops=stops)
        found["n_estimators"] = rounds
    if is_auto(rate):
        count = _number("n_estimators", rounds)
        found["learning_rate"] = min(LARGEST_RATE, length / max(count, 1))
    return found


def is_auto(value: object) -> bool:
    """Tell whether a value is to be found by the table."""
    return isinstance(value, str) and value == AUTO


def _rounds_for(rate: float, length: float, *, stops: bool) -> int:
    """Return the rounds in which a training ends, or is stopped at the latest."""
    length, most = (STOPPED_LENGTH, MOST_STOPPED) if stops else (length, MOST_ROUNDS)
    if rate * most <= length:
        return most
    return max(FEWEST_ROUNDS, round(length / rate))


def _number(name: str, value: object) -> float:
    return float(ROWS[name].convert(value))  # type: ignore[arg-type]


#: The preset of estimators that are given none.
USUAL = "balanced"
#: The preset of forests, of continued and resumed trainings, and of ``train``.
PLAIN = "xgboost"


@dataclass(frozen=True)
class RoundsSearch:
    """How a preset finds the rounds of a refit: at a larger learning rate, so in fewer rounds.

    A training gets about as far with half the rate and twice the rounds, and one of all rows can
    go further.

    Attributes
    ----------
    rate : float
        The learning rate of the training that is stopped.
    n_iter_no_change : int
        Its patience, if none is given.
    refit_rate : float
        The learning rate of the refit.
    refit_rounds : float
        Rounds of the refit, divided by the best number at ``rate``.
    """

    rate: float
    n_iter_no_change: int
    refit_rate: float
    refit_rounds: float

    def first(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the training that is stopped."""
        most = round(STOPPED_LENGTH / self.rate)
        return {**params, "learning_rate": self.rate, "n_estimators": most}

    def again(self, params: Mapping[str, Any], rounds: int) -> dict[str, Any]:
        """Return the parameters of the refit; ``rounds`` was the best number at ``rate``."""
        found = round(self.refit_rounds * rounds)
        return {**params, "learning_rate": self.refit_rate, "n_estimators": found}


@dataclass(frozen=True)
class Preset:
    """What a preset sets; explicit parameters win.

    Attributes
    ----------
    doc : str
        What the preset is for, in a sentence.
    shared : mapping of str to object
        Parameters by name, for every task.
    tasks : mapping of str to mapping
        Further parameters by task: ``regression``, ``binary``, ``multiclass``. A task of ``none``
        keeps XGBoost's defaults.
    none : tuple of str
        Tasks that the preset does not change.
    stopping : StoppingParameters or None
        How the preset stops a training of which neither the rounds nor a way to stop are given;
        None trains all rounds.
    search : RoundsSearch or None
        How the rounds of a refit are found, where neither they nor the learning rate are given;
        None: at the rate of the refit.
    n_folds : int
        Members of a bag of folds, see ``estimators/held_out.py``; 0 is no bag.
    """

    doc: str
    shared: Mapping[str, Any] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    none: tuple[str, ...] = ("ranking",)
    stopping: StoppingParameters | None = None
    search: RoundsSearch | None = None
    n_folds: int = 0

    def values(self, task: str) -> dict[str, Any]:
        """Return the parameters that the preset sets for a task."""
        return {} if task in self.none else {**self.shared, **self.tasks.get(task, {})}


#: Symmetric trees of sampled rows and columns.
_SYMMETRIC: dict[str, Any] = {
    "grow_policy": "symmetric",
    "min_child_weight": 0,
    "subsample": 0.8,
    "colsample_bylevel": 0.8,
}
_FIXED_ROUNDS: dict[str, Any] = {**_SYMMETRIC, "learning_rate": AUTO, "n_estimators": 100}
_OWN_ROUNDS: dict[str, Any] = {**_SYMMETRIC, "learning_rate": AUTO, "n_estimators": AUTO}
_BAG_OF_SETS: dict[str, Any] = {**_OWN_ROUNDS, "cat_method": "sets"}
#: Sets for columns whose levels have at least about 8 rows (40 of classes), statistics for others.
_CLASSES = {"max_set_levels": ByRows(((1000, 16), (3000, 50), (10000, 150)), 400)}
_CATEGORIES: dict[str, dict[str, Any]] = {
    "regression": {
        "max_set_levels": ByRows(((1000, 100), (3000, 250), (10000, 700)), 1500),
        "target_border_count": 16,
    },
    "binary": _CLASSES,
    "multiclass": _CLASSES,
}
#: Noise in the scores of splits, for trees of classes.
_NOISE: dict[str, Any] = {"random_strength": 1}
_NOISY_MULTICLASS = {**_CATEGORIES, "multiclass": _CLASSES | _NOISE}
_NOISY_CLASSES = {**_NOISY_MULTICLASS, "binary": _CLASSES | _NOISE}
#: A fifth of the rows is held out to stop by.
_STOPPING = StoppingParameters(
    early_stopping=True, validation_fraction=0.2, n_iter_no_change=30, tol=0, refit=True
)
_STOPPING_OF_FOLDS = StoppingParameters(
    early_stopping=True, n_iter_no_change=40, tol=0, refit=False
)
#: By versioned name. A version never changes; a better one gets the next number.
PRESETS: dict[str, Preset] = {
    PLAIN: Preset("XGBoost's defaults, as of `train` and `cv`."),
    "balanced-1": Preset(
        "As balanced, with rounds that are found at the rate of the refit.",
        _OWN_ROUNDS,
        _CATEGORIES,
        stopping=_STOPPING,
    ),
    "balanced-2": Preset(
        "Good models without tuning; what estimators use when nothing is said.",
        _OWN_ROUNDS,
        _NOISY_CLASSES,
        stopping=_STOPPING,
        search=RoundsSearch(rate=0.2, n_iter_no_change=16, refit_rate=0.08, refit_rounds=3),
    ),
    "best-1": Preset(
        "As best-2, without noise.",
        _BAG_OF_SETS,
        stopping=_STOPPING_OF_FOLDS,
        n_folds=5,
    ),
    "best-2": Preset(
        "As best, with all categorical columns as sets of levels.",
        _BAG_OF_SETS,
        {"multiclass": _NOISE},
        stopping=_STOPPING_OF_FOLDS,
        n_folds=5,
    ),
    "best-3": Preset(
        "A bag of five folds, each stopped by the rows that it has not seen.",
        _OWN_ROUNDS,
        _NOISY_MULTICLASS,
        stopping=_STOPPING_OF_FOLDS,
        n_folds=5,
    ),
    "fast-1": Preset("As fast, without noise.", _FIXED_ROUNDS, _CATEGORIES),
    "fast-2": Preset(
        "As balanced, without early stopping: 100 rounds.", _FIXED_ROUNDS, _NOISY_CLASSES
    ),
}
#: The newest version of each name.
NEWEST = {PLAIN: PLAIN, "balanced": "balanced-2", "fast": "fast-2", "best": "best-3"}
#: The parameters that presets may set; None means "not given" for them.
SET_BY_PRESETS = frozenset((
    "n_estimators", "learning_rate", "max_depth", "max_leaves", "grow_policy", "boosting_type",
    "max_bin", "reg_lambda", "min_child_weight", "min_samples_leaf", "subsample",
    "sampling_method", "colsample_bytree", "colsample_bylevel", "colsample_bynode",
    "random_strength", "max_set_levels", "target_border_count", "cat_method",
))  # fmt: skip


def check_preset(name: object) -> str:
    """Return the versioned name of a preset; None is the usual one.

    Raises
    ------
    ParameterError
        If there is no such preset.
    """
    if name is None:
        name = USUAL
    found = NEWEST.get(name, name) if isinstance(name, str) else None
    if found in PRESETS:
        return str(found)
    known = [*NEWEST, *(one for one in PRESETS if one not in NEWEST)]
    if isinstance(name, str):
        raise unknown(name, known, "preset", "docs/presets.md lists those that are")
    raise ParameterError(
        f"preset={show(name)}: expected one of {', '.join(known)}, or None for {USUAL!r}; give one"
    )


def complete(
    preset: str, given: Mapping[str, Any], task: str, n_rows: int, *, stops: bool = False
) -> dict[str, Any]:
    """Return the parameters of a fit: those given, and the preset's for the others.

    Parameters
    ----------
    preset : str
        A versioned name.
    given : mapping of str to object
        The explicit parameters, by this library's names.
    task : {"regression", "binary", "multiclass", "ranking"}
    stops : bool, default False
        Whether early stopping ends the training.

    Notes
    -----
    A value of the preset that does not go with an explicit one is left out, such as
    ``grow_policy="symmetric"`` beside ``max_leaves=31``.
    """
    added = PRESETS[preset].values(task)
    added = {name: _for(value, n_rows) for name, value in added.items() if name not in given}
    if not _go_together({**given, **added}):
        added = {n: v for n, v in added.items() if _go_together({**given, n: v})}
    return resolve_auto({**added, **given}, task, n_rows, stops=stops)


def _for(value: Any, n_rows: int) -> Any:
    return value.of(n_rows) if isinstance(value, ByRows) else value


def _go_together(params: Mapping[str, Any]) -> bool:
    """Tell whether parameters may stand beside each other, with several outputs, too."""
    named = params.get("objective") in OBJECTIVES
    known = {name: value for name, value in params.items() if not is_auto(value)}
    known = known if named else {**known, "objective": OBJECTIVES[0]}
    rows = (*OF_DRAWS, *OF_SMOOTHING, *OF_FORCED)
    try:
        refuse(FitFacts(Parameters.from_dict(known), n_targets=2), rows)
    except ParameterError as error:
        return not error.refusal
    return True
