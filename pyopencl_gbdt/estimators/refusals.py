"""What estimators refuse beside trainings; see ``parameters/refusals.py``."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.estimators.fitted import BINARY
from pyopencl_gbdt.estimators.presets import PLAIN
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.parameters.row import Refusal


@dataclass(frozen=True)
class EstimatorFacts:
    """What rows of ``OF_ESTIMATORS`` look at.

    Attributes
    ----------
    estimator, kind : str
        The class's name; regressor, classifier or ranker.
    objective : object
        As the user gave it.
    loss : object
        By this library's name; None for the estimator's own, and for a user's loss.
    linear_tree : bool
        Whether leaves of a forest are to be linear functions; False elsewhere.
    rate : str
        The learning rate of a forest, where it is a word; empty elsewhere.
    one_round : str
        A parameter that needs several rounds and is given; empty if none is.
    several_columns : bool
        Whether y has several columns of labels.
    n_classes : int
        0 where they are not known yet, and where y has several columns.
    model : str
        The argument that gives a model to continue; empty if none does.
    preset : object
        As the user gave it; None if not given.
    early_stopping_rounds, n_iter_no_change : object
        As the user gave them.
    of_stopping : str
        A parameter of early stopping by itself that is given; empty if none is.
    rounds_by_rows : bool
        Whether the number of rounds is to be found by the number of rows.
    own_metric : str
        The function by which early stopping would stop; empty if there is none.
    bag : str
        The preset that trains a bag of folds, as it was given; empty if none does.
    has_evals, profile : bool
        As given to ``fit``.
    own_share : bool
        Whether ``validation_fraction`` is given.
    booster : str
        As the user gave it; that of a bag of folds if not given.
    """

    estimator: str
    kind: str = "regressor"
    objective: Any = None
    loss: Any = None
    is_forest: bool = False
    linear_tree: bool = False
    on_dask: bool = False
    warm_start: bool = False
    class_weight: Any = None
    rate: str = ""
    one_round: str = ""
    several_columns: bool = False
    n_classes: int = 0
    model: str = ""
    preset: Any = None
    early_stopping_rounds: Any = None
    n_iter_no_change: Any = None
    of_stopping: str = ""
    rounds_by_rows: bool = False
    refit: bool = False
    bag: str = ""
    has_evals: bool = False
    has_callbacks: bool = False
    in_time: bool = False
    profile: bool = False
    own_share: bool = False
    booster: str = "gbtree"
    own_metric: str = ""

    @property
    def has_preset(self) -> bool:
        """Whether a preset is given that changes defaults."""
        return self.preset not in (None, PLAIN)


OF_ESTIMATORS: tuple[Refusal[EstimatorFacts], ...] = (
    Refusal(
        "A loss of classes for a regressor",
        lambda f: f.kind == "regressor" and f.loss in MULTICLASS,
        "objective={objective!r}: expected a loss of numbers for {estimator}",
        "use GBDTClassifier",
    ),
    Refusal(
        "A loss of numbers for a classifier",
        lambda f: f.kind == "classifier" and f.loss not in (None, *BINARY, *MULTICLASS),
        f"objective={{objective!r}}: expected one of {', '.join((*BINARY, *MULTICLASS))}, or your "
        "own for {estimator}",
        "use GBDTRegressor for other losses",
    ),
    Refusal(
        "Another loss than one of ranking for a ranker",
        lambda f: (
            f.kind == "ranker" and f.objective is not None
            and not str(f.loss).startswith("rank:")
        ),
        "objective={objective!r}: expected rank:ndcg, rank:map or rank:pairwise for {estimator}",
        "use GBDTRegressor for other losses",
    ),
    Refusal(
        "A loss of several classes where y has several columns",
        lambda f: f.several_columns and f.loss in MULTICLASS,
        f"objective={{objective!r}}: expected one of {', '.join(BINARY)} where y has several "
        "columns",
        "leave out objective",
    ),
    Refusal(
        "`class_weight` where y has several columns",
        lambda f: f.several_columns and f.class_weight is not None,
        "class_weight={class_weight!r}: expected None where y has several columns",
        "give sample_weight to fit",
    ),
    Refusal(
        "A loss of two classes for more of them",
        lambda f: f.n_classes > 2 and f.objective is not None and f.loss not in MULTICLASS,
        f"objective={{objective!r}}: expected {' or '.join(MULTICLASS)} for the {{n_classes}} "
        "classes of y",
        "leave out objective",
    ),
    Refusal(
        "Early stopping or `callbacks` of a forest",
        lambda f: f.is_forest and f.one_round != "",
        "{one_round}: expected None for {estimator}, whose trees are one round",
        "leave out early stopping and callbacks, or boost by another estimator with "
        "num_parallel_tree",
    ),
    Refusal(
        "A learning rate by rows of a forest",
        lambda f: f.is_forest and f.rate != "",
        "learning_rate={rate!r}: expected a number for {estimator}, which multiplies its mean",
        "leave out learning_rate, which is 1",
    ),
    Refusal(
        "`linear_tree` of a forest",
        lambda f: f.is_forest and f.linear_tree,
        "linear_tree={linear_tree!r}: expected False for {estimator}, as the trees of a model's "
        "first round have numbers in their leaves",
        "leave out linear_tree, or boost by another estimator with num_parallel_tree",
    ),
    Refusal(
        "`warm_start` of a forest",
        lambda f: f.is_forest and f.warm_start,
        "warm_start={warm_start!r}: expected False for {estimator}, as each leaf has the share of "
        "one tree among n_estimators",
        "fit anew",
    ),
    Refusal(
        "Rounds by rows with `warm_start`",
        lambda f: f.warm_start and f.rounds_by_rows,
        "n_estimators='auto': expected a number with warm_start=True, which adds the rounds that a "
        "model lacks of it",
        "give one",
    ),
    Refusal(
        "A model to continue with `warm_start`",
        lambda f: f.warm_start and f.model != "",
        "{model}: expected None with warm_start=True, which continues the former fit",
        "give one of them",
    ),
    Refusal(
        "A preset of a forest or on Dask",
        lambda f: (f.is_forest or f.on_dask) and f.has_preset,
        f"preset={{preset!r}}: expected None or {PLAIN!r} for {{estimator}}",
        "leave out preset, and give parameters by their names",
    ),
    Refusal(
        "A preset with `warm_start`, or with a model to continue",
        lambda f: (f.warm_start or f.model != "") and f.has_preset,
        f"preset={{preset!r}}: expected None or {PLAIN!r} where a training is continued, which "
        "keeps XGBoost's defaults",
        "leave out preset, and give parameters by their names",
    ),
    Refusal(
        "`n_iter_no_change` with `early_stopping_rounds`",
        lambda f: f.n_iter_no_change is not None and f.early_stopping_rounds is not None,
        "n_iter_no_change={n_iter_no_change!r}: expected None with early_stopping_rounds="
        "{early_stopping_rounds!r}, which is another rule",
        "give one of the two",
    ),
    Refusal(
        "A function as the last metric beside `early_stopping` or `n_iter_no_change`",
        lambda f: f.own_metric != "",
        "eval_metric={own_metric}: expected a named metric last, as it is not known whether more "
        "of a function is better",
        "give scoring=, a scorer of scikit-learn, or a named metric last",
    ),
    Refusal(
        "`refit` with `callbacks`",
        lambda f: f.refit and f.has_callbacks,
        "refit=True: expected False with callbacks, which would see two trainings",
        "leave out refit, or fit again with n_estimators=best_iteration + 1",
    ),
    Refusal(
        "A bag of folds with `eval_set`, `callbacks`, `early_stopping_rounds`, `has_time`, "
        "`refit`, `validation_fraction` or `profile`",
        lambda f: f.bag != "" and (
            f.has_evals or f.has_callbacks or f.early_stopping_rounds is not None or f.in_time
            or f.refit or f.own_share or f.profile
        ),
        "preset={bag}: expected no eval_set, callbacks, early_stopping_rounds, has_time, refit, "
        "validation_fraction or profile, as each fold is a training that stops by its own rows",
        "leave out these, or give preset='balanced'",
    ),
    Refusal(
        "A bag of folds with `booster='dart'`",
        lambda f: f.bag != "" and f.booster == "dart",
        "booster={booster!r}: expected 'gbtree' with preset={bag}, as trees of several folds have "
        "no weights in one model",
        "leave out booster, or give preset='balanced'",
    ),
    Refusal(
        "Early stopping by itself on Dask",
        lambda f: f.on_dask and f.of_stopping != "",
        "{of_stopping}: expected to be left out on Dask, where no rows are held out",
        "give eval_set to fit, and early_stopping_rounds",
    ),
    Refusal(
        "`warm_start` on Dask",
        lambda f: f.on_dask and f.warm_start,
        "warm_start=True: expected False on Dask",
        "train a new model",
    ),
    Refusal(
        "`class_weight` on Dask",
        lambda f: f.on_dask and f.class_weight is not None,
        "class_weight={class_weight!r}: expected None on Dask",
        "give sample_weight to fit",
    ),
)  # fmt: skip
