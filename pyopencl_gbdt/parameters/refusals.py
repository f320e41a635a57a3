"""Every combination that is refused: parameters, kinds of data, teams and devices.

``REFUSED`` is the only list of them; ``docs/refusals.md`` prints it. ``Parameters`` refuses by the
rows that look at parameters alone, and a training by all rows, before a device is opened. What is
allowed for one parameter alone stands in ``table.TABLE``.
"""

from __future__ import annotations

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.pages.cuts import MOST_LEVELS
from pyopencl_gbdt.parameters.facts import CutFacts, FitFacts
from pyopencl_gbdt.parameters.refused_parameters import OF_PARAMETERS
from pyopencl_gbdt.parameters.refused_searches import OF_PAGES, OF_SEARCHES
from pyopencl_gbdt.parameters.row import Refusal, about

#: Bins of a feature from which on exact search has none for every distinct value: codes have 16
#: bits, and one is that of missing values.
MOST_BINS = 65535
#: Kernels number the margins of ordered boosting by 32 bits.
MOST_MARGINS = 2**32 - 1
_ORDERED = ", or leave out boosting_type='ordered'"
_SINGLE_ROWS = (
    "expected a loss whose gradients depend on each row's own label and margin, such as "
    "'reg:squarederror', 'binary:logistic' or 'multi:softprob', for ordered boosting"
)


OF_DATA: tuple[Refusal[FitFacts], ...] = (
    *about(
        "parameters.weighs_trees",
        Refusal(
            '`booster="dart"` with statistics of categories',
            lambda f: bool(f.statistics),
            "booster='dart': expected 'gbtree' where {statistics[0].shown} has statistics, as they "
            "change from round to round",
            "give the column as numbers, or leave out booster",
        ),
        Refusal(
            '`booster="dart"` of sparse data without `page="tiled"`',
            lambda f: f.sparse and f.parameters.page != "tiled",
            "page={page!r} of a sparse matrix: expected 'auto' or 'tiled' for booster='dart', as "
            "rows walk dropped trees by their codes",
            "leave out page, or leave out booster",
        ),
    ),
    Refusal(
        "Several labels a row, for a loss of one label",
        lambda f: f.n_targets > 1,
        "y has {n_targets} columns: expected one for objective={objective!r}",
        "train a model for each",
        DataError,
        about="loss.one_target",
    ),
    *about(
        "parameters.base_score",
        Refusal(
            "Several numbers in `base_score`, for a loss with one output",
            lambda f: f.n_outputs == 1 < f.n_base_scores,
            "base_score has {n_base_scores} numbers: expected 1 number",
            "give one number",
        ),
        Refusal(
            "Another number of numbers in `base_score` than outputs",
            lambda f: f.n_base_scores not in (1, f.n_outputs),
            "base_score has {n_base_scores} numbers: expected 1 or {n_outputs} numbers, one for "
            "each output",
            "give base_score so many numbers",
        ),
    ),
    *about(
        "statistics",
        Refusal(
            'Statistics of categories without `tree_method="hist"`',
            lambda f: f.parameters.sorts_columns,
            "tree_method={tree_method!r}: expected 'hist' or 'auto' for statistics of categories",
            "leave out tree_method, or leave the columns out",
        ),
        Refusal(
            "Statistics of categories for a loss of times, or of the user's own",
            lambda f: not f.parameters.has_targets,
            "objective={objective!r}: expected a loss whose labels are targets, for statistics of "
            "categories",
            "use cat_method='sets'",
        ),
    ),
    *about(
        "parameters.is_ordered",
        Refusal(
            "Ordered boosting for a loss whose leaves take quantiles",
            lambda f: f.loss.renews,
            f"objective={{objective!r}}, whose leaves take quantiles: {_SINGLE_ROWS}",
            f"change objective{_ORDERED}",
        ),
        Refusal(
            "Ordered boosting for a loss with kernels of its own, or of the user's own",
            lambda f: f.loss.own_kernels,
            f"objective={{objective!r}}, with kernels of its own: {_SINGLE_ROWS}",
            f"change objective{_ORDERED}",
        ),
        Refusal(
            "Ordered boosting of forests",
            lambda f: f.parameters.num_parallel_tree > 1,
            "num_parallel_tree={num_parallel_tree}: expected 1 for ordered boosting",
            f"leave out num_parallel_tree{_ORDERED}",
        ),
        Refusal(
            f"Ordered boosting of more than {MOST_MARGINS} margins",
            lambda f: f.n_margins > MOST_MARGINS,
            "X has {n_rows} rows, which have {n_margins} margins in {n_orders} orders: expected "
            f"{MOST_MARGINS} at most for ordered boosting",
            f"lower permutation_count{_ORDERED}",
            DataError,
        ),
    ),
    *about(
        "in_batches",
        Refusal(
            'Rows in batches with `tree_method="approx"`',
            lambda f: f.parameters.search == "approx",
            "tree_method={tree_method!r}: expected 'hist' for rows in batches, since it sorts all "
            "values at once",
            "leave out tree_method, or give Dataset an array",
        ),
        Refusal(
            "Rows in batches with statistics of categories",
            lambda f: bool(f.statistics),
            "cat_method={cat_method!r}: expected 'sets' for rows in batches, as "
            "{statistics[0].shown} of {statistics[0].n_levels} levels would get statistics of all "
            "rows",
            "give cat_method='sets'",
        ),
    ),
    *about(
        "categories",
        Refusal(
            "`monotone_constraints` of a categorical column",
            lambda f: f.monotone is not None,
            "monotone_constraints constrains {monotone.shown}: expected columns of numbers, as "
            "levels have no order",
            "leave that column out of monotone_constraints",
        ),
        Refusal(
            f"Sets of more than {MOST_LEVELS} levels, for a loss that statistics can count",
            lambda f: f.most_levels is not None and f.parameters.has_targets,
            f"{{most_levels.shown}} has {{most_levels.n_levels}} levels: expected {MOST_LEVELS} at "
            "most in a categorical column that is split by sets of levels",
            "leave out cat_method",
            DataError,
        ),
        Refusal(
            f"Sets of more than {MOST_LEVELS} levels, for a loss of times or of the user's own",
            lambda f: f.most_levels is not None and not f.parameters.has_targets,
            f"{{most_levels.shown}} has {{most_levels.n_levels}} levels: expected {MOST_LEVELS} at "
            "most in a categorical column that is split by sets of levels",
            "merge rare levels",
            DataError,
        ),
    ),
    *about(
        "sets",
        Refusal(
            "A sparse evaluation set where sets of categories are split",
            lambda f: bool(f.sparse_evals),
            "evals: {sparse_evals[0]!r} is sparse: expected dense rows where X has categorical "
            "columns",
            "convert it by X.toarray(), with NaN for missing values",
            DataError,
        ),
        Refusal(
            'Sets of categories without `tree_method="hist"`',
            lambda f: f.parameters.sorts_columns,
            "tree_method={tree_method!r}: expected 'hist' where X has categorical columns",
            "leave out tree_method",
        ),
        Refusal(
            'Sets of categories with `page="tiled"`',
            lambda f: f.parameters.page == "tiled",
            "page='tiled': expected 'auto' or 'dense' where X has categorical columns",
            "leave out page",
        ),
    ),
    Refusal(
        '`page="sorted"` of dense data with `tree_method="hist"`',
        lambda f: not (f.parameters.sorts_columns or f.sparse or f.in_team or f.statistics),
        "page='sorted': expected a sparse matrix, or tree_method='exact' or 'approx'",
        "leave out page",
        about="parameters.sorted_pages",
    ),
)


