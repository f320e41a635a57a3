"""What decides whether a training is refused, and which classes make up its fit.

These are its parameters, and facts about its data and devices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.model.formats.xgboost_links import LINKS
from pyopencl_gbdt.pages.cuts import MOST_LEVELS
from pyopencl_gbdt.parameters.category_offers import CategoryFacts
from pyopencl_gbdt.parameters.values import ParameterValues


@dataclass(frozen=True)
class LossFacts:
    """Facts about a loss; the defaults are those of most losses.

    Attributes
    ----------
    name : str
        The name of a user's own loss.
    kernel : str
        Statements that set a row's gradients, as ``Objective.kernel``.
    n_outputs : int
        Margins of a row with one label.
    one_target : bool
        Whether a row can have only one label.
    given : bool
        Whether kernels of the loss give the gradients.
    own_kernels : bool
        Whether a row's gradients depend on more than its own label and margins, or are a user's.
    renews : bool
        Whether leaves take quantiles.
    takes_pages : bool
        Whether gradients can be computed page by page.
    n_split : int
        Gradients of a row that the loss gives to search splits by; 0: none of its own.
    fills_device_arrays : bool
        Whether a user's function computes the gradients of all rows.
    """

    name: str = ""
    kernel: str = ""
    n_outputs: int = 1
    one_target: bool = False
    given: bool = False
    own_kernels: bool = False
    renews: bool = False
    takes_pages: bool = True
    n_split: int = 0
    fills_device_arrays: bool = False


@dataclass(frozen=True)
class ModelFacts:
    """A model to continue, with the words that show its loss and the loss of this training.

    ``is_linear`` tells whether leaves are linear functions, ``splits_apart`` whether trees of a
    round's outputs differ in splits or weights.
    """

    shown_loss: str
    asked_loss: str
    base_score: Score
    n_outputs: int = 1
    n_parallel: int = 1
    has_statistics: bool = False
    has_trees: bool = True
    has_weights: bool = False
    is_linear: bool = False
    splits_apart: bool = False


@dataclass(frozen=True)
class CutFacts:
    """The search that was asked for, the column of the most bins, and how many are too many."""

    search: str
    column: int
    n_bins: int
    too_many: int


@dataclass(frozen=True)
class PageFacts:
    """How the rows of a fit lie on its device, as far as it is known.

    Attributes
    ----------
    kind : str
        dense, tiled, sorted or streamed, as in ``Model.variants``.
    given : str
        "codes" or "stored pages" that the fit is given; "" if it makes pages itself.
    has_statistics : bool
        Whether statistics have replaced categorical columns, ...
    n_orders : int
        ... and in how many orders of the rows they are computed.
    n_joined : int
        Columns of codes if features share joint ones; 0: none can.
    stores_joint : bool
        Whether the page has these joint codes alone, in place of the columns' own ones.
    most_bins, most_codes, n_codes : int
        Most bins and codes of a feature, and the codes of all features together. Codes include
        the one for missing values.
    has_sets, has_monotone : bool
        Whether some features are split by sets of levels, or have a monotone constraint.
    masks_columns, limits_paths : bool
        Whether nodes may split on some of the features alone, and whether that depends on the
        splits above them.
    adds_histograms : bool
        Whether a node's histogram is added up from several pages or devices.
    percent_gathered : int or None
        Most percent of all histograms that those of gathered columns may take, as the members of a
        team agreed; 0 where one has several pages. None: as the device's variant says.
    percent_of_levels : int or None
        The same, of columns that the levels of a tree draw together.
    gathers : bool
        Whether trees grow on drawn rows that were gathered, see ``fit.rows_in_turn``.
    sends_columns : bool or None
        Whether pages that take turns bring the columns alone that trees draw; None: not decided.
    most_picks : int
        Most leaves of a tree that a step may split; 0 is as many as suit the device.
    """

    kind: str = "dense"
    given: str = ""
    has_statistics: bool = False
    n_orders: int = 1
    n_joined: int = 0
    stores_joint: bool = False
    n_features: int = 1
    most_bins: int = 1
    most_codes: int = 1
    n_codes: int = 1
    has_sets: bool = False
    has_monotone: bool = False
    masks_columns: bool = False
    limits_paths: bool = False
    adds_histograms: bool = False
    percent_gathered: int | None = None
    percent_of_levels: int | None = None
    gathers: bool = False
    sends_columns: bool | None = None
    most_picks: int = 0


@dataclass(frozen=True)
class FitFacts:
    """All that rows of ``REFUSED`` and ``choose_recipe`` look at.

    The defaults are a dense array on one device.

    Attributes
    ----------
    parameters : ParameterValues
        ``tree_method="auto"`` is resolved.
    n_rows, n_targets : int
        Rows of the training data, and labels of a row.
    sparse, in_batches : bool
        How the training data are given.
    categories : tuple of CategoryFacts
        Categorical columns, ascending.
    sparse_evals : tuple of str
        Names of sparse evaluation sets.
    model : ModelFacts or None
        The model to continue.
    resumed : bool
        Whether the training goes on from a checkpoint.
    n_devices : int
        Devices that one process names; in several processes they are not looked up, so 1.
    names_several : bool
        Whether ``device`` has the form of several devices.
    in_hosts : bool
        Whether several processes train together.
    profile : bool
        Whether kernels are measured.
    device : Capabilities or None
        The device; None while it is not known.
    pages : PageFacts
        How rows lie on the device.
    """

    parameters: ParameterValues
    loss: LossFacts = LossFacts()
    n_rows: int = 1
    n_targets: int = 1
    sparse: bool = False
    in_batches: bool = False
    categories: tuple[CategoryFacts, ...] = ()
    sparse_evals: tuple[str, ...] = ()
    model: ModelFacts | None = None
    resumed: bool = False
    n_devices: int = 1
    names_several: bool = False
    in_hosts: bool = False
    profile: bool = False
    device: Capabilities | None = None
    pages: PageFacts = PageFacts()

    def with_pages(self, **known: Any) -> FitFacts:
        """Return these facts with more known of the pages; names are those of ``PageFacts``."""
        return replace(self, pages=replace(self.pages, **known))

    def are_part_of(self, other: FitFacts | None) -> bool:
        """Whether other facts tell the same of at least as many rows, so that both are refused.

        A row of ``REFUSED`` that looks at rows refuses too many of them.
        """
        if other is None or self.n_rows > other.n_rows:
            return False
        return self == replace(other, n_rows=self.n_rows)

    @property
    def before(self) -> ModelFacts:
        """``model`` of a training that continues one."""
        assert self.model is not None
        return self.model

    @property
    def in_team(self) -> bool:
        """Whether several devices share the rows."""
        return self.in_hosts or self.n_devices > 1

    def unused_page(self, asked: str) -> str:
        """Return on what this training does not use the ``page`` that was asked for, or ""."""
        if self.sparse and self.parameters.symmetric_trees and asked != "tiled":
            return "on sparse data with grow_policy='symmetric', which get tiled pages"
        if asked != "sorted" or self.sparse:
            return ""
        if self.parameters.sorts_columns:
            return "on dense data with vector leaves" if self.has_vectors else ""
        if self.in_team:
            return "on dense data of several devices"
        return "on dense data with statistics of categories" if self.statistics else ""

    @property
    def columns_of_tree(self) -> int:
        """Features that a tree draws; 0: it has all."""
        if not self.pages.masks_columns:
            return 0
        of_tree, _, _ = self.parameters.column_counts(self.pages.n_features)
        return of_tree if of_tree < self.pages.n_features else 0

    @property
    def columns_of_levels(self) -> int:
        """Features that the levels of a tree draw together at most; 0: all that the tree has."""
        params, n = self.parameters, self.pages.n_features
        of_tree, of_level, _ = params.column_counts(n)
        if not self.pages.masks_columns or of_level == of_tree:
            return 0
        if params.leaf_wise or not params.max_depth:  # more levels than may be planned
            return 0
        most = params.max_depth * of_level
        return most if most < of_tree else 0

    @property
    def n_drawn(self) -> int:
        """Features that a tree draws, if its nodes may split on all of these; 0 otherwise."""
        of_tree, _, of_node = self.parameters.column_counts(self.pages.n_features)
        alone = of_tree == of_node and not self.pages.limits_paths
        return self.columns_of_tree if alone else 0

    @property
    def n_outputs(self) -> int:
        return max(self.loss.n_outputs, self.n_targets)

    @property
    def has_vectors(self) -> bool:
        """Whether leaves are vectors, with a value for each output."""
        return self.parameters.has_vectors(self.n_outputs)

    @property
    def n_sketches(self) -> int:
        """Sketches by which splits are searched; 0: by all outputs."""
        asked = self.parameters.sketch if self.parameters.sketch < self.n_outputs else 0
        found = self.loss.n_split or asked
        return found if found and self.has_vectors else 0

    @property
    def statistics(self) -> tuple[CategoryFacts, ...]:
        """Columns that are split by statistics."""
        return tuple(one for one in self.categories if one.offer.statistics)

    @property
    def sets(self) -> tuple[CategoryFacts, ...]:
        """Columns that are split by sets of levels."""
        return tuple(one for one in self.categories if one.offer.sets)

    @property
    def most_levels(self) -> CategoryFacts | None:
        """The first set column of more levels than a set can have."""
        return next((one for one in self.sets if one.n_levels > MOST_LEVELS), None)

    @property
    def monotone(self) -> CategoryFacts | None:
        """The first categorical column with a monotone constraint."""
        return next((one for one in self.categories if one.monotone), None)

    @property
    def forced(self) -> CategoryFacts | None:
        """The first categorical column with a forced split."""
        return next((one for one in self.categories if one.forced), None)

    @property
    def n_margins(self) -> int:
        """Margins for each output of all models of ordered boosting."""
        from pyopencl_gbdt.numerics.random_numbers import n_entries

        return n_entries(self.n_rows, self.parameters.n_orders)

    @property
    def infinite_scores(self) -> tuple[float, ...]:
        """The numbers in ``base_score`` whose margins are infinite.

        The check is in float32, as in kernels: there 1 - 1e-9 is 1, whose log-odds are infinite.
        """
        link, score = LINKS[self.parameters.objective], self.parameters.base_score
        given = () if score is None else each(score)
        return tuple(one for one in given if not link.lowest < np.float32(one) < link.highest)

    @property
    def n_base_scores(self) -> int:
        score = self.parameters.base_score
        return 1 if score is None else len(each(score))

    @property
    def starts_elsewhere(self) -> bool:
        """Whether ``base_score`` is given, and is not that of the model to continue."""
        if self.model is None or self.n_base_scores not in (1, self.model.n_outputs):
            return False
        asked = self.parameters.starting_scores(self.model.n_outputs)
        return asked is not None and asked != self.model.base_score

    @property
    def stays_resident(self) -> bool:
        """Whether all rows have to stay on the device, because pages cannot take turns."""
        ordered = self.parameters.is_ordered or self.parameters.weighs_trees
        statistics = bool(self.statistics) or self.pages.has_statistics
        others = self.parameters.linear_tree or not self.loss.takes_pages
        return self.parameters.sorts_columns or self.sparse or ordered or statistics or others
