"""The trainings that ``exercise`` runs: which, what each of them shows on paper, and its check."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device, choose, runnable
from pyopencl_gbdt.model import Ensemble, to_xgboost_json
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.running_task import start_of
from tests.portability import cover
from tests.portability.null_device import Built, NullDevice
from tests.portability.problems import EVERY_HISTOGRAM, OTHERS, Problem, problem
from tests.reference.train import train_reference
from tests.switch_depth import switch_depth

#: Depths down to which entries stay in the data's order, see ``growth/interleaved.py``.
_DEPTHS = {
    "tiny": {"exact": (0, 1), "approx": (1,)},
    "full": {"exact": (0, 1), "approx": (0, 1)},
}
#: Entries of a stretch.
_CHUNK = 64
#: Work-items of a group where few do, and what their launches cost a simulator: half of the others.
_NARROW, _NARROW_COST = 64, 0.5
#: One training of each kind.
KINDS = ("logistic", "categories", "exact", "symmetric", "classes", "tiled")
NAMES = (*EVERY_HISTOGRAM, *OTHERS)
#: Every second one beside those of every histogram.
HALF = (*EVERY_HISTOGRAM, *list(OTHERS)[::2])
#: What counts of the programs that a training binds.
Counts = Callable[[Iterable[Built]], set[cover.Fact]]


@dataclass(frozen=True)
class Training:
    """A training by one variant of the histogram.

    Attributes
    ----------
    name : str
        Of ``problems``.
    histogram : str
    depth : int, optional
        Down to which entries stay in the data's order; as the device is tuned by default.
    way : str
        The variant, with the depth where the training runs with several.
    wg_size : int
        Work-items of a group, for kernels that let it be chosen; 0 for the usual number.
    """

    name: str
    histogram: str
    depth: int | None
    way: str
    wg_size: int = 0


def trainings(size: str, caps: Capabilities, names: Iterable[str] = NAMES) -> list[Training]:
    """Return trainings with the histogram that a device gets, some of them with every one."""
    found = []
    every, chosen = runnable("histogram", caps), [choose("histogram", caps)]
    for name in names:
        method = {**EVERY_HISTOGRAM, **OTHERS}[name].get("tree_method", "")
        depths = _DEPTHS[size].get(method, (0,))
        variants = every if name in EVERY_HISTOGRAM else chosen
        for variant, depth in itertools.product(variants, depths):
            way = f"{variant.name}, depth {depth}" if len(depths) > 1 else variant.name
            found.append(Training(name, variant.name, depth, way))
    return found


def of_kinds(caps: Capabilities) -> list[Training]:
    """Return one training of each kind, as a device does it."""
    own = choose("histogram", caps).name
    return [Training(name, own, None, "") for name in KINDS]


def narrow(every: Iterable[Training]) -> list[Training]:
    """Return the same trainings in groups of few work-items, which a simulator runs sooner."""
    return [replace(one, way=f"{one.way}, groups of {_NARROW}", wg_size=_NARROW) for one in every]


def _switched(caps: Capabilities, training: Training) -> AbstractContextManager[None]:
    depth = training.depth
    return nullcontext() if depth is None else switch_depth(caps, depth, _CHUNK)


def _fit(
    device: Device, training: Training, p: Problem, data: Dataset, margin: tuple[float, ...] | float
) -> Fit:
    size = {"work_group_size": training.wg_size} if training.wg_size else {}
    params = Parameters.from_dict({**p.params, **size, "histogram": training.histogram})
    return Fit(device, params, get_objective(params.objective, params), data, margin)


def on_paper(size: str, training: Training, caps: Capabilities) -> list[Built]:
    """Return the programs that a training asks a device for; nothing runs."""
    p, device = problem(size, training.name, caps.kind), NullDevice(caps)
    with _switched(caps, training):
        prepared = _fit(device, training, p, Dataset(p.values, p.label, p.weight, **p.extra), 0.0)
        if prepared.kernels.source is not None:
            prepared.kernels.source.before_round(0)
    return list(device.built.values())


def fewest(
    size: str,
    caps: Capabilities,
    every: Sequence[Training],
    counts: Counts = cover.bound,
    others: Sequence[Training] = (),
) -> list[Training]:
    """Return trainings that bind every kernel, with every option, that all of them bind.

    Where others run in their place, a template has the usual work-groups in some training, and
    each of its options in one with any work-groups.

    Parameters
    ----------
    size : {"tiny", "full"}
    caps : Capabilities
    every : sequence of Training
    counts : callable
        Returns the facts that programs show; all of them by default.
    others : sequence of Training
        Trainings that may run in the place of these; what they alone show does not count.

    Returns
    -------
    list of Training
    """
    programs = {training: on_paper(size, training, caps) for training in (*every, *others)}
    facts = {training: counts(built) for training, built in programs.items()}
    wanted = set().union(*(facts[training] for training in every))
    facts = {training: shown & wanted for training, shown in facts.items()}

    def cost(training: Training) -> float:
        bound = sum(len(one.bound) for one in programs[training])
        launches = bound * _trees(problem(size, training.name, caps.kind))
        return launches * (_NARROW_COST if training.wg_size else 1)

    return cover.cover(facts, sorted(programs, key=cost, reverse=True))


def _trees(p: Problem) -> int:
    """Return the trees of a training."""
    of_vectors = p.params.get("multi_strategy") == "multi_output_tree"
    outputs = 1 if of_vectors else p.params.get("num_class", 1)
    return int(outputs * p.params["n_estimators"] * p.params.get("num_parallel_tree", 1))


def twin_of(p: Problem) -> Ensemble:
    """Return the model of the NumPy twin."""
    return train_reference(Parameters.from_dict(p.params), p.values, p.label, p.weight, **p.extra)


def bytes_of(text: str) -> npt.NDArray[np.uint8]:
    """Return a text as an array."""
    return np.frombuffer(text.encode(), np.uint8)


def models(
    device: Device, training: Training, p: Problem, data: Dataset, twin: Ensemble
) -> tuple[Any, ...]:
    """Train on a device; return the bytes of the model and of its twin."""
    with _switched(device.caps, training):
        fit = _fit(device, training, p, data, start_of(twin.base_margin))
        trees = fit.run(p.params["n_estimators"])
    if fit.parts.nodes.has_vectors:
        trees = with_vectors(trees, twin.n_outputs, twin.n_parallel) or trees
    model = replace(twin, trees=trees)
    return tuple(bytes_of(to_xgboost_json(m)) for m in (model, twin))
