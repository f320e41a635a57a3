"""What is refused of parameters by themselves, of draws, smoothed weights and forced splits."""

from __future__ import annotations

from collections.abc import Callable

from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.formats.xgboost_links import LINKS
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.row import Refusal, about
from pyopencl_gbdt.parameters.table import DEEPEST_TABLE, TABLE
from pyopencl_gbdt.parameters.values import ParameterValues

_BINARY = ("binary:logistic", "binary:logitraw", "reg:logistic")
_DEFAULT_BINS = next(row.default for row in TABLE if row.name == "max_bin")


def _is_probability(p: ParameterValues) -> bool:
    """Tell whether base scores of the loss are probabilities."""
    return LINKS[p.objective].highest == 1


def _weighs_classes(p: ParameterValues) -> bool:
    link = LINKS[p.objective]
    return "scale_pos_weight" in link.parameters and link.xgboost_name in _BINARY


def _leaves_rows(p: ParameterValues) -> bool:
    """Tell whether GOSS takes some of the rows."""
    return 0 < p.top_rate + p.other_rate < 1


def _falls(numbers: float | tuple[float, ...]) -> bool:
    return isinstance(numbers, tuple) and list(numbers) != sorted(numbers)


OF_PARAMETERS: tuple[Refusal[FitFacts], ...] = (
    Refusal(
        "Several `expectile_alpha` that do not ascend",
        lambda f: _falls(f.parameters.expectile_alpha),
        "expectile_alpha={expectile_alpha}: expected ascending numbers, as each expectile is a "
        "step above the one before",
        "sort them",
        about="parameters.takes_expectiles",
    ),
    Refusal(
        "`max_leaves` of 1",
        lambda f: f.parameters.max_leaves == 1,
        "max_leaves={max_leaves}: expected 0 (no limit) or 2 or more",
        "raise max_leaves",
        about="parameters.max_leaves",
    ),
    Refusal(
        "`path_smooth` with `min_samples_leaf` below 2",
        lambda f: not f.parameters.limits_rows,
        "min_samples_leaf={min_samples_leaf}: expected 2 or more for path_smooth={path_smooth!r}, "
        "as in LightGBM",
        "raise min_samples_leaf, or leave out path_smooth",
        about="parameters.smooths",
    ),
    *about(
        "infinite_scores",
        Refusal(
            "`base_score` of 0 or less, or of 1 or more, for a loss of probabilities",
            lambda f: _is_probability(f.parameters),
            "base_score={infinite_scores[0]!r}: expected 0 < base_score < 1 for "
            "objective={objective!r}",
            "give a probability, or leave out base_score",
        ),
        Refusal(
            "`base_score` of 0 or less for a loss with a logarithmic link",
            lambda f: not _is_probability(f.parameters),
            "base_score={infinite_scores[0]!r}: expected base_score > 0 for "
            "objective={objective!r}",
            "give a mean above 0, or leave out base_score",
        ),
    ),
    Refusal(
        "`min_statistic_levels` above `max_set_levels` + 1",
        lambda f: f.parameters.least_statistic_levels > f.parameters.max_set_levels + 1,
        "min_statistic_levels={min_statistic_levels}: expected max_set_levels + 1 at most, "
        "as columns of levels between would have neither sets nor statistics",
        "lower min_statistic_levels, or raise max_set_levels",
        about="parameters.min_statistic_levels",
    ),
    *about(
        "parameters.other_sampling",
        Refusal(
            '`subsample` with `sampling_method="goss"`',
            lambda f: f.parameters.sampling_method == "goss" and f.parameters.subsample != 1,
            "subsample={subsample!r}: expected 1 for sampling_method='goss'",
            "give top_rate and other_rate",
        ),
        Refusal(
            '`subsample` with `sampling_method="none"`',
            lambda f: f.parameters.sampling_method == "none" and f.parameters.subsample != 1,
            "subsample={subsample!r}: expected 1 for sampling_method='none', which takes all rows",
            "leave out subsample, or give sampling_method='uniform'",
        ),
        Refusal(
            "`bagging_freq` above 1 for rows that are sampled by their gradients",
            lambda f: f.parameters.samples_by_gradient and f.parameters.bagging_freq > 1,
            "bagging_freq={bagging_freq}: expected 1 for sampling_method={sampling_method!r}, "
            "which samples by the gradients of each round",
            "leave out bagging_freq, or give sampling_method='uniform'",
        ),
        Refusal(
            '`top_rate` and `other_rate` of 1 or more together, with `sampling_method="goss"`',
            lambda f: f.parameters.sampling_method == "goss" and not _leaves_rows(f.parameters),
            "top_rate={top_rate!r}: expected top_rate + other_rate below 1, other_rate is "
            "{other_rate!r}",
            "lower top_rate or other_rate",
        ),
    ),
    *about(
        "parameters.weighs_trees",
        Refusal(
            '`booster="dart"` without `tree_method="hist"`',
            lambda f: f.parameters.sorts_columns,
            "tree_method={tree_method!r}: expected 'hist' for booster='dart', as rows walk dropped "
            "trees by their codes",
            "leave out tree_method, or leave out booster",
        ),
        Refusal(
            '`booster="dart"` with ordered boosting',
            lambda f: f.parameters.is_ordered,
            "boosting_type='ordered': expected 'plain' for booster='dart'",
            "leave out boosting_type, or leave out booster",
        ),
    ),
    Refusal(
        '`proposal` without `tree_method="approx"`',
        lambda f: f.parameters.tree_method != "approx",
        "proposal={proposal!r}: expected None for tree_method={tree_method!r}",
        "leave out proposal, or use tree_method='approx'",
        about="parameters.proposal",
    ),
    *about(
        "parameters.sorts_columns",
        Refusal(
            '`max_bin` with `tree_method="exact"`',
            lambda f: f.parameters.tree_method == "exact" and f.parameters.max_bin != _DEFAULT_BINS,
            "max_bin={max_bin}: expected its default for tree_method='exact', which has a bin for "
            "every distinct value",
            "leave out max_bin, or use tree_method='hist'",
        ),
        Refusal(
            '`max_bin_exact=False` without `tree_method="hist"`',
            lambda f: not f.parameters.max_bin_exact,
            "max_bin_exact=False: expected True for tree_method={tree_method!r}, whose quantiles "
            "are always exact",
            "leave out max_bin_exact, or use tree_method='hist'",
        ),
        Refusal(
            '`cut_rule="xgboost"` without `tree_method="hist"`',
            lambda f: f.parameters.cut_rule != "shares",
            "cut_rule={cut_rule!r}: expected 'shares' for tree_method={tree_method!r}, which has "
            "other bins",
            "leave out cut_rule, or use tree_method='hist'",
        ),
        Refusal(
            'A `page` of codes without `tree_method="hist"`',
            lambda f: f.parameters.page not in ("auto", "sorted"),
            "page={page!r}: expected 'auto' or 'sorted' for tree_method={tree_method!r}, which has "
            "no pages of codes",
            "leave out page, or use tree_method='hist'",
        ),
    ),
    *about(
        "parameters.symmetric_trees",
        Refusal(
            '`max_leaves` with `grow_policy="symmetric"`',
            lambda f: f.parameters.max_leaves > 0,
            "max_leaves={max_leaves}: expected 0 for grow_policy='symmetric', whose trees have "
            "2^depth leaves",
            "leave out max_leaves and give max_depth",
        ),
        Refusal(
            '`max_depth=0` with `grow_policy="symmetric"`',
            lambda f: f.parameters.max_depth == 0,
            f"max_depth=0 (no limit): expected 1..{DEEPEST_TABLE} for grow_policy='symmetric', "
            "whose trees have 2^max_depth leaves",
            "give max_depth another value",
        ),
        Refusal(
            f'`max_depth` above {DEEPEST_TABLE} with `grow_policy="symmetric"`',
            lambda f: f.parameters.max_depth > DEEPEST_TABLE,
            f"max_depth={{max_depth}}: expected 1..{DEEPEST_TABLE} for grow_policy='symmetric', "
            "whose trees have 2^max_depth leaves",
            "give max_depth another value",
        ),
        Refusal(
            '`grow_policy="symmetric"` without `tree_method="hist"`',
            lambda f: f.parameters.sorts_columns,
            "tree_method={tree_method!r}: expected 'hist' for grow_policy='symmetric'",
            "leave out tree_method",
        ),
    ),
    Refusal(
        "A loss of classes without `num_class`",
        lambda f: f.parameters.num_class <= 1,
        "num_class={num_class}: expected 2 or more for objective={objective!r}",
        "give the number of classes",
        about="parameters.has_classes",
    ),
    Refusal(
        "`num_class` for another loss",
        lambda f: f.parameters.num_class > 1 and not f.parameters.has_classes,
        "num_class={num_class}: expected 0, or objective='multi:softprob' for "
        "objective={objective!r}",
        "leave out num_class, or give objective='multi:softprob'",
        about="parameters.num_class",
    ),
    Refusal(
        "`scale_pos_weight` for a loss of other than two classes",
        lambda f: not _weighs_classes(f.parameters),
        "scale_pos_weight={scale_pos_weight!r}: expected 1 for objective={objective!r}",
        "give row weights instead",
        about="parameters.weighs_positives",
    ),
)


