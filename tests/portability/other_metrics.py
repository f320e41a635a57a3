"""Metrics of classes, queries and times on one device, against the twins, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.evaluation.cox_metric import CoxMetric
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.evaluation.ranking_metric import RankingMetrics
from pyopencl_gbdt.metrics import get_metric, ranked_of, row_loss_of
from pyopencl_gbdt.metrics.bounds_losses import log_pairs
from pyopencl_gbdt.numerics.portable_math import portable_exp
from pyopencl_gbdt.objectives.classification import softmax
from pyopencl_gbdt.objectives.survival import Cox
from tests.primitives.samples import cuts
from tests.reference import ranking_metric as ranking_twin
from tests.reference.cox_metric import cox_words
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, run


def other_metric_checks(device: Device, sizes: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """Yield a check of the words of metrics of classes, queries and times."""
    rng = np.random.default_rng(8)
    for n in sizes:
        margin, offsets = np.round(rng.normal(size=n), 1).astype(np.float32), cuts(rng, n, 5)
        relevant = (rng.random(n) < 0.3).astype(np.float32)
        time = (rng.normal(size=n) + 0.5).astype(np.float32)
        offsets = np.unique(offsets).astype(np.int64)
        names = ["ndcg", "map@3", "pre"]
        ranked = [one for name in names if (one := ranked_of(get_metric(name)))]
        prepared = RankingMetrics(evaluated(device, margin, relevant), offsets, ranked)
        for one, mean, words in zip(ranked, prepared.means, run(prepared), strict=True):
            part = ranking_twin.parts(one.family, margin, relevant, offsets, one.top, one.exp_gain)
            twin = ranking_twin.ranked_words(part, offsets, mean.norms, mean.largest)
            yield f"{one.family} {n}", (words[:4], twin[:4])
        rows = evaluated(device, margin, time, link=Cox().link)
        found = run(CoxMetric(rows))[0, :4]
        yield f"cox-nloglik {n}", (found, cox_words(portable_exp(margin), time)[:4])
        classes = rng.normal(size=(3, n)).astype(np.float32)
        label = rng.integers(0, 3, n).astype(np.float32)
        pairs = log_pairs(np.abs(time), 2 * np.abs(time))
        for name, margins, labels, n_classes in (
            ("mlogloss", classes, label, 3),
            ("aft-nloglik", margin, pairs, 0),
        ):
            loss = row_loss_of(get_metric(name))
            assert loss is not None
            rows = evaluated(device, margins, label, n_classes=n_classes)
            rows = replace(rows, labels=device.upload(labels))
            parts = loss.twin(softmax(margins) if n_classes else margins, labels, np.float32(1))
            found = run(MeanLoss(rows, loss))[0, :5]
            yield f"{name} {n}", (found, sum_words(parts, None))
