"""What is refused of vector and linear leaves, several Newton steps, and pages in turn."""

from __future__ import annotations

from collections.abc import Callable

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.refused_parameters import (
    OF_DRAWS,
    OF_FORCED,
    OF_SMOOTHING,
    RowsAbout,
)
from pyopencl_gbdt.parameters.row import Refusal

_VECTORS = "for multi_strategy='multi_output_tree'"
_LINEAR = "for linear_tree=True"
#: Pages of sparse data with vector leaves; where ``page="auto"`` means tiles, ``hist`` says so.
_PAGES = {"hist": ("tiled",), "exact": ("auto",)}


_row = RowsAbout('`multi_strategy="multi_output_tree"`', "has_vectors", "multi_strategy")

OF_VECTORS: tuple[Refusal[FitFacts], ...] = (
    _row(
        'with `tree_method="approx"`',
        lambda f: f.parameters.search == "approx",
        f"tree_method='approx': expected 'hist', 'exact' or 'auto' {_VECTORS}, as each output's "
        "Hessians would cut bins of its own",
        "leave out tree_method",
    ),
    _row(
        'of sparse data without `page="tiled"`',
        lambda f: f.sparse and f.parameters.page not in _PAGES.get(f.parameters.search, ()),
        f"page={{page!r}} of a sparse matrix: expected 'auto' or 'tiled' {_VECTORS}",
        "leave out page",
    ),
    Refusal(
        "A loss with `split_grad` without leaves that are vectors",
        lambda f: not f.has_vectors,
        "multi_strategy={multi_strategy!r}: expected 'multi_output_tree' and several outputs for "
        "an objective whose split_grad returns gradients",
        "give both, or let split_grad return None",
        about="loss.n_split",
    ),
    Refusal(
        '`sketch` without several outputs and `multi_strategy="multi_output_tree"`',
        lambda f: not f.has_vectors,
        "sketch={sketch}: expected 0 without several outputs and "
        "multi_strategy='multi_output_tree'",
        "leave out sketch, or give multi_strategy='multi_output_tree' with several targets or "
        "classes",
        about="parameters.sketch",
    ),
)


_STEPS = "for several Newton steps of leaves"
_OR_ONE = ", or leave out leaf_estimation_iterations"


def _step_row(
    name: str, when: Callable[[FitFacts], bool], said: str, way_out: str
) -> Refusal[FitFacts]:
    """Return a row about a fit whose leaves take several Newton steps."""
    return Refusal(
        f"`leaf_estimation_iterations` above 1 {name}",
        when,
        said,
        way_out + _OR_ONE,
        about="parameters.takes_steps",
    )


OF_STEPS: tuple[Refusal[FitFacts], ...] = (
    _step_row(
        "for a loss whose leaves take quantiles",
        lambda f: f.loss.renews,
        f"objective={{objective!r}}, whose leaves take quantiles: expected another loss {_STEPS}",
        "change objective",
    ),
    _step_row(
        "for a loss with kernels of its own",
        lambda f: f.loss.own_kernels,
        "objective={objective!r}, with kernels of its own: expected a loss whose gradients depend "
        "on each row's own label and margins, such as 'reg:squarederror' or 'multi:softprob', "
        f"{_STEPS}",
        "change objective",
    ),
    _step_row(
        "with ordered boosting",
        lambda f: f.parameters.is_ordered,
        f"boosting_type='ordered': expected 'plain' {_STEPS}",
        "leave out boosting_type",
    ),
)


_of_linear = RowsAbout("`linear_tree`", "parameters.linear_tree", "linear_tree")

