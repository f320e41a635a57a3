"""The parameters of the scikit-learn estimators."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pyopencl_gbdt.data.categories.chosen import AUTO, FROM_DTYPE, categorical_argument
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.constructor import PARAMETERS, Constructed
from pyopencl_gbdt.estimators.presets import SET_BY_PRESETS
from pyopencl_gbdt.estimators.spellings import alike
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.objectives import custom_objective
from pyopencl_gbdt.objectives.custom import ScikitLearnLoss
from pyopencl_gbdt.parameters.row import meant
from pyopencl_gbdt.parameters.table import TABLE

#: A random generator is asked for a seed below this, as in XGBoost.
_MOST_SEEDS = 2**31 - 1
#: Larger bounds of parameters are not told.
_LARGE = 2**16
_ROWS = {row.name: row for row in TABLE}
#: An entry of a docstring, and pieces of a text that fit its lines.
_ENTRY, _LINE = re.compile(r"    (\w+) : .*\n(?:        .*\n)+"), re.compile(r"(.{1,88})(?: |$)")


def _entry(name: str) -> str:
    """Return the docstring's entry of a parameter of the table."""
    row, default = _ROWS[name], PARAMETERS[name].default
    kind = f"{{{', '.join(map(repr, row.allowed))}}}" if row.allowed else row.kind.__name__
    kind += ", list of float" if row.several else ""
    is_bounded = row.low is not None and (row.high or 0) <= _LARGE
    text = f"{row.doc} Allowed: {row.expected}." if is_bounded else row.doc
    if default is None and name in SET_BY_PRESETS:
        text += " None: as the preset says."
    elif default is None and row.default is not None:
        text += f" None is {row.default!r}."
    lines = [f"    {name} : {kind}" + (" or None" if default is None else f", default {default!r}")]
    return "\n        ".join([*lines, *_LINE.findall(text)]) + "\n"


def _with_table(written: str) -> str:
    """Return a docstring with an entry for each parameter: its own one, or that of the table."""
    own = {found[1]: found[0] for found in _ENTRY.finditer(written)}
    head, rest = written[: written.index("    preset : ")], written[written.index("    **others") :]
    return head + "".join(own.get(name) or _entry(name) for name in PARAMETERS) + rest


