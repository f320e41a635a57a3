"""What every step of a fit is built from, and how its arrays get their memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.arena import Arena, MemoryPlan
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import (
    ForestBlock,
    TreesAtATime,
    WeightBits,
    WeightExponents,
)
from pyopencl_gbdt.errors import MemoryPlanError, ParameterError
from pyopencl_gbdt.fit.nodes import Nodes, TreeSizes, forest_bytes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.page_schedule import PageSchedule
from pyopencl_gbdt.fit.rows import MOST_NUMBERED, FitRows
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.numerics.weights import F32, normalise
from pyopencl_gbdt.pages.page import AnyPage, Page, histogram_rows
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.values import ParameterValues
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes


def smaller_trees(params: ParameterValues) -> str:
    """Return a message's advice: how the trees of a fit take less memory."""
    words = "lower max_depth (0 is no limit) or max_bin"
    if params.multi_strategy == "multi_output_tree":
        return f"{words}, leave out multi_strategy"
    return words if params.grow_policy == "symmetric" else f"{words}, give max_leaves"


class FitParts(NamedTuple):
    """What every step of a fit is built from.

    The constructors of the steps ask the arena for their arrays, and ``allocate`` brings these to
    the device. On paper, the same constructors tell what the fit takes.
    """

    arena: Arena
    rows: FitRows
    nodes: Nodes
    features: FitFeatures
    ways: Ways


class RowWeights(NamedTuple):
    """Whether rows have weights, and their bits and shift; see ``numerics.weights.normalise``."""

    weighted: bool = False
    bits: int = 0
    shift: int = 0


_UNWEIGHTED = RowWeights()


def scaled_weights(weight: F32 | None, team: Team) -> tuple[F32 | None, RowWeights]:
    """Return the weights of a member's own rows as kernels take them, and what is known of them."""
    if weight is None:
        return None, _UNWEIGHTED
    sums = partial(team.add_up, WeightExponents), partial(team.most, WeightBits)
    scaled, bits, shift = normalise(weight, *sums)
    return scaled, RowWeights(weighted=True, bits=bits, shift=shift)


def has_joint_codes(page: AnyPage) -> bool:
    """Whether a page has joint codes in place of the columns' own ones."""
    return isinstance(page, Page) and isinstance(page.codes, JoinedCodes)


def assemble(
    device: Device,
    facts: FitFacts,
    sizes: TreeSizes,
    features: FitFeatures,
    pages: Sequence[AnyPage] = (),
    weights: RowWeights = _UNWEIGHTED,
    *,
    schedule: PageSchedule | None = None,
    share: Share | None = None,
    first_round: int = 0,
    beside: MemoryPlan | None = None,
) -> FitParts:
    """Return the parts of a fit that grows a tree at a time; see ``choose_trees`` for more.

    With ``turns``, pages take turns on the device. All members of a team call it together.
    """
    share, arena = share or Share(), Arena(device, beside)
    params, loss = facts.parameters, facts.loss
    nodes = Nodes(
        params, sizes, share.all_rows or facts.n_rows, n_outputs=facts.n_outputs,
        n_parallel=params.num_parallel_tree, first_round=first_round,
        set_words=features.set_words, numeric_features=features.n_numeric,
        has_vectors=facts.has_vectors,
        n_sketches=facts.n_sketches, renews=loss.renews,
        enqueues_sums=share.team.enqueues,
        forest_bytes=forest_bytes(device.caps, in_turn=schedule is not None),
    )  # fmt: skip
    ways = Ways(device, replace(facts, device=device.caps))
    known = {**features.facts(), **({} if schedule is None else {"kind": "streamed"})}
    ways.learn(**known, stores_joint=any(map(has_joint_codes, pages)))
    kind: Callable[..., FitRows] = FitRows
    if schedule is not None:
        from pyopencl_gbdt.fit.columns_in_turn import ColumnsInTurn, sends_columns

        sends = facts.pages.sends_columns
        if sends is None:
            sends = sends_columns(device, nodes, ways.facts, share.team)
        ways.learn(sends_columns=sends)
        kind = partial(ColumnsInTurn if sends else RowsInTurn, schedule=schedule)
    rows = kind(
        arena, nodes, features, ways, facts.n_rows, pages, *weights, facts.n_targets, loss.given,
        facts.pages.n_orders, share,
    )  # fmt: skip
    ways.learn(adds_histograms=rows.adds_histograms, most_picks=sizes.picks)
    rows.join()
    return FitParts(arena, rows, nodes, features, ways)