OF_MODELS: tuple[Refusal[FitFacts], ...] = (
    *about(
        "model",
        Refusal(
            "Statistics of categories for a model that is continued",
            lambda f: bool(f.statistics),
            "model: expected none to continue with statistics of categories, since its trees have "
            "statistics of other data",
            "train a new model, or use cat_method='sets'",
        ),
        Refusal(
            "Ordered boosting of a model that is continued",
            lambda f: f.parameters.is_ordered,
            "model: expected none to continue with ordered boosting, since a model does not keep "
            "the ones that learnt from parts of its rows",
            f"train a new model{_ORDERED}",
        ),
        Refusal(
            'A model to continue whose trees have weights, without `booster="dart"`',
            lambda f: f.before.has_weights and not f.parameters.weighs_trees,
            "booster={booster!r}: the model to continue has weights of trees: expected 'dart'",
            "give booster='dart'",
        ),
        Refusal(
            'A model to continue whose leaves are linear functions, with `booster="dart"`',
            lambda f: f.before.is_linear and f.parameters.weighs_trees,
            "booster='dart': expected 'gbtree' for model, whose leaves are linear functions",
            "leave out booster",
        ),
        Refusal(
            'A model to continue whose outputs split apart, with `booster="dart"` and vector '
            "leaves",
            lambda f: f.before.splits_apart and f.parameters.weighs_trees and f.has_vectors,
            "multi_strategy='multi_output_tree': expected 'one_output_per_tree' for booster='dart' "
            "and model, whose trees of one round differ in splits or weights",
            "leave out multi_strategy",
        ),
        Refusal(
            "A model to continue that has statistics of categories",
            lambda f: f.before.has_statistics,
            "model: the one to continue has statistics of categories, which are those of its own "
            "training rows: expected a model without",
            "train a new model, or give cat_method='sets' to the first training too",
        ),
        Refusal(
            "A model to continue of another loss",
            lambda f: f.before.shown_loss != f.before.asked_loss,
            "objective={model.asked_loss}: the model to continue was trained for "
            "{model.shown_loss}",
            "give the objective of that training, with its parameters",
        ),
        Refusal(
            "A model to continue with another `base_score`",
            lambda f: f.starts_elsewhere,
            "base_score={base_score}: the model to continue starts at {model.base_score}",
            "leave out base_score",
        ),
        Refusal(
            "A model to continue with another number of outputs",
            lambda f: f.before.n_outputs != f.n_outputs,
            "y has {n_outputs} targets or classes: the model to continue has {model.n_outputs}",
            "give labels of as many targets or classes",
            DataError,
        ),
        Refusal(
            "A model to continue with rounds of another number of trees",
            lambda f: f.before.n_parallel != f.parameters.num_parallel_tree,
            "num_parallel_tree={num_parallel_tree}: the model to continue has rounds of "
            "{model.n_parallel}",
            "give num_parallel_tree that number",
        ),
    ),
    Refusal(
        "`lambdarank_unbiased` for a model that is continued, or training that is resumed",
        lambda f: (
            (f.resumed or (f.model is not None and f.model.has_trees))
            and f.parameters.objective.startswith("rank:")
        ),
        "lambdarank_unbiased=True: trees cannot be added to a model, as files do not store the "
        "bias of positions",
        "train all rounds at once",
        about="parameters.lambdarank_unbiased",
    ),
)