OF_LINEAR: tuple[Refusal[FitFacts], ...] = (
    _of_linear(
        'without `tree_method="hist"`',
        lambda f: f.parameters.sorts_columns,
        f"tree_method={{tree_method!r}}: expected 'hist' or 'auto' {_LINEAR}",
        "leave out tree_method",
    ),
    _of_linear(
        "of a sparse matrix",
        lambda f: f.sparse,
        f"X is sparse: expected dense rows {_LINEAR}",
        "convert X by X.toarray(), with NaN for missing values",
        DataError,
    ),
    _of_linear(
        "of rows in batches",
        lambda f: f.in_batches,
        f"X is in batches: expected an array {_LINEAR}, as all values stay on the device",
        "give all rows at once",
        DataError,
    ),
    _of_linear(
        'with `page="streamed"`',
        lambda f: f.parameters.streamed_pages,
        f"page='streamed': expected 'auto', 'dense' or 'tiled' {_LINEAR}, as all values stay on "
        "the device",
        "leave out page",
    ),
    _of_linear(
        "with statistics of categories",
        lambda f: bool(f.statistics),
        "linear_tree=True: expected False where {statistics[0].shown} has statistics, as they "
        "change from round to round",
        "use cat_method='sets'",
    ),
    _of_linear(
        "with `monotone_constraints`",
        lambda f: bool(f.parameters.monotone_constraints),
        f"monotone_constraints={{monotone_constraints!r}}: expected none {_LINEAR}, whose leaves "
        "are no constants",
        "leave out monotone_constraints",
    ),
    _of_linear(
        "with ordered boosting",
        lambda f: f.parameters.is_ordered,
        f"boosting_type='ordered': expected 'plain' {_LINEAR}",
        "leave out boosting_type",
    ),
    _of_linear(
        'with `booster="dart"`',
        lambda f: f.parameters.weighs_trees,
        f"booster='dart': expected 'gbtree' {_LINEAR}",
        "leave out booster",
    ),
    _of_linear(
        "with vector leaves",
        lambda f: f.has_vectors,
        f"multi_strategy='multi_output_tree': expected 'one_output_per_tree' {_LINEAR}",
        "leave out multi_strategy",
    ),
    _of_linear(
        "for a loss whose leaves take quantiles",
        lambda f: f.loss.renews,
        f"objective={{objective!r}}, whose leaves take quantiles: expected another loss {_LINEAR}",
        "change objective",
    ),
    _of_linear(
        "with a sparse evaluation set",
        lambda f: bool(f.sparse_evals),
        f"evals: {{sparse_evals[0]!r}} is sparse: expected dense rows {_LINEAR}",
        "convert it by X.toarray(), with NaN for missing values",
        DataError,
    ),
    _of_linear(
        "on several devices",
        lambda f: f.in_team,
        "linear_tree=True: expected False where several devices train together",
        "train on one device",
    ),
    _of_linear(
        "with several Newton steps",
        lambda f: f.parameters.takes_steps,
        f"leaf_estimation_iterations={{leaf_estimation_iterations}}: expected 1 {_LINEAR}",
        "leave out leaf_estimation_iterations",
    ),
)


def _streamed(
    name: str, when: Callable[[FitFacts], bool], reason: str, way_out: str
) -> Refusal[FitFacts]:
    """Return a row about pages that are to take turns in a fit that ``stays_resident``."""
    return Refusal(
        f'`page="streamed"` {name}',
        when,
        "page='streamed': expected a fit whose pages can take turns on the device, but " + reason,
        f"{way_out}, or leave out page",
        about="parameters.streamed_pages",
    )


OF_PAGES: tuple[Refusal[FitFacts], ...] = (
    _streamed(
        "of a sparse matrix",
        lambda f: f.sparse,
        "X is sparse, and its columns are not cut into pages of rows",
        "give a dense matrix",
    ),
    _streamed(
        "with ordered boosting",
        lambda f: f.parameters.is_ordered,
        "boosting_type='ordered' gathers rows in another order",
        "use 'plain'",
    ),
    _streamed(
        'with `booster="dart"`',
        lambda f: f.parameters.weighs_trees,
        "booster='dart' lets all rows walk dropped trees",
        "use 'gbtree'",
    ),
    _streamed(
        "with statistics of categories",
        lambda f: bool(f.statistics),
        "statistics of categories count rows of all pages in every round",
        "use 'sets'",
    ),
    _streamed(
        "for a loss that looks at several rows",
        lambda f: not f.loss.takes_pages,
        "objective={objective!r} has kernels that look at all rows",
        "use a loss of single rows",
    ),
)

#: The rows of this module but those of pages, and of draws, smoothed weights and forced splits.
OF_SEARCHES: tuple[Refusal[FitFacts], ...] = (
    *OF_DRAWS,
    *OF_SMOOTHING,
    *OF_FORCED,
    *OF_VECTORS,
    *OF_STEPS,
    *OF_LINEAR,
)
