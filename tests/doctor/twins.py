"""What the comparisons of the doctor have to give, from the twins."""

import numpy as np

from pyopencl_gbdt.doctor import samples
from pyopencl_gbdt.doctor.primitive_cases import (
    N_BUCKETS,
    arrays_of,
    buckets,
    digest,
    histogram_inputs,
    summary_inputs,
    wide,
)
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.contributions.explain_rows import finish
from tests.reference import contributions, quantile_summary
from tests.reference.compact import compact
from tests.reference.histogram import feature_histogram
from tests.reference.multi_reduce import multi_reduce
from tests.reference.multi_scan import multi_scan
from tests.reference.predict import predict
from tests.reference.radix_sort import radix_sort
from tests.reference.reduce import reduce
from tests.reference.run_length import run_length_encode
from tests.reference.scan import scan
from tests.reference.segmented_radix_sort import segmented_radix_sort
from tests.reference.segmented_reduce import segmented_reduce
from tests.reference.segmented_scan import segmented_scan
from tests.reference.stable_partition import stable_partition
from tests.reference.train import train_reference


def _named(*names):
    """Return a function that names the results of a twin."""
    return lambda *results: dict(zip(names, results, strict=True))


_pair = _named("keys", "values")


def _histogram(x):
    codes, pairs, rows = histogram_inputs(x.integers)
    return {"sums": feature_histogram(codes, pairs, N_BUCKETS, rows)}


def _quantile_summary(x):
    built = quantile_summary.build(*summary_inputs(x.integers), x.offsets)
    merged = quantile_summary.merge(quantile_summary.prune(built, N_BUCKETS), built)
    return dict(zip(("values", "ranks", "offsets"), merged, strict=True))


#: By kernel: a function of the elements, see ``doctor.samples``.
TWINS = {
    "scan": lambda x: {"sums": scan(x.floats)},
    "reduce": lambda x: {"sum": reduce(x.floats)},
    "segmented_scan": lambda x: {"sums": segmented_scan(x.floats, x.flags, inclusive=True)},
    "segmented_reduce": lambda x: {"sums": segmented_reduce(x.floats, x.offsets)},
    "radix_sort": lambda x: _pair(*radix_sort(x.floats, x.integers)),
    "segmented_radix_sort": lambda x: _pair(
        *segmented_radix_sort(x.integers, x.offsets, np.arange(x.integers.size, dtype=np.uint32))
    ),
    "compact": lambda x: {"values": compact(x.integers, x.flags)},
    "stable_partition": lambda x: _named("values", "counts")(
        *stable_partition(x.integers, x.flags, x.offsets)
    ),
    "run_length": lambda x: _named("keys", "lengths")(
        *run_length_encode((x.integers & 1).astype(np.uint8))
    ),
    "multi_reduce": lambda x: {
        "sums": multi_reduce(wide(x.integers), buckets(x.integers), N_BUCKETS)
    },
    "multi_scan": lambda x: {"sums": multi_scan(wide(x.integers), buckets(x.integers), N_BUCKETS)},
    "histogram": _histogram,
    "quantile_summary": _quantile_summary,
}


def trained(loss, data):
    """Return the arrays of the twin's model, and its predictions."""
    params = Parameters.from_dict(samples.parameters_of(loss))
    model = train_reference(params, data.values, data.labels[loss], data.weight)
    return {**arrays_of(model), "predictions": predict(model, data.values)}


def explained(data):
    """Return what the twin's columns, and pairs of them, add to the twin's margins."""
    params = Parameters.from_dict(samples.parameters_of(samples.EXPLAINED))
    model = train_reference(params, data.values, data.labels[samples.EXPLAINED], data.weight)
    rows = data.values[: samples.EXPLAINED_ROWS]
    single, pairs = contributions.quanta(model, rows)
    matrices = np.zeros((*single.shape, single.shape[2]), np.int64)
    matrices[..., :-1, :-1] = pairs
    index = np.arange(single.shape[2])
    matrices[..., index, index] = single
    margins = predict(model, rows).reshape(1, -1)
    base = np.full_like(margins, model.base_margin)
    found = []
    for every in (single, matrices):
        floats = np.empty(every.shape)
        of_trees = single[0, :, -1].copy()
        finish(contributions.bits_of(model), of_trees, every.copy(), margins, base, floats)
        found.append(floats[:, 0])
    return {"contributions": found[0], "interactions": found[1]}


def digests_of_twins(n, n_rows):
    """Yield (key, digest of every array) of the inputs and the results of a size."""
    elements, rows = samples.elements(n), samples.rows(n_rows)
    found = {f"inputs {n} {n_rows}": samples.inputs(n, n_rows)}
    for kernel, twin in TWINS.items():
        found[f"{kernel} {n}"] = twin(elements)
    for loss in samples.TRAININGS:
        found[f"training {loss} {n_rows}"] = trained(loss, rows)
    found[f"contributions {n_rows}"] = explained(rows)
    for name, arrays in found.items():
        yield name, {what: digest(array) for what, array in arrays.items()}