#: Builds the steps of a fit on paper; returns the parts that these have asked for their arrays.
OnPaper = Callable[[FitParts], FitParts]


def choose_trees(parts: FitParts, on_paper: OnPaper) -> None:
    """Grow all trees of a round at a time, or as many as memory allows.

    Parameters
    ----------
    on_paper : callable
        Builds the fit's steps on paper, for ``n_trees``.
    """
    nodes, team = parts.nodes, parts.rows.team
    nodes.n_trees = nodes.round_trees
    if nodes.has_vectors and not parts.rows.trees_fit(nodes.n_trees, lambda: True):
        raise ParameterError(
            f"multi_strategy='multi_output_tree': {nodes.n_trees} trees at a time of "
            f"{parts.rows.n_rows} rows each: expected at most {MOST_Y} trees, and "
            f"{MOST_NUMBERED} rows of all; use fewer rows, lower num_parallel_tree, or leave out "
            "multi_strategy"
        )
    while nodes.n_trees > 1 and not nodes.has_vectors and not trees_fit(parts, on_paper):
        outputs = nodes.n_trees // nodes.n_parallel
        nodes.n_trees = (
            (outputs + 1) // 2 * nodes.n_parallel if outputs > 1 else (nodes.n_trees + 1) // 2
        )
    nodes.n_trees = team.least(TreesAtATime, nodes.n_trees)
    nodes.agreed_block = team.least(ForestBlock, nodes.forest_block)


def trees_fit(parts: FitParts, on_paper: OnPaper) -> bool:
    """Tell whether ``n_trees`` can be grown at a time; tests replace it."""
    n_trees, may = parts.nodes.n_trees, partial(_fits_shortly, parts, on_paper)
    return parts.rows.trees_fit(n_trees, may)


def _fits_shortly(parts: FitParts, on_paper: OnPaper) -> bool:
    return _histograms_are_short(parts) and fits(parts, on_paper)


def _histograms_are_short(parts: FitParts) -> bool:
    """Tell whether the largest page's histogram of all trees takes no longer than it may."""
    caps, features = parts.arena.device.caps, parts.features
    if not caps.copy_speed or features.columns is not None or features.tiled is not None:
        return True
    n_rows = parts.nodes.n_trees * max(n_rows for _, n_rows in parts.rows.page_rows)
    return n_rows <= histogram_rows(caps, parts.rows.block_order.row_bytes)


def fits(parts: FitParts, on_paper: OnPaper) -> bool:
    """Return whether the fit's steps fit the device, with codes that are there or to come."""
    try:
        check(on_paper(parts))
    except MemoryPlanError:
        return False
    return True


def check(parts: FitParts) -> None:
    """Refuse what cannot fit; allocate nothing.

    Raises
    ------
    MemoryPlanError
    """
    parts.rows.ask_for_slots()
    also = "; or leave out an evaluation set, or metrics" if parts.arena.beside.arrays else ""
    if parts.nodes.params.is_ordered:
        also += "; or lower permutation_count, or leave out boosting_type='ordered'"
    also += "".join(f"; or {one}" for one in parts.arena.advice)
    less = f"{smaller_trees(parts.nodes.params)}, or use fewer rows or features"
    parts.arena.check(less + also)


def allocate(parts: FitParts) -> None:
    """Bring the arrays that the steps have asked for to the device, with their contents.

    Raises
    ------
    MemoryPlanError
        Before anything is allocated.
    """
    check(parts)
    parts.rows.allocate()


def on_paper(parts: FitParts) -> FitParts:
    """Return the parts of a fit on paper, whose steps are still to be built.

    Its pages are those of the fit; if there are none yet, pages as they will be.
    """
    from pyopencl_gbdt.device.paper import PaperDevice, PaperTeam

    real, paper = parts.rows, PaperDevice.like(parts.arena.device)
    arena, ways = Arena(paper, parts.arena.beside), replace(parts.ways, device=paper)
    team = real.team
    if team.size > 1:  # a member builds on paper by itself
        team = PaperTeam(team.rank, team.size)
    rows = real.on_paper(arena, ways, replace(real.share, team=team))
    if not rows.page_list:
        rows.page_list = rows.paper_pages()
    return FitParts(arena, rows, parts.nodes, parts.features, ways)
