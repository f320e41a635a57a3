"""Names of LightGBM, CatBoost, scikit-learn and old versions of XGBoost: one table of each kind.

A name or a value whose meaning is one of this library is accepted. Any other gets an answer.
"""

from __future__ import annotations

from pyopencl_gbdt.lazy_dataclasses import dataclass

ALIASES: dict[str, tuple[str, ...]] = {
    "n_estimators": ("iterations", "num_iterations", "num_iteration", "n_iter", "num_trees",
                     "num_tree", "num_rounds", "num_round", "nrounds", "max_iter"),
    "learning_rate": ("shrinkage_rate",),
    "max_depth": ("depth",),
    "max_leaves": ("num_leaves", "num_leaf", "max_leaf", "max_leaf_nodes"),
    "max_bin": ("max_bins",),
    "boosting_type": ("boosting",),
    "rate_drop": ("drop_rate",),
    "subsample": ("bagging_fraction", "sub_row"),
    "sampling_method": ("data_sample_strategy", "bootstrap_type"),
    "bagging_freq": ("subsample_freq",),
    "colsample_bytree": ("feature_fraction", "sub_feature"),
    "colsample_bylevel": ("rsm",),
    "colsample_bynode": ("feature_fraction_bynode", "sub_feature_bynode"),
    "reg_lambda": ("lambda_l2", "l2_leaf_reg", "l2_regularization"),
    "reg_alpha": ("lambda_l1", "l1_regularization"),
    "gamma": ("min_split_gain", "min_gain_to_split"),
    "min_child_weight": ("min_sum_hessian_in_leaf", "min_sum_hessian", "min_hessian"),
    "min_samples_leaf": ("min_data_in_leaf", "min_child_samples", "min_data"),
    "extra_trees": ("extra_tree",),
    "max_delta_step": ("max_tree_output", "max_leaf_output"),
    "monotone_constraints": ("monotone_constraint", "monotonic_cst", "mc"),
    "interaction_constraints": ("interaction_cst",),
    "random_state": ("random_seed",),
    "num_class": ("num_classes", "classes_count"),
    "device": ("device_type",),
    "objective": ("loss_function", "loss", "objective_type", "application", "app"),
    "eval_metric": ("metric", "metrics", "metric_types"),
    "early_stopping_rounds": ("early_stopping_round", "od_wait"),
    "categorical_features": ("categorical_feature", "cat_features"),
    "n_jobs": ("nthread", "thread_count", "num_threads", "num_thread"),
}  # fmt: skip
"""Other names of parameters, by the parameter. XGBoost's own aliases stand in ``TABLE``."""

ONE_MORE, SWITCHED, SMALL, QUIET = "one less", "the other way round", "in capitals", "0 or -1"
CONVERTED: dict[str, tuple[str, str]] = {
    "one_hot_max_size": ("max_cat_to_onehot", ONE_MORE),
    "border_count": ("max_bin", ONE_MORE),
    "silent": ("verbosity", SWITCHED),
    "verbose": ("verbosity", QUIET),
    "task_type": ("device", SMALL),
}
"""Names whose values are written otherwise: the parameter, and how its value is written there."""

VALUES: dict[str, dict[str, tuple[str, ...]]] = {
    "objective": {
        "reg:squarederror": ("reg:linear", "regression", "regression_l2", "l2", "mse", "rmse",
                             "mean_squared_error", "squared_error", "RMSE", "ls"),
        "reg:absoluteerror": ("regression_l1", "l1", "mae", "mean_absolute_error",
                              "absolute_error", "MAE", "lad"),
        "reg:gamma": ("gamma",),
        "reg:tweedie": ("tweedie", "Tweedie"),
        "count:poisson": ("poisson", "Poisson"),
        "mape": ("mean_absolute_percentage_error", "MAPE"),
        "binary:logistic": ("binary", "log_loss", "deviance", "Logloss"),
        "cross_entropy": ("xentropy", "CrossEntropy"),
        "multi:softprob": ("multiclass", "softmax", "MultiClass"),
        "rank:ndcg": ("lambdarank",),
    },
    "eval_metric": {
        "rmse": ("RMSE", "l2_root", "root_mean_squared_error"),
        "mae": ("MAE", "l1", "mean_absolute_error", "regression_l1"),
        "logloss": ("Logloss", "binary_logloss", "binary", "log_loss",
                    "cross_entropy", "xentropy"),
        "error": ("binary_error",),
        "mlogloss": ("MultiClass", "multi_logloss", "multiclass"),
        "merror": ("multi_error",),
        "auc": ("AUC", "roc_auc"),
        "map": ("MAP", "mean_average_precision"),
        "quantile": ("Quantile",),
    },
    "tree_method": {"hist": ("gpu_hist",), "exact": ("gpu_exact",)},
    "grow_policy": {
        "symmetric": ("SymmetricTree",),
        "depthwise": ("Depthwise",),
        "lossguide": ("Lossguide",),
    },
    "boosting_type": {"plain": ("gbdt", "gbrt", "Plain"), "ordered": ("Ordered",)},
    "sampling_method": {
        "uniform": ("bagging", "Bernoulli", "bernoulli"),
        "gradient_based": ("MVS", "mvs"),
        "bayesian": ("Bayesian",),
        "none": ("No", "no"),
    },
}  # fmt: skip
"""Other names of values, by the parameter and its value."""