_TOGETHER = "where several devices train together"

OF_TEAMS: tuple[Refusal[FitFacts], ...] = (
    *about(
        "in_team",
        Refusal(
            "Sparse data on several devices",
            lambda f: f.sparse,
            f"sparse data: expected dense data and tree_method='hist' or 'exact' {_TOGETHER}",
            "train on one device",
        ),
        Refusal(
            '`tree_method="approx"` on several devices',
            lambda f: f.parameters.search == "approx",
            "tree_method={tree_method!r}: expected dense data and tree_method='hist' or 'exact' "
            + _TOGETHER,
            "train on one device",
        ),
        Refusal(
            "Statistics of categories on several devices",
            lambda f: bool(f.statistics),
            f"cat_method={{cat_method!r}}: expected no statistics of categories {_TOGETHER}",
            "use cat_method='sets', or train on one device",
        ),
        Refusal(
            "Ordered boosting on several devices",
            lambda f: f.parameters.is_ordered,
            f"boosting_type='ordered': expected 'plain' {_TOGETHER}",
            "train on one device",
        ),
        Refusal(
            "A `DeviceObjective` on several devices",
            lambda f: f.loss.fills_device_arrays,
            f"objective={{loss.name}}: expected no function of device arrays {_TOGETHER}",
            "write a KernelObjective, or train on one device",
        ),
    ),
    *about(
        "in_hosts",
        Refusal(
            "Several devices in each of several processes",
            lambda f: f.names_several,
            "device={device!r}: expected one device for each process",
            "start a process for each, and give 'gpu', of which each process of a host takes "
            "another one",
        ),
        Refusal(
            "A sparse evaluation set in several processes",
            lambda f: bool(f.sparse_evals),
            "evals: {sparse_evals[0]!r} is sparse: expected dense rows where several processes "
            "train together",
            "convert it by X.toarray(), with NaN for missing values",
            DataError,
        ),
        Refusal(
            "`profile=True` in several processes",
            lambda f: f.profile,
            "profile=True: expected False with communicator=, since a profile is of one device",
            "profile a fit of one process",
        ),
    ),
    Refusal(
        "`profile=True` on several devices of one process",
        lambda f: f.n_devices > 1,
        "profile=True: expected False with device={device!r}, since a profile is of one device",
        "name one device",
        about="profile",
    ),
)

#: What only cut points tell: these rows raise once the values have been read.
OF_CUTS: tuple[Refusal[CutFacts], ...] = (
    Refusal(
        f'`tree_method="exact"` of a column with {MOST_BINS} distinct values or more, on several '
        "devices, with vector leaves or of rows in batches",
        lambda f: f.search == "exact" and f.n_bins >= f.too_many,
        "tree_method='exact': column {column}, counted from 0, has {too_many} distinct values "
        "or more: expected fewer where several devices train together, with vector leaves, and "
        "with rows in batches",
        "use tree_method='hist', or train numbers as leaves on an array on one device",
    ),
)

#: The whole table. Its first row that is true gives the error.
REFUSED: tuple[Refusal[FitFacts], ...] = (
    *OF_PARAMETERS,
    *OF_DATA,
    *OF_SEARCHES,
    *OF_PAGES,
    *OF_MODELS,
    *OF_TEAMS,
)
