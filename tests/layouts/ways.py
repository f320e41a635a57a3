"""Ways to lay the rows of a training out, and to run it; the model must not depend on them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.device import find, runnable, selection
from pyopencl_gbdt.device.limited_device import ENVIRONMENT
from pyopencl_gbdt.device.switches import SMALL_FITS
from pyopencl_gbdt.fit import page_schedule
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training import fit as fit_module
from tests.layouts.recipes import Recipe
from tests.teams import members

#: Trains a recipe on a device in one way; errors of the library mean that it does not offer that.
Way = Callable[[Recipe, str, np.random.Generator], Model]


class NotOfferedError(Exception):
    """Rows of a recipe cannot be given in a way: ``Dataset`` says so."""


def trained(recipe: Recipe, device: str, data: Dataset | None = None, **more: Any) -> Model:
    """Train with a few parameters changed; with all rows in one array if no data are given."""
    params = {**recipe.params, **more, "device": device, "verbosity": 0}
    return train(params, recipe.data() if data is None else data)


def work_groups(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    return trained(recipe, device, work_group_size=int(rng.choice([1, 8, 16, 64, 256])))


def histogram(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    caps = find(device).caps
    assert caps is not None
    names = [variant.name for variant in runnable("histogram", caps)]
    return trained(recipe, device, histogram=str(rng.choice(names)))


def dense(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    return trained(recipe, device, page="dense")


def pages(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    """Several pages, all of them on the device."""
    with _in_pages(int(rng.integers(2, 8))):
        return trained(recipe, device)


def tiled(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    return trained(recipe, device, page="tiled")


def streamed(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    """Several pages, two of them on the device at a time, copied or where they are."""
    n_pages, copied = int(rng.integers(1, 8)), bool(rng.random() < 0.5)

    with contextlib.ExitStack() as patches:
        patches.enter_context(_in_pages(n_pages, n_slots=2))
        if copied:
            patches.enter_context(
                patch.object(page_schedule, "works_in_place", lambda device: False)
            )
        return trained(recipe, device, page="streamed")


def little_memory(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    return trained(recipe, device, device_memory=int(rng.choice([500_000, 2_000_000, 8_000_000])))


def batches(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    if "label_lower_bound" in recipe.columns:
        raise NotOfferedError("batches have no bounds of labels")
    edges = _edges(rng, len(recipe.values), int(rng.integers(1, 5)), recipe.columns.get("qid"))
    parts = [recipe.values[first:end] for first, end in edges if first < end]
    categorical = list(recipe.categorical)
    data = Dataset.from_batches(parts, **recipe.columns, categorical_features=categorical)
    return trained(recipe, device, data)


def sparse(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    """Only the values that are not missing."""
    if recipe.categorical:
        raise NotOfferedError("columns of a sparse matrix are numbers")
    X = recipe.values
    rows, columns = np.nonzero(~np.isnan(X))
    return trained(
        recipe, device, recipe.data(X=csr_matrix((X[rows, columns], (rows, columns)), X.shape))
    )


def columns_first(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    X = np.asfortranarray(recipe.values.astype(np.float64))
    return trained(recipe, device, recipe.data(X=X))


def two_queues(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    with patch.object(selection, "ALLOWS_TWICE", True):
        return trained(recipe, f"{device}={rng.integers(1, 4)},{device}=1")


def team(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    """Members that talk over sockets; some may have no rows."""
    size = int(rng.integers(1, 4))
    edges = _edges(rng, len(recipe.values), size, recipe.columns.get("qid"))

    def work(of_team: Any, rank: int) -> Model:
        first, end = edges[rank]
        params = {**recipe.params, "device": device, "verbosity": 0}
        own = recipe.data(first, end) if first < end else None
        return train(params, own, communicator=of_team)

    found = members(size, work)
    errors = [one for one in found if isinstance(one, BaseException)]
    if errors:  # that of the member at fault, not what the others tell of it
        raise next((e for e in errors if not str(e).startswith("rank ")), errors[0])
    if len({to_json(one.ensemble) for one in found}) > 1:
        raise AssertionError("the members' models differ")
    first_model: Model = found[0]
    return first_model


def kernels_of_gpus(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    """In the sizes of small fits, or of large ones."""
    sizes = {SMALL_FITS: "on" if rng.random() < 0.5 else "off"}
    with _pretending("gpu"), patch.dict(os.environ, sizes):
        return trained(recipe, device)


def baseline(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
    with _pretending("baseline"):
        return trained(recipe, device)


WAYS: dict[str, Way] = {
    way.__name__.replace("_", " "): way
    for way in (
        work_groups, histogram, dense, pages, tiled, streamed, little_memory, batches, sparse,
        columns_first, two_queues, team, kernels_of_gpus, baseline,
    )
}  # fmt: skip


def other_device(name: str) -> Way:
    """Return the way that trains on another device."""

    def way(recipe: Recipe, device: str, rng: np.random.Generator) -> Model:
        del device
        return trained(recipe, name, work_group_size=int(rng.choice([0, 8, 64])))

    return way


def _in_pages(n_pages: int, **more: int) -> Any:
    """Return a context in which fits have so many pages."""

    class InPages(fit_module.Fit):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **{**named, "n_pages": n_pages, **more})

    return patch("pyopencl_gbdt.training.running_task.Fit", InPages)


@contextlib.contextmanager
def _pretending(kind: str) -> Iterator[None]:
    with patch.dict(os.environ, {ENVIRONMENT: kind}):
        yield


def _edges(
    rng: np.random.Generator, n_rows: int, n_parts: int, qid: Any = None
) -> list[tuple[int, int]]:
    """Return where parts of the rows begin and end; a part may be empty, a query is in one part."""
    cuts = rng.integers(0, n_rows + 1, n_parts - 1)
    if qid is not None:
        starts = np.append(np.flatnonzero(np.diff(qid, prepend=-1)), n_rows)
        cuts = starts[np.searchsorted(starts, cuts)]
    edges = [0, *np.sort(cuts).tolist(), n_rows]
    return list(pairwise(edges))