_MSE = "the metric here is its root; give 'rmse'"
_SCORE = "there is no such metric here; train and the estimators take a function of your own"
_ONE_VS_ALL = "one model against all others is not here; give 'multi:softprob'"
VALUE_ANSWERS: dict[str, dict[str, str]] = {
    "boosting_type": {
        "dart": "give booster='dart', with rate_drop=0.1, skip_drop=0.5 and sample_type='weighted' "
                "for the defaults of LightGBM",
        "rf": "give num_parallel_tree, or use GBDTRandomForestRegressor or ...Classifier",
        "goss": "give sampling_method='goss'",
    },
    "sampling_method": {"Poisson": "it is not here; give 'bayesian'"},
    "booster": {"gblinear": "linear models are not here yet; give 'gbtree' or 'dart'"},
    "objective": {
        "multiclassova": _ONE_VS_ALL,
        "MultiClassOneVsAll": _ONE_VS_ALL,
        "rank_xendcg": "it is not here; give 'rank:ndcg'",
        "YetiRank": "it is not here; give 'rank:ndcg'",
        "PairLogit": "it is not here; give 'rank:pairwise'",
        **dict.fromkeys(("quantile", "Quantile", "Quantile:"),
                        "give 'reg:quantileerror', and the quantile by quantile_alpha"),
        "Tweedie:": "give 'reg:tweedie', and the power by tweedie_variance_power",
        **dict.fromkeys(("Huber", "Huber:"), "give 'huber', and delta by huber_alpha"),
        "exponential": "the loss of AdaBoost is not here; give 'binary:logistic'",
    },
    "eval_metric": {
        **dict.fromkeys(("mse", "MSE", "l2", "mean_squared_error"), _MSE),
        **dict.fromkeys(("accuracy", "Accuracy"),
                        "give 'error', or 'merror' with several classes: 1 minus the accuracy"),
        "NDCG": "give 'ndcg', with ndcg_exp_gain=False for gains as CatBoost's",
        "average_precision": "give 'aucpr', which is nearly the same area",
        **dict.fromkeys(("f1", "F1", "r2", "R2", "auc_mu"), _SCORE),
    },
}  # fmt: skip
"""Values that have no name here, by the parameter, and what to do instead.

A value that ends in a colon stands for CatBoost's ``Name:key=number``.
"""


@dataclass(frozen=True)
class Answer:
    """What a parameter gets that has no meaning here.

    Attributes
    ----------
    text : str
        What to do instead.
    harmless : tuple
        Values that are accepted without an effect; None is one of them anyway.
    """

    text: str
    harmless: tuple[object, ...] = ()


