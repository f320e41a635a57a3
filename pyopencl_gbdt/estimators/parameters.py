"""The parameters of the scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.data.categories.chosen import AUTO, FROM_DTYPE, categorical_argument
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.constructor import Constructed
from pyopencl_gbdt.estimators.signatures import alike
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.objectives.custom import ScikitLearnLoss, custom_objective
from pyopencl_gbdt.parameters.foreign import meant
from pyopencl_gbdt.parameters.table import TABLE

#: A random generator is asked for a seed below this, as in XGBoost.
_MOST_SEEDS = 2**31 - 1


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
    num_parallel_tree : int, default 1
        Trees per round and output.
    max_depth : int, default 6
        Most splits between root and leaf, 0..32; 0 or -1 is no limit (64 for ``"depthwise"``).
    max_leaves : int, default 0
        Most leaves per tree; 0 is no limit.
    grow_policy : str, default "depthwise"
        Which nodes split first: ``"depthwise"``, those closest to the root, or ``"lossguide"``,
        the leaf with the largest gain; ``"symmetric"``: all nodes of a level, by one split.
    multi_strategy : str, default "one_output_per_tree"
        Several outputs: a tree for each, or (``"multi_output_tree"``) trees whose leaves are
        vectors.
    sketch : int, default 0
        ``"multi_output_tree"``: random sums of the outputs' gradients by which splits are searched,
        0..1024; 0: splits are searched by all outputs.
    boosting_type : str, default "plain"
        Or "ordered": splits are found by gradients of models that have not learnt from the row.
    booster : str, default "gbtree"
        Or "dart": rounds drop some of the trees, whose weights then change.
    rate_drop, skip_drop : float, default 0
        "dart": share of the trees that a round drops, and of the rounds that drop none.
    one_drop : bool, default False
        "dart": a round that would drop no tree drops one.
    sample_type, normalize_type : str, default "uniform" and "tree"
        "dart": trees are dropped alike, or (``"weighted"``) by their weights; a new tree weighs as
        much as a dropped one, or (``"forest"``) as all of them.
    tree_method : str, default "auto"
        How splits are found: ``"hist"``, between bins of values; ``"exact"``, between all
        distinct values; ``"approx"``, between bins that are cut anew for every tree; ``"auto"``
        is ``"hist"``.
    max_bin : int, default 256
        Most bins per feature, 2..65535; missing values have a separate bin.
    proposal : str or None
        ``"approx"``: cut bins once for every tree (``"global"``), or for every node
        (``"local"``); None is ``"global"``.
    max_bin_exact : bool, default True
        Cut bins at exact quantiles; False: at nearly exact ones, with one pass over batches.
    reg_lambda, reg_alpha : float, default 1 and 0
        L2 and L1 penalties on leaf values.
    gamma : float, default 0
        Least loss reduction of a split.
    min_child_weight : float, default 1
        Least sum of Hessians in a child.
    min_samples_leaf : int, default 0
        Least rows in a child; 0 and 1 are no limit. LightGBM's ``min_child_samples``.
    path_smooth : float, default 0
        Rows with its parent's weight that a node's weight is averaged with, as in LightGBM.
    max_delta_step : float or None
        Largest absolute leaf value; 0 is no limit; None is 0.7 for ``count:poisson``, else 0.
    leaf_estimation_iterations : int, default 1
        Newton steps of a leaf's value; several ones take the gradients of all rows. CatBoost's.
    linear_tree : bool, default False
        Whether leaves are linear functions of the numeric features on their paths.
    linear_lambda : float, default 0
        ``linear_tree``: L2 penalty on the coefficients.
    subsample : float, default 1
        Share of the rows sampled for each tree.
    sampling_method : str, default "uniform"
        How rows are sampled: ``"uniform"``, ``"gradient_based"`` or ``"goss"``; ``"bayesian"``
        weighs them at random; ``"none"`` takes all. CatBoost's ``bootstrap_type``.
    bagging_temperature : float, default 1
        ``"bayesian"``: a row's weight is (-ln u)^bagging_temperature, with u even in 0 to 1.
    bagging_freq : int, default 1
        Rounds for which a sample is kept; with 0, ``subsample`` has no effect.
    top_rate, other_rate : float, default 0.2 and 0.1
        ``"goss"``: share of rows with the largest gradients, and share sampled from the others.
    colsample_bytree, colsample_bylevel, colsample_bynode : float, default 1
        Share of the features sampled for a tree, of these for a level, of these for a node.
    extra_trees : bool, default False
        Draw one border of every feature at random for each node; only these may split.
    random_strength : float or None
        Noise in the scores by which splits are chosen, in standard deviations of the gradients;
        None: as the preset says.
    feature_weights : (n_features,) array-like or None
        Sampling weight of each column; above 0.
    categorical_features : sequence of int or str, bool array, str or None, default "from_dtype"
        The columns whose strings or whole numbers are levels without an order: numbers, names, a
        mask, or ``"from_dtype"``, the columns of a table that have categories or strings; a CSV
        file's columns have to be named, or ``fit`` given ``categorical_feature``. None: no
        column. Other names: ``categorical_feature``, ``cat_features``; XGBoost's ``feature_types``
        and ``enable_categorical`` are accepted too.
    cat_method, max_set_levels : str, int or None
        What becomes of categorical columns, and up to how many levels; None is the default.
    permutation_count, max_ctr_complexity, has_time : int, int, bool or None
        Parameters of statistics; None is the default, see ``parameters``.
    target_border_count, ctr_priors, ctr_prior_weight : int, float(s) and int, or None
        Parameters of statistics.
    monotone_constraints : dict of column to int, sequence of int, str or None
        Columns that predictions rise with (1) or fall with (-1).
    interaction_constraints : list of lists of columns, str or None
        Groups of columns that may split along one path from root to leaf.
    max_cat_to_onehot : int, default 4
        A categorical column of fewer levels is split one level against the others.
    max_cat_threshold : int, default 64
        Most levels on the smaller side of a split by a set of levels.
    cat_smooth, cat_l2 : float, default 0
        Sets of levels: added to a level's sum of Hessians when levels are ordered, and to
        ``reg_lambda`` in the gain of a split.
    min_data_per_group : int, default 1
        Sets of levels: least rows on each side of a split, estimated from Hessians.
    objective : str, callable, DeviceObjective, KernelObjective or None
        The loss; None is the estimator's default. A callable is ``function(y_true, margins)``
        and returns gradients and Hessians; it gets ``sample_weight`` if there are weights.
    base_score : float, sequence of float, or None
        Prediction before the first tree, or one for each class, target or quantile; None
        estimates it from the labels.
    scale_pos_weight, huber_slope, tweedie_variance_power, huber_alpha, fair_c : float or None
        Parameters of the losses that have them; None is the default, see ``parameters``.
    aft_loss_distribution, aft_loss_distribution_scale : str or None, float or None
        Parameters of ``survival:aft``; None is the default.
    quantile_alpha : float, sequence of float, or None
        The quantile of ``reg:quantileerror`` and of the metric ``quantile``; None is the median.
        Several quantiles give an output each.
    lambdarank_pair_method, lambdarank_num_pair_per_sample, lambdarank_bias_norm : str, int, float
        Parameters of ranking losses; None is the default, see ``parameters``.
    lambdarank_normalization, lambdarank_score_normalization, lambdarank_unbiased : bool or None
        Parameters of ranking losses.
    ndcg_exp_gain : bool or None
        Parameter of ``rank:ndcg`` and the metric ``ndcg``.
    eval_metric : str, callable, list of them, or None
        Metrics of ``eval_set``; a callable is ``function(y_true, prediction)``, as in
        scikit-learn, and gets ``sample_weight`` if there are weights.
    early_stopping_rounds : int or None
        Stop when the last metric of the last set in ``eval_set`` has not improved for so many
        rounds; predictions use the trees up to the best one.
    early_stopping : bool, "auto" or None
        Stop by itself, by rows that ``fit`` holds out, with scikit-learn's meaning: ``"auto"`` does
        where there are more than 10 000 rows. With ``eval_set``, its last set is watched, and no
        row is held out. None: where ``n_iter_no_change`` is given, or the preset says so.
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
    histogram : str, default "auto"
        Kernel variant; does not change the model.
    page : str, default "auto"
        How codes lie on the device: ``"dense"``; ``"tiled"``, without those of missing values; or
        ``"streamed"``, in pages that take turns there; does not change the model.
    device_memory : int or str, default None
        Most bytes of the device's memory to use, for example "16GB"; None is all.
    cache_dir : path, list of paths, or None
        Folders for the codes of rows that do not fit the device's memory; None is the host's
        memory. Does not change the model.
    work_group_size : int, default 0
        Work-items per work-group: 1, or a power of two from 8 to 1024; 0 is the variant's default.
        Does not change the model.
    random_state : int, RandomState, Generator or None
        Seed of all random numbers; a generator is asked for a seed at every ``fit``. None is 0.
    missing : float, default NaN
        A number in ``X`` that means "missing", besides NaN.
    n_jobs : int or None
        Accepted for scikit-learn, without effect; the device decides how much runs in parallel.
    verbosity : int, default 1
        0 silent, 1 notes, 2 also the device and its kernels, 3 also every build.
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
