"""The keys of configuration files: this library's, and what becomes of other libraries' keys."""

from __future__ import annotations

from pyopencl_gbdt.cli.tables import HEADER
from pyopencl_gbdt.data.files.readers import FORMATS
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.xgboost_dump import DUMP_FORMATS
from pyopencl_gbdt.parameters.parameters import ROWS
from pyopencl_gbdt.parameters.row import ParameterRow
from pyopencl_gbdt.parameters.table import IGNORED

TASKS = ("train", "pred", "dump")
MOST = 2**31 - 1

KEYS: tuple[ParameterRow, ...] = (
    ParameterRow("task", str, "train", "What to do: train, predict, or write trees as text.",
                 allowed=TASKS),
    ParameterRow("data", str, "", "train: the training data.", aliases=("train_path", "path")),
    ParameterRow("test:data", str, "", "pred: the rows to predict.",
                 aliases=("test_path", "test_data")),
    ParameterRow("eval[NAME]", str, "", "train: rows to evaluate after every round, and their "
                 "name; for several sets, several names."),
    ParameterRow("eval_train", bool, False, "train: evaluate the training data too."),
    ParameterRow("eval_metric", str, "", "train: what to evaluate; the one key that may be given "
                 "several times, and separated by commas."),
    ParameterRow("early_stopping_rounds", int, None, "train: stop when the last metric of the last "
                 "evaluation set has not improved for so many rounds.", low=1, high=MOST),
    ParameterRow("verbose_every", int, 10, "train: show the metrics every so many rounds; 0 never.",
                 low=0, high=MOST),
    ParameterRow("profile", bool, False, "train: show the time of every kernel.",
                 aliases=("profiling",)),
    ParameterRow("model_in", str, "", "The model to predict with, to dump, or to continue."),
    ParameterRow("model_out", str, "", "train: the model to write; by default model_dir/ROUNDS."
                 "model, where ROUNDS has four digits or more.", aliases=("model",)),
    ParameterRow("model_dir", str, ".", "train: the folder for models without a name."),
    ParameterRow("save_period", int, 0, "train: write a model to model_dir every so many rounds; 0 "
                 "never.", low=0, high=MOST),
    ParameterRow("weight", str, "", "train: file with the weight of each row; by default "
                 "DATA.weight, if it exists."),
    ParameterRow("feature_weights", str, "", "train: file with the sampling weight of each "
                 "feature."),
    ParameterRow("label_column", str, "", "CSV and TSV: number or name of the label's column; by "
                 "default 0."),
    ParameterRow("qid_column", str, "", "CSV and TSV: number or name of the column of query ids."),
    ParameterRow("header", str, "auto", "CSV and TSV: whether the first line holds names.",
                 allowed=tuple(HEADER)),
    ParameterRow("no_label", bool, False, "pred: all columns of CSV and TSV are features."),
    ParameterRow("format", str, "auto", "The format of data files.", allowed=FORMATS),
    ParameterRow("one_based", bool, False, "libsvm: indices start at 1."),
    ParameterRow("n_features", int, None, "Required number of features; libsvm: width.",
                 low=1, high=MOST),
    ParameterRow("categorical_features", str, "", "Columns whose text or whole numbers are levels: "
                 "names or numbers with commas between them, or from_dtype.",
                 aliases=("categorical_feature", "cat_features")),
    ParameterRow("max_bytes", int, None, "Main memory that reading a file may take.", low=1),
    ParameterRow("name_pred", str, "pred.txt", "pred: the file of predictions; stdout or - is "
                 "standard output.", aliases=("out",)),
    ParameterRow("pred_margin", bool, False, "pred: write sums of leaf values instead of "
                 "probabilities.", aliases=("output_margin",)),
    ParameterRow("iteration_begin", int, 0, "pred: the first round to use.", low=0, high=MOST),
    ParameterRow("iteration_end", int, 0, "pred: the round to stop before; 0 is the last one, or "
                 "the best one after early stopping.", low=0, high=MOST),
    ParameterRow("name_dump", str, "dump.txt", "dump: the file of the trees; stdout or - is "
                 "standard output."),
    ParameterRow("dump_format", str, "text", "dump: text, JSON, or Graphviz's DOT.",
                 allowed=DUMP_FORMATS),
    ParameterRow("with_stats", bool, False, "dump: add the gain of splits and the cover of nodes.",
                 aliases=("dump_stats",)),
    ParameterRow("fmap", str, "", "dump: file with lines id name kind, which names the columns.",
                 aliases=("name_fmap",)),
)  # fmt: skip
"""Keys besides the training parameters; a file that has no default has to be given if needed."""

ALIASES = {
    "n_trees": "n_estimators",
    "n_parallel_trees": "num_parallel_tree",
    "max_num_bin": "max_bin",
    "column_sampling_rate": "colsample_bytree",
    "colsample": "colsample_bytree",
    "lambda_tgbm": "reg_lambda",
    "verbose": "verbosity",
}
"""Training parameters by ThunderGBM's names."""


@dataclass(frozen=True)
class Foreign:
    """A key of another library that has no meaning here.

    Attributes
    ----------
    harmless : tuple of str or None
        Values that are accepted without an effect; None accepts all.
    why : str
        Why other values are refused, and what to do.
    """

    harmless: tuple[str, ...] | None
    why: str = ""


_OFF = ("0", "false")
FOREIGN: dict[str, Foreign] = {
    **dict.fromkeys(
        ("use_buffer", "rt_eps", *sorted(IGNORED)), Foreign(None)),
    **dict.fromkeys(
        ("n_device", "n_gpus"), Foreign(("1",), "set it to 1, and name the devices by "
                                        "device=gpu:0,gpu:1")),
    "bagging": Foreign(_OFF, "rows are sampled without replacement here; leave it out, and give "
                       "subsample=0.632, which keeps as many distinct rows"),
    "dsplit": Foreign(("row", "0"), "a file is not split over machines; leave it out"),
    "ntree_limit": Foreign(("0",), "give a number of rounds by iteration_end"),
    "lambda_bias": Foreign(("0",), "it belongs to linear models; leave it out"),
    "sketch_eps": Foreign(("0.03",), "give the number of bins by max_bin, about 1 / sketch_eps"),
    "sketch_ratio": Foreign(("2", "2.0"), "give the number of bins by max_bin"),
}  # fmt: skip
"""Keys of XGBoost's command line and of ThunderGBM.

XGBoost's parameters stand in ``XGBOOST_ONLY``, those of other libraries in ``parameters.foreign``.
"""

OWN: dict[str, ParameterRow] = {
    spelling: row for row in KEYS for spelling in (row.name, *row.aliases)
}
"""The entry of ``KEYS`` for every spelling."""


def parameter(key: str) -> ParameterRow | None:
    """Return the training parameter that a key sets, or None."""
    return ROWS.get(ALIASES.get(key, key))