_SEEDS = Answer("random_state is the seed of all random numbers; give that")
_BALANCE = Answer(
    "give scale_pos_weight, the negative rows divided by the positive ones, or class_weight="
    "'balanced' to GBDTClassifier", (False,),
)  # fmt: skip
_DEVICES = Answer("leave it out, and choose the device by device=cuda:0", (-1,))
_EVERY: tuple[object, ...] = (True, False)
_TEXT = Answer(
    "text is not split into words; give columns of numbers in its place, such as those of "
    "TfidfVectorizer and TruncatedSVD of scikit-learn, or leave the column out to take each text "
    "for a level"
)
_EMBEDDING = Answer(
    "embeddings are not projected on the labels; give each of their numbers a column of its own, "
    "and leave it out"
)
ANSWERS: dict[str, Answer] = {
    "min_samples_split": Answer("give min_samples_leaf, the least rows of a child", (0, 1, 2)),
    **dict.fromkeys(("bagging_seed", "feature_fraction_seed", "data_random_seed",
                     "drop_seed", "extra_seed"), _SEEDS),
    "max_drop": Answer("a round may drop any number of trees; leave it out, or lower rate_drop",
                       (0, -1)),
    "uniform_drop": Answer("give sample_type='uniform' for true, and 'weighted' for false",
                           (True,)),
    "xgboost_dart_mode": Answer("weights of trees follow XGBoost's rule, as they do there for "
                                "true; give true, or leave it out", (True,)),
    "is_unbalance": _BALANCE,
    "unbalance": _BALANCE,
    "auto_class_weights": Answer("give class_weight='balanced' to GBDTClassifier", ("None",)),
    "class_weights": Answer("give class_weight= to GBDTClassifier, a dict of class to weight"),
    "max_features": Answer("give colsample_bynode, a share of the features", (1.0,)),
    "min_impurity_decrease": Answer("give gamma, the least gain of a split", (0,)),
    "ccp_alpha": Answer("trees are not pruned afterwards; give gamma, the least gain", (0,)),
    "criterion": Answer("splits are scored by gradients and Hessians; leave it out",
                        ("friedman_mse",)),
    "validation_fraction": Answer("train sets no rows aside; give evals=, or use an estimator"),
    "early_stopping": Answer("give early_stopping_rounds and evals= to train, or use an estimator",
                             (False, "auto")),
    "n_iter_no_change": Answer("give early_stopping_rounds and evals= to train"),
    "tol": Answer("give callbacks=[EarlyStopping(rounds, min_delta=...)]"),
    "od_type": Answer("give early_stopping_rounds; there is no p-value", ("Iter",)),
    "use_best_model": Answer("predict uses the rounds up to the best one anyway; give "
                             "iteration_range= to predict for others", (True,)),
    "first_metric_only": Answer("the last metric is watched; give callbacks=[EarlyStopping(rounds, "
                                "metric_name=...)]", (False,)),
    "leaf_estimation_method": Answer("leaves take Newton steps, or the quantile of the loss; "
                                     "leave it out", ("Newton",)),
    "nan_mode": Answer("missing values go where the loss becomes smaller; leave it out"),
    "boost_from_average": Answer("give base_score=0.5, say, for another start", (True,)),
    "eval_at": Answer("write the rank into the metric, such as eval_metric='ndcg@5'"),
    "ndcg_eval_at": Answer("write the rank into the metric, such as eval_metric='ndcg@5'"),
    "poisson_max_delta_step": Answer("give max_delta_step, which limits leaves too"),
    "lambdarank_truncation_level": Answer("give lambdarank_num_pair_per_sample"),
    "label_gain": Answer("give ndcg_exp_gain=False for gains that are the labels"),
    "logging_level": Answer("give verbosity, 0 to 3"),
    "metric_period": Answer("give verbose= to fit or train", (1,)),
    **dict.fromkeys(("text_features", "tokenizers", "dictionaries", "feature_calcers",
                     "text_processing"), _TEXT),
    "embedding_features": _EMBEDDING,
    "gpu_id": _DEVICES,
    "gpu_device_id": _DEVICES,
    "gpu_platform_id": _DEVICES,
    "devices": Answer("give device=['gpu:0', 'gpu:1'], say"),
    "zero_as_missing": Answer("give missing=0 to Dataset or to the estimator", (False,)),
    "use_missing": Answer("missing values are always used; leave it out", (True,)),
    "use_label_encoder": Answer("labels of any type are taken; leave it out", _EVERY),
    "predictor": Answer("leave it out", ("auto", "cpu_predictor", "gpu_predictor")),
    "single_precision_histogram": Answer("sums are integers; leave it out", _EVERY),
    **dict.fromkeys(("deterministic", "deterministic_histogram", "force_col_wise",
                     "force_row_wise", "allow_writing_files"),
                    Answer("it has no meaning here; leave it out", _EVERY)),
}  # fmt: skip
"""Parameters that have no meaning here."""

OWN_NAMES: dict[str, str] = {other: own for own, names in ALIASES.items() for other in names}
"""The parameter of each other name."""
MEANT = {
    (name, other): own
    for name, values in VALUES.items()
    for own, others in values.items()
    for other in others
}
"""This library's name of a parameter's value, by the parameter and another library's name."""