@dataclass(frozen=True)
class RowsAbout:
    """Makes the rows about one capability.

    Attributes
    ----------
    title : str
        What a row's name begins with.
    about : str
        The fact that a training has the capability, as in ``Refusal``.
    parameter : str
        What may be left out in place of the other.
    """

    title: str
    about: str
    parameter: str

    def __call__(
        self,
        name: str,
        when: Callable[[FitFacts], bool],
        said: str,
        way_out: str,
        error: type[GBDTError] = ParameterError,
    ) -> Refusal[FitFacts]:
        """Return a row, whose way out is to change something, or to do without the capability."""
        return Refusal(
            f"{self.title} {name}",
            when,
            said,
            f"{way_out}, or leave out {self.parameter}",
            error,
            self.about,
        )


def _drawn_rows(name: str, shown: str, draws: str) -> list[Refusal[FitFacts]]:
    """Return the rows of a parameter that leaves splits to chance."""
    row = RowsAbout(f"`{name}`", draws, name)
    return [
        row(
            'without `tree_method="hist"`',
            lambda f: f.parameters.sorts_columns,
            f"tree_method={{tree_method!r}}: expected 'hist' or 'auto' for {shown}",
            "leave out tree_method",
        ),
        row(
            'of sparse data without `page="tiled"`',
            lambda f: f.sparse and f.parameters.page != "tiled",
            f"page={{page!r}} of a sparse matrix: expected 'auto' or 'tiled' for {shown}",
            "leave out page",
        ),
        row(
            'with `multi_strategy="multi_output_tree"`',
            lambda f: f.has_vectors,
            f"multi_strategy='multi_output_tree': expected 'one_output_per_tree' for {shown}",
            "leave out multi_strategy",
        ),
    ]