class Parametrised(Constructed):
    """The parameters that regressor and classifier share.

    Parameters
    ----------
    preset : str or None
        Where parameters that are not given come from: ``"balanced"`` (also None), ``"xgboost"``, or
        a version such as ``"balanced-1"``; see ``docs/presets.md``.
    n_estimators : int, "auto" or None
        Number of rounds; each adds one tree, or one for each class, target and parallel tree.
        ``"auto"``: by the rows, the task and the learning rate.
    learning_rate : float, "auto" or None
        Factor of every leaf value; 0 gives leaves of 0. ``"auto"``: by the rows, the task and the
        rounds.
    max_bin : int or None
        Most bins per feature, 2..65535; missing values have a separate bin. None: as the preset
        says.
    min_samples_leaf : int or None
        Least rows in a child; 0 and 1 are no limit. LightGBM's ``min_child_samples``. None: as the
        preset says.
    sampling_method : str or None
        How rows are sampled: ``"uniform"``, ``"gradient_based"`` or ``"goss"``; ``"bayesian"``
        weighs them at random; ``"none"`` takes all. CatBoost's ``bootstrap_type``. None: as the
        preset says.
    max_delta_step : float or None
        Largest absolute leaf value; 0 is no limit; None is 0.7 for ``count:poisson``, else 0.
    feature_weights : (n_features,) array-like or None
        Sampling weight of each column; above 0.
    categorical_features : sequence of int or str, bool array, str or None, default "from_dtype"
        The columns whose strings or whole numbers are levels without an order: numbers, names, a
        mask, or ``"from_dtype"``, the columns of a table that have categories or strings; a CSV
        file's columns have to be named, or ``fit`` given ``categorical_feature``. None: no
        column. Other names: ``categorical_feature``, ``cat_features``; XGBoost's ``feature_types``
        and ``enable_categorical`` are accepted too.
    monotone_constraints : dict of column to int, sequence of int, str or None
        Columns that predictions rise with (1) or fall with (-1).
    interaction_constraints : list of lists of columns, str or None
        Groups of columns that may split along one path from root to leaf.
    forced_splits : dict, str or None
        Splits at the top of every tree, as in LightGBM's ``forcedsplits_filename``: ``feature``,
        ``threshold``, and the splits of the ``left`` and ``right`` child, if they are given, too.
    objective : str, callable, DeviceObjective, KernelObjective or None
        The loss; None is the estimator's default. A callable is ``function(y_true, margins)``
        and returns gradients and Hessians; it gets ``sample_weight`` if there are weights.
    eval_metric : str, callable, list of them, or None
        Metrics of ``eval_set``; a callable is ``function(y_true, prediction)``, as in
        scikit-learn, and gets ``sample_weight`` if there are weights.
    early_stopping_rounds : int or None
        Stop when the last metric of the last set in ``eval_set`` has not improved for so many
        rounds; predictions use the trees up to the best one.
    early_stopping : bool, "auto" or None
        Stop by itself, by rows that ``fit`` holds out, with scikit-learn's meaning: ``"auto"`` does
        where there are more than 10 000 rows. With ``eval_set``, its last set is watched, and no
        row is held out. None stops early if ``n_iter_no_change`` is given, or the preset says so.
    validation_fraction : float, int, "auto" or None, default "auto"
        Share or number of the rows to hold out; None watches the training rows; ``"auto"`` is 0.1,
        or the preset's where that stops. Classes keep their shares; queries and ``groups`` of
        ``fit`` stay together; ``has_time=True`` takes the last rows.
    n_iter_no_change : int or None
        Stop when none of the last so many rounds is better than the one before them; None is 10, or
        the preset's.
    tol : float or None
        Smaller differences are not better; None is 1e-7, or the preset's.
    scoring : str, callable or None, default "loss"
        What is watched: ``"loss"``, the last metric of ``eval_metric``; a scorer of scikit-learn;
        None is the accuracy or R squared.
    refit : bool or None
        After early stopping by itself, train again on all rows, with the rounds that were best;
        None is False, or the preset's.
    callbacks : list of TrainingCallback or None
        Hooks between rounds, see ``pyopencl_gbdt.callbacks``.
    warm_start : bool, default False
        Whether ``fit`` keeps the trees of the former fit and adds rounds up to
        ``n_estimators``. With the same data and parameters, the model is the same as that of a
        single fit. Not for forests.
    importance_type : str, default "gain"
        Kind of ``feature_importances_``: ``"gain"``, ``"weight"`` (or ``"split"``), ``"cover"``,
        ``"total_gain"`` or ``"total_cover"``, see ``model.feature_importances``.
    device : str, list of str, or dict of str to float, default "auto"
        ``"auto"``, ``"gpu"``, ``"cpu"``, ``"opencl:0:0"``, ``"cuda:0"``, a maker of GPUs such as
        ``"nvidia"``, or a part of a name. Every device gives the same model. Several train
        together: ``"gpu:all"``, a list of names, or names with weights that divide the rows.
        Prediction takes the first.
    cache_dir : path, list of paths, or None
        Folders for the codes of rows that do not fit the device's memory; None is the host's
        memory. Does not change the model.
    random_state : int, RandomState, Generator or None
        Seed of all random numbers; a generator is asked for a seed at every ``fit``. None is 0.
    missing : float, default NaN
        A number in ``X`` that means "missing", besides NaN.
    n_jobs : int or None
        Accepted for scikit-learn, without effect; the device decides how much runs in parallel.
    **others
        Other spellings of these parameters in XGBoost (``eta``, ``seed``, ...); they set the
        parameter itself. XGBoost's other parameters are accepted with values that have no
        effect, such as ``tree_method="hist"``.

    Attributes
    ----------
    model_ : Model
        The fitted model; it holds only NumPy arrays.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.
    """

    _objective = ""
    _link = "identity"

    def _named_parameters(self) -> dict[str, Any]:
        """Return the given parameters of the table, without the seed."""
        params = {row.name: getattr(self, row.name, None) for row in TABLE}
        params |= self._given_of_xgboost()
        for name in ("feature_types", "enable_categorical"):  # for the data, not for the training
            params.pop(name, None)
        del params["random_state"]
        params["objective"] = self._loss()
        return {name: value for name, value in params.items() if value is not None}

    def _categorical_argument(self, *of_fit: Any) -> Any:
        """Return ``categorical_features``, by whichever of its names it was given.

        ``of_fit`` are the arguments of ``fit`` that stand for it.
        """
        given = self._given_of_xgboost()
        own = self.categorical_features
        asked = [one for one in of_fit if one is not None]
        if len(asked) > 1:
            raise ParameterError(
                "categorical_feature and cat_features are two names of one parameter; give one"
            )
        if asked:
            if not alike(own, FROM_DTYPE) or given.get("feature_types") is not None:
                raise ParameterError(
                    f"fit: categorical columns {show(asked[0])}: expected none beside those that "
                    "the estimator was made with; give one"
                )
            own = asked[0]
        elif alike(own, FROM_DTYPE):
            own = AUTO  # the default: text in a column of a CSV file may be a slip
        return categorical_argument(
            own, given.get("feature_types"), given.get("enable_categorical")
        )

    def _training_parameters(self) -> dict[str, Any]:
        return {**self._named_parameters(), "random_state": self._seed()}

    @property
    def _named_objective(self) -> Any:
        """``objective``, by this library's name."""
        return meant("objective", self.objective)

    def _loss(self) -> Any:
        """Return the loss for ``train``; a classifier's custom loss predicts probabilities."""
        chosen = self._objective if self.objective is None else self._named_objective
        if callable(chosen):
            chosen = ScikitLearnLoss(chosen)
        own = custom_objective(chosen)
        return chosen if own is None else own.linked(self._link)

    def _seed(self) -> Any:
        given = self.random_state
        if isinstance(given, np.random.RandomState):
            return int(given.randint(_MOST_SEEDS))
        if isinstance(given, np.random.Generator):
            return int(given.integers(_MOST_SEEDS))
        return given


if Parametrised.__doc__:  # Python leaves it out if it is asked to
    Parametrised.__doc__ = _with_table(Parametrised.__doc__)