OF_DRAWS: tuple[Refusal[FitFacts], ...] = (
    *_drawn_rows("extra_trees", "extra_trees=True", "parameters.extra_trees"),
    *_drawn_rows(
        "random_strength",
        "random_strength={random_strength!r}",
        "parameters.random_strength",
    ),
)


_SMOOTH = "for path_smooth={path_smooth!r}"


_smoothing_row = RowsAbout("`path_smooth`", "parameters.smooths", "path_smooth")

OF_SMOOTHING: tuple[Refusal[FitFacts], ...] = (
    *_drawn_rows("path_smooth", "path_smooth={path_smooth!r}", "parameters.smooths"),
    _smoothing_row(
        'with `grow_policy="symmetric"`',
        lambda f: f.parameters.symmetric_trees,
        f"grow_policy='symmetric': expected 'depthwise' or 'lossguide' {_SMOOTH}",
        "change grow_policy",
    ),
    _smoothing_row(
        "with statistics of categories",
        lambda f: bool(f.statistics),
        "path_smooth={path_smooth!r}: expected 0 where {statistics[0].shown} has statistics",
        "use cat_method='sets', or give the column as numbers",
    ),
    _smoothing_row(
        "with `monotone_constraints`",
        lambda f: bool(f.parameters.monotone_constraints),
        f"monotone_constraints={{monotone_constraints!r}}: expected none {_SMOOTH}",
        "leave out monotone_constraints",
    ),
    _smoothing_row(
        "with ordered boosting",
        lambda f: f.parameters.is_ordered,
        f"boosting_type='ordered': expected 'plain' {_SMOOTH}",
        "leave out boosting_type",
    ),
    _smoothing_row(
        "with `linear_tree`",
        lambda f: f.parameters.linear_tree,
        f"linear_tree=True: expected False {_SMOOTH}",
        "leave out linear_tree",
    ),
    _smoothing_row(
        "with several Newton steps",
        lambda f: f.parameters.takes_steps,
        f"leaf_estimation_iterations={{leaf_estimation_iterations}}: expected 1 {_SMOOTH}",
        "leave out leaf_estimation_iterations",
    ),
)


_forced_row = RowsAbout("`forced_splits`", "parameters.forced_splits", "forced_splits")

OF_FORCED: tuple[Refusal[FitFacts], ...] = (
    *_drawn_rows("forced_splits", "forced_splits", "parameters.forced_splits"),
    _forced_row(
        'with `grow_policy="symmetric"`',
        lambda f: f.parameters.symmetric_trees,
        "grow_policy='symmetric': expected 'depthwise' or 'lossguide' for forced_splits",
        "change grow_policy",
    ),
    _forced_row(
        "of categorical columns",
        lambda f: f.forced is not None,
        "forced_splits: expected numeric columns, {forced.shown} is categorical",
        "give the column as numbers",
    ),
    _forced_row(
        "with `path_smooth`",
        lambda f: f.parameters.smooths,
        "path_smooth={path_smooth!r}: expected 0 for forced_splits",
        "leave out path_smooth",
    ),
)
